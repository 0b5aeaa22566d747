#import workgroup_sums
#import nonfinite
// The parts of the product JᵀJp of all residuals, instance by instance, left in their local tables. The direction p = z + βp is formed where it is
// read, by the β that the update before has led to.
struct Parts {
    groups: u32,
    nan: u32,
    zero: u32,
    padding: u32,
    parts: array<Part, #parts>,
}

@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@group(0) @binding(1) var<storage, read> indices: array<u32>; // the index tables of all instances
@group(0) @binding(2) var<storage, read_write> local: array<f32>; // their local tables
@group(0) @binding(3) var<storage, read> vectors: array<f32>;
@group(0) @binding(4) var<storage, read> sums: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> image: array<f32>; // parts of ‖Jp‖²
@group(0) @binding(6) var<uniform> table: Parts;
@group(0) @binding(7) var<uniform> dispatch: Figures;

var<private> beta: f32;

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
    for (var k = 1u; k < #partsu; k++) {
        number = select(number, k, workgroup.x >= table.parts[k].group);
    }
    let part = table.parts[number];
    let start = (workgroup.x - part.group) * THREADS + lane;
    var total = 0.0;
    switch part.kernel { #cases }
    put_addend(0u, lane, vec2<f32>(total, 0.0));
    add_over_workgroup(lane, 1u);
    if lane == 0u {
        image[workgroup.x] = total_of(0u).x;
    }
}

fn p_at(place: u32) -> f32 {
    var p = vectors[PRECONDITIONED * dispatch.stride + place];
    // The first direction of a step is z.
    if beta != 0.0 {
        p += beta * vectors[DIRECTION * dispatch.stride + place];
    }
    return p;
}
