#import double_single
// The sums of entries and the diagonal blocks of JᵀJ, row by row of a transposed incidence: one thread a row.
struct Assemble {
    rows: u32,
    stride: u32,        // distance between the columns of `source`
    outputs: u32,       // rows of J an entry has
    first_partial: u32, // where in `source` the first column of J starts
    row_stride: u32,    // distance between the rows of J in `source`
    scale: u32,         // numbers in `blocks` for each parameter
    zero: u32,          // 0, which the compiler does not know
}

@group(0) @binding(0) var<storage, read> offsets: array<u32>; // of each row's first entry, and the end of the last
@group(0) @binding(1) var<storage, read> entries: array<u32>; // where in `source` an entry's first component stands
@group(0) @binding(2) var<storage, read> targets: array<u32>; // where in `result` a row's first component goes
@group(0) @binding(3) var<storage, read> source: array<f32>;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;
@group(0) @binding(5) var<storage, read_write> blocks: array<f32>;
@group(0) @binding(6) var<uniform> dispatch: Assemble;

@compute @workgroup_size(64)
fn assemble(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = (workgroup.x + workgroup.y * workgroups.x) * 64u + lane;
    if row >= dispatch.rows {
        return;
    }
    #starts
    let end = offsets[row + 1u];
    for (var entry = offsets[row]; entry < end; entry++) {
        let place = entries[entry];
        #entry
        #sums
        var partial = instance + dispatch.first_partial;
        for (var output = 0u; output < dispatch.outputs; output++) {
            #columns
            #products
            partial += dispatch.row_stride;
        }
    }
    let first = targets[row];
    #stores
}
