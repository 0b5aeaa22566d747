// The line search, for the kernels that judge a trial of it.
fn put(place: u32, pair: vec2<f32>) {
    state[place] = pair.x;
    state[place + 1u] = pair.y;
}

fn pair_at(place: u32) -> vec2<f32> {
    return vec2<f32>(state[place], state[place + 1u]);
}

// a - b of costs, each a number and its error.
fn difference(a: u32, b: u32) -> f32 {
    return sum_of_pairs(pair_at(a), -pair_at(b)).x;
}

fn end(reason: f32) {
    state[ENDING] = reason;
    state[PHASE] = DONE;
    state[EVALUATES] = 0.0;
}

fn headroom() -> f32 {
    return state[NOISE] + select(0.0, difference(LOWEST_COST, COST), state[HAS_LOWEST] != 0.0);
}

// The verdict on a finite trial.
fn judged(rise: f32, slope: f32, predicted: f32, bent: bool) -> f32 {
    state[FINITE] = 1.0;
    return line_verdict(
        rise, slope, predicted, select(0.0, 1.0, bent || state[REFUSED] != 0.0), state[TURNED_SLOPE], state[NOISE], headroom(), state[C1], state[C2]
    );
}

// How the search goes on after a verdict on the trial of its step. The caller takes the trial if the outcome is ACCEPT_TRIAL.
fn follow(verdict: f32, rise: f32, slope: f32) -> f32 {
    let step = state[STEP];
    state[TRIALS] += 1.0;
    let contradictions = line_contradictions(
        verdict, rise, slope, state[NOISE], step,
        state[CONTRADICTIONS], state[CONTRADICTIONS + 1u], state[CONTRADICTIONS + 2u]
    );
    state[CONTRADICTIONS] = contradictions.x;
    state[CONTRADICTIONS + 1u] = contradictions.y;
    state[CONTRADICTIONS + 2u] = contradictions.z;
    let bracket = line_bracket(verdict, state[LOWER], state[UPPER], step);
    state[LOWER] = bracket.x;
    state[UPPER] = bracket.y;
    let outcome = line_outcome(
        verdict, rise, slope, bracket.x, bracket.y, step, state[TRIALS], state[MAX_TRIALS], state[FINITE], contradictions.x,
        state[TURNED_SLOPE], state[NOISE], headroom(), state[RESOLUTION]
    );
    if outcome == ACCEPT_TRIAL {
        return outcome;
    }
    if outcome == CONTINUE {
        state[STEP] = bracket.z;
    } else if outcome == ACCEPT_LOWER {
        state[STEP] = bracket.x;
        state[FORCED] = 1.0;
    } else if state[COUNT] > 0.0 {
        // From a quasi-Newton direction the gradient's is tried once.
        forget();
        set_out();
    } else {
        // An exhausted search that ended within a hundred roundings of the coordinates met nothing but rounding.
        let visible = ROUNDINGS * state[RESOLUTION] * state[SIZE_NOW];
        end(select(outcome, PRECISION, outcome == EXHAUSTED && step * state[REACH] <= visible));
        state[ENDING] += END_SEARCH;
    }
    return outcome;
}

// Offers the next step and those that may follow it to be evaluated at once, unless they need a trial of their own: to find whether
// bounds bend the path, or whether a step is too short to be seen. A step that moves the point by some roundings is not.
fn offer(last: f32) {
    let straight = state[CROOKED] == 0.0 && (dispatch.constrained == 0u || state[UPPER] > 0.0);
    let visible = state[STEP] * state[REACH] > 4.0 * state[RESOLUTION] * state[SIZE_NOW];
    state[LINE] = select(0.0, 1.0, straight && visible);
    // The steps are numbered as the nodes of a heap: the digits below the first say what the verdicts before it are.
    let above = select(TOO_LONG, NON_FINITE_TRIAL, last == NON_FINITE_TRIAL);
    for (var k = 0u; k < MOST_STEPS; k++) {
        var bracket = vec3<f32>(state[LOWER], state[UPPER], state[STEP]);
        for (var digit = firstLeadingBit(k + 1u); digit > 0u; digit--) {
            let verdict = select(above, TOO_SHORT, (((k + 1u) >> (digit - 1u)) & 1u) != 0u);
            bracket = line_bracket(verdict, bracket.x, bracket.y, bracket.z);
        }
        state[STEPS + k] = bracket.z;
    }
}

fn forget() {
    state[COUNT] = 0.0;
    state[NEXT] = 0.0;
    state[STEEPEST] = 1.0;
}

fn set_out() {
    state[FRESH] = 1.0;
    state[FORCED] = 0.0;
    state[REFUSED] = 0.0;
    state[STEP] = 1.0;
    state[LOWER] = 0.0;
    state[UPPER] = 0.0;
    state[TRIALS] = 0.0;
    state[FINITE] = 0.0;
    state[CROOKED] = 0.0;
    state[CONTRADICTIONS] = 0.0;
    state[CONTRADICTIONS + 1u] = 0.0;
    state[CONTRADICTIONS + 2u] = 0.0;
}
