#import guard_zero
// R and the vectors of the reflections in the place of A, and below them T of I − V T Vᵀ, the product of the reflections (Schreiber and Van Loan: "A
// storage-efficient WY representation for products of Householder transformations", 1989).

fn vector_at(row: u32, k: u32, columns: u32) -> f32 {
    return select(select(load(row * columns + k), 1.0, row == k), 0.0, row < k);
}

fn factor(t: u32, rows: u32, columns: u32) {
    let below = rows * columns;
    let is_whole = is_whole_of(t, below);
    reduce(t, rows, columns);
    // The factors move to the diagonal of T.
    var f = 0.0;
    for (var k = columns; k > 0u; k--) {
        f = load(below + k - 1u);
        meet();
        if (t == 0u) {
            store(below + (k - 1u) * (columns + 1u), f);
        }
        meet();
    }
    // Products of the vectors stand above the diagonal, until each column of T takes the place of its own.
    for (var k = 1u; k < columns; k++) {
        for (var first = 0u; first < k; first += ACROSS) {
            let j = first + t % ACROSS;
            var sum = 0.0;
            if (j < k) {
                for (var i = k + t / ACROSS; i < rows; i += SHARES) {
                    sum += vector_at(i, j, columns) * vector_at(i, k, columns);
                }
            }
            sum = total(t, sum, ACROSS);
            if (j < k && t < ACROSS) {
                store(below + j * columns + k, sum);
            }
        }
    }
    meet();
    for (var k = 1u; k < columns; k++) {
        let own = load(below + k * (columns + 1u));
        for (var first = 0u; first < k; first += TEAM) {
            let j = first + t;
            var sum = 0.0;
            if (j < k) {
                for (var i = j; i < k; i++) {
                    sum += load(below + j * columns + i) * load(below + i * columns + k);
                }
            }
            meet();
            if (j < k) {
                store(below + j * columns + k, -own * sum);
            }
            meet();
        }
    }
    for (var e = t; e < columns * columns; e += TEAM) {
        if (e / columns > e % columns) {
            store(below + e, 0.0);
        }
    }
    meet();
    if (!is_whole) {
        for (var e = t; e < below + columns * columns; e += TEAM) {
            store(e, bitcast<f32>(0x7fc00000u | guard_zero()));
        }
    }
}
