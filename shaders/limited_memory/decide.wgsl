#import workgroup_sums
#import pair_arithmetic
#import nonfinite
#import limited_memory/state
#import limited_memory/search
// The decision on a trial: one workgroup adds up the measured sums, its first thread judges by the rules, and if a step is taken all
// threads find the next direction by the two-loop recursion, on the Gram matrix of the history instead of its vectors (W. Chen, Z. Wang
// and J. Zhou, "Large-scale L-BFGS using MapReduce", NIPS 2014).
var<workgroup> phase: f32;
var<workgroup> last: u32; // pairs of the history
var<workgroup> follows: u32; // whether a direction is to be found
var<workgroup> weights: array<vec2<f32>, 256>; // of the history's vectors in the recursion

@compute @workgroup_size(256)
fn decide(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u {
        phase = select(state[PHASE], DONE, state[EVALUATES] == 0.0);
        last = u32(state[COUNT]);
        state[ACCEPTED] = 0.0;
    }
    let now = workgroupUniformLoad(&phase);
    if now == DONE {
        return;
    }
    let known = workgroupUniformLoad(&last);
    total_costs(lane);
    total_sections(lane, OWN + PRODUCTS * known);
    if lane == 0u {
        mark_largest();
        state[KEPT] = -1.0;
        state[STORE_LOWEST] = 0.0;
        follows = 0u;
        judge(now);
        last = u32(state[COUNT]);
    }
    storageBarrier();
    let pairs = workgroupUniformLoad(&last);
    if workgroupUniformLoad(&follows) == 0u {
        return;
    }
    note_products(lane, pairs);
    storageBarrier();
    workgroupBarrier();
    recur(lane, pairs);
    if lane == 0u {
        conclude(promised(2u * pairs));
    }
}

fn total_costs(lane: u32) {
    var sum = vec2<f32>();
    for (var k = lane; k < dispatch.costs; k += THREADS) {
        var addend = vec2<f32>(costs[k * dispatch.width], 0.0);
        if dispatch.width == 2u {
            addend.y = costs[2u * k + 1u];
        }
        sum = sum_of_pairs(sum, addend);
    }
    put_addend(0u, lane, sum);
    add_over_workgroup(lane, 1u);
    if lane == 0u {
        state[TRIAL_COST] = total_of(0u).x;
        state[TRIAL_COST_LOW] = total_of(0u).y;
    }
    workgroupBarrier();
}

// Four threads a section.
fn total_sections(lane: u32, sections: u32) {
    for (var first = 0u; first < sections; first += THREADS / 4u) {
        let section = first + lane / 4u;
        var sum = vec2<f32>();
        if section < sections && section != LARGEST && section != SHARES && section != FALLEN {
            for (var k = lane % 4u; k < dispatch.groups; k += 4u) {
                sum = sum_of_pairs(sum, partials[section * dispatch.groups + k]);
            }
        }
        pairs[lane] = sum;
        workgroupBarrier();
        if lane % 4u == 0u && section < sections {
            let left = sum_of_pairs(pairs[lane], pairs[lane + 1u]);
            let right = sum_of_pairs(pairs[lane + 2u], pairs[lane + 3u]);
            put(TOTALS + 2u * section, sum_of_pairs(left, right));
        }
        workgroupBarrier();
    }
    storageBarrier();
}

fn mark_largest() {
    var most = 0u;
    var found = 0u;
    var shares = vec2<f32>();
    var fallen = vec2<f32>();
    for (var k = 0u; k < dispatch.groups; k++) {
        let part = partials[LARGEST * dispatch.groups + k];
        shares = max(shares, partials[SHARES * dispatch.groups + k]);
        fallen = max(fallen, partials[FALLEN * dispatch.groups + k]);
        most = max(most, bitcast<u32>(part.x));
        found |= u32(part.y);
    }
    state[TRIAL_LARGEST] = bitcast<f32>(most);
    state[FOUND] = f32(found);
    put(TOTALS + 2u * SHARES, shares);
    put(TOTALS + 2u * FALLEN, fallen);
}

