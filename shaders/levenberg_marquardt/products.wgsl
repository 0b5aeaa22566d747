#import workgroup_sums
#import nonfinite
#import levenberg_marquardt/state
#import levenberg_marquardt/set_number
#import levenberg_marquardt/next_direction
#import levenberg_marquardt/direction_at
// The parts of the product JᵀJp of all residuals, instance by instance, left in their local tables. The direction p = z + βp is formed
// where it is read, by the β of the update before.
struct Parts {
    groups: u32,
    nan: u32,
    padding_2: u32,
    padding_3: u32,
    parts: array<Part, PARTS>,
}

@compute @workgroup_size(256)
fn products(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let next = next_direction(lane, workgroup.x == 0u);
    if workgroupUniformLoad(&going_on) == 0u {
        return;
    }
    beta = next.y;
    // A part without workgroups begins where the next one does.
    var number = 0u;
    for (var k = 1u; k < PARTS; k++) {
        number = select(number, k, workgroup.x >= table.parts[k].group);
    }
    let part = table.parts[number];
    let start = (workgroup.x - part.group) * THREADS + lane;
    let total = part_total(part, start);
    put_addend(0u, lane, vec2<f32>(total, 0.0));
    add_over_workgroup(lane, 1u);
    if lane == 0u {
        jvp_squares[workgroup.x] = total_of(0u).x;
    }
}

{FUSED_KERNELS}
