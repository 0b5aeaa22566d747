#import workgroup_sums
#import workgroup_largest
#import nonfinite
#import limited_memory/state
#import limited_memory/coordinates
// The sums for the decision on a trial, in one pass: workgroups of the first layer sum over the trial itself, with s the step,
// y the change of the gradient and q the trial's gradient where coordinates may move; those of layer k + 1 the products of s, y and q
// with pair k of the history. A step that is taken then needs no pass of its own for the Gram matrix.
var<workgroup> marks: atomic<u32>;
var<workgroup> share: atomic<u32>; // bits of nonnegative numbers, ordered as these
var<workgroup> unsettled: atomic<u32>;
var<workgroup> fallen: atomic<u32>;

// A coordinate of s, y and q.
fn step_of(i: u32) -> vec3<f32> {
    let x = point[i];
    let t = trial[i];
    let g = vectors[GRADIENT * dispatch.stride + i];
    let h = select(gradient[i], 0.0, is_constant(i));
    let y = select(h - g, 0.0, stays(i, x, g));
    let q = select(h, 0.0, stays(i, t, h));
    return vec3<f32>(tangent_step(i, x, t, state[STEP]), y, q);
}

fn more(sum: vec2<f32>, a: f32, b: f32) -> vec2<f32> {
    return sum_of_pairs(sum, exact_product(a, b));
}

@compute @workgroup_size(256)
fn measure(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if state[EVALUATES] == 0.0 || f32(workgroup.y) > state[COUNT] {
        return;
    }
    if workgroup.y == 0u {
        own(workgroup.x, lane);
    } else {
        with_history(workgroup.x, workgroup.y - 1u, lane);
    }
}

fn with_history(group: u32, slot: u32, lane: u32) {
    var ss = vec2<f32>();
    var sy = vec2<f32>();
    var sq = vec2<f32>();
    var ys = vec2<f32>();
    var yy = vec2<f32>();
    var yq = vec2<f32>();
    for (var i = group * THREADS + lane; i < dispatch.count; i += dispatch.threads) {
        let now = step_of(i);
        let s = history[2u * slot * dispatch.stride + i];
        let y = history[(2u * slot + 1u) * dispatch.stride + i];
        ss = more(ss, s, now.x);
        sy = more(sy, s, now.y);
        sq = more(sq, s, now.z);
        ys = more(ys, y, now.x);
        yy = more(yy, y, now.y);
        yq = more(yq, y, now.z);
    }
    let first = OWN + PRODUCTS * slot;
    put_addend(0u, lane, ss);
    put_addend(1u, lane, sy);
    put_addend(2u, lane, sq);
    put_addend(3u, lane, ys);
    keep(first, 4u, group, lane);
    put_addend(0u, lane, yy);
    put_addend(1u, lane, yq);
    keep(first + 4u, 2u, group, lane);
}