fn total(section: u32) -> f32 {
    return state[TOTALS + 2u * section];
}

fn found(mark: u32) -> bool {
    return (u32(state[FOUND]) & mark) != 0u;
}

fn judge(now: f32) {
    let non_finite = found(NON_FINITE_GRADIENT) || !is_finite(state[TRIAL_COST]) || !is_finite(total(QQ)) || !is_finite(total(SIZE));
    if now == START {
        state[EVALUATIONS] = 1.0;
        if non_finite {
            end(END_START);
            return;
        }
        state[PHASE] = SEARCHING;
        take(0.0);
        return;
    }
    if state[FRESH] != 0.0 {
        state[FRESH] = 0.0;
        if state[TURNED_STEEPEST] != 0.0 {
            forget();
        }
    }
    let slope0 = state[TURNED_SLOPE];
    if !(slope0 < 0.0) {
        end(END_SMALL);
        return;
    }
    let rise = difference(TRIAL_COST, COST);
    let slope = total(SLOPE);
    var verdict = NON_FINITE_TRIAL;
    if !found(NON_FINITE_POINT) && !found(MOVED) {
        verdict = UNMOVED;
    } else if !found(NON_FINITE_POINT) {
        // A forced step was judged before.
        state[EVALUATIONS] += 1.0 - state[FORCED];
        if !non_finite && is_finite(slope) && is_finite(total(PREDICTED)) {
            verdict = judged(rise, slope, total(PREDICTED), found(BENT));
        }
    }
    let would_take = state[FORCED] != 0.0 || verdict == ACCEPTABLE;
    let has_other = state[COUNT] > 0.0 || state[TRIALS] + 1.0 < state[MAX_TRIALS];
    if would_take && verdict < UNMOVED && has_other && step_refused(total(FALLEN), total(SHARES), state[LOSSES]) != 0.0 {
        state[LOSSES] += 1.0;
        if state[COUNT] > 0.0 {
            // The gradient leads elsewhere than a direction that goes too far.
            forget();
            set_out();
            return;
        }
        state[REFUSED] = 1.0;
        state[LOWER] = 0.0;
        verdict = NON_FINITE_TRIAL;
    }
    if state[FORCED] != 0.0 {
        if verdict != NON_FINITE_TRIAL {
            take(rise);
            return;
        }
        // The cost and its slope are finite there, and the gradient is not.
        state[FORCED] = 0.0;
        if state[LOWER] == state[STEP] {
            state[LOWER] = 0.0;
        }
    }
    if found(BENT) {
        state[CROOKED] = 1.0;
    }
    state[REACH] = sqrt(total(SS)) / state[STEP];
    let outcome = follow(verdict, rise, slope);
    if outcome == ACCEPT_TRIAL {
        take(rise);
    } else if outcome == CONTINUE {
        offer(verdict);
    }
}

