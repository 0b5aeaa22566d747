// Blocks of one shape, and the limits of the diagonal D of the damping λD.
const DIM = {DIM}u;
const TANGENT = {TANGENT}u;
const LEAST_SCALE = {LEAST_SCALE};
const MOST_SCALE = {MOST_SCALE};

// Place of a diagonal entry in the lower triangle.
fn diagonal(k: u32) -> u32 {
    return k * (k + 3u) / 2u;
}
