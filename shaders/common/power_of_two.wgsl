#import infinity
// x * 2^power for a normal x, by its exponent bits; beyond f32 an infinity, below it 0.
fn times_power_of_two(x: f32, power: i32) -> f32 {
    let bits = bitcast<u32>(x);
    let exponent = i32((bits >> 23u) & 255u) + power;
    if exponent <= 0 {
        return 0.0;
    }
    if exponent >= 255 {
        return bitcast<f32>((bits & 0x80000000u) | bitcast<u32>(infinity()));
    }
    return bitcast<f32>((bits & 0x807fffffu) | (u32(exponent) << 23u));
}
