#import newton/state
#import newton/restrict_block
// What a product has along the basis.
@compute @workgroup_size(THREADS)
fn restrict_product(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var block = blocks[workgroup.x] + lane; block < blocks[workgroup.x + 1u]; block += THREADS) {
        let first = first_of(block);
        let dim = dim_of(block);
        restrict_block(PRODUCT, first, dim);
    }
    write_restricted(dispatch.probed, workgroup.x, lane);
}
