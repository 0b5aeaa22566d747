#import pair_exponential
#import pair_product
#import pair_quotient
#import pair_series
#import pair_sum
// Error function by the forms of the one in single numbers: minimax polynomials, within 2^-51 for |x| < 1 and 2^-47 beyond, the last terms in f32. Within
// 2^-45 relatively with what arithmetic rounds.
fn pair_error_function(x: vec2<f32>) -> vec2<f32> {
    if abs(x.x) < 1.0 {
        let z = pair_square(x);
        var p = pair_step(vec2<f32>(-1.517773e-7 + z.x * 9.407618e-9, 0.0), z, vec2<f32>(0.00000163081, 4.0853683e-14));
        p = pair_step(p, z, vec2<f32>(-0.000014913034, 2.7291065e-13));
        p = pair_step(p, z, vec2<f32>(0.000120546625, 2.3427378e-12));
        p = pair_step(p, z, vec2<f32>(-0.0008548304, -2.7995658e-11));
        p = pair_step(p, z, vec2<f32>(0.005223977, 2.1719658e-10));
        p = pair_step(p, z, vec2<f32>(-0.026866172, 9.2612634e-10));
        p = pair_step(p, z, vec2<f32>(0.11283792, -1.3972223e-9));
        p = pair_step(p, z, vec2<f32>(-0.37612638, -1.0257092e-8));
        return pair_product(pair_step(p, z, vec2<f32>(1.1283792, -5.8635383e-8)), x);
    }
    // From 6 on the result is 1 to the last place of a pair.
    let is_negative = x.x < 0.0;
    let size = select(select(x, -x, is_negative), vec2<f32>(6.0, 0.0), abs(x.x) > 6.0);
    let two = vec2<f32>(2.0, 0.0);
    let y = pair_quotient(pair_difference(size, two), pair_sum(size, two));
    let tail = -0.0009837695 + y.x * (0.00002303305 + y.x * 0.00012592114);
    var q = pair_step(vec2<f32>(tail, 0.0), y, vec2<f32>(-0.0008463051, -1.8680849e-11));
    q = pair_step(q, y, vec2<f32>(0.006997663, 1.313302e-10));
    q = pair_step(q, y, vec2<f32>(0.0037328969, -6.547139e-11));
    q = pair_step(q, y, vec2<f32>(-0.07897858, -1.329219e-10));
    q = pair_step(q, y, vec2<f32>(0.2416582, -1.7758294e-9));
    q = pair_step(q, y, vec2<f32>(-0.42718583, -1.39578376e-8));
    q = pair_step(q, y, vec2<f32>(0.25539568, -4.35526e-9));
    let complement = pair_product(pair_exponential(-pair_square(size)), q);
    let value = pair_difference(vec2<f32>(1.0, 0.0), complement);
    return select(value, -value, is_negative);
}
