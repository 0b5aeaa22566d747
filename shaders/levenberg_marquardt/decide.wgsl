#import workgroup_sums
#import nonfinite
#import levenberg_marquardt/state
#import levenberg_marquardt/set_number
#import levenberg_marquardt/begin_to_verify
// After a trial step: whether it is taken, the damping of the next, and whether there is a next.
var<workgroup> running: u32;

@compute @workgroup_size(256)
fn decide(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u {
        running = state[TRIAL];
    }
    // All loads are issued before the gate is known, so that their latencies overlap.
    var parts = array<vec2<f32>, 5>();
    for (var k = lane; k < dispatch.groups; k += THREADS) {
        let descent = sums[DESCENT_SUMS * dispatch.groups + k];
        let rest = sums[REST_SUMS * dispatch.groups + k];
        let step = sums[STEP_SUMS * dispatch.groups + k];
        let scaled_step = sums[SCALED_STEP_SUMS * dispatch.groups + k];
        let scaled = sums[SCALED_SUMS * dispatch.groups + k];
        parts[0] = sum_of_pairs(parts[0], descent);
        parts[1] = sum_of_pairs(parts[1], rest);
        parts[2] = sum_of_pairs(parts[2], step);
        parts[3] = sum_of_pairs(parts[3], scaled_step);
        parts[4] = sum_of_pairs(parts[4], scaled);
    }
    put_addend(0u, lane, parts[0]);
    put_addend(1u, lane, parts[1]);
    put_addend(2u, lane, parts[2]);
    put_addend(3u, lane, parts[3]);
    put_addend(4u, lane, parts[4]);
    var part = vec2<f32>();
    for (var k = lane; k < dispatch.count; k += 4u * THREADS) {
        let left = sum_of_pairs(part_of_reduction(k), part_of_reduction(k + THREADS));
        let right = sum_of_pairs(part_of_reduction(k + 2u * THREADS), part_of_reduction(k + 3u * THREADS));
        part = sum_of_pairs(part, sum_of_pairs(left, right));
    }
    put_addend(5u, lane, part);
    #if CONSTRAINED
    part = vec2<f32>();
    for (var k = lane; k < dispatch.jvp_count; k += 4u * THREADS) {
        let left = sum_of_pairs(part_of_jvp(k), part_of_jvp(k + THREADS));
        let right = sum_of_pairs(part_of_jvp(k + 2u * THREADS), part_of_jvp(k + 3u * THREADS));
        part = sum_of_pairs(part, sum_of_pairs(left, right));
    }
    put_addend(6u, lane, part);
    #endif
    if workgroupUniformLoad(&running) == 0u {
        return;
    }
    add_over_workgroup(lane, MOST_SUMS);
    if lane == 0u {
        let descent = total_of(0u).x;
        // -gᵀδ - ½‖Jδ‖²
        #if CONSTRAINED
        let predicted = descent - 0.5 * total_of(6u).x;
        #else
        let predicted = 0.5 * (descent + total_of(1u).x);
        #endif
        #if CONSTRAINED
        let promise = 0.5 * total_of(1u).x;
        #else
        let promise = 0.5 * descent;
        #endif
        let damping = number(DAMPING);
        if number(STOP) != 0.0 && verify(promise, total_of(4u).x) {
            return;
        }
        conclude(total_of(5u).x, predicted, descent, sqrt(total_of(2u).x), sqrt(total_of(3u).x), total_of(4u).x, damping);
    }
}

fn part_of_reduction(k: u32) -> vec2<f32> {
    let low = select(0.0, reductions[2u * k + 1u], dispatch.width == 2u);
    return select(vec2<f32>(), vec2<f32>(reductions[dispatch.width * k], low), k < dispatch.count);
}

#if CONSTRAINED
fn part_of_jvp(k: u32) -> vec2<f32> {
    let low = select(0.0, jvp_squares[2u * k + 1u], dispatch.jvp_width == 2u);
    return select(vec2<f32>(), vec2<f32>(jvp_squares[dispatch.jvp_width * k], low), k < dispatch.jvp_count);
}
#endif

