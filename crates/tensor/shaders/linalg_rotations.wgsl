#import guard_zero
// Singular vectors and values by rotations that make columns orthogonal, all pairs of a round at once (Hestenes: "Inversion of matrices by
// biorthogonalization", 1958). The columns become multiples of the left vectors; the right vectors stand below them, and then the values.

fn factor(t: u32, rows: u32, n: u32) {
    let below = rows * n;
    let values = below + n * n;
    let players = n + n % 2u;
    // What a sum of so many products rounds.
    let least = 6e-8 * sqrt(f32(rows));
    let largest = largest_size(t, 0u, below);
    let is_whole = largest < 0x7f800000u;
    // A power of 2 is exact, and squares of what is left neither overflow nor vanish.
    let scale = bitcast<f32>(clamp(254u - min(largest >> 23u, 254u), 1u, 253u) << 23u);
    for (var e = t; e < below; e += TEAM) {
        store(e, load(e) * scale);
    }
    for (var e = t; e < n * n; e += TEAM) {
        store(below + e, select(0.0, 1.0, e % (n + 1u) == 0u));
    }
    for (var sweep = 0u; sweep < MOST_SWEEPS; sweep++) {
        begin_sweep(t);
        for (var round = 0u; round + 1u < players; round++) {
            meet();
            for (var table = t; table < players / 2u; table += TEAM) {
                let pair = pair_of(table, round, players);
                if (pair.y >= n || !is_whole) {
                    continue;
                }
                var sums = vec3<f32>();
                for (var i = 0u; i < rows; i++) {
                    let p = load(i * n + pair.x);
                    let q = load(i * n + pair.y);
                    sums += vec3<f32>(p * p, q * q, p * q);
                }
                // Orthogonal up to rounding, or no longer than the rounding of the longest column.
                let length = sqrt(sums.x) * sqrt(sums.y);
                if (abs(sums.z) <= least * length || abs(sums.z) <= 1e-16 * f32(rows)) {
                    continue;
                }
                turn();
                let half = 0.5 * (sums.y - sums.x) / sums.z;
                let size = abs(half);
                let root = select(sqrt(half * half + 1.0), size, size > 1e18);
                let tangent = select(1.0, -1.0, half < 0.0) / (size + root);
                let c = 1.0 / sqrt(tangent * tangent + 1.0);
                let s = tangent * c;
                for (var i = 0u; i < rows + n; i++) {
                    let p = load(i * n + pair.x);
                    let q = load(i * n + pair.y);
                    store(i * n + pair.x, c * p - s * q);
                    store(i * n + pair.y, s * p + c * q);
                }
            }
        }
        if (!is_turning(t)) {
            break;
        }
    }
    for (var j = t; j < n; j += TEAM) {
        var sum = 0.0;
        for (var i = 0u; i < rows; i++) {
            sum += load(i * n + j) * load(i * n + j);
        }
        store(values + j, sqrt(sum));
    }
    // In descending order: the largest that is left takes the next place.
    for (var k = 0u; k < n; k++) {
        meet();
        var place = k;
        var value = load(values + k);
        for (var j = k + 1u; j < n; j++) {
            let other = load(values + j);
            if (other > value) {
                place = j;
                value = other;
            }
        }
        meet();
        if (place != k) {
            for (var i = t; i < rows + n; i += TEAM) {
                let held = load(i * n + k);
                store(i * n + k, load(i * n + place));
                store(i * n + place, held);
            }
            if (t == 0u) {
                store(values + place, load(values + k));
                store(values + k, value);
            }
        }
    }
    meet();
    for (var j = t; j < n; j += TEAM) {
        store(values + j, load(values + j) / scale);
    }
    meet();
    if (!is_whole) {
        for (var e = t; e < values + n; e += TEAM) {
            store(e, bitcast<f32>(0x7fc00000u | guard_zero()));
        }
    }
}
