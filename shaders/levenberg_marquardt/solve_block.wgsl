// The solution of LDLᵀ z = r for a block's factors, and after it rᵀz.
fn solve_block(factors: u32, r: array<f32, TANGENT>) -> array<vec2<f32>, TANGENT + 1u> {
    var right = r;
    var z: array<vec2<f32>, TANGENT + 1u>;
    var energy = vec2<f32>();
    for (var i = 0u; i < TANGENT; i++) {
        var y = vec2<f32>(right[i], 0.0);
        for (var k = 0u; k < i; k++) {
            y = sum_of_pairs(y, -product_of_pairs(sums[factors + i * (i + 1u) / 2u + k], z[k]));
        }
        z[i] = y;
    }
    for (var i = 0u; i < TANGENT; i++) {
        let scaled = quotient_of_pairs(z[i], sums[factors + diagonal(i)]);
        energy = sum_of_pairs(energy, product_of_pairs(scaled, z[i]));
        z[i] = scaled;
    }
    for (var down = 0u; down < TANGENT; down++) {
        let i = TANGENT - 1u - down;
        for (var k = i + 1u; k < TANGENT; k++) {
            z[i] = sum_of_pairs(z[i], -product_of_pairs(sums[factors + k * (k + 1u) / 2u + i], z[k]));
        }
    }
    z[TANGENT] = energy;
    return z;
}
