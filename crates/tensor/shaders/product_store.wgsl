// Writes the step of number `next` to workgroup memory, from row `write_to` on. Blocks are transposed.
#for i in 0..LEFT_LOADS
#if LEFT_AHEAD
if (next % {LEFT_STEPS}u == lane / {LEFT_BLOCKS}u) {
    let block = lane % {LEFT_BLOCKS}u;
#else if LEFT_PARTIAL
if (lane + {i * THREADS}u < {LEFT_BLOCKS}u) {
    let block = lane + {i * THREADS}u;
#else
{
    let block = lane + {i * THREADS}u;
#endif
#if LEFT_ALONG_DEPTH
#for v in 0..4
    tile_left[write_to + block / {LEFT_VECTORS}u * 4u + {v}u][block % {LEFT_VECTORS}u] =
        vec4<{TYPE_NAME}>(left_{i}_0[{v}], left_{i}_1[{v}], left_{i}_2[{v}], left_{i}_3[{v}]);
#endfor
#else
    tile_left[write_to + block / {LEFT_VECTORS}u][block % {LEFT_VECTORS}u] = left_{i}_0;
#endif
}
#endfor
#for i in 0..RIGHT_LOADS
#if RIGHT_AHEAD
if (next % {RIGHT_STEPS}u == lane / {RIGHT_BLOCKS}u) {
    let block = lane % {RIGHT_BLOCKS}u;
#else if RIGHT_PARTIAL
if (lane + {i * THREADS}u < {RIGHT_BLOCKS}u) {
    let block = lane + {i * THREADS}u;
#else
{
    let block = lane + {i * THREADS}u;
#endif
#if RIGHT_ALONG_DEPTH
#for v in 0..4
    tile_right[write_to + block / {RIGHT_VECTORS}u * 4u + {v}u][block % {RIGHT_VECTORS}u] =
        vec4<{TYPE_NAME}>(right_{i}_0[{v}], right_{i}_1[{v}], right_{i}_2[{v}], right_{i}_3[{v}]);
#endfor
#else
    tile_right[write_to + block / {RIGHT_VECTORS}u][block % {RIGHT_VECTORS}u] = right_{i}_0;
#endif
}
#endfor
