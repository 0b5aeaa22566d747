#import guard_zero
#import not_a_number
// Remainder of a / b with the sign of a, as JavaScript's %. Exact: a long division of the mantissas, 8 bits a round.
fn remainder(a: f32, b: f32) -> f32 {
    let a_bits = bitcast<u32>(a) & 0x7fffffffu;
    let b_bits = bitcast<u32>(b) & 0x7fffffffu;
    let sign = bitcast<u32>(a) & 0x80000000u;
    if a_bits >= 0x7f800000u || b_bits > 0x7f800000u || b_bits < 0x00800000u {
        return not_a_number();
    }
    if a_bits < b_bits {
        return a;
    }
    let exponent = b_bits >> 23u;
    let divisor = (b_bits & 0x007fffffu) | 0x00800000u;
    var rest = ((a_bits & 0x007fffffu) | 0x00800000u) % divisor;
    var shift = (a_bits >> 23u) - exponent;
    while shift > 0u {
        let step = min(shift, 8u);
        rest = (rest << step) % divisor;
        shift -= step;
    }
    // Back to 24 bits with the leading one implied; what falls below the normal numbers is 0.
    let lead = countLeadingZeros(rest) - 8u;
    if rest == 0u || lead >= exponent {
        return bitcast<f32>(sign | guard_zero());
    }
    return bitcast<f32>(sign | ((exponent - lead) << 23u) | ((rest << lead) & 0x007fffffu));
}
