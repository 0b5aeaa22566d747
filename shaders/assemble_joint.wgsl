#import double_single
// The sums of entries and the diagonal blocks of JᵀJ, block by block, over the lists of all local tables: one thread a block.
struct Assemble {
    rows: u32,    // blocks
    offsets: u32, // where in `lists` the first block's offset stands
    first: u32,   // where in `result` the first block stands
    scale: u32,   // numbers in `blocks` for each parameter
    zero: u32,    // 0, which the compiler does not know
}

@group(0) @binding(0) var<storage, read> lists: array<u32>; // see `functions::joint`
@group(0) @binding(1) var<storage, read> source: array<f32>;
@group(0) @binding(2) var<storage, read_write> result: array<f32>;
@group(0) @binding(3) var<storage, read_write> blocks: array<f32>;
@group(0) @binding(4) var<storage, read_write> low: array<f32>; // errors of `blocks`, where they are kept
@group(0) @binding(5) var<uniform> dispatch: Assemble;

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
    let end = lists[dispatch.offsets + row + 1u];
    for (var k = lists[dispatch.offsets + row]; k < end; k++) {
        let slot = 8u * (1u + (lists[k] >> lists[0]));
        let instance = lists[k] & lists[slot + 2u];
        let place = lists[slot] + instance;
        let stride = lists[slot + 1u];
        #sums
        var partial = lists[slot + 3u] + instance;
        let outputs = lists[slot + 5u];
        for (var output = 0u; output < outputs; output++) {
            #columns
            #products
            partial += lists[slot + 4u];
        }
    }
    let first = dispatch.first + row * #dimu;
    #stores
}
