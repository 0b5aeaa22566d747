// The rotations of a pair of blocks: a sweep over the symmetric matrix of its columns, in workgroup memory behind the rotations.

// The place of each column in descending order of the diagonal.
var<workgroup> ranks: array<u32, WIDTH>;

// Whether a pair of columns is to be turned.
fn has_more(lane: u32) -> bool {
    begin_sweep(lane);
    meet();
    for (var e = lane; e < TILE; e += THREADS) {
        let at = vec2<u32>(e / WIDTH, e % WIDTH);
        if (at.x < at.y && !is_small(work[TILE + e], work[TILE + at.x * (WIDTH + 1u)], work[TILE + at.y * (WIDTH + 1u)])) {
            turn();
        }
    }
    return is_turning(lane);
}

fn find(lane: u32, matrix: u32, pair: u32, rows: u32, n: u32) {
    own_lane = lane;
    let pairs = n / WIDTH;
    let players = 2u * pairs;
    let first = matrix * rows * n;
    let state = first + (rows - 1u) * n;
    if (lane == 0u) {
        under_way = u32(held(state));
    }
    let over = workgroupUniformLoad(&under_way);
    let sweep = over / (players - 1u);
    begin_sweep(lane);
    meet();
    for (var k = lane; k < pairs; k += THREADS) {
        if (sweep == 0u || held(state + turned_in_sweep(k, pairs, sweep + 1u)) > 0.0) {
            turn();
        }
    }
    let round = select(ENDED, over, is_turning(lane));
    if (lane == 0u && pair == 0u) {
        hold(state + 1u, select(f32(round), -1.0, round == ENDED));
    }
    if (round == ENDED) {
        return;
    }
    let blocks = pair_of(pair, round % (players - 1u), players);
    gather(lane, first, rows - 1u, n, blocks);
    for (var e = lane; e < TILE; e += THREADS) {
        work[e] = select(0.0, 1.0, e % (WIDTH + 1u) == 0u);
    }
    let turns_any = has_more(lane);
    if (lane == 0u) {
        let at = state + turned_in_sweep(pair, pairs, sweep);
        let is_first = round % (players - 1u) == 0u;
        hold(at, select(max(held(at), f32(turns_any)), f32(turns_any), is_first));
        hold(state + turned_in_round(pair, pairs), f32(turns_any));
    }
    if (!turns_any) {
        return;
    }
    // A second sweep and descending order save whole rounds.
    sweep_all(lane, WIDTH);
    if (has_more(lane)) {
        sweep_all(lane, WIDTH);
    }
    meet();
    if (lane < WIDTH) {
        let value = max(work[TILE + lane * (WIDTH + 1u)], LEAST);
        var rank = 0u;
        for (var k = 0u; k < WIDTH; k++) {
            let other = max(work[TILE + k * (WIDTH + 1u)], LEAST);
            rank += u32(other > value || (other == value && k < lane));
        }
        ranks[lane] = rank;
    }
    meet();
    for (var e = lane; e < TILE; e += THREADS) {
        let at = vec2<u32>(e / WIDTH, e % WIDTH);
        let column = ranks[at.y];
        put_rotation((matrix * pairs + pair) * TILE + at.x * WIDTH + column, work[e]);
        if (IS_SYMMETRIC) {
            hold(first + column_of(ranks[at.x], blocks) * n + column_of(column, blocks), work[TILE + e]);
        }
    }
}
