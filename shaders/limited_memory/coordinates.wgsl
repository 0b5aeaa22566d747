// A coordinate is constant if its lower bound is above its upper one. It also stays where it is at a bound with the descent pointing
// outward (Bertsekas 1982).
fn is_constant(i: u32) -> bool {
    return dispatch.constrained != 0u && bounds[i].x > bounds[i].y;
}

fn stays(i: u32, x: f32, g: f32) -> bool {
    if dispatch.constrained == 0u {
        return false;
    }
    let bound = bounds[i];
    return bound.x > bound.y || (x <= bound.x && g > 0.0) || (x >= bound.y && g < 0.0);
}

fn bounded(i: u32, x: f32) -> f32 {
    if dispatch.constrained == 0u {
        return x;
    }
    return min(max(x, bounds[i].x), bounds[i].y);
}

// Rounded alike in every kernel: compilers may fuse the two operations.
fn straight(x: f32, step: f32, d: f32) -> f32 {
    return rounded(x + rounded(step * d));
}

// On a manifold the step is rounded(step * d) in tangent coordinates, and other kernels compute the point. In models without manifolds
// the first coordinate is read every time: a selection and no branch, since this is called in loops.
fn is_on_manifold(i: u32) -> bool {
    return (dispatch.on_manifolds & select(0u, 1u, bounds[dispatch.on_manifolds * (dispatch.count + i)].x != 0.0)) != 0u;
}

// The step that led from x to t along the direction, in tangent coordinates.
fn tangent_step(i: u32, x: f32, t: f32, step: f32) -> f32 {
    let d = vectors[dispatch.on_manifolds * (DIRECTION * dispatch.stride + i)];
    return select(t - x, rounded(step * d), is_on_manifold(i));
}
