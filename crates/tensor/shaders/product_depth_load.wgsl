// Loads the step of number `next` into registers. Packed numbers are loaded as they are, {VECTOR} at once, with the words that have their scale.
left_0 = left_along_depth({BATCH_ARGUMENTS}row, next * 8u);
left_1 = left_along_depth({BATCH_ARGUMENTS}row, next * 8u + 4u);
#if PACKED
if (next % {VECTOR / 8}u == 0u) {
#if SPREAD
    words = right_words({BATCH_ARGUMENTS}column, next * 8u);
#else if IN_WINDOWS
    words = load_{WORDS}(right_index({BATCH_ARGUMENTS}column, next * 8u));
#else
    words = {WORDS}[right_index({BATCH_ARGUMENTS}column, next * 8u)];
#endif
#if UPPER
    upper = right_upper({BATCH_ARGUMENTS}column, next * 8u);
#endif
#if QUANTISED
    side = right_side({BATCH_ARGUMENTS}column, next * 8u);
#endif
}
#else
right_0 = right_along_depth({BATCH_ARGUMENTS}column, next * 8u);
right_1 = right_along_depth({BATCH_ARGUMENTS}column, next * 8u + 4u);
#endif