// Whether the run ends at the point, of which the system has been solved without damping: what met a tolerance is a minimum if the model promises next to
// nothing. If not, that solution is a step like any other, unless none is left.
fn verify(promise: f32, scaled_size: f32) -> bool {
    let stop = number(STOP);
    set_number(STOP, 0.0);
    set_number(DAMPING, number(KEPT_DAMPING));
    let cost = number(COST);
    let epsilon = number(EPSILON);
    let samples = number(SAMPLES);
    let coordinates = number(COORDINATES);
    let noise = lm_noise(cost, scaled_size, number(RESIDUALS), epsilon);
    let minimum = lm_minimum(
        promise, cost, cost, samples, coordinates, scaled_size, noise, number(PROMISE_TOLERANCE), epsilon);
    // Conjugate gradients that have used up their iterations have not shown what is promised.
    let norm = TOLERANCE_OF_PROMISE * number(NORM);
    let complete = select(number(RZ) <= number(RZ_TARGET), number(RZ) <= norm * norm, number(LINEAR_TOLERANCE) == 0.0);
    let proven = minimum.x != 0.0 && complete;
    let is_limit = state[ITERATION] >= state[MOST_ITERATIONS];
    let last = select(select(0.0, MAX_ITERATIONS, is_limit), number(LAST), number(LAST) != 0.0);
    if !proven && last == 0.0 {
        return false;
    }
    set_number(PROMISE, promise);
    set_number(VARIANCE, 2.0 * cost / max(samples - coordinates, 1.0));
    set_number(TERMINATION, select(last, stop, proven));
    state[TRIAL] = 0u;
    state[LINEARISE] = 0u;
    state[STEP] = 0u;
    return true;
}

// `damping_of_step`: with which the step was made.
fn conclude(
    reduction: f32, predicted: f32, descent: f32, step: f32, scaled_step: f32, scaled_size: f32, damping_of_step: f32,
) {
    var change = reduction;
    // A step too short to move anything has no change of cost; where longer steps met NaN, the change stays NaN.
    if step == 0.0 && number(VERDICT) == 0.0 && is_nan(number(CHANGE)) {
        change = number(CHANGE);
    }
    let cost = number(COST);
    let epsilon = number(EPSILON);
    let noise = lm_noise(cost, scaled_size, number(RESIDUALS), epsilon);
    // Ratio, verdict, floor, end.
    let size = sqrt(scaled_size);
    let gain = lm_gain(
        change, predicted, descent, scaled_step, size, cost, number(COSINE), noise, number(FLOOR), epsilon);
    let accepted = gain.y != 0.0;
    let damping = number(DAMPING);
    let region = lm_damping(damping, number(GROWTH), gain.x, gain.y);
    set_number(DAMPING_BEFORE, damping);
    set_number(GROWTH_BEFORE, number(GROWTH));
    set_number(FLOOR_BEFORE, number(FLOOR));
    set_number(DAMPING, region.x);
    set_number(GROWTH, region.y);
    set_number(FLOOR, gain.z);
    set_number(VERDICT, gain.y);
    set_number(COST_BEFORE, cost);
    set_number(CHANGE, change);
    set_number(PREDICTED, predicted);
    set_number(DESCENT, descent);
    set_number(SCALED_STEP, scaled_step);
    set_number(SIZE, size);
    // Conjugate gradients that were cut short leave no step that shows convergence.
    let complete = number(RZ) <= number(RZ_TARGET) || number(LINEAR_TOLERANCE) == 0.0;
    set_number(COMPLETE, select(0.0, 1.0, complete));
    let iteration = state[ITERATION] + 1u;
    state[ITERATION] = iteration;
    let record = record_of(iteration);
    set_number(record + RECORD_COST, cost);
    set_number(record + RECORD_COST_LOW, number(COST_LOW));
    set_number(record + RECORD_CHANGE, change);
    set_number(record + RECORD_LARGEST, number(LARGEST));
    set_number(record + RECORD_STEP, step);
    state[record + RECORD_ACCEPTED] = select(0u, 1u, accepted);
    set_number(record + RECORD_DAMPING, damping_of_step);
    set_number(record + RECORD_GAIN, gain.x);
    state[record + RECORD_LINEAR] = select(state[LINEAR], 0u, state[LINEAR] == REDUCING);

    var end = select(region.z, gain.w, gain.w != 0.0);
    if !accepted && end != 0.0 && end != NON_FINITE && epsilon > 0.0 {
        // No step is left: whether that is a minimum is to be shown. Else it is for want of digits, or as the rules say.
        set_number(LAST, select(end, PRECISION_LIMIT, end == COST_CONVERGED));
        begin_to_verify(COST_CONVERGED);
        end = 0.0;
    }
    let goes_on = accepted || end == 0.0;
    state[TRIAL] = 0u;
    state[LINEARISE] = select(0u, 1u, accepted);
    state[STEP] = select(0u, 1u, goes_on);
    // An accepted point is linearised before the end, so that its record is complete and convergence is known.
    set_number(ENDING, select(0.0, end, accepted));
    if !accepted {
        set_number(TERMINATION, end);
    }
}
