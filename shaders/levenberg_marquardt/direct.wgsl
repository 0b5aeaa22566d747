#import workgroup_sums
#import nonfinite
// The next direction of conjugate gradients, p = z + βp with β = rᵀz / (rᵀz before), unless the iterations end here. Where those who read it
// form it themselves, there are no `blocks`, and one workgroup.
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@group(0) @binding(1) var<storage, read> sums: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> vectors: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> dispatch: Figures;

var<workgroup> running: u32;

@compute @workgroup_size(256)
fn direct(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if lane == 0u {
        running = state[ITERATE_NOW];
    }
    // Loads are under way together, and before it is known whether they are wanted: a workgroup does nothing here but wait for them.
    var parts = array<vec2<f32>, 3>();
    for (var k = lane; k < dispatch.groups; k += THREADS) {
        let first = sums[RZ_SUMS * dispatch.groups + k];
        let second = sums[ZDZ_SUMS * dispatch.groups + k];
        let third = sums[ZDP_SUMS * dispatch.groups + k];
        parts[0] = sum_of_pairs(parts[0], first);
        parts[1] = sum_of_pairs(parts[1], second);
        parts[2] = sum_of_pairs(parts[2], third);
    }
    put_addend(0u, lane, parts[0]);
    put_addend(1u, lane, parts[1]);
    put_addend(2u, lane, parts[2]);
    if workgroupUniformLoad(&running) == 0u {
        return;
    }
    add_over_workgroup(lane, 3u);
    let rz = total_of(0u).x;
    let rz_before = number(RZ_BEFORE);
    let beta = rz / rz_before;
    // pᵀDp of the new p, from sums that the update has made: p itself need not be read for it.
    let pdp = total_of(1u).x + beta * (2.0 * total_of(2u).x + beta * number(PDP_BEFORE));
    let linear = state[LINEAR_BEFORE] + 1u;
    let goes_on = state[USABLE] != 0u && is_finite(rz) && rz > number(RZ_TARGET) && linear < state[MOST_LINEAR];
    if lane == 0u && workgroup.x == 0u {
        set_number(RZ, rz);
        set_number(BETA, beta);
        set_number(PDP, max(pdp, 0.0));
        state[LINEAR] = linear;
        state[ITERATE] = select(0u, 1u, goes_on);
        state[TRIAL] = select(1u, 0u, goes_on);
    }
    if !goes_on {
        return;
    }
    // Four numbers at a time: the vectors lie at multiples of 64 numbers.
    let direction = DIRECTION * dispatch.stride / 4u;
    let preconditioned = PRECONDITIONED * dispatch.stride / 4u;
    for (var k = workgroup.x * THREADS + lane; k < dispatch.blocks; k += dispatch.threads) {
        vectors[direction + k] = vectors[preconditioned + k] + beta * vectors[direction + k];
    }
}