// The trial becomes the point.
fn take(rise: f32) {
    let first = state[ITERATION] < 0.0;
    let step = sqrt(total(SS));
    if first {
        forget();
    } else {
        // The lowest point seen is kept while it is not the current one: steps are taken for their slope, too.
        if state[HAS_LOWEST] != 0.0 && difference(TRIAL_COST, LOWEST_COST) <= 0.0 {
            state[HAS_LOWEST] = 0.0;
        } else if state[HAS_LOWEST] == 0.0 && rise > 0.0 {
            state[HAS_LOWEST] = 1.0;
            state[STORE_LOWEST] = 1.0;
            put(LOWEST_COST, pair_at(COST));
        }
        let pair = curvature_pair(total(SY), step, sqrt(total(YY)), state[RESOLUTION], LARGEST_NUMBER);
        if pair.x != 0.0 {
            state[SCALE] = pair.z;
            state[HAS_SCALE] = 1.0;
            let slot = state[NEXT];
            state[KEPT] = slot;
            state[NEXT] = select(slot + 1.0, 0.0, slot + 1.0 == CAPACITY);
            state[COUNT] = min(state[COUNT] + 1.0, CAPACITY);
            state[STEEPEST] = 0.0;
        } else if state[STEEPEST] != 0.0 {
            state[SCALE] = step / sqrt(total(QQ));
            state[HAS_SCALE] = 1.0;
        }
        if found(TURNED) {
            forget();
            state[KEPT] = -1.0;
        }
    }
    state[ACCEPTED] = 1.0;
    state[ACCEPTED_STEP] = state[STEP];
    state[ITERATION] += 1.0;
    put(COST, pair_at(TRIAL_COST));
    state[GRADIENT_NORM] = sqrt(total(QQ));
    state[SIZE_NOW] = sqrt(total(SIZE));
    state[NOISE] = state[RESOLUTION] * (abs(state[COST]) + sqrt(total(EFFECT)));
    let iteration = state[ITERATION];
    let largest = state[TRIAL_LARGEST];
    let seen = progress(iteration, -difference(COST, LEAST_COST), state[NOISE], largest, state[LEAST_GRADIENT], state[IDLE]);
    if seen.x != 0.0 {
        put(LEAST_COST, pair_at(COST));
        state[LEAST_GRADIENT] = largest;
    }
    state[IDLE] = seen.y;
    let record = RECORDS + RECORD_WORDS * (u32(iteration) % MOST_RECORDS);
    put(record, pair_at(COST));
    state[record + 2u] = select(-rise, 0.0, first);
    state[record + 3u] = largest;
    state[record + 4u] = select(step, 0.0, first);
    state[record + 5u] = state[STEP];
    state[record + 6u] = state[SIZE_NOW];
    state[record + 7u] = state[EVALUATIONS];
    set_out();
    if state[STEEPEST] == 0.0 {
        follows = 1u;
    } else {
        conclude(select(LARGEST_NUMBER, 0.0, largest == 0.0));
    }
}

// Half of what the slope of the next direction is: what the history's model still promises.
fn promised(vectors: u32) -> f32 {
    var sum = product_of_pairs(vec2<f32>(state[SCALE], 0.0), pair_at(TOTALS + 2u * QQ));
    for (var k = 0u; k < vectors; k++) {
        sum = sum_of_pairs(sum, product_of_pairs(weights[k], pair_at(PRODUCTS_WITH_GRADIENT + 2u * k)));
    }
    return 0.5 * sum.x;
}

// Ends the run if the step that was taken meets a tolerance.
fn conclude(promise: f32) {
    let iteration = state[ITERATION];
    let record = RECORDS + RECORD_WORDS * (u32(iteration) % MOST_RECORDS);
    let by_slopes = select(-(total(PREDICTED) + 0.5 * total(SY)), 0.0, iteration == 0.0);
    let fall = fall_of_step(state[record + 2u], by_slopes, state[NOISE]);
    state[FALL] += fall;
    let shares = pair_at(TOTALS + 2u * SHARES);
    state[SHARE] = shares.x;
    state[SHARE_LIMIT] = share_limit(state[COST], state[FALL], state[COST_TOLERANCE], state[PARAMETER_TOLERANCE], state[RESOLUTION]);
    let ends = ending(
        promise, iteration, fall, state[COST] + fall, state[FALL], state[HAS_SIZE], state[record + 3u], shares.x, shares.y, sqrt(total(EFFECT)),
        state[record + 4u], state[SIZE_NOW], state[IDLE],
        state[COST_TOLERANCE], state[GRADIENT_TOLERANCE], state[PARAMETER_TOLERANCE], state[MAX_ITERATIONS], state[RESOLUTION],
        state[LARGEST_RESULT]
    );
    state[SETTLED] = ends.y;
    if ends.x != 0.0 {
        end(ends.x);
    }
}

