// Sets the entries of a gradient whose parameters are constant to zero.
@compute @workgroup_size(64)
fn fixed_mask(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let position = (workgroup.x + workgroup.y * workgroups.x) * 64u + lane;
    if position < dispatch.count && fixed[position] != 0u {
        result[position] = 0.0;
        #if PAIRS
        result[position + dispatch.low] = 0.0;
        #endif
    }
}
