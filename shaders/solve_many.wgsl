#import double_single
#import nonfinite
#import not_a_number
#if PAIRS
#import pair_order
#endif
// Levenberg-Marquardt on one small problem a thread, all iterations in one dispatch (or in several, which changes no number).
// For a template are generated the structures Parameters, Step, Normal (the normal equations), Moved and Solved, the functions that
// this one calls, and the rules lm_noise, lm_cosine, lm_gain, lm_damping and lm_convergence.
const NON_FINITE = {NON_FINITE}.0;
const MAX_ITERATIONS = {MAX_ITERATIONS}.0;
const RUNNING = 0.0;

// A sum and what its roundings lost, with one term more.
fn add_to(sum: vec2<f32>, term: f32) -> vec2<f32> {
    let next = exact_sum_of_any(sum.x, term);
    return vec2<f32>(next.x, sum.y + next.y);
}

@compute @workgroup_size(64)
fn solve_many(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let problem = (workgroup.x + workgroup.y * workgroups.x) * 64u + lane;
    if problem >= dispatch.count {
        return;
    }
    var end = f32(state[problem]);
    if end != RUNNING {
        return;
    }
    var iterations = state[dispatch.stride + problem];
    var damping = bitcast<f32>(state[3u * dispatch.stride + problem]);
    var growth = bitcast<f32>(state[4u * dispatch.stride + problem]);
    var floor_of_predictions = bitcast<f32>(state[5u * dispatch.stride + problem]);
    // Columns of the Jacobian that were not 0 at the start, and those that are not 0 now.
    var columns_at_start = state[6u * dispatch.stride + problem];
    var columns = columns_at_start;
    let last = iterations + min(dispatch.turn, dispatch.max_iterations - iterations);
    var x = load_parameters(problem);

    var normal: Normal;
    var cost = 0.0;
    #if PAIRS
    var low_of_cost = 0.0;
    #endif
    var cosine = 0.0;
    var size = 0.0;
    var frozen = 0u;
    var moved_on = true;
    var noise = 0.0;
    // Of the step that led here: none, at the start.
    var verdict = 1.0;
    var cost_before = 0.0;
    var change = 0.0;
    var predicted = 0.0;
    var descent = 0.0;
    var length = 0.0;
    var size_before = 0.0;
    // Whether a step led here that can show convergence.
    var complete = 0.0;
    loop {
        if moved_on {
            moved_on = false;
            normal = linearise(problem, x);
            cost = normal.cost.x;
            #if PAIRS
            low_of_cost = pair_error(normal.cost);
            #endif
            if !is_sound(normal) {
                end = NON_FINITE;
                break;
            }
            columns = columns_of(normal);
            if iterations == 0u {
                columns_at_start = columns;
            }
            frozen = frozen_coordinates(x, normal);
            cosine = lm_cosine(scaled_gradient(normal, frozen), cost);
            size = free_size(normal, x, frozen);
            end = lm_convergence(
                verdict, complete, cost_before, change, predicted, descent, cosine, length, size_before,
                dispatch.cost_tolerance, dispatch.gradient_tolerance, dispatch.parameter_tolerance, dispatch.epsilon);
            noise = lm_noise(cost, scaled_size(normal, x), max(samples_of(problem), 1.0), dispatch.epsilon);
        }
        if end != RUNNING {
            break;
        }
        if iterations >= last {
            if iterations >= dispatch.max_iterations {
                end = MAX_ITERATIONS;
            }
            break;
        }
        iterations++;

        let solved = damped_step(normal, damping, frozen);
        change = not_a_number();
        predicted = change;
        descent = change;
        length = change;
        var moved: Moved;
        if solved.sound {
            moved = moved_by(x, solved.step);
            descent = descent_along(normal, moved.projected);
            predicted = descent - 0.5 * curvature_along(normal, moved.projected);
            length = step_length(normal, moved.projected);
            change = reduction(problem, x, moved.trial);
        }
        let gain = lm_gain(change, predicted, descent, length, size, cost, cosine, noise, floor_of_predictions, dispatch.epsilon);
        let region = lm_damping(damping, growth, gain.x, gain.y);
        verdict = gain.y;
        floor_of_predictions = gain.z;
        damping = region.x;
        growth = region.y;
        if verdict != 0.0 {
            x = moved.trial;
            cost_before = cost;
            size_before = size;
            complete = 1.0;
            moved_on = true;
        } else if gain.w != RUNNING {
            end = gain.w;
        } else {
            end = region.z;
        }
    }

    store_parameters(problem, x);
    state[problem] = u32(end);
    state[dispatch.stride + problem] = iterations;
    state[2u * dispatch.stride + problem] = bitcast<u32>(cost);
    state[3u * dispatch.stride + problem] = bitcast<u32>(damping);
    state[4u * dispatch.stride + problem] = bitcast<u32>(growth);
    state[5u * dispatch.stride + problem] = bitcast<u32>(floor_of_predictions);
    state[6u * dispatch.stride + problem] = columns_at_start;
    state[7u * dispatch.stride + problem] = columns;
    #if PAIRS
    state[8u * dispatch.stride + problem] = bitcast<u32>(low_of_cost);
    #endif
}
