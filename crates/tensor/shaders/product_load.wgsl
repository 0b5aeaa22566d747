// Loads the step of number `next` of both factors into registers: vectors of 4 rows or columns at one place along the depth, or blocks
// of 4 vectors along the depth, of 4 rows or columns. Where a step has fewer blocks than there are threads, the threads load several steps at once.
#for i in 0..LEFT_LOADS
#if LEFT_AHEAD
if (next % {LEFT_STEPS}u == 0u) {
    let block = lane % {LEFT_BLOCKS}u;
    let first_depth = (next + lane / {LEFT_BLOCKS}u) * {STEP}u;
#else if LEFT_PARTIAL
if (lane + {i * THREADS}u < {LEFT_BLOCKS}u) {
    let block = lane + {i * THREADS}u;
    let first_depth = next * {STEP}u;
#else
{
    let block = lane + {i * THREADS}u;
    let first_depth = next * {STEP}u;
#endif
    let row = first_row + block % {LEFT_VECTORS}u * 4u;
#if LEFT_ALONG_DEPTH
    let depth = first_depth + block / {LEFT_VECTORS}u * 4u;
#for v in 0..4
#if LEFT_DIVIDED
    left_{i}_{v} = left_along_depth({BATCH_ARGUMENTS}row + {v}u, depth, known_left_{i * LEFT_KNOWN / LEFT_LOADS}_{v});
#else
    left_{i}_{v} = left_along_depth({BATCH_ARGUMENTS}row + {v}u, depth);
#endif
#endfor
#else
#if LEFT_DIVIDED
    left_{i}_0 = left_along_rows({BATCH_ARGUMENTS}row, first_depth + block / {LEFT_VECTORS}u, known_left_{i * LEFT_KNOWN / LEFT_LOADS}_0);
#else
    left_{i}_0 = left_along_rows({BATCH_ARGUMENTS}row, first_depth + block / {LEFT_VECTORS}u);
#endif
#endif
}
#endfor
#for i in 0..RIGHT_LOADS
#if RIGHT_AHEAD
if (next % {RIGHT_STEPS}u == 0u) {
    let block = lane % {RIGHT_BLOCKS}u;
    let first_depth = (next + lane / {RIGHT_BLOCKS}u) * {STEP}u;
#else if RIGHT_PARTIAL
if (lane + {i * THREADS}u < {RIGHT_BLOCKS}u) {
    let block = lane + {i * THREADS}u;
    let first_depth = next * {STEP}u;
#else
{
    let block = lane + {i * THREADS}u;
    let first_depth = next * {STEP}u;
#endif
    let column = first_column + block % {RIGHT_VECTORS}u * 4u;
#if RIGHT_ALONG_DEPTH
    let depth = first_depth + block / {RIGHT_VECTORS}u * 4u;
#for v in 0..4
#if RIGHT_DIVIDED
    right_{i}_{v} = right_along_depth({BATCH_ARGUMENTS}column + {v}u, depth, known_right_{i * RIGHT_KNOWN / RIGHT_LOADS}_{v});
#else
    right_{i}_{v} = right_along_depth({BATCH_ARGUMENTS}column + {v}u, depth);
#endif
#endfor
#else
#if RIGHT_DIVIDED
    right_{i}_0 = right_along_columns({BATCH_ARGUMENTS}column, first_depth + block / {RIGHT_VECTORS}u, known_right_{i * RIGHT_KNOWN / RIGHT_LOADS}_0);
#else
    right_{i}_0 = right_along_columns({BATCH_ARGUMENTS}column, first_depth + block / {RIGHT_VECTORS}u);
#endif
#endif
}
#endfor
