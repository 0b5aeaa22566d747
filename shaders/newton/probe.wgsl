#import newton/state
// The sum of the basis vectors of a component for the aggregates of a colour, as a direction whose product is to be formed.
@compute @workgroup_size(THREADS)
fn probe(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let is_of_colour = blocks[dispatch.colours + workgroup.x / dispatch.each] == dispatch.colour;
    for (var block = blocks[workgroup.x] + lane; block < blocks[workgroup.x + 1u]; block += THREADS) {
        let first = first_of(block);
        let dim = dim_of(block);
        for (var i = 0u; i < dim; i++) {
            let entry = vectors[place_of(BASIS, first + i)];
            vectors[place_of(DIRECTION, first + i)] = select(0.0, entry, is_of_colour && i == dispatch.component);
            vectors[place_of(PRODUCT, first + i)] = 0.0;
        }
    }
}
