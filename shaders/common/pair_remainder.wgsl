#import not_a_number
#import pair_product
#import pair_quotient
#import pair_rounding
#import pair_sign
#import pair_sum
// Remainder of a / b with the sign of a, as JavaScript's %, within 2^-45 of |a|: a - b * floor(a / b) of the sizes, and one b more or less
// where rounding chose another multiple.
fn pair_remainder(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let dividend = pair_size(a);
    let divisor = pair_size(b);
    let multiple = pair_floor(pair_quotient(dividend, divisor));
    var rest = pair_difference(dividend, pair_product(divisor, multiple));
    rest = pair_sum(rest, select(vec2<f32>(0.0, 0.0), divisor, rest.x < 0.0));
    let reduced = pair_difference(rest, divisor);
    rest = select(rest, reduced, reduced.x >= 0.0);
    let value = select(select(rest, dividend, !is_finite(b.x)), -rest, (bitcast<u32>(a.x) >> 31u) == 1u);
    let is_outside = !is_finite(a.x) | is_nan(b.x) | ((bitcast<u32>(b.x) & 0x7fffffffu) < 0x00800000u);
    return select(value, vec2<f32>(not_a_number(), 0.0), is_outside);
}
