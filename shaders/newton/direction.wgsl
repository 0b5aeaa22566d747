#import nonfinite
#import newton/state
// Begins an iteration of conjugate gradients: looks whether it is the last, forms the direction p = z + βp, and begins the product with the damping's share.
@compute @workgroup_size(THREADS)
fn direction(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if !goes_on(lane) {
        return;
    }
    let energy = sum_of(ENERGIES, dispatch.parts, lane) + sum_of(COARSE_ENERGIES, dispatch.aggregates, lane);
    let iterations = state[ITERATIONS];
    let is_first = iterations == 0.0;
    var first = energy;
    var beta = 0.0;
    if !is_first {
        first = state[FIRST];
        beta = energy / state[ENERGY_BEFORE];
    }
    var status = RUNNING;
    if iterations >= state[MOST_ITERATIONS] {
        status = UNSOLVED;
    }
    if !(energy > state[TOLERANCE] * first) {
        status = SOLVED;
    }
    if !is_finite(energy) {
        status = NOT_FINITE;
    }
    if lane == 0u && workgroup.x == 0u {
        state[ENERGY] = energy;
        state[STATUS] = status;
        if is_first {
            state[FIRST] = energy;
        }
        if status != RUNNING {
            // Workgroups that start later may see it: what they leave out is read behind the gate alone.
            state[GATE] = 0.0;
        }
    }
    var damped = 0.0;
    let corrections = dispatch.corrections + workgroup.x / dispatch.each * MOST_NUMBERS;
    for (var block = blocks[workgroup.x] + lane; block < blocks[workgroup.x + 1u]; block += THREADS) {
        let first = first_of(block);
        let dim = dim_of(block);
        for (var k = 0u; k < dim; k++) {
            let i = first + k;
            let z = vectors[place_of(PRECONDITIONED, i)] + vectors[place_of(BASIS, i)] * coarse[corrections + k];
            let p = z + beta * vectors[place_of(DIRECTION, i)];
            let share = state[DAMPING] * vectors[place_of(DIAGONAL, i)] * p;
            vectors[place_of(DIRECTION, i)] = p;
            vectors[place_of(PRODUCT, i)] = share;
            damped += share * p;
        }
    }
    let total = sum_over_workgroup(lane, damped);
    if lane == 0u {
        sums[DAMPED + workgroup.x] = total;
    }
}
