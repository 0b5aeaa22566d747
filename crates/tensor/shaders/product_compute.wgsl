// Adds the products of a step, which lies in workgroup memory from row `read_from` on.
for (var k = 0u; k < {STEP}u; k++) {
#for h in 0..ROW_BLOCKS
    let a_{h} = tile_left[read_from + k][{h * Y}u + thread_row];
#endfor
#for g in 0..COLUMN_BLOCKS
    let b_{g} = tile_right[read_from + k][{g * X}u + thread_column];
#endfor
#for h in 0..ROW_BLOCKS
#for r in 0..4
#for g in 0..COLUMN_BLOCKS
#if FLOAT
    sum_{h}_{r}_{g} = fma(vec4<f32>(a_{h}[{r}]), b_{g}, sum_{h}_{r}_{g});
#else
    sum_{h}_{r}_{g} += a_{h}[{r}] * b_{g};
#endif
#endfor
#endfor
#endfor
}
