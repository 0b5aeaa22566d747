// Sets the entries of a gradient whose parameters are constant to zero.
struct Hold {
    count: u32, // numbers
}

@group(0) @binding(0) var<storage, read> held: array<u32>; // 1 where a parameter is constant
@group(0) @binding(1) var<storage, read_write> result: array<f32>;
@group(0) @binding(2) var<uniform> dispatch: Hold;

@compute @workgroup_size(64)
fn hold(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let position = (workgroup.x + workgroup.y * workgroups.x) * 64u + lane;
    if position < dispatch.count && held[position] != 0u {
        result[position] = 0.0;
    }
}
