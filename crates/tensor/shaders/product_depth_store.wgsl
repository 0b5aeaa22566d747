// Writes what was loaded to a half of the workgroup's memory.
tile_left[half][0][remainder][place] = left_0;
tile_left[half][1][remainder][place] = left_1;
#if FOUR_BITS
{
    let unit = unpack2x16float(scale).x * {UNIT};
    tile_right[half][0][remainder][place] = four_nibbles(words.x) * unit;
    tile_right[half][1][remainder][place] = four_nibbles(words.x >> 16u) * unit;
    words = words.yzwx;
}
#else if EIGHT_BITS
{
    let unit = unpack2x16float(scale).x * {UNIT};
    tile_right[half][0][remainder][place] = four_bytes(words.x) * unit;
    tile_right[half][1][remainder][place] = four_bytes(words.y) * unit;
    words = words.zwxy;
}
#else if PACKED
tile_right[half][0][remainder][place] = vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
tile_right[half][1][remainder][place] = vec4<f32>(unpack2x16float(words.z), unpack2x16float(words.w));
#else
tile_right[half][0][remainder][place] = right_0;
tile_right[half][1][remainder][place] = right_1;
#endif
