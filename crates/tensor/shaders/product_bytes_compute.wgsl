// Adds the products of a block.
#for p in 0..GROUPS
{
#for h in 0..ROW_BLOCKS
#for r in 0..4
#for g in 0..COLUMN_BLOCKS
    var whole_{h}_{r}_{g} = vec4<i32>(0x4b400000);
#endfor
#endfor
#endfor
#for v in 0..HALVES
    {
#for g in 0..COLUMN_BLOCKS
#for c in 0..4
        let b_{g}_{c} = tile_right[{p + v}][{c}][thread_column + {g * X}u];
#endfor
#endfor
#for h in 0..ROW_BLOCKS
#for r in 0..4
        {
            let a = tile_left[{p + v}][{r}][thread_row + {h * Y}u];
#for k in 0..4
#for g in 0..COLUMN_BLOCKS
            whole_{h}_{r}_{g} += vec4<i32>(product_of_bytes(a[{k}], b_{g}_0[{k}]), product_of_bytes(a[{k}], b_{g}_1[{k}]), product_of_bytes(a[{k}], b_{g}_2[{k}]), product_of_bytes(a[{k}], b_{g}_3[{k}]));
#endfor
#endfor
        }
#endfor
#endfor
    }
#endfor
#for g in 0..COLUMN_BLOCKS
    let scale_{g} = vec4<f32>(right_scales[{p}][0][thread_column + {g * X}u], right_scales[{p}][1][thread_column + {g * X}u], right_scales[{p}][2][thread_column + {g * X}u], right_scales[{p}][3][thread_column + {g * X}u]);
#if MINIMA
    let minimum_{g} = vec4<f32>(right_minima[{p}][0][thread_column + {g * X}u], right_minima[{p}][1][thread_column + {g * X}u], right_minima[{p}][2][thread_column + {g * X}u], right_minima[{p}][3][thread_column + {g * X}u]);
#endif
#endfor
#for h in 0..ROW_BLOCKS
#for r in 0..4
    {
        let scale = left_scales[{r}][thread_row + {h * Y}u];
#if MINIMA
#if BOTH_HALVES
        let total = left_totals[0][{r}][thread_row + {h * Y}u] + left_totals[1][{r}][thread_row + {h * Y}u];
#else
        let total = left_totals[{p}][{r}][thread_row + {h * Y}u];
#endif
#endif
#for g in 0..COLUMN_BLOCKS
        sum_{h}_{r}_{g} = fma(bitcast<vec4<f32>>(whole_{h}_{r}_{g}) - vec4<f32>(12582912.0), scale * scale_{g}, sum_{h}_{r}_{g});
#if MINIMA
        sum_{h}_{r}_{g} = fma(vec4<f32>(-total), minimum_{g}, sum_{h}_{r}_{g});
#endif
#endfor
    }
#endfor
#endfor
}
#endfor
