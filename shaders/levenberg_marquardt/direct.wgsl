#import workgroup_sums
#import nonfinite
#import levenberg_marquardt/state
#import levenberg_marquardt/set_number
#import levenberg_marquardt/next_direction
// The next direction of conjugate gradients, unless the iterations end here. Where the kernels that read the direction form it
// themselves, there are no `blocks`, and one workgroup, which runs after the last of several iterations.
@compute @workgroup_size(256)
fn direct(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let next = next_direction(lane, workgroup.x == 0u);
    if dispatch.blocks == 0u {
        // The update is accounted for.
        if lane == 0u {
            state[ITERATE_NOW] = 0u;
        }
        return;
    }
    // Without an update the direction stands.
    if updated == 0u || next.x == 0.0 {
        return;
    }
    // Four numbers at a time: the vectors lie at multiples of 64 numbers.
    let direction = DIRECTION * dispatch.stride / 4u;
    let preconditioned = PRECONDITIONED * dispatch.stride / 4u;
    for (var k = workgroup.x * THREADS + lane; k < dispatch.blocks; k += dispatch.threads) {
        vectors[direction + k] = vectors[preconditioned + k] + next.y * vectors[direction + k];
    }
}
