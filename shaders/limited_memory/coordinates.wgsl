// A coordinate is constant where its lower limit is above its upper one; it stays where it is, too, at a limit with the descent pointing
// outward (Bertsekas 1982).
fn is_constant(i: u32) -> bool {
    return dispatch.limited != 0u && limits[i].x > limits[i].y;
}

fn stays(i: u32, x: f32, g: f32) -> bool {
    if dispatch.limited == 0u {
        return false;
    }
    let limit = limits[i];
    return limit.x > limit.y || (x <= limit.x && g > 0.0) || (x >= limit.y && g < 0.0);
}

fn bounded(i: u32, x: f32) -> f32 {
    if dispatch.limited == 0u {
        return x;
    }
    return min(max(x, limits[i].x), limits[i].y);
}

// Rounded as in every kernel that asks: compilers may fuse the two operations.
fn straight(x: f32, step: f32, d: f32) -> f32 {
    return rounded(x + rounded(step * d));
}

// On a manifold: its step is rounded(step * d) in tangent coordinates, and other kernels make the point of it. Where there is no such coordinate, the
// same first one is read again and again: chosen, not branched for, since this stands in loops.
fn is_curved(i: u32) -> bool {
    return (dispatch.curved & select(0u, 1u, limits[dispatch.curved * (dispatch.count + i)].x != 0.0)) != 0u;
}

// The step that led from x to t along the direction, in tangent coordinates.
fn made(i: u32, x: f32, t: f32, step: f32) -> f32 {
    let d = vectors[dispatch.curved * (DIRECTION * dispatch.stride + i)];
    return select(t - x, rounded(step * d), is_curved(i));
}
