#import guard_zero
// Q in the place of A and R below it.

// Threads along columns; those of one column have shares of its rows.
const SHARES = TEAM / ACROSS;

// Applies the reflection of column k to the columns after it.
fn reflect(t: u32, rows: u32, columns: u32, k: u32, f: f32) {
    for (var first = k + 1u; first < columns; first += ACROSS) {
        let j = first + t % ACROSS;
        var sum = 0.0;
        if (j < columns) {
            for (var i = k + t / ACROSS; i < rows; i += SHARES) {
                sum += select(load(i * columns + k), 1.0, i == k) * load(i * columns + j);
            }
        }
        sum = f * total(t, sum, ACROSS);
        if (j < columns) {
            for (var i = k + t / ACROSS; i < rows; i += SHARES) {
                store(i * columns + j, load(i * columns + j) - select(load(i * columns + k), 1.0, i == k) * sum);
            }
        }
    }
    meet();
}

fn factor(t: u32, rows: u32, columns: u32) {
    let below = rows * columns;
    let is_whole = is_whole_of(t, below);
    reduce(t, rows, columns);
    // R, from its last row, since the factors stand in the first. They move to the diagonal.
    for (var row = columns; row > 0u; row--) {
        let i = row - 1u;
        let f = load(below + i);
        meet();
        for (var j = t; j < columns; j += TEAM) {
            store(below + i * columns + j, select(0.0, load(i * columns + j), j >= i));
        }
        meet();
        for (var j = i + 1u + t; j < columns; j += TEAM) {
            store(i * columns + j, 0.0);
        }
        if (t == 0u) {
            store(i * columns + i, f);
        }
    }
    meet();
    // The product of the reflections, from the last.
    for (var next = columns; next > 0u; next--) {
        let k = next - 1u;
        let f = load(k * columns + k);
        reflect(t, rows, columns, k, f);
        for (var i = t; i < rows; i += TEAM) {
            let v = load(i * columns + k);
            store(i * columns + k, select(select(-f * v, 1.0 - f, i == k), 0.0, i < k));
        }
        meet();
    }
    if (!is_whole) {
        for (var e = t; e < below + columns * columns; e += TEAM) {
            store(e, bitcast<f32>(0x7fc00000u | guard_zero()));
        }
    }
}
