#import newton/state
// A scale for all coordinates of a unit, one workgroup a unit: the power of two nearest to 1/√sum from below or above, for the sum of the magnitudes on the
// diagonals of all instances.
@compute @workgroup_size(THREADS)
fn units(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = unit_table[3u * workgroup.x];
    let step = unit_table[3u * workgroup.x + 1u];
    let count = unit_table[3u * workgroup.x + 2u];
    var sum = 0.0;
    for (var k = lane; k < count; k += THREADS) {
        sum += vectors[place_of(PRODUCT, first + k * step)];
    }
    sum = sum_over_workgroup(lane, sum);
    const BIAS = 127u;
    let exponent = (bitcast<u32>(sum) >> 23u) & 0xffu;
    let is_scale = sum > 0.0 && exponent != 0xffu && exponent != 0u;
    let scale = select(1.0, bitcast<f32>((2u * BIAS - (exponent + BIAS) / 2u) << 23u), is_scale);
    for (var k = lane; k < count; k += THREADS) {
        vectors[place_of(SCALES, first + k * step)] = scale;
    }
}
