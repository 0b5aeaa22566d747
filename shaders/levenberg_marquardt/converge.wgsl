#import workgroup_sums
#import levenberg_marquardt/largest
#import nonfinite
#import levenberg_marquardt/state
#import levenberg_marquardt/set_number
#import levenberg_marquardt/begin_to_verify
// After a step has begun: the cost and gradient at the linearised point, whether it is the last, and how exactly to solve for the next
// step.
var<workgroup> running: u32;

@compute @workgroup_size(256)
fn converge(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u {
        running = state[STEP];
    }
    // All loads are issued before the gate is known, so that their latencies overlap.
    var part = vec2<f32>();
    for (var k = lane; k < dispatch.count; k += 4u * THREADS) {
        let left = sum_of_pairs(part_of_cost(k), part_of_cost(k + THREADS));
        let right = sum_of_pairs(part_of_cost(k + 2u * THREADS), part_of_cost(k + 3u * THREADS));
        part = sum_of_pairs(part, sum_of_pairs(left, right));
    }
    put_addend(0u, lane, part);
    var parts = array<vec2<f32>, 3>();
    var most = array<u32, MAXIMA>();
    for (var k = lane; k < dispatch.groups; k += THREADS) {
        let rz = sums[RZ_SUMS * dispatch.groups + k];
        let zdz = sums[ZDZ_SUMS * dispatch.groups + k];
        let squares = sums[SQUARES_SUMS * dispatch.groups + k];
        let largest = bitcast<vec2<u32>>(sums[LARGEST_SUMS * dispatch.groups + k]);
        let vanished = u32(sums[VANISHED_SUMS * dispatch.groups + k].x);
        #if GUARDED
        let falls = bitcast<vec2<u32>>(sums[FALL_SUMS * dispatch.groups + k]);
        most[3] = max(most[3], falls.x);
        most[4] = max(most[4], falls.y);
        #endif
        parts[0] = sum_of_pairs(parts[0], rz);
        parts[1] = sum_of_pairs(parts[1], zdz);
        parts[2] = sum_of_pairs(parts[2], squares);
        most[0] = max(most[0], largest.x);
        most[1] = max(most[1], largest.y);
        most[2] = max(most[2], vanished);
    }
    put_addend(1u, lane, parts[0]);
    put_addend(2u, lane, parts[1]);
    put_addend(3u, lane, parts[2]);
    if workgroupUniformLoad(&running) == 0u {
        return;
    }
    add_over_workgroup(lane, 4u);
    most = largest_of_workgroup(most);
    if lane == 0u {
        conclude(total_of(0u), total_of(1u).x, total_of(2u).x, sqrt(total_of(3u).x), most);
    }
}

fn part_of_cost(k: u32) -> vec2<f32> {
    let low = select(0.0, costs[2u * k + 1u], dispatch.width == 2u);
    return select(vec2<f32>(), vec2<f32>(costs[dispatch.width * k], low), k < dispatch.count);
}

