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