// Rows and columns of the Gram matrix that a new pair has, and the products with the gradient.
fn note_products(lane: u32, pairs: u32) {
    let kept = state[KEPT];
    let slot = u32(max(kept, 0.0));
    for (var b = lane; b < 2u * pairs; b += THREADS) {
        let k = b / 2u;
        let is_y = b % 2u == 1u;
        // The order of the sections is ss, sy, sq, ys, yy, yq.
        let first = TOTALS + 2u * (OWN + PRODUCTS * k) + select(0u, 6u, is_y);
        var with_s = pair_at(first);
        var with_y = pair_at(first + 2u);
        var with_q = pair_at(first + 4u);
        if kept >= 0.0 && k == slot {
            with_s = pair_at(TOTALS + 2u * select(SS, SY, is_y));
            with_y = pair_at(TOTALS + 2u * select(SY, YY, is_y));
            with_q = pair_at(TOTALS + 2u * select(SQ, YQ, is_y));
        }
        put(PRODUCTS_WITH_GRADIENT + 2u * b, with_q);
        if kept >= 0.0 {
            put(gram(2u * slot, b), with_s);
            put(gram(b, 2u * slot), with_s);
            put(gram(2u * slot + 1u, b), with_y);
            put(gram(b, 2u * slot + 1u), with_y);
        }
    }
}

fn gram(row: u32, column: u32) -> u32 {
    return GRAM + 2u * (row * 2u * u32(CAPACITY) + column);
}

// The product of a vector of the history with the combination so far.
fn product(row: u32, lane: u32, count: u32, of_gradient: vec2<f32>) -> vec2<f32> {
    if lane < count {
        pairs[lane] = product_of_pairs(weights[lane], pair_at(gram(row, lane)));
    }
    workgroupBarrier();
    // Few terms: one thread is as quick as many with barriers.
    var sum = vec2<f32>();
    if lane == 0u {
        sum = product_of_pairs(of_gradient, pair_at(PRODUCTS_WITH_GRADIENT + 2u * row));
        for (var k = 0u; k < count; k++) {
            sum = sum_of_pairs(sum, pairs[k]);
        }
    }
    workgroupBarrier();
    return sum;
}

// The slot of a pair by its age; the newest has age 0.
fn slot_of(age: u32) -> u32 {
    return (u32(state[NEXT]) + u32(CAPACITY) - 1u - age) % u32(CAPACITY);
}

fn recur(lane: u32, pairs: u32) {
    let count = 2u * pairs;
    weights[lane] = vec2<f32>();
    workgroupBarrier();
    let one = vec2<f32>(1.0, 0.0);
    for (var age = 0u; age < pairs; age++) {
        let slot = slot_of(age);
        let along = product(2u * slot, lane, count, one);
        if lane == 0u {
            let alpha = quotient_of_pairs(along, pair_at(gram(2u * slot, 2u * slot + 1u)));
            put(ALPHAS + 2u * slot, alpha);
            weights[2u * slot + 1u] = sum_of_pairs(weights[2u * slot + 1u], -alpha);
        }
        workgroupBarrier();
    }
    let scale = vec2<f32>(state[SCALE], 0.0);
    weights[lane] = product_of_pairs(weights[lane], scale);
    workgroupBarrier();
    for (var back = 0u; back < pairs; back++) {
        let slot = slot_of(pairs - 1u - back);
        let along = product(2u * slot + 1u, lane, count, scale);
        if lane == 0u {
            let beta = quotient_of_pairs(along, pair_at(gram(2u * slot, 2u * slot + 1u)));
            let change = sum_of_pairs(pair_at(ALPHAS + 2u * slot), -beta);
            weights[2u * slot] = sum_of_pairs(weights[2u * slot], change);
        }
        workgroupBarrier();
    }
    if lane < count {
        state[FACTORS + lane] = -weights[lane].x;
    }
    if lane == 0u {
        state[GRADIENT_FACTOR] = -scale.x;
    }
}