fn own(group: u32, lane: u32) {
    if lane == 0u {
        atomicStore(&marks, 0u);
    }
    let start = state[PHASE] == START;
    let step = state[STEP];
    var slope = vec2<f32>();
    var predicted = vec2<f32>();
    var ss = vec2<f32>();
    var sy = vec2<f32>();
    var yy = vec2<f32>();
    var qq = vec2<f32>();
    var sq = vec2<f32>();
    var yq = vec2<f32>();
    var size = vec2<f32>();
    var moved = vec2<f32>();
    var largest = 0u;
    var most_share = 0.0;
    var most_unsettled = 0.0;
    var most_fallen = 0.0;
    let may_lose = !start && dispatch.count <= MOST_COORDINATES;
    var found = 0u;
    for (var i = group * THREADS + lane; i < dispatch.count; i += dispatch.threads) {
        let now = step_of(i);
        let x = point[i];
        let t = trial[i];
        let g = vectors[GRADIENT * dispatch.stride + i];
        let d = vectors[DIRECTION * dispatch.stride + i];
        let fixed = is_constant(i);
        let on_manifold = is_on_manifold(i);
        let h = select(gradient[i], 0.0, fixed);
        let stood = stays(i, x, g);
        found |= select(0u, NON_FINITE_POINT, !is_finite(t)) | select(0u, NON_FINITE_GRADIENT, !is_finite(h));
        found |= select(0u, MOVED, t != x) | select(0u, TURNED, stood != stays(i, t, h));
        let slope_here = abs(now.z);
        largest = max(largest, bitcast<u32>(slope_here));
        // How far this entry has fallen since its largest value in the run; if not far, what it changes the cost by over the coordinate's size.
        // A size that the steps of the run have made is none.
        if slope_here > 0.0 {
            let ratio = slope_here / max(slope_here, select(vectors[STEEP * dispatch.stride + i], 0.0, start));
            most_share = max(most_share, ratio);
            let known = start || abs(t - vectors[BEGAN * dispatch.stride + i]) <= KNOWN_TRAVEL * abs(t);
            let extent = select(abs(t) * select(1.0 / state[RESOLUTION], 1.0, known), 1.0, on_manifold);
            most_unsettled = max(most_unsettled, select(0.0, slope_here * extent, ratio * ratio > state[SHARE_LIMIT]));
        }
        if may_lose && !on_manifold && !stays(i, t, h) {
            let steepest = max(slope_here, vectors[STEEP * dispatch.stride + i]);
            if abs(t - x) >= LONG_STEP * abs(t) && abs(g) > slope_here && abs(g) >= LOST_SHARE * steepest {
                most_fallen = max(most_fallen, steepest / max(slope_here, steepest / MOST_FALLEN));
            }
        }
        if !fixed {
            size = more(size, t, t);
            let effect = rounded(select(t, 1.0, on_manifold) * h);
            moved = more(moved, effect, effect);
        }
        qq = more(qq, now.z, now.z);
        if start {
            continue;
        }
        ss = more(ss, now.x, now.x);
        sy = more(sy, now.x, now.y);
        yy = more(yy, now.y, now.y);
        sq = more(sq, now.x, now.z);
        yq = more(yq, now.y, now.z);
        if !stood {
            predicted = more(predicted, g, now.x);
            if on_manifold | (t == straight(x, step, d)) {
                slope = more(slope, h, d);
            } else {
                found |= BENT;
            }
        }
    }
    put_addend(0u, lane, slope);
    put_addend(1u, lane, predicted);
    put_addend(2u, lane, ss);
    put_addend(3u, lane, sy);
    keep(0u, 4u, group, lane);
    put_addend(0u, lane, yy);
    put_addend(1u, lane, qq);
    put_addend(2u, lane, sq);
    put_addend(3u, lane, yq);
    keep(4u, 4u, group, lane);
    put_addend(0u, lane, size);
    put_addend(1u, lane, moved);
    keep(8u, 2u, group, lane);
    atomicOr(&marks, found);
    atomicMax(&share, bitcast<u32>(most_share));
    atomicMax(&unsettled, bitcast<u32>(most_unsettled));
    atomicMax(&fallen, bitcast<u32>(most_fallen));
    let most = largest_over_workgroup(largest);
    if lane == 0u {
        partials[LARGEST * dispatch.groups + group] = vec2<f32>(bitcast<f32>(most), f32(atomicLoad(&marks)));
        let largest_two = vec2<u32>(atomicLoad(&share), atomicLoad(&unsettled));
        partials[SHARES * dispatch.groups + group] = bitcast<vec2<f32>>(largest_two);
        partials[FALLEN * dispatch.groups + group] = vec2<f32>(bitcast<f32>(atomicLoad(&fallen)), 0.0);
    }
}

// Adds the addends up and writes the totals to the sections from `first` on.
fn keep(first: u32, count: u32, group: u32, lane: u32) {
    add_over_workgroup(lane, count);
    if lane < count {
        partials[(first + lane) * dispatch.groups + group] = total_of(lane);
    }
    workgroupBarrier();
}
