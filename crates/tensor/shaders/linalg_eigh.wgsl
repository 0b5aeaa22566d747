#import guard_zero
// Eigenvectors and eigenvalues by sweeps of rotations. The vectors stand above the matrix.

// What is nothing beside the rounding of the largest element.
var<private> least: f32;

fn is_small(beside: f32, first: f32, second: f32) -> bool {
    return !(abs(beside) > least);
}

fn factor(t: u32, n: u32, columns: u32) {
    let of_a = n * n;
    let size = largest_size(t, of_a, of_a);
    let is_whole = size < 0x7f800000u;
    for (var e = t; e < of_a; e += TEAM) {
        store(e, select(0.0, 1.0, e % (n + 1u) == 0u));
    }
    least = select(3e38, bitcast<f32>(size) * 4e-9, is_whole);
    for (var sweep = 0u; sweep < MOST_SWEEPS; sweep++) {
        begin_sweep(t);
        sweep_all(t, n);
        if (!is_turning(t)) {
            break;
        }
    }
    // In ascending order: the least that is left takes the next place.
    for (var k = 0u; k < n; k++) {
        meet();
        var place = k;
        var value = load(of_a + k * n + k);
        for (var j = k + 1u; j < n; j++) {
            let other = load(of_a + j * n + j);
            if (other < value) {
                place = j;
                value = other;
            }
        }
        meet();
        if (place != k) {
            for (var i = t; i < n; i += TEAM) {
                let held = load(i * n + k);
                store(i * n + k, load(i * n + place));
                store(i * n + place, held);
            }
            if (t == 0u) {
                store(of_a + place * n + place, load(of_a + k * n + k));
                store(of_a + k * n + k, value);
            }
        }
    }
    meet();
    for (var j = t; j < n; j += TEAM) {
        store(of_a + j, load(of_a + j * n + j));
    }
    meet();
    for (var e = t; e < of_a; e += TEAM) {
        if (!is_whole) {
            store(e, bitcast<f32>(0x7fc00000u | guard_zero()));
            if (e < n) {
                store(of_a + e, bitcast<f32>(0x7fc00000u | guard_zero()));
            }
        }
        if (e >= n) {
            store(of_a + e, 0.0);
        }
    }
}
