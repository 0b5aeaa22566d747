// Adds the products of the step in a half of the workgroup's memory, in the order of the depth.
#for v in 0..2
{
#for h in 0..ROW_BLOCKS
#for r in 0..4
    let a_{h}_{r} = tile_left[half][{v}][{r}][thread_row + {h * Y}u];
#endfor
#endfor
#for g in 0..COLUMN_BLOCKS
#for c in 0..4
    let b_{g}_{c} = tile_right[half][{v}][{c}][thread_column + {g * X}u];
#endfor
#endfor
#for k in 0..4
#for g in 0..COLUMN_BLOCKS
    let b{k}_{g} = vec4<f32>(b_{g}_0[{k}], b_{g}_1[{k}], b_{g}_2[{k}], b_{g}_3[{k}]);
#for h in 0..ROW_BLOCKS
#for r in 0..4
    sum_{h}_{r}_{g} = fma(vec4<f32>(a_{h}_{r}[{k}]), b{k}_{g}, sum_{h}_{r}_{g});
#endfor
#endfor
#endfor
#endfor
}
#endfor
