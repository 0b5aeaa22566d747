fn part_of_jvp(k: u32) -> vec2<f32> {
    let low = select(0.0, jvp_squares[2u * k + 1u], dispatch.width == 2u);
    return select(vec2<f32>(), vec2<f32>(jvp_squares[dispatch.width * k], low), k < dispatch.count);
}
