// Gives the sums of a tile's elements to `store`.
#for h in 0..ROW_BLOCKS
#for r in 0..4
{
    let row = first_row + thread_row * 4u + {h * Y * 4 + r}u;
#if ROWS_GUARDED
    if (row < {ROWS}) {
#else
    {
#endif
#for g in 0..COLUMN_BLOCKS
        {
            let column = first_column + thread_column * 4u + {g * X * 4}u;
#if COLUMNS_GUARDED
            if (column < {COLUMNS}) {
                store({BATCH_ARGUMENTS}row, column, sum_{h}_{r}_{g});
            }
#else
            store({BATCH_ARGUMENTS}row, column, sum_{h}_{r}_{g});
#endif
        }
#endfor
    }
}
#endfor
#endfor
