#import pair_exponential
#import pair_quotient
#import pair_sum
// 1/(1 + e^-x), by the exponential that does not overflow.
fn pair_sigmoid(x: vec2<f32>) -> vec2<f32> {
    let one = vec2<f32>(1.0, 0.0);
    let e = pair_exponential(select(x, -x, x.x > 0.0));
    return pair_quotient(select(one, e, x.x < 0.0), pair_sum(one, e));
}
