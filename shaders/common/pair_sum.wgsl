#import double_single
// Pairs: numbers as a rounded number and what the rounding lost (Joldes, Muller and Popescu 2017). Operations on them keep an infinite
// number; its error means nothing.

// a + b in any order of size (Dekker): as `exact_sum_of_any`, with a comparison in place of three roundings.
fn ordered_sum(a: f32, b: f32) -> vec2<f32> {
    let is_ordered = abs(a) >= abs(b);
    return exact_sum(select(b, a, is_ordered), select(a, b, is_ordered));
}

// a + b, within 2^-46 of the larger (algorithm 5, "sloppy"). Either may be unnormalised.
fn pair_sum(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let sum = unnormalised_sum(a, b);
    return exact_sum(sum.x, select(0.0, sum.y, is_finite(sum.x)));
}

fn pair_difference(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return pair_sum(a, -b);
}

// Unnormalised: a + b as two numbers of which the second may be more than half a unit of the first's last place, as an addend of other sums (Ogita,
// Rump and Oishi 2005). Without a finite first number the second means nothing, and may be NaN.
fn unnormalised_sum(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let sum = ordered_sum(a.x, b.x);
    return vec2<f32>(sum.x, sum.y + (a.y + b.y));
}

fn unnormalised_difference(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return unnormalised_sum(a, -b);
}
