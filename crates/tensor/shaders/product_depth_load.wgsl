// Loads the step of number `next` into registers. Packed numbers are loaded as they are, {VECTOR} at once, with the word that has their scale.
left_0 = left_along_depth({BATCH_ARGUMENTS}row, next * 8u);
left_1 = left_along_depth({BATCH_ARGUMENTS}row, next * 8u + 4u);
#if PACKED
if (next % {VECTOR / 8}u == 0u) {
#if IN_WINDOWS
    words = load_{WORDS}(right_index({BATCH_ARGUMENTS}column, next * 8u));
#else
    words = {WORDS}[right_index({BATCH_ARGUMENTS}column, next * 8u)];
#endif
#if QUANTISED
    scale = right_scale_bits({BATCH_ARGUMENTS}column, next * 8u);
#endif
}
#else
right_0 = right_along_depth({BATCH_ARGUMENTS}column, next * 8u);
right_1 = right_along_depth({BATCH_ARGUMENTS}column, next * 8u + 4u);
#endif
