struct Dispatch {
    groups: u32, // workgroups of all parts
    nan: u32,    // bits of a NaN
    zero: u32,   // 0, which the compiler does not know
    padding: u32,
    parts: array<Part, #parts>,
}

@compute @workgroup_size(64)
fn #name(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = workgroup.x + workgroup.y * workgroups.x;
    if gate[0] == 0u {
        return;
    }
    // A part without workgroups begins where the next one does.
    var number = 0u;
    for (var k = 1u; k < #partsu; k++) {
        number = select(number, k, group >= dispatch.parts[k].group);
    }
    let part = dispatch.parts[number];
    let start = (group - part.group) * 64u + lane;
    var total = 0.0;
    switch part.kernel {
        #cases
    }
