// The rotations of a pair of blocks: a sweep over the symmetric matrix of its columns, in workgroup memory behind the rotations.

fn find(lane: u32, matrix: u32, pair: u32, rows: u32, n: u32) {
    own_lane = lane;
    let pairs = n / WIDTH;
    let players = 2u * pairs;
    let first = matrix * rows * n;
    let state = first + (rows - 1u) * n;
    if (lane == 0u) {
        let over = u32(held(state));
        let sweep = over / (players - 1u);
        var is_turning = sweep == 0u;
        for (var k = 0u; k < pairs; k++) {
            is_turning = is_turning || held(state + turned_in_sweep(k, pairs, sweep + 1u)) > 0.0;
        }
        under_way = select(ENDED, over, is_turning);
    }
    let round = workgroupUniformLoad(&under_way);
    if (lane == 0u && pair == 0u) {
        hold(state + 1u, select(f32(round), -1.0, round == ENDED));
    }
    if (round == ENDED) {
        return;
    }
    let sweep = round / (players - 1u);
    let blocks = pair_of(pair, round % (players - 1u), players);
    gather(lane, first, rows - 1u, n, blocks);
    begin_sweep(lane);
    meet();
    for (var e = lane; e < TILE; e += THREADS) {
        let at = vec2<u32>(e / WIDTH, e % WIDTH);
        work[e] = select(0.0, 1.0, at.x == at.y);
        if (at.x < at.y && !is_small(work[TILE + e], work[TILE + at.x * (WIDTH + 1u)], work[TILE + at.y * (WIDTH + 1u)])) {
            turn();
        }
    }
    let turns_any = is_turning(lane);
    if (lane == 0u) {
        let at = state + turned_in_sweep(pair, pairs, sweep);
        let is_first = round % (players - 1u) == 0u;
        hold(at, select(max(held(at), f32(turns_any)), f32(turns_any), is_first));
        hold(state + turned_in_round(pair, pairs), f32(turns_any));
    }
    if (!turns_any) {
        return;
    }
    sweep_all(lane, WIDTH);
    meet();
    for (var e = lane; e < TILE; e += THREADS) {
        put_rotation((matrix * pairs + pair) * TILE + e, work[e]);
        if (IS_SYMMETRIC) {
            hold(first + column_of(e / WIDTH, blocks) * n + column_of(e % WIDTH, blocks), work[TILE + e]);
        }
    }
}
