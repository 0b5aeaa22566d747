// The entry point of products with few rows, {COUNT} of them: workgroups are numbered one product after another, or each computes its elements of
// all products in turn.

@compute @workgroup_size({THREADS})
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    var tile = group.x + group.y * groups.x;
#if ROW_KEPT
    keep_row(lane);
#endif
#if IN_SEQUENCE
    if (tile >= tiles_0()) {
        return;
    }
#for k in 0..COUNT
    product_{k}(lane, tile);
#endfor
#else
#for k in 0..COUNT
    if (tile < tiles_{k}()) {
        product_{k}(lane, tile);
        return;
    }
    tile -= tiles_{k}();
#endfor
#endif
}
