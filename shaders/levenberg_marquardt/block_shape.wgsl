// Blocks of one shape.
const DIM = {DIM}u;
const TANGENT = {TANGENT}u;

// λD of a coordinate; of a column of zeros no unit is known, and its step is 0 with any damping.
fn damped(damping: f32, scale: f32) -> f32 {
    return damping * select(1.0, scale, scale > 0.0);
}

// Place of a diagonal entry in the lower triangle.
fn diagonal(k: u32) -> u32 {
    return k * (k + 3u) / 2u;
}
