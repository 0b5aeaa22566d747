// Products of the columns of a pair of blocks, of some rows at a time.

// What a sum of so many products rounds.
var<private> rounding: f32;

// Orthogonal up to rounding, or no longer than the rounding of columns of length 1.
fn is_small(beside: f32, first: f32, second: f32) -> bool {
    let lengths = sqrt(max(first, 0.0)) * sqrt(max(second, 0.0));
    return !(abs(beside) > max(rounding * lengths, 1e-16));
}

fn gather(lane: u32, first: u32, height: u32, n: u32, blocks: vec2<u32>) {
    let rows = height - n;
    rounding = 6e-8 * sqrt(f32(rows));
    let own = vec2<u32>(lane / BLOCK, lane % BLOCK) * 2u;
    var sums = vec4<f32>();
    for (var row = 0u; row < rows; row += WIDTH) {
        workgroupBarrier();
        for (var e = lane; e < TILE; e += THREADS) {
            let place = row + e / WIDTH;
            work[e] = 0.0;
            if (place < rows) {
                work[e] = held(first + place * n + column_of(e % WIDTH, blocks));
            }
        }
        workgroupBarrier();
        for (var k = 0u; k < TILE; k += WIDTH) {
            let x = vec2<f32>(work[k + own.x], work[k + own.x + 1u]);
            let y = vec2<f32>(work[k + own.y], work[k + own.y + 1u]);
            sums += vec4<f32>(x.x * y, x.y * y);
        }
    }
    let at = TILE + own.x * WIDTH + own.y;
    work[at] = sums.x;
    work[at + 1u] = sums.y;
    work[at + WIDTH] = sums.z;
    work[at + WIDTH + 1u] = sums.w;
    workgroupBarrier();
}
