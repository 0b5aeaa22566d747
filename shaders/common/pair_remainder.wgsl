#import not_a_number
#import pair_product
#import pair_quotient
#import pair_rounding
#import pair_sign
#import pair_sum
// Remainder of a / b with the sign of a, as JavaScript's %, within 2^-45 of |a|: a - b * floor(a / b) of the sizes, and one b more or less
// where rounding chose another multiple. From a / b = 2^45 on, where that error is larger than b, it is 0.
fn pair_remainder(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let dividend = pair_size(a);
    let divisor = pair_size(b);
    let quotient = pair_quotient(dividend, divisor);
    let zero = vec2<f32>(0.0, 0.0);
    var rest = pair_difference(dividend, pair_product(divisor, pair_floor(quotient)));
    rest = pair_sum(rest, select(zero, divisor, rest.x < 0.0));
    let reduced = pair_difference(rest, divisor);
    rest = select(rest, reduced, reduced.x >= 0.0);
    rest = select(zero, select(dividend, rest, is_finite(b.x)), quotient.x < 3.5184372e13);
    let value = select(rest, -rest, (bitcast<u32>(a.x) >> 31u) == 1u);
    let is_outside = !is_finite(a.x) | is_nan(b.x) | ((bitcast<u32>(b.x) & 0x7fffffffu) < 0x00800000u);
    return select(value, vec2<f32>(not_a_number(), 0.0), is_outside);
}