fn conclude(cost: vec2<f32>, rz: f32, zdz: f32, norm: f32, most: array<u32, MAXIMA>) {
    let largest = bitcast<f32>(most[0]);
    // The point is new, unless the last step was not taken, or could not be.
    let arrived = state[LINEARISE] != 0u && state[RESTORE] == 0u;
    let starts = state[STARTED] == 0u;
    let record = record_of(state[ITERATION]);
    let finite = is_finite(cost.x) && is_finite(largest);
    if arrived && !starts {
        if !finite {
            state[CHANGE] = dispatch.nan;
            state[record + RECORD_CHANGE] = dispatch.nan;
            state[record + RECORD_GAIN] = dispatch.nan;
            go_back(record);
            return;
        }
        #if GUARDED
        // Another column that grows is no reason to call one lost.
        let least = LEAST_FALL_OF_COLUMN * bitcast<f32>(min(most[3], bitcast<u32>(1.0f)));
        let loses = state[LOSSES] < MOST_LOSSES && ~most[4] < bitcast<u32>(least);
        state[LOSSES] = select(0u, state[LOSSES] + 1u, loses);
        if loses {
            go_back(record);
            return;
        }
        #endif
    }
    var end = 0.0;
    if arrived {
        set_number(COST, cost.x);
        set_number(COST_LOW, cost.y);
        set_number(LARGEST, largest);
        let cosine = lm_cosine(bitcast<f32>(most[1]), cost.x);
        set_number(COSINE, cosine);
        state[VANISHED] = most[2];
        set_number(record + RECORD_COST, cost.x);
        set_number(record + RECORD_COST_LOW, cost.y);
        set_number(record + RECORD_LARGEST, largest);
        if starts {
            state[STARTED] = 1u;
            state[record + RECORD_ACCEPTED] = 1u;
            set_number(record + RECORD_DAMPING, number(DAMPING));
        }
        // At the start there is no step that could show convergence, and COMPLETE is 0.
        end = lm_convergence(
            number(VERDICT), number(COMPLETE), number(COST_BEFORE), number(CHANGE), number(PREDICTED), number(DESCENT), cosine,
            number(SCALED_STEP), number(SIZE), number(COST_TOLERANCE), number(GRADIENT_TOLERANCE), number(PARAMETER_TOLERANCE),
            number(EPSILON));
        if end == 0.0 {
            end = number(ENDING);
        } else if finite {
            begin_to_verify(end);
            // Blocks are factored without damping when this step begins again.
            state[COMMIT] = 1u;
            state[RESTORE] = 0u;
            state[LINEARISE] = 0u;
            set_number(NORM, norm);
            return;
        }
        let forcing = lm_forcing(norm, number(NORM), number(FORCING), number(LINEAR_TOLERANCE));
        set_number(FORCING, forcing);
        set_number(NORM, norm);
    }
    // After a rejected step the parts of the cost are those of the trial.
    if arrived && !finite {
        end = NON_FINITE;
    } else if end == 0.0 && number(STOP) == 0.0 && state[ITERATION] >= state[MOST_ITERATIONS] {
        end = MAX_ITERATIONS;
    }
    state[COMMIT] = select(0u, 1u, arrived);
    state[RESTORE] = 0u;
    state[LINEARISE] = 0u;
    state[STEP] = 0u;
    if end != 0.0 {
        set_number(TERMINATION, end);
        return;
    }
    if number(STOP) != 0.0 {
        set_number(FORCING, min(number(LINEAR_TOLERANCE), TOLERANCE_OF_PROMISE));
    }
    set_number(RZ, rz);
    set_number(BETA, 0.0);
    state[ITERATE_NOW] = 0u;
    set_number(RZ_TARGET, number(FORCING) * number(FORCING) * rz);
    set_number(PDP, zdz);
    state[LINEAR] = state[FIRST_LINEAR];
    let solvable = rz > 0.0 && is_finite(rz);
    state[ITERATE] = select(0u, 1u, solvable);
    state[TRIAL] = select(1u, 0u, solvable);
}

// A point without finite derivatives, or where a column of J is lost, is rejected after all.
fn go_back(record: u32) {
    let region = lm_damping(number(DAMPING_BEFORE), number(GROWTH_BEFORE), 0.0, 0.0);
    set_number(DAMPING, region.x);
    set_number(GROWTH, region.y);
    set_number(FLOOR, number(FLOOR_BEFORE));
    set_number(VERDICT, 0.0);
    set_number(ENDING, 0.0);
    state[record + RECORD_ACCEPTED] = 0u;
    state[COMMIT] = 0u;
    if region.z != 0.0 {
        set_number(TERMINATION, region.z);
        state[LINEARISE] = 0u;
        state[STEP] = 0u;
    }
    state[RESTORE] = 1u;
}
