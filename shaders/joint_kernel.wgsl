#import workgroup_sums
struct Dispatch {
    groups: u32, // workgroups of all parts
    nan: u32,    // bits of a NaN
    zero: u32,   // 0, which the compiler does not know
    padding: u32,
    parts: array<Part, #parts>,
}

const MOST_SUMS = 1u;

@compute @workgroup_size(256)
fn #name(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if gate[0] == 0u {
        return;
    }
    // A part without workgroups begins where the next one does.
    var number = 0u;
    for (var k = 1u; k < #partsu; k++) {
        number = select(number, k, workgroup.x >= dispatch.parts[k].group);
    }
    let part = dispatch.parts[number];
    let start = (workgroup.x - part.group) * THREADS + lane;
    var total = 0.0;
    switch part.kernel { #cases }
    put_addend(0u, lane, vec2<f32>(total, 0.0));
    add_over_workgroup(lane, 1u);
    if lane == 0u {
        partials[workgroup.x] = total_of(0u).x;
    }
}
