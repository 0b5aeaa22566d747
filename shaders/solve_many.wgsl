#import double_single
#import nonfinite
#import not_a_number
#if PAIRS
#import pair_order
#endif
// Levenberg-Marquardt on one small problem a thread, all iterations in one dispatch (or in several, which changes no number).
// For a template are generated the structures Parameters, Step, Normal (the normal equations), Moved and Solved, the functions that
// this one calls, and the rules lm_noise, lm_cosine, lm_gain, lm_radius, lm_convergence and lm_minimum.
const COORDINATES = {COORDINATES}u;
const NON_FINITE = {NON_FINITE}.0;
const MAX_ITERATIONS = {MAX_ITERATIONS}.0;
const COST_TOLERANCE = {COST_TOLERANCE}.0;
const PRECISION_LIMIT = {PRECISION_LIMIT}.0;
const RUNNING = 0.0;
// Columns of the state before those of D².
#if PAIRS
const STATE_COLUMNS = 9u;
#else
const STATE_COLUMNS = 8u;
#endif
// Systems that are solved for a step on the surface of the ball, at most, and by how much its length may be beyond the radius.
const MOST_SYSTEMS = 10u;
const SLACK = 1.1;
const LARGEST = 3.4e38;

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
    var radius = bitcast<f32>(state[3u * dispatch.stride + problem]);
    // ‖Dδ‖ of the last step, negative where it was rejected.
    var length = bitcast<f32>(state[4u * dispatch.stride + problem]);
    var floor_of_predictions = bitcast<f32>(state[5u * dispatch.stride + problem]);
    var influence = bitcast<f32>(state[6u * dispatch.stride + problem]);
    let last = iterations + min(dispatch.turn, dispatch.max_iterations - iterations);
    var x = load_parameters(problem);
    var scale = load_scale(problem);
    // The point of an earlier dispatch has been entered.
    var is_known = iterations > 0u;

    var normal: Normal;
    var cost = 0.0;
    #if PAIRS
    var low_of_cost = 0.0;
    #endif
    var cosine = 0.0;
    var size = 0.0;
    var of_all = 0.0;
    var frozen = 0u;
    var coordinates = 0.0;
    let samples = samples_of(problem);
    var moved_on = true;
    var noise = 0.0;
    // Of the step that led here: none, at the start.
    var verdict = 1.0;
    var cost_before = 0.0;
    var change = 0.0;
    var predicted = 0.0;
    var descent = 0.0;
    var of_step = 0.0;
    var size_before = 0.0;
    // Whether a step led here that can show convergence, and the tolerance that was met.
    var complete = 0.0;
    var stop = RUNNING;
    // Whether the arithmetic tells whether the point is a minimum.
    var proven = 0u;
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
            frozen = frozen_coordinates(x, normal);
            let slopes = scaled_gradient(normal, frozen);
            size = free_size(normal, x, frozen);
            of_all = scaled_size(normal, x);
            coordinates = coordinates_of(normal, frozen);
            #if ROBUST
            let own_influence = normal.influence;
            #else
            let own_influence = cost;
            #endif
            if !is_known {
                scale = follow(scale, normal, select(1.0, own_influence / influence, influence > 0.0));
                if iterations == 0u {
                    let first = select(size, slopes.y / dispatch.initial_damping, dispatch.initial_damping > 0.0);
                    radius = select(LARGEST, first, first > 0.0 && first < LARGEST);
                }
            }
            influence = own_influence;
            cosine = lm_cosine(slopes.x, influence);
            stop = lm_convergence(
                verdict, complete, cost_before, change, predicted, descent, cosine, of_step, size_before,
                dispatch.cost_tolerance, dispatch.gradient_tolerance, dispatch.parameter_tolerance, dispatch.epsilon);
            noise = lm_noise(cost, of_all, max(samples, 1.0), dispatch.epsilon);
            // Then its step was judged too.
            if is_known {
                stop = RUNNING;
            }
            is_known = false;
            if stop != RUNNING {
                radius = max(radius, GROWTH_AFTER_SHORT_STEP * abs(length));
            }
        }
        let solved = step_within(normal, scale, radius, frozen);
        let minimum = lm_minimum(
            solved.promise, cost, influence, samples, coordinates, of_all, noise, dispatch.cost_tolerance, dispatch.epsilon);
        if stop == RUNNING && minimum.y != 0.0 && dispatch.epsilon > 0.0 {
            stop = COST_TOLERANCE;
        }
        let is_minimum = minimum.x != 0.0;
        let is_told = minimum.z != 0.0 && solved.trace <= MOST_TRACE;
        if stop != RUNNING && (is_minimum || !is_finite(solved.promise)) {
            // Without a factor of H nothing is told of a minimum.
            end = select(PRECISION_LIMIT, stop, is_minimum);
            proven = select(0u, 1u, is_told);
            break;
        }
        stop = RUNNING;
        if iterations >= last {
            if iterations >= dispatch.max_iterations {
                end = MAX_ITERATIONS;
                proven = select(0u, 1u, is_told);
            }
            break;
        }
        iterations++;

        change = not_a_number();
        predicted = change;
        descent = change;
        of_step = change;
        var moved: Moved;
        if solved.sound {
            moved = moved_by(x, solved.step);
            descent = descent_along(normal, moved.projected);
            predicted = descent - 0.5 * curvature_along(normal, moved.projected);
            of_step = step_length(normal, moved.projected);
            change = reduction(problem, x, moved.trial);
        }
        let gain = lm_gain(change, predicted, descent, of_step, size, influence, cosine, noise, floor_of_predictions, dispatch.epsilon);
        let has_rejected = length < 0.0;
        length = select(radius, sqrt(solved.square), solved.sound);
        radius = lm_radius(radius, length, change, select(GROWTH, GROWTH_AFTER_REJECTION, has_rejected), gain.x, gain.y);
        verdict = gain.y;
        floor_of_predictions = gain.z;
        if verdict != 0.0 {
            x = moved.trial;
            cost_before = influence;
            size_before = size;
            complete = 1.0;
            moved_on = true;
            continue;
        }
        length = -length;
        if gain.w == NON_FINITE {
            end = NON_FINITE;
        } else if gain.w != RUNNING || !(radius > 0.0) {
            end = select(PRECISION_LIMIT, COST_TOLERANCE, is_minimum || (minimum.w != 0.0 && is_told));
            proven = select(0u, 1u, is_told);
        }
        if end != RUNNING {
            break;
        }
    }

    store_parameters(problem, x);
    store_scale(problem, scale);
    state[problem] = u32(end);
    state[dispatch.stride + problem] = iterations;
    state[2u * dispatch.stride + problem] = bitcast<u32>(cost);
    state[3u * dispatch.stride + problem] = bitcast<u32>(radius);
    state[4u * dispatch.stride + problem] = bitcast<u32>(length);
    state[5u * dispatch.stride + problem] = bitcast<u32>(floor_of_predictions);
    state[6u * dispatch.stride + problem] = bitcast<u32>(influence);
    state[7u * dispatch.stride + problem] = proven;
    #if PAIRS
    state[8u * dispatch.stride + problem] = bitcast<u32>(low_of_cost);
    #endif
}

// The step in the ball: the undamped one where it is short enough, else one on its surface, of which λ is found by Newton's method on 1/‖Dδ‖ (J. J. Moré and
// D. C. Sorensen, "Computing a trust region step", 1983). Promise and trace are those of the undamped system, a NaN and a large number where it has no factor.
fn step_within(normal: Normal, scale: Step, radius: f32, frozen: u32) -> Solved {
    var damping = 0.0;
    var promise = not_a_number();
    var trace = LARGEST;
    var solved: Solved;
    for (var k = 0u; k < MOST_SYSTEMS; k++) {
        solved = damped_step(normal, scale, damping, frozen);
        let length = sqrt(solved.square);
        let sound = solved.sound && is_finite(solved.square) && is_finite(solved.bend);
        if k == 0u && sound {
            promise = solved.promise;
            trace = solved.trace;
        }
        solved.sound = sound;
        if sound && length <= SLACK * radius {
            break;
        }
        let further = damping + (length / radius - 1.0) * solved.square / solved.bend;
        damping = select(max(LEAST_DAMPING, 10.0 * damping), max(further, damping), sound && is_finite(further));
    }
    solved.promise = promise;
    solved.trace = trace;
    return solved;
}
