// Sets numbers to zero, within a list of dispatches whose gate decides whether it runs.
@compute @workgroup_size(64)
fn clear(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if gate[0] == 0u {
        return;
    }
    let position = (workgroup.x + workgroup.y * workgroups.x) * 64u + lane;
    if position < dispatch.count {
        result[position] = 0.0;
    }
}
