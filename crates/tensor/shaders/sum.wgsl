#import guard_zero
#import nonfinite
// Sums with the errors of their additions beside them (Neumaier 1974): (sum, errors).

// Factors of 1 that compilers cannot derive. Products with different ones cannot be rearranged, and where they fuse with a sum they cost nothing.
var<private> unit_0: f32;
var<private> unit_1: f32;
var<private> unit_2: f32;
var<private> unit_3: f32;
var<private> unit_4: f32;

fn unit(number: u32) -> f32 {
    return bitcast<f32>(0x3f800000u | (guard_zero() << number));
}

// At the start of the entry point.
fn make_units() {
    unit_0 = unit(0u);
    unit_1 = unit(1u);
    unit_2 = unit(2u);
    unit_3 = unit(3u);
    unit_4 = unit(4u);
}

// a + b, rounded, and what the rounding lost (Knuth).
fn sum_with_error(a: f32, b: f32) -> vec2<f32> {
    let sum = a + b;
    let b_part = sum * unit_0 - a;
    let a_part = sum * unit_1 - b_part;
    let a_error = a - a_part * unit_2;
    let b_error = b - b_part * unit_3;
    return vec2<f32>(sum, a_error * unit_4 + b_error);
}

fn with_number(sum: vec2<f32>, addend: f32) -> vec2<f32> {
    let next = sum_with_error(sum.x, addend);
    return vec2<f32>(next.x, sum.y + next.y);
}

fn merged_sums(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let sum = sum_with_error(a.x, b.x);
    return vec2<f32>(sum.x, sum.y + (a.y + b.y));
}

// Without a finite sum there are no errors.
fn total_of_sum(sum: vec2<f32>) -> f32 {
    return select(sum.x, sum.x + sum.y, is_finite(sum.x));
}
