// Products of the columns of a pair of blocks.

// The square of a length.
const LEAST = 0.0;

// What a sum of so many products rounds.
var<private> rounding: f32;

// Orthogonal up to rounding, or no longer than the rounding of columns of length 1.
fn is_small(beside: f32, first: f32, second: f32) -> bool {
    let lengths = sqrt(max(first, 0.0)) * sqrt(max(second, 0.0));
    return !(abs(beside) > max(rounding * lengths, 1e-16));
}

var<private> first_of_state: u32;
var<private> row_length: u32;
var<private> own_blocks: vec2<u32>;

fn element(row: u32, column: u32) -> f32 {
    return held(first_of_state + row * row_length + column_of(column, own_blocks));
}

fn gather(lane: u32, first: u32, height: u32, n: u32, blocks: vec2<u32>) {
    first_of_state = first;
    row_length = n;
    own_blocks = blocks;
    rounding = 6e-8 * sqrt(f32(height - n));
    column_products(lane, height - n);
}
