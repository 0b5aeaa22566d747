#import nonfinite
#import newton/state
#import newton/solve_block
#import newton/restrict_block
// Ends an iteration of conjugate gradients: moves step and residual along the direction, and preconditions the residual. A direction without positive curvature
// ends them before.
@compute @workgroup_size(THREADS)
fn update(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if !goes_on(lane) {
        return;
    }
    let damped = sum_of(DAMPED, dispatch.parts, lane);
    let curvature = damped + sum_of(CURVATURES, dispatch.products, lane);
    let energy = state[ENERGY];
    let is_positive = is_finite(curvature) && curvature > 0.0;
    let alpha = select(0.0, energy / curvature, is_positive);
    var next = 0.0;
    for (var block = blocks[workgroup.x] + lane; block < blocks[workgroup.x + 1u] && is_positive; block += THREADS) {
        let first = first_of(block);
        let dim = dim_of(block);
        for (var i = first; i < first + dim; i++) {
            vectors[place_of(STEP, i)] += alpha * vectors[place_of(DIRECTION, i)];
            vectors[place_of(RESIDUAL, i)] -= alpha * vectors[place_of(PRODUCT, i)];
        }
        next += solve_block(first, dim);
        restrict_block(RESIDUAL, first, dim);
    }
    write_restricted(0u, workgroup.x, lane);
    let total = sum_over_workgroup(lane, next);
    if lane == 0u && is_positive {
        sums[ENERGIES + workgroup.x] = total;
    }
    if lane == 0u && workgroup.x == 0u {
        if is_positive {
            state[ENERGY_BEFORE] = energy;
            state[ITERATIONS] += 1.0;
        } else {
            // Workgroups that start later may see it: what they leave out is read behind the gate alone.
            state[GATE] = 0.0;
            state[STATUS] = select(INDEFINITE, NOT_FINITE, !is_finite(curvature));
        }
    }
}
