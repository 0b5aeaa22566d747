// The solution of LLᵀ z = r for the factor of a block, written to the preconditioned residual; gives rᵀz. The diagonal of the factor has reciprocals, and 0 for
// coordinates that do not move.
fn solve_block(first: u32, dim: u32) -> f32 {
    var z: array<f32, MOST_NUMBERS>;
    for (var i = 0u; i < dim; i++) {
        var y = vectors[place_of(RESIDUAL, first + i)];
        for (var k = 0u; k < i; k++) {
            y -= vectors[place_of(FACTORS + k, first + i)] * z[k];
        }
        z[i] = y * vectors[place_of(FACTORS + i, first + i)];
    }
    var energy = 0.0;
    for (var down = 0u; down < dim; down++) {
        let i = dim - 1u - down;
        var y = z[i];
        for (var k = i + 1u; k < dim; k++) {
            y -= vectors[place_of(FACTORS + i, first + k)] * z[k];
        }
        z[i] = y * vectors[place_of(FACTORS + i, first + i)];
        vectors[place_of(PRECONDITIONED, first + i)] = z[i];
        energy += vectors[place_of(RESIDUAL, first + i)] * z[i];
    }
    return energy;
}
