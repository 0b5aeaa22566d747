#import double_single
#import nonfinite
#import limited_memory/state
#import limited_memory/search
// A walk through the tree of the line search: the cost and its slope were evaluated at several steps, and while the next step is one of
// them, its trial is judged. If that ends with a step to take, or with one that needs a trial of its own, the round continues with it.
const THREADS = 256u / MOST_STEPS * MOST_STEPS; // as many for each step
const SUMMING = 16u * MOST_STEPS; // in the second turn

var<workgroup> offered: f32;
var<workgroup> totals: array<vec4<f32>, 256>; // cost and slope, pairs of a number and its error

@compute @workgroup_size(256)
fn walk(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u {
        offered = state[LINE];
    }
    if workgroupUniformLoad(&offered) == 0.0 {
        return;
    }
    var total = vec4<f32>();
    for (var k = lane; k < arrayLength(&sums) && lane < THREADS; k += THREADS) {
        total = sum_of_totals(total, vec4<f32>(sums[k].x, 0.0, sums[k].y, 0.0));
    }
    totals[lane] = total;
    workgroupBarrier();
    total = vec4<f32>();
    for (var k = lane; k < THREADS && lane < SUMMING; k += SUMMING) {
        total = sum_of_totals(total, totals[k]);
    }
    workgroupBarrier();
    totals[lane] = total;
    workgroupBarrier();
    if lane == 0u {
        go();
        state[EVALUATES] = select(1.0, 0.0, state[LINE] != 0.0 || state[PHASE] == DONE);
    }
}

fn sum_of_totals(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(sum_of_pairs(a.xy, b.xy), sum_of_pairs(a.zw, b.zw));
}

// The place of a step among those that were evaluated; MOST_STEPS if it was not.
fn place_of(step: f32) -> u32 {
    var place = 0u;
    while place < MOST_STEPS && state[STEPS + place] != step {
        place++;
    }
    return place;
}

fn go() {
    state[LINE] = 0.0;
    var verdict = TOO_LONG;
    var outcome = CONTINUE;
    for (var place = place_of(state[STEP]); place < MOST_STEPS; place = place_of(state[STEP])) {
        var total = vec4<f32>();
        for (var k = place; k < SUMMING; k += MOST_STEPS) {
            total = sum_of_totals(total, totals[k]);
        }
        let rise = sum_of_pairs(total.xy, -pair_at(COST)).x;
        state[EVALUATIONS] += 1.0;
        verdict = NON_FINITE_TRIAL;
        if is_finite(total.x) && is_finite(total.z) {
            verdict = judged(rise, total.z, state[STEP] * state[TURNED_SLOPE], false);
        }
        outcome = follow(verdict, rise, total.z);
        if outcome != CONTINUE {
            break;
        }
    }
    if outcome == ACCEPT_TRIAL {
        state[FORCED] = 1.0;
    } else if outcome == CONTINUE {
        offer(verdict);
    }
}
