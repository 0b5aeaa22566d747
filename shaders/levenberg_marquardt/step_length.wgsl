// α of an iteration, from the sums of ‖Jp‖², and the words of which the next kernel needs what they were.
// No word that this kernel writes is one that it reads: the words that the next kernel needs are copied.
let own = dispatch.group + workgroup.x;
if lane == 0u {
    running = state[ITERATE];
    if own == 0u {
        state[ITERATE_NOW] = running;
    }
}
// All loads are issued before the gate is known, so that their latencies overlap.
var part = vec2<f32>();
for (var k = lane; k < dispatch.count; k += 4u * THREADS) {
    let left = sum_of_pairs(part_of_jvp(k), part_of_jvp(k + THREADS));
    let right = sum_of_pairs(part_of_jvp(k + 2u * THREADS), part_of_jvp(k + 3u * THREADS));
    part = sum_of_pairs(part, sum_of_pairs(left, right));
}
put_addend(0u, lane, part);
if workgroupUniformLoad(&running) == 0u {
    return;
}
add_over_workgroup(lane, 1u);
let damping = number(DAMPING);
#if FORMS_DIRECTION
// The product was that of a direction that is not stored yet.
let beta = number(BETA);
#endif
let rz_before = number(RZ);
let linear = state[LINEAR];
// After the last iteration that is allowed z and p are not needed.
let goes_on = linear + 1u < state[MOST_LINEAR];
let along_p = total_of(0u).x + damping * number(PDP);
#if REDUCED
let reduces = linear == REDUCING;
let usable = (along_p > 0.0 || reduces) && is_finite(along_p);
let alpha = select(0.0, select(rz_before / along_p, 1.0, reduces), usable);
#else
let usable = along_p > 0.0 && is_finite(along_p);
let alpha = select(0.0, rz_before / along_p, usable);
#endif
workgroupBarrier();
if lane == 0u && own == 0u {
    set_number(RZ_BEFORE, rz_before);
    set_number(PDP_BEFORE, number(PDP));
    state[LINEAR_BEFORE] = linear;
    state[USABLE] = select(0u, 1u, usable && is_finite(alpha));
}
