#import double_single
// A sum with the errors of its additions beside it (Neumaier 1974): no branch, and an error that does not grow with the number of addends.

// The sum and its errors with one more addend.
fn with_addend(sum: vec2<f32>, addend: f32) -> vec2<f32> {
    let next = exact_sum_of_any(sum.x, addend);
    return vec2<f32>(next.x, sum.y + next.y);
}

// The sum, corrected. Without a finite sum there are no errors.
fn compensated_sum(sum: vec2<f32>) -> f32 {
    return select(sum.x, sum.x + sum.y, is_finite(sum.x));
}
