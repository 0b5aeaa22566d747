// Rotations of pairs of blocks, applied to some rows of the columns of a pair: of a symmetric A the rows of another pair, which is turned as well.

var<workgroup> tile: array<f32, TILE>;
var<workgroup> turned: array<f32, TILE>;

fn take(lane: u32, matrix: u32, pairs: u32, pair: u32) {
    for (var e = lane; e < TILE; e += THREADS) {
        turned[e] = rotation((matrix * pairs + pair) * TILE + e);
    }
    workgroupBarrier();
}

fn apply(lane: u32, matrix: u32, part: u32, pair: u32, rows: u32, n: u32) {
    let pairs = n / WIDTH;
    let players = 2u * pairs;
    let first = matrix * rows * n;
    let state = first + (rows - 1u) * n;
    let is_square = IS_SYMMETRIC && part < pairs;
    if (lane == 0u) {
        let round = held(state + 1u);
        let own = held(state + turned_in_round(pair, pairs)) > 0.0;
        let of_rows = held(state + turned_in_round(part % pairs, pairs)) > 0.0;
        let all = u32(max(round, 0.0)) * 4u + u32(own) + 2u * u32(is_square && of_rows);
        under_way = select(ENDED, all, round >= 0.0);
        if (part == 0u && pair == 0u && round >= 0.0) {
            hold(state, round + 1.0);
        }
    }
    let all = workgroupUniformLoad(&under_way);
    // What two blocks have in common is written with their rotations.
    if (all == ENDED || (all & 3u) == 0u || (is_square && part == pair)) {
        return;
    }
    let round = (all >> 2u) % (players - 1u);
    let blocks = pair_of(pair, round, players);
    let of_rows = pair_of(part % pairs, round, players);
    let own = vec2<u32>(lane / BLOCK, lane % BLOCK) * 2u;
    for (var e = lane; e < TILE; e += THREADS) {
        let row = select(part * WIDTH + e / WIDTH, column_of(e / WIDTH, of_rows), is_square);
        tile[e] = 0.0;
        if (row + 1u < rows) {
            tile[e] = held(first + row * n + column_of(e % WIDTH, blocks));
        }
    }
    if ((all & 1u) != 0u) {
        take(lane, matrix, pairs, pair);
        var sums = vec4<f32>();
        for (var k = 0u; k < WIDTH; k++) {
            let y = vec2<f32>(turned[k * WIDTH + own.y], turned[k * WIDTH + own.y + 1u]);
            sums += vec4<f32>(tile[own.x * WIDTH + k] * y, tile[(own.x + 1u) * WIDTH + k] * y);
        }
        workgroupBarrier();
        tile[own.x * WIDTH + own.y] = sums.x;
        tile[own.x * WIDTH + own.y + 1u] = sums.y;
        tile[(own.x + 1u) * WIDTH + own.y] = sums.z;
        tile[(own.x + 1u) * WIDTH + own.y + 1u] = sums.w;
    }
    if ((all & 2u) != 0u) {
        take(lane, matrix, pairs, part);
        var sums = vec4<f32>();
        for (var k = 0u; k < WIDTH; k++) {
            let y = vec2<f32>(tile[k * WIDTH + own.y], tile[k * WIDTH + own.y + 1u]);
            sums += vec4<f32>(turned[k * WIDTH + own.x] * y, turned[k * WIDTH + own.x + 1u] * y);
        }
        workgroupBarrier();
        tile[own.x * WIDTH + own.y] = sums.x;
        tile[own.x * WIDTH + own.y + 1u] = sums.y;
        tile[(own.x + 1u) * WIDTH + own.y] = sums.z;
        tile[(own.x + 1u) * WIDTH + own.y + 1u] = sums.w;
    }
    workgroupBarrier();
    for (var e = lane; e < TILE; e += THREADS) {
        let row = select(part * WIDTH + e / WIDTH, column_of(e / WIDTH, of_rows), is_square);
        if (row + 1u < rows) {
            hold(first + row * n + column_of(e % WIDTH, blocks), tile[e]);
        }
    }
}
