// Writes what was loaded to workgroup memory: integers as bytes.
{
    let scale = left_scale_of({BATCH_ARGUMENTS}row, step * 32u, row_side);
    tile_left[left_half][left_remainder][left_place] = left;
    if (left_half == 0u) {
        left_scales[left_remainder][left_place] = scale;
    }
#if MINIMA
    let ones = vec4<u32>(0x01010101u);
    let first_total = product_of_bytes(left.x, ones.x) + product_of_bytes(left.y, ones.y);
    let second_total = product_of_bytes(left.z, ones.z) + product_of_bytes(left.w, ones.w);
    left_totals[left_half][left_remainder][left_place] = f32(first_total + second_total) * scale;
#endif
}
#if RIGHT_PARTIAL
if (right_half < 2u) {
#else
{
#endif
#if EIGHT_BITS
    tile_right[right_half][right_remainder][right_place] = words;
#else
    let pair = select(words.xy, words.zw, right_half == 1u);
#if UPPER
    let above = select(upper.xy, upper.zw, right_half == 1u);
    let first = vec2<u32>(right_bytes(pair.x, above.x), right_bytes(pair.x >> 16u, above.x >> 16u));
    let second = vec2<u32>(right_bytes(pair.y, above.y), right_bytes(pair.y >> 16u, above.y >> 16u));
#else
    let first = vec2<u32>(right_bytes(pair.x), right_bytes(pair.x >> 16u));
    let second = vec2<u32>(right_bytes(pair.y), right_bytes(pair.y >> 16u));
#endif
    tile_right[right_half][right_remainder][right_place] = vec4<u32>(first, second);
#endif
    if (right_half < {GROUPS}u) {
        let depth = step * 32u + right_half * 16u;
        right_scales[right_half][right_remainder][right_place] = right_scale_of({BATCH_ARGUMENTS}column, depth, side);
#if MINIMA
        right_minima[right_half][right_remainder][right_place] = right_minimum_of({BATCH_ARGUMENTS}column, depth, side);
#endif
    }
}
