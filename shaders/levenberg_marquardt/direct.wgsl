#import workgroup_sums
#import nonfinite
// The next direction of conjugate gradients, unless the iterations end here. Where those who read it form it themselves, there are no `blocks`, and one
// workgroup, which runs after the last of several iterations.
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@group(0) @binding(1) var<storage, read> sums: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> vectors: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> dispatch: Figures;

@compute @workgroup_size(256)
fn direct(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let next = next_direction(lane, workgroup.x == 0u);
    if dispatch.blocks == 0u {
        // What follows shall not take this update for another.
        if lane == 0u {
            state[ITERATE_NOW] = 0u;
        }
        return;
    }
    // Without an update there is nothing new, and the direction stands.
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
