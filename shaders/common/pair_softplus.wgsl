#import pair_exponential
#import pair_logarithm
#import pair_quotient
#import pair_sum
// log(1 + e^x) = max(x, 0) + log(1 + e) with e = e^-|x|, the logarithm as 2 artanh(e / (2 + e)), or above log sqrt 2 as
// log 2 + 2 artanh((e - 1) / (e + 3)).
fn pair_softplus(x: vec2<f32>) -> vec2<f32> {
    let is_positive = x.x > 0.0;
    let e = pair_exponential(select(x, -x, is_positive));
    let is_large = e.x > 0.41421357;
    let numerator = pair_sum(e, vec2<f32>(select(0.0, -1.0, is_large), 0.0));
    let denominator = pair_sum(e, vec2<f32>(select(2.0, 3.0, is_large), 0.0));
    let log = pair_logarithm_series(pair_quotient(numerator, denominator));
    let rest = pair_sum(log, select(vec2<f32>(0.0, 0.0), vec2<f32>(0.6931472, -1.9046542e-9), is_large));
    return pair_sum(select(vec2<f32>(0.0, 0.0), x, is_positive), rest);
}
