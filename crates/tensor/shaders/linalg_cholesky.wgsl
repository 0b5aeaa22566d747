#import guard_zero
// L of A = L Lᵀ in the place of A, column after column (Golub and Van Loan: "Matrix Computations", 4th edition, 4.2).

fn factor(t: u32, n: u32, columns: u32) {
    var holds = true;
    for (var k = 0u; k < n; k++) {
        let pivot = load(k * n + k);
        // Positive and finite, by its bits.
        holds = holds && bitcast<u32>(pivot) - 1u < 0x7f7fffffu;
        let root = sqrt(select(1.0, pivot, holds));
        meet();
        for (var i = k + t; i < n; i += TEAM) {
            store(i * n + k, select(load(i * n + k) / root, root, i == k));
        }
        meet();
        for (var i = k + 1u + t / SIDE; i < n; i += SIDE) {
            let of_row = load(i * n + k);
            for (var j = k + 1u + t % SIDE; j <= i; j += SIDE) {
                store(i * n + j, load(i * n + j) - of_row * load(j * n + k));
            }
        }
        meet();
    }
    // What is no factor is NaN, and nothing stands above the diagonal.
    for (var i = t / SIDE; i < n; i += SIDE) {
        for (var j = t % SIDE; j < n; j += SIDE) {
            if (!holds) {
                store(i * n + j, bitcast<f32>(0x7fc00000u | guard_zero()));
            } else if (j > i) {
                store(i * n + j, 0.0);
            }
        }
    }
}
