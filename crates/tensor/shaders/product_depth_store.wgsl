// Writes what was loaded to a half of the workgroup's memory.
tile_left[half][0][remainder][place] = left_0;
tile_left[half][1][remainder][place] = left_1;
#if QUANTISED
{
    let unit = right_scale_of({BATCH_ARGUMENTS}column, next * 8u, side) * {UNIT};
#if MINIMA
    let minimum = vec4<f32>(right_minimum_of({BATCH_ARGUMENTS}column, next * 8u, side));
    tile_right[half][0][remainder][place] = {FIRST_FOUR} * unit - minimum;
    tile_right[half][1][remainder][place] = {SECOND_FOUR} * unit - minimum;
#else
    tile_right[half][0][remainder][place] = {FIRST_FOUR} * unit;
    tile_right[half][1][remainder][place] = {SECOND_FOUR} * unit;
#endif
#if EIGHT_BITS
    words = words.zwxy;
#else
    words = words.yzwx;
#endif
#if UPPER
    upper = upper.yzwx;
#endif
}
#else if PACKED
tile_right[half][0][remainder][place] = vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
tile_right[half][1][remainder][place] = vec4<f32>(unpack2x16float(words.z), unpack2x16float(words.w));
#else
tile_right[half][0][remainder][place] = right_0;
tile_right[half][1][remainder][place] = right_1;
#endif
