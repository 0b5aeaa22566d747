// What a vector has along the basis of the coarse space: the shares of a thread, and their sums over a workgroup.
var<private> along: array<f32, MOST_NUMBERS>;

fn restrict_block(vector: u32, first: u32, dim: u32) {
    for (var i = 0u; i < dim; i++) {
        along[i] += vectors[place_of(BASIS, first + i)] * vectors[place_of(vector, first + i)];
    }
}

fn write_restricted(place: u32, workgroup: u32, lane: u32) {
    for (var i = 0u; i < MOST_NUMBERS; i++) {
        let total = sum_over_workgroup(lane, along[i]);
        if lane == 0u {
            coarse[place + workgroup * MOST_NUMBERS + i] = total;
        }
    }
}
