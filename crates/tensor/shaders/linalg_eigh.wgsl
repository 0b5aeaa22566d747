#import guard_zero
// Eigenvectors and eigenvalues by Jacobi's rotations of pairs, all pairs of a round at once (Golub and Van Loan: "Matrix Computations", 4th edition, 8.5).
// The vectors stand above the matrix.

var<workgroup> cosines: array<f32, PAIRS>;
var<workgroup> sines: array<f32, PAIRS>;
fn factor(t: u32, n: u32, columns: u32) {
    let of_a = n * n;
    let players = n + n % 2u;
    let tables = players / 2u;
    let first_pair = (own_lane / TEAM) * (PAIRS / TEAMS);
    let size = largest_size(t, of_a, of_a);
    let is_whole = size < 0x7f800000u;
    for (var e = t; e < of_a; e += TEAM) {
        store(e, select(0.0, 1.0, e % (n + 1u) == 0u));
    }
    // What is nothing beside the rounding of the largest element.
    let least = bitcast<f32>(size) * 4e-9;
    for (var sweep = 0u; sweep < MOST_SWEEPS; sweep++) {
        begin_sweep(t);
        for (var round = 0u; round + 1u < players; round++) {
            meet();
            for (var table = t; table < tables; table += TEAM) {
                let pair = pair_of(table, round, players);
                var c = 1.0;
                var s = 0.0;
                if (pair.y < n && is_whole) {
                    let beside = load(of_a + pair.x * n + pair.y);
                    if (abs(beside) > least) {
                        let half = 0.5 * (load(of_a + pair.y * n + pair.y) - load(of_a + pair.x * n + pair.x)) / beside;
                        // Beyond 1e18 its square is too large, and the root is the number.
                        let most = abs(half);
                        let root = select(sqrt(half * half + 1.0), most, most > 1e18);
                        let tangent = select(1.0, -1.0, half < 0.0) / (most + root);
                        c = 1.0 / sqrt(tangent * tangent + 1.0);
                        s = tangent * c;
                        turn();
                    }
                }
                cosines[first_pair + table] = c;
                sines[first_pair + table] = s;
            }
            meet();
            for (var row = t / SIDE; row < tables; row += SIDE) {
                let rows = pair_of(row, round, players);
                let c = cosines[first_pair + row];
                let s = sines[first_pair + row];
                let has_second = rows.y < n;
                for (var column = t % SIDE; column < tables; column += SIDE) {
                    let cs = pair_of(column, round, players);
                    let d = cosines[first_pair + column];
                    let r = sines[first_pair + column];
                    if (s == 0.0 && r == 0.0) {
                        continue;
                    }
                    let at = vec4<u32>(rows.x * n + cs.x, rows.x * n + cs.y, rows.y * n + cs.x, rows.y * n + cs.y) + of_a;
                    let is_wide = cs.y < n;
                    var x = vec4<f32>(load(at.x), 0.0, 0.0, 0.0);
                    if (is_wide) {
                        x.y = load(at.y);
                    }
                    if (has_second) {
                        x.z = load(at.z);
                        if (is_wide) {
                            x.w = load(at.w);
                        }
                    }
                    let upper = c * x.xy - s * x.zw;
                    let lower = s * x.xy + c * x.zw;
                    var y = vec4<f32>(d * upper.x - r * upper.y, r * upper.x + d * upper.y, d * lower.x - r * lower.y, r * lower.x + d * lower.y);
                    if (row == column) {
                        y.y = 0.0;
                        y.z = 0.0;
                    }
                    store(at.x, y.x);
                    if (is_wide) {
                        store(at.y, y.y);
                    }
                    if (has_second) {
                        store(at.z, y.z);
                        if (is_wide) {
                            store(at.w, y.w);
                        }
                    }
                }
                for (var i = t % SIDE; i < n; i += SIDE) {
                    if (s != 0.0) {
                        let p = load(i * n + rows.x);
                        let q = load(i * n + rows.y);
                        store(i * n + rows.x, c * p - s * q);
                        store(i * n + rows.y, s * p + c * q);
                    }
                }
            }
        }
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
