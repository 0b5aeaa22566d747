// Copies numbers that the application wrote, in its own order, into columns of a data table.
@compute @workgroup_size(64)
fn spread_data(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let position = (workgroup.x + workgroup.y * workgroups.x) * 64u + lane;
    if position < dispatch.count {
        data[dispatch.first + position] = numbers[sources[position]];
        #if PAIRS
        // The application's numbers have no low parts.
        data[dispatch.first + dispatch.low + position] = 0.0;
        #endif
    }
}
