#import nonfinite
#import newton/state
#import newton/solve_block
#import newton/restrict_block
// Begins conjugate gradients at 0: factorises the diagonal blocks with their damping, without rows and columns that are held, and solves them for the gradient.
// Pivots that are nothing but rounding count as a small share of the diagonal, along which a slope makes a long step.
@compute @workgroup_size(THREADS)
fn begin(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    var energy = 0.0;
    for (var block = blocks[workgroup.x] + lane; block < blocks[workgroup.x + 1u]; block += THREADS) {
        let first = first_of(block);
        let dim = dim_of(block);
        for (var i = 0u; i < dim; i++) {
            vectors[place_of(RESIDUAL, first + i)] = -vectors[place_of(GRADIENT, first + i)];
            vectors[place_of(STEP, first + i)] = 0.0;
            vectors[place_of(DIRECTION, first + i)] = 0.0;
        }
        factorise(first, dim);
        energy += solve_block(first, dim);
        restrict_block(RESIDUAL, first, dim);
    }
    write_restricted(0u, workgroup.x, lane);
    let total = sum_over_workgroup(lane, energy);
    if lane == 0u {
        sums[ENERGIES + workgroup.x] = total;
    }
    if lane == 0u && workgroup.x == 0u {
        state[GATE] = 1.0;
        state[ITERATIONS] = 0.0;
        state[STATUS] = RUNNING;
    }
}

fn factorise(first: u32, dim: u32) {
    for (var j = 0u; j < dim; j++) {
        for (var i = j; i < dim; i++) {
            var entry = vectors[place_of(COLUMNS + j, first + i)];
            var whole = vectors[place_of(DIAGONAL, first + i)];
            if i == j {
                entry += state[DAMPING] * whole;
            }
            if held[first + i] != 0u || held[first + j] != 0u {
                entry = 0.0;
                whole = 0.0;
            }
            for (var k = 0u; k < j; k++) {
                entry -= vectors[place_of(FACTORS + k, first + i)] * vectors[place_of(FACTORS + k, first + j)];
            }
            if i == j {
                let pivot = max(entry, LEAST_PIVOT * whole);
                entry = select(0.0, inverseSqrt(pivot), is_finite(pivot) && pivot > 0.0);
            } else {
                entry *= vectors[place_of(FACTORS + j, first + j)];
            }
            vectors[place_of(FACTORS + j, first + i)] = entry;
        }
    }
}
