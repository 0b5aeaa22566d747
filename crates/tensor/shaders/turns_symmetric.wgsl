// What the columns of a pair of blocks have in common in a symmetric A, of elements below 2.

// Of the columns behind those of A, which stay there.
const LEAST = -1e30;

fn is_small(beside: f32, first: f32, second: f32) -> bool {
    return !(abs(beside) > 4e-9);
}

fn gather(lane: u32, first: u32, rows: u32, n: u32, blocks: vec2<u32>) {
    for (var e = lane; e < TILE; e += THREADS) {
        let at = vec2<u32>(min(e / WIDTH, e % WIDTH), max(e / WIDTH, e % WIDTH));
        work[MATRIX + e / WIDTH * PITCH + e % WIDTH] = held(first + column_of(at.x, blocks) * n + column_of(at.y, blocks));
    }
    workgroupBarrier();
}
