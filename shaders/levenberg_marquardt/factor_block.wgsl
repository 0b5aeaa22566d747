// A = C + λD of a block as LDLᵀ, in pairs of a number and its error; pivots on the diagonal. The many residuals of a curve's few
// coefficients, or of a camera, make blocks whose conditioning is that of the problem, and f32 does not suffice for them.
fn factor_block(place: u32, coordinate: u32, factors: u32, damping: f32) {
    for (var i = 0u; i < TANGENT; i++) {
        for (var j = 0u; j <= i; j++) {
            let at = i * (i + 1u) / 2u + j;
            var entry = vec2<f32>(block_diagonal[place + at], low[place + at]);
            let first = block_diagonal[place + diagonal(i)];
            let second = block_diagonal[place + diagonal(j)];
            if first < 0.0 || second < 0.0 {
                entry = vec2<f32>(select(0.0, 1.0, i == j), 0.0);
            } else if i == j {
                let scale = max(first, vectors[SCALE * dispatch.stride + coordinate + i]);
                entry = sum_of_pairs(entry, exact_product(damping, select(1.0, scale, scale > 0.0)));
            }
            let whole = entry.x;
            for (var k = 0u; k < j; k++) {
                let scaled = product_of_pairs(sums[factors + i * (i + 1u) / 2u + k], sums[factors + diagonal(k)]);
                entry = sum_of_pairs(entry, -product_of_pairs(scaled, sums[factors + j * (j + 1u) / 2u + k]));
            }
            if i != j {
                entry = quotient_of_pairs(entry, sums[factors + diagonal(j)]);
            } else if !(entry.x > 1e-12 * whole) {
                // A pivot that is nothing but rounding.
                entry = vec2<f32>(1e-12 * whole, 0.0);
            }
            sums[factors + at] = entry;
        }
    }
}
