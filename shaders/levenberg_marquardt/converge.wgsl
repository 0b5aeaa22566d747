#import workgroup_sums
#import workgroup_largest
#import nonfinite
// After a step has begun: what the point that was linearised tells, whether it is the last, and how exactly to solve for the next
// step.
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@group(0) @binding(1) var<storage, read> costs: array<f32>; // parts of the cost
@group(0) @binding(2) var<storage, read> sums: array<vec2<f32>>;
@group(0) @binding(3) var<uniform> dispatch: Figures;

var<workgroup> running: u32;

@compute @workgroup_size(256)
fn converge(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u {
        running = state[STEP];
    }
    if workgroupUniformLoad(&running) == 0u {
        return;
    }
    var part = vec2<f32>();
    for (var k = lane; k < dispatch.count; k += THREADS) {
        var addend = vec2<f32>(costs[k * dispatch.width], 0.0);
        if dispatch.width == 2u {
            addend.y = costs[2u * k + 1u];
        }
        part = sum_of_pairs(part, addend);
    }
    put_addend(0u, lane, part);
    for (var sum = 0u; sum < 3u; sum++) {
        let section = select(RZ_SUMS + sum, SQUARES_SUMS, sum == 2u);
        part = vec2<f32>();
        for (var k = lane; k < dispatch.groups; k += THREADS) {
            part = sum_of_pairs(part, sums[section * dispatch.groups + k]);
        }
        put_addend(1u + sum, lane, part);
    }
    add_over_workgroup(lane, 4u);
    var most = 0u;
    for (var k = lane; k < dispatch.groups; k += THREADS) {
        most = max(most, bitcast<u32>(sums[LARGEST_SUMS * dispatch.groups + k].x));
    }
    most = largest_over_workgroup(lane, most);
    if lane == 0u {
        conclude(total_of(0u), total_of(1u).x, total_of(2u).x, sqrt(total_of(3u).x), bitcast<f32>(most));
    }
}

fn conclude(cost: vec2<f32>, rz: f32, zdz: f32, norm: f32, largest: f32) {
    // The point is new, unless the last step was not taken, or could not be.
    let arrived = state[LINEARISE] != 0u && state[RESTORE] == 0u;
    let starts = state[STARTED] == 0u;
    let record = record_of(state[ITERATION]);
    let finite = is_finite(cost.x) && is_finite(largest);
    if arrived && !starts && !finite {
        go_back(record);
        return;
    }
    var end = 0.0;
    if arrived {
        set_number(COST, cost.x);
        set_number(COST_LOW, cost.y);
        set_number(LARGEST, largest);
        set_number(record + RECORD_COST, cost.x);
        set_number(record + RECORD_COST_LOW, cost.y);
        set_number(record + RECORD_LARGEST, largest);
        if starts {
            state[STARTED] = 1u;
            state[record + RECORD_ACCEPTED] = 1u;
            set_number(record + RECORD_DAMPING, number(DAMPING));
            end = lm_convergence(1.0, 0.0, 0.0, 0.0, largest, 0.0, 0.0, 0.0, number(GRADIENT_TOLERANCE), 0.0, 0.0);
        } else {
            end = lm_convergence(
                number(VERDICT), number(COST_BEFORE), number(CHANGE), number(FLOOR), largest, number(STEP_NORM), number(SIZE),
                number(COST_TOLERANCE), number(GRADIENT_TOLERANCE), number(PARAMETER_TOLERANCE), number(EPSILON));
        }
        if end == 0.0 {
            end = number(ENDING);
        }
        let forcing = lm_forcing(norm, number(NORM), number(FORCING), number(LINEAR_TOLERANCE));
        set_number(FORCING, forcing);
        set_number(NORM, norm);
    }
    // What a step that was not taken has left among the parts of the cost is not the cost.
    if arrived && !finite {
        end = NON_FINITE;
    } else if end == 0.0 && state[ITERATION] >= state[MOST_ITERATIONS] {
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
    set_number(RZ, rz);
    set_number(RZ_TARGET, number(FORCING) * number(FORCING) * rz);
    set_number(PDP, zdz);
    state[LINEAR] = 0u;
    let solvable = rz > 0.0 && is_finite(rz);
    state[ITERATE] = select(0u, 1u, solvable);
    state[TRIAL] = select(1u, 0u, solvable);
}

// A cost without derivatives leads nowhere: the step is not taken after all.
fn go_back(record: u32) {
    let region = lm_damping(number(DAMPING_BEFORE), number(GROWTH_BEFORE), 0.0, 0.0);
    set_number(DAMPING, region.x);
    set_number(GROWTH, region.y);
    set_number(FLOOR, number(FLOOR_BEFORE));
    state[CHANGE] = dispatch.nan;
    set_number(VERDICT, 0.0);
    set_number(ENDING, 0.0);
    state[record + RECORD_ACCEPTED] = 0u;
    state[record + RECORD_CHANGE] = dispatch.nan;
    state[record + RECORD_GAIN] = dispatch.nan;
    state[COMMIT] = 0u;
    if region.z != 0.0 {
        set_number(TERMINATION, region.z);
        state[LINEARISE] = 0u;
        state[STEP] = 0u;
    }
    state[RESTORE] = 1u;
}
