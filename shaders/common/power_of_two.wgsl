#import infinity
// x * 2^power for a normal x, by its exponent bits; beyond f32 an infinity, below it 0.
fn times_power_of_two(x: f32, power: i32) -> f32 {
    let bits = bitcast<u32>(x);
    let exponent = i32((bits >> 23u) & 255u) + power;
    // Chosen and not branched: see the comparisons of generated code.
    let scaled = bitcast<f32>((bits & 0x807fffffu) | (u32(exponent) << 23u));
    let beyond = bitcast<f32>((bits & 0x80000000u) | bitcast<u32>(infinity()));
    return select(select(scaled, beyond, exponent >= 255), 0.0, exponent <= 0);
}
