#import double_single
// Accumulates without atomics: each row of a transposed incidence sums its entries in their order. One thread sums one
// component of one row. Rows of very many entries are split into segments that write to scratch, which a second run gathers.
struct Gather {
    rows: u32,
    dim: u32,              // components a row has
    component_stride: u32, // distance between the components of an entry in `local`
    add: u32,              // 1: add to what stands in `result`, 0: write over it
    zero: u32,             // 0, which the compiler does not know
}

@group(0) @binding(0) var<storage, read> offsets: array<u32>; // of each row's first entry, and the end of the last
@group(0) @binding(1) var<storage, read> entries: array<u32>; // where in `local` an entry's first component stands
@group(0) @binding(2) var<storage, read> targets: array<u32>; // where in `result` a row's first component goes
@group(0) @binding(3) var<storage, read> local: array<f32>;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;
#joint @group(0) @binding(5) var<storage, read> lists: array<u32>; // the slots of entries, see `functions::joint`
#joint @group(0) @binding(6) var<uniform> dispatch: Gather;
#plain @group(0) @binding(5) var<uniform> dispatch: Gather;

@compute @workgroup_size(64)
fn gather(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let thread = (workgroup.x + workgroup.y * workgroups.x) * 64u + lane;
    if thread >= dispatch.rows * dispatch.dim {
        return;
    }
    let row = thread / dispatch.dim;
    let component = thread - row * dispatch.dim;
    let place = targets[row] + component;
    let end = offsets[row + 1u];
    let shift = component * dispatch.component_stride;

    var sum = vec2<f32>();
    for (var entry = offsets[row]; entry < end; entry++) {
        #plain let place = entries[entry] + shift;
        #joint let slot = 8u * (1u + (entries[entry] >> lists[0]));
        #joint let place = lists[slot] + (entries[entry] & lists[slot + 2u]) + component * lists[slot + 1u];
        sum = sum_of_pairs(sum, vec2<f32>(local[place], 0.0));
    }
    if dispatch.add != 0u {
        sum = sum_of_pairs(sum, vec2<f32>(result[place], 0.0));
    }
    result[place] = sum.x;
}
