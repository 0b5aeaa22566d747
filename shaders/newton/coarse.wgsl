#import newton/state
// The coarse part of the preconditioner, an aggregate a workgroup: C⁻¹ times the residual along the basis, and its share of rᵀz.
@compute @workgroup_size(THREADS)
fn coarse_part(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if !goes_on(lane) {
        return;
    }
    var energy = 0.0;
    for (var i = 0u; i < MOST_NUMBERS; i++) {
        let row = workgroup.x * MOST_NUMBERS + i;
        var share = 0.0;
        for (var column = lane; column < dispatch.rows; column += THREADS) {
            share += coarse[dispatch.inverse + row * dispatch.rows + column] * residual_of(column);
        }
        let correction = sum_over_workgroup(lane, share);
        energy += correction * residual_of(row);
        if lane == 0u {
            coarse[dispatch.corrections + row] = correction;
        }
    }
    if lane == 0u {
        sums[COARSE_ENERGIES + workgroup.x] = energy;
    }
}

fn residual_of(row: u32) -> f32 {
    let first = row / MOST_NUMBERS * dispatch.each;
    var sum = 0.0;
    for (var part = first; part < first + dispatch.each; part++) {
        sum += coarse[part * MOST_NUMBERS + row % MOST_NUMBERS];
    }
    return sum;
}
