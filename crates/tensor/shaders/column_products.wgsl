// Products of each two of as many columns as a tile has, of as many rows at a time. They stand behind the tile, at MATRIX, and rows are PITCH apart.
fn column_products(lane: u32, rows: u32) {
    let own = vec2<u32>(lane / (WIDTH / 2u), lane % (WIDTH / 2u)) * 2u;
    var sums = vec4<f32>();
    for (var row = 0u; row < rows; row += WIDTH) {
        workgroupBarrier();
        for (var e = lane; e < TILE; e += THREADS) {
            work[e] = 0.0;
            if (row + e / WIDTH < rows) {
                work[e] = element(row + e / WIDTH, e % WIDTH);
            }
        }
        workgroupBarrier();
        for (var k = 0u; k < TILE; k += WIDTH) {
            let x = vec2<f32>(work[k + own.x], work[k + own.x + 1u]);
            let y = vec2<f32>(work[k + own.y], work[k + own.y + 1u]);
            sums += vec4<f32>(x.x * y, x.y * y);
        }
    }
    let at = MATRIX + own.x * PITCH + own.y;
    work[at] = sums.x;
    work[at + 1u] = sums.y;
    work[at + PITCH] = sums.z;
    work[at + PITCH + 1u] = sums.w;
    workgroupBarrier();
}
