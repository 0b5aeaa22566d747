// Count, mean and sum of squared differences from the mean of some numbers: with one more (Welford 1962), and of two sets (Chan et al. 1979).
fn with_sample(state: vec3<f32>, x: f32) -> vec3<f32> {
    let count = state.x + 1.0;
    let difference = x - state.y;
    let mean = state.y + difference / count;
    return vec3<f32>(count, mean, state.z + difference * (x - mean));
}

fn merged_moments(a: vec3<f32>, b: vec3<f32>) -> vec3<f32> {
    let count = a.x + b.x;
    let difference = b.y - a.y;
    let part = b.x / max(count, 1.0);
    let merged = vec3<f32>(count, a.y + difference * part, a.z + b.z + difference * difference * a.x * part);
    return select(select(merged, a, b.x == 0.0), b, a.x == 0.0);
}
