#import double_single
#import exponential
#import guard
#import infinity
#import logarithm
#import nonfinite
#import not_a_number
#import power_of_two
// log x of a positive normal x as a sum of two numbers, within some 2^-28 absolutely.
fn logarithm_in_two(x: f32) -> vec2<f32> {
    let e = f32(logarithm_exponent(x));
    let f = logarithm_mantissa(x) - 1.0;
    let square = exact_product(f, f);
    let head = exact_sum(f, -0.5 * square.x);
    let whole = exact_sum(e * 0.693145751953125, head.x);
    let tail = f * square.x * logarithm_series(f) + (head.y - 0.5 * square.y) + e * 1.4286068e-6;
    return exact_sum(whole.x, whole.y + tail);
}

// x^y for a positive normal x and a finite y.
fn power_of_positive(x: f32, y: f32) -> f32 {
    let log = logarithm_in_two(x);
    let estimate = y * log.x;
    if estimate > 120.0 {
        return infinity();
    }
    if estimate < -120.0 {
        return 0.0;
    }
    let product = exact_product(y, log.x);
    let k = floor(product.x * 1.442695 + 0.5);
    let r = rounded(rounded(product.x - k * 0.693145751953125) - k * 1.4286068e-6) + (product.y + y * log.y);
    return times_power_of_two(exponential_series(r), i32(k));
}

// x^y as JavaScript's Math.pow: 1 for y = 0; a negative x takes whole y alone; NaN for |x| = 1 with an infinite y.
fn power(x: f32, y: f32) -> f32 {
    let size_bits = bitcast<u32>(x) & 0x7fffffffu;
    let size = bitcast<f32>(size_bits);
    if (bitcast<u32>(y) << 1u) == 0u {
        return 1.0;
    }
    if is_nan(x) || is_nan(y) {
        return not_a_number();
    }
    let rises = y > 0.0;
    if !is_finite(y) {
        if size == 1.0 {
            return not_a_number();
        }
        return select(0.0, infinity(), (size > 1.0) == rises);
    }
    // Every f32 from 2^24 on is an even integer.
    let whole = floor(y) == y;
    let odd = whole && abs(y) < 16777216.0 && (i32(y) & 1) != 0;
    let sign = select(0u, bitcast<u32>(x) & 0x80000000u, odd);
    var value: f32;
    if size_bits < 0x00800000u {
        value = select(infinity(), 0.0, rises);
    } else if size_bits == 0x7f800000u {
        value = select(0.0, infinity(), rises);
    } else if bitcast<u32>(x) >= 0x80000000u && !whole {
        return not_a_number();
    } else {
        value = power_of_positive(size, y);
    }
    return bitcast<f32>(bitcast<u32>(value) ^ sign);
}
