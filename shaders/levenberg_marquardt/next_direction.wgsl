// After an update of conjugate gradients: whether they go on, and β = rᵀz / (rᵀz before) of the next direction p = z + βp. Every workgroup
// computes it, and the first stores it. No word that is written is read, so that no workgroup waits for another. After the product that
// leaves the residual of a Schur complement, conjugate gradients begin.
var<workgroup> updated: u32;
var<workgroup> going_on: u32;

// 1 and β, or 0. If no update has run, the words of the state.
fn next_direction(lane: u32, is_first: bool) -> vec2<f32> {
    if lane == 0u {
        updated = state[ITERATE_NOW];
    }
    // All loads are issued before the gate is known, so that their latencies overlap.
    var parts = array<vec2<f32>, 3>();
    for (var k = lane; k < dispatch.groups; k += THREADS) {
        let first = sums[RZ_SUMS * dispatch.groups + k];
        let second = sums[ZDZ_SUMS * dispatch.groups + k];
        let third = sums[ZDP_SUMS * dispatch.groups + k];
        parts[0] = sum_of_pairs(parts[0], first);
        parts[1] = sum_of_pairs(parts[1], second);
        parts[2] = sum_of_pairs(parts[2], third);
    }
    put_addend(0u, lane, parts[0]);
    put_addend(1u, lane, parts[1]);
    put_addend(2u, lane, parts[2]);
    if workgroupUniformLoad(&updated) == 0u {
        if lane == 0u {
            going_on = state[ITERATE];
        }
        return vec2<f32>(f32(workgroupUniformLoad(&going_on)), number(BETA));
    }
    add_over_workgroup(lane, 3u);
    let rz = total_of(0u).x;
    let begins = state[LINEAR_BEFORE] == REDUCING;
    var beta = 0.0;
    var goal = number(FORCING) * number(FORCING) * rz;
    if !begins {
        beta = rz / number(RZ_BEFORE);
        goal = number(RZ_TARGET);
    }
    // pᵀDp of the new p, from sums of the update: p itself is not read.
    let pdp = total_of(1u).x + beta * (2.0 * total_of(2u).x + beta * number(PDP_BEFORE));
    let linear = state[LINEAR_BEFORE] + 1u;
    if lane == 0u {
        let goes_on = state[USABLE] != 0u && is_finite(rz) && rz > goal && linear < state[MOST_LINEAR];
        going_on = select(0u, 1u, goes_on);
        if is_first {
            set_number(RZ, rz);
            if begins {
                set_number(RZ_TARGET, goal);
            }
            set_number(BETA, beta);
            set_number(PDP, max(pdp, 0.0));
            state[LINEAR] = linear;
            state[ITERATE] = select(0u, 1u, goes_on);
            state[TRIAL] = select(1u, 0u, goes_on);
        }
    }
    return vec2<f32>(f32(workgroupUniformLoad(&going_on)), beta);
}
