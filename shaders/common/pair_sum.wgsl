#import double_single
// Pairs: numbers as a rounded number and what the rounding lost (Joldes, Muller and Popescu 2017). Operations on them keep an infinite
// number; its error means nothing.

// a + b, within 2^-46 of the larger (algorithm 5, "sloppy").
fn pair_sum(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let sum = exact_sum_of_any(a.x, b.x);
    return exact_sum(sum.x, select(0.0, sum.y + (a.y + b.y), is_finite(sum.x)));
}

fn pair_difference(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return pair_sum(a, -b);
}
