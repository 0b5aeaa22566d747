// A sweep of Jacobi's rotations of a symmetric matrix, all pairs of a round at once (Golub and Van Loan: "Matrix Computations", 4th edition, 8.5). The
// vectors stand before the matrix. `is_small` says what is nothing.

// s and τ of each pair.
var<workgroup> angles: array<vec2<f32>, PAIRS>;

fn sweep_all(t: u32, n: u32) {
    let of_a = n * n;
    let players = n + n % 2u;
    let tables = players / 2u;
    let first_pair = (own_lane / TEAM) * (PAIRS / TEAMS);
    for (var round = 0u; round + 1u < players; round++) {
        meet();
        for (var table = t; table < tables; table += TEAM) {
            let pair = pair_of(table, round, players);
            var angle = vec2<f32>();
            if (pair.y < n) {
                let beside = load(of_a + pair.x * n + pair.y);
                let first = load(of_a + pair.x * (n + 1u));
                let second = load(of_a + pair.y * (n + 1u));
                if (!is_small(beside, first, second)) {
                    angle = angle_of(beside, first, second);
                    turn();
                }
            }
            angles[first_pair + table] = angle;
        }
        meet();
        for (var row = t / SIDE; row < tables; row += SIDE) {
            let rows = pair_of(row, round, players);
            let own = angles[first_pair + row];
            let has_second = rows.y < n;
            for (var column = t % SIDE; column < tables; column += SIDE) {
                let cs = pair_of(column, round, players);
                let across = angles[first_pair + column];
                if (own.x == 0.0 && across.x == 0.0) {
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
                let first = rotated(x.x, x.z, own);
                let second = rotated(x.y, x.w, own);
                var y = vec4<f32>(rotated(first.x, second.x, across), rotated(first.y, second.y, across));
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
                if (own.x != 0.0) {
                    let turned = rotated(load(i * n + rows.x), load(i * n + rows.y), own);
                    store(i * n + rows.x, turned.x);
                    store(i * n + rows.y, turned.y);
                }
            }
        }
    }
}
