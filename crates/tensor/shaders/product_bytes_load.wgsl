// Loads the step of number `next` into registers.
#if LEFT_IN_WINDOWS
left = load_{LEFT_WORDS}(left_index({BATCH_ARGUMENTS}row, next * 32u) + left_half);
#else
left = {LEFT_WORDS}[left_index({BATCH_ARGUMENTS}row, next * 32u) + left_half];
#endif
row_side = left_side({BATCH_ARGUMENTS}row, next * 32u);
#if RIGHT_PARTIAL
if (right_half < 2u) {
#else
{
#endif
#if SPREAD
    words = right_words({BATCH_ARGUMENTS}column, next * 32u);
#else if IN_WINDOWS
    words = load_{WORDS}(right_index({BATCH_ARGUMENTS}column, next * 32u){HALF});
#else
    words = {WORDS}[right_index({BATCH_ARGUMENTS}column, next * 32u){HALF}];
#endif
#if UPPER
    upper = right_upper({BATCH_ARGUMENTS}column, next * 32u);
#endif
    side = right_side({BATCH_ARGUMENTS}column, next * 32u + right_half * {16 * GROUPS - 16}u);
}
