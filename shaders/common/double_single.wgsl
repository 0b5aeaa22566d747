#import guard
#import nonfinite
// Error-free transforms (Dekker 1971): a sum or product as the rounded result and what the rounding lost.

// a + b for |a| >= |b| or a = 0.
fn exact_sum(a: f32, b: f32) -> vec2<f32> {
    let sum = rounded(a + b);
    return vec2<f32>(sum, b - rounded(sum - a));
}

// a + b in any order of size (Knuth).
fn exact_sum_of_any(a: f32, b: f32) -> vec2<f32> {
    let sum = rounded(a + b);
    let b_part = rounded(sum - a);
    let a_part = rounded(sum - b_part);
    return vec2<f32>(sum, rounded(a - a_part) + rounded(b - b_part));
}

// a * b, each factor split into halves of 12 bits, whose products are exact.
fn exact_product(a: f32, b: f32) -> vec2<f32> {
    let product = rounded(a * b);
    let a_high = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
    let b_high = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
    let a_low = rounded(a - a_high);
    let b_low = rounded(b - b_high);
    let cross = rounded(rounded(rounded(a_high * b_high - product) + a_high * b_low) + a_low * b_high);
    return vec2<f32>(product, cross + a_low * b_low);
}

// Sum of two numbers, each given as a rounded number and its error. Without a finite sum there is no error.
fn sum_of_pairs(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let sum = exact_sum_of_any(a.x, b.x);
    return select(vec2<f32>(sum.x, 0.0), exact_sum(sum.x, sum.y + (a.y + b.y)), is_finite(sum.x));
}
