#import infinity
#import nonfinite
#import not_a_number
#import pair_exponential
#import pair_logarithm
#import pair_quotient
// Whether a whole number is odd. Every f32 from 2^24 on is an even integer.
fn is_odd(x: f32) -> bool {
    return (abs(x) < 16777216.0) & ((i32(clamp(x, -16777216.0, 16777216.0)) & 1) != 0);
}

// x^n for a whole n of 64 at most.
fn pair_whole_power(x: vec2<f32>, n: u32) -> vec2<f32> {
    var value = vec2<f32>(1.0, 0.0);
    var square = x;
    for (var rest = n; rest > 0u; rest = rest >> 1u) {
        value = select(value, pair_product(value, square), (rest & 1u) != 0u);
        square = pair_square(square);
    }
    return value;
}

// x^y as JavaScript's Math.pow: 1 for y = 0 (or subnormal); a negative x takes whole y alone; NaN for |x| = 1 with an infinite y. By squaring for
// whole y to 64, else as e^(y log x), within some (4 + |y log x|) 2^-48 relatively.
fn pair_power(x: vec2<f32>, y: vec2<f32>) -> vec2<f32> {
    let size_bits = bitcast<u32>(x.x) & 0x7fffffffu;
    let is_negative = bitcast<u32>(x.x) >= 0x80000000u;
    let size = select(x, -x, is_negative);
    if (bitcast<u32>(y.x) & 0x7fffffffu) < 0x00800000u {
        return vec2<f32>(1.0, 0.0);
    }
    if is_nan(x.x) | is_nan(y.x) {
        return vec2<f32>(not_a_number(), 0.0);
    }
    let rises = y.x > 0.0;
    if !is_finite(y.x) {
        if (size.x == 1.0) & (size.y == 0.0) {
            return vec2<f32>(not_a_number(), 0.0);
        }
        let grows = (size.x > 1.0) | ((size.x == 1.0) & (size.y > 0.0));
        return vec2<f32>(select(0.0, infinity(), grows == rises), 0.0);
    }
    let whole = (floor(y.x) == y.x) & (floor(y.y) == y.y);
    let odd = whole & (is_odd(y.x) != is_odd(y.y));
    var value: vec2<f32>;
    if size_bits < 0x00800000u {
        value = vec2<f32>(select(infinity(), 0.0, rises), 0.0);
    } else if size_bits == 0x7f800000u {
        value = vec2<f32>(select(0.0, infinity(), rises), 0.0);
    } else if is_negative & !whole {
        return vec2<f32>(not_a_number(), 0.0);
    } else if whole & (abs(y.x) <= 64.0) {
        value = pair_whole_power(size, u32(abs(y.x)));
        value = select(pair_quotient(vec2<f32>(1.0, 0.0), value), value, rises);
    } else {
        value = pair_exponential(pair_product(y, pair_logarithm(size)));
    }
    return select(value, -value, odd & is_negative);
}
