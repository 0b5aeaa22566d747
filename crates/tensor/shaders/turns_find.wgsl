// The rotations of a pair of blocks: Jacobi's sweeps over the symmetric matrix of its columns, in workgroup memory behind the rotations (Golub and Van Loan:
// "Matrix Computations", 4th edition, 8.5). Rows are PITCH apart, so that those beside one another have other banks.

// The place of each column in descending order of the diagonal.
var<workgroup> ranks: array<u32, WIDTH>;

// Where the matrix stands: of two places one is written while the other is read.
var<private> matrix_at: u32;

// The pair at a table in a round: of all columns, or of one of each block.
fn columns_of(table: u32, round: u32, across: bool) -> vec2<u32> {
    if (across) {
        return vec2<u32>(table, BLOCK + (table + round) % BLOCK);
    }
    return pair_of(table, round, WIDTH);
}

// Whether a pair of columns is to be turned.
fn has_more(lane: u32, across: bool) -> bool {
    begin_sweep(lane);
    meet();
    for (var e = lane; e < TILE; e += THREADS) {
        let at = vec2<u32>(e / WIDTH, e % WIDTH);
        let is_pair = select(at.x < at.y, at.x < BLOCK && at.y >= BLOCK, across);
        if (is_pair && !is_small(work[matrix_at + at.x * PITCH + at.y], work[matrix_at + at.x * (PITCH + 1u)], work[matrix_at + at.y * (PITCH + 1u)])) {
            turn();
        }
    }
    return is_turning(lane);
}

fn angle_at(pair: vec2<u32>) -> vec2<f32> {
    let beside = work[matrix_at + pair.x * PITCH + pair.y];
    let first = work[matrix_at + pair.x * (PITCH + 1u)];
    let second = work[matrix_at + pair.y * (PITCH + 1u)];
    if (is_small(beside, first, second)) {
        return vec2<f32>();
    }
    return angle_of(beside, first, second);
}

// A sweep. A thread has two rows of two columns, and finds the angles of both by itself.
fn turn_all(lane: u32, across: bool) {
    let own = vec2<u32>(lane / BLOCK, lane % BLOCK);
    let rounds = select(WIDTH - 1u, BLOCK, across);
    for (var round = 0u; round < rounds; round++) {
        workgroupBarrier();
        let rows = columns_of(own.x, round, across);
        let columns = columns_of(own.y, round, across);
        let left = angle_at(rows);
        let right = angle_at(columns);
        let at = vec4<u32>(rows.x * PITCH + columns.x, rows.x * PITCH + columns.y, rows.y * PITCH + columns.x, rows.y * PITCH + columns.y);
        let first = rotated(work[matrix_at + at.x], work[matrix_at + at.z], left);
        let second = rotated(work[matrix_at + at.y], work[matrix_at + at.w], left);
        var turned = vec4<f32>(rotated(first.x, second.x, right), rotated(first.y, second.y, right));
        if (own.x == own.y && left.x != 0.0) {
            turned.y = 0.0;
            turned.z = 0.0;
        }
        matrix_at = 3u * MATRIX - matrix_at;
        work[matrix_at + at.x] = turned.x;
        work[matrix_at + at.y] = turned.y;
        work[matrix_at + at.z] = turned.z;
        work[matrix_at + at.w] = turned.w;
        if (left.x != 0.0) {
            for (var i = own.y * PITCH; i < MATRIX; i += BLOCK * PITCH) {
                let vectors = rotated(work[i + rows.x], work[i + rows.y], left);
                work[i + rows.x] = vectors.x;
                work[i + rows.y] = vectors.y;
            }
        }
    }
    workgroupBarrier();
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
    for (var e = lane; e < MATRIX; e += THREADS) {
        work[e] = select(0.0, 1.0, e % (PITCH + 1u) == 0u);
    }
    matrix_at = MATRIX;
    // Columns of one block meet in the first sweep and in the first round of others: there is little left between them.
    let across = sweep > 0u && round % (players - 1u) != 0u;
    let turns_any = has_more(lane, across);
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
    turn_all(lane, across);
    if (has_more(lane, across)) {
        turn_all(lane, across);
    }
    if (lane < WIDTH) {
        let value = max(work[matrix_at + lane * (PITCH + 1u)], LEAST);
        var rank = 0u;
        for (var k = 0u; k < WIDTH; k++) {
            let other = max(work[matrix_at + k * (PITCH + 1u)], LEAST);
            rank += u32(other > value || (other == value && k < lane));
        }
        ranks[lane] = rank;
    }
    meet();
    for (var e = lane; e < TILE; e += THREADS) {
        let at = vec2<u32>(e / WIDTH, e % WIDTH);
        let column = ranks[at.y];
        put_rotation((matrix * pairs + pair) * TILE + at.x * WIDTH + column, work[at.x * PITCH + at.y]);
        if (IS_SYMMETRIC) {
            hold(first + column_of(ranks[at.x], blocks) * n + column_of(column, blocks), work[matrix_at + at.x * PITCH + at.y]);
        }
    }
}
