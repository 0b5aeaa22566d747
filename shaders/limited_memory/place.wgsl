#import workgroup_sums
#import limited_memory/state
#import limited_memory/coordinates
// A trial point along the direction (of blocks on manifolds the step to it; another kernel computes the point), and zeros where its
// gradient will be gathered. A new direction is judged first: if it does not point downhill, the negative gradient takes its place. Every
// workgroup decides that from the same partial sums; the first one stores it.
var<workgroup> phase: f32;
var<workgroup> turning: u32;
var<workgroup> turned: vec2<f32>; // slope, whether the direction is the gradient's

@compute @workgroup_size(256)
fn place(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if lane == 0u {
        phase = select(state[PHASE], DONE, state[EVALUATES] == 0.0);
        turning = select(0u, 1u, state[FRESH] != 0.0);
    }
    let now = workgroupUniformLoad(&phase);
    if now == DONE {
        return;
    }
    let fresh = workgroupUniformLoad(&turning) != 0u;
    if fresh {
        var slope = vec2<f32>();
        var square = vec2<f32>();
        for (var k = lane; k < dispatch.groups; k += THREADS) {
            slope = sum_of_pairs(slope, partials[TURN * dispatch.groups + k]);
            square = sum_of_pairs(square, partials[(TURN + 1u) * dispatch.groups + k]);
        }
        put_addend(0u, lane, slope);
        put_addend(1u, lane, square);
        add_over_workgroup(lane, 2u);
        if lane == 0u {
            var steepest = state[STEEPEST];
            var downhill = total_of(0u).x;
            if steepest == 0.0 {
                let holds = descends(downhill, state[GRADIENT_NORM], sqrt(total_of(1u).x), state[RESOLUTION]);
                steepest = 1.0 - holds;
            }
            if steepest != 0.0 {
                downhill = -scale() * state[GRADIENT_NORM] * state[GRADIENT_NORM];
            }
            turned = vec2<f32>(downhill, steepest);
            if workgroup.x == 0u {
                state[TURNED_SLOPE] = downhill;
                state[TURNED_STEEPEST] = steepest;
            }
        }
        workgroupBarrier();
    }
    let steepest = fresh && turned.y != 0.0;
    let factor = -scale();
    let step = state[STEP];
    for (var i = workgroup.x * THREADS + lane; i < dispatch.count; i += dispatch.threads) {
        let x = point[i];
        gradient[i] = 0.0;
        if now == START || stays(i, x, vectors[GRADIENT * dispatch.stride + i]) {
            trial[i] = select(x, 0.0, is_on_manifold(i));
            if fresh {
                vectors[DIRECTION * dispatch.stride + i] = 0.0;
            }
            continue;
        }
        if steepest {
            vectors[DIRECTION * dispatch.stride + i] = factor * vectors[GRADIENT * dispatch.stride + i];
        }
        let d = vectors[DIRECTION * dispatch.stride + i];
        trial[i] = select(bounded(i, straight(x, step, d)), rounded(step * d), is_on_manifold(i));
    }
}

// Without a scale from the history, the first step is no longer than 1.
fn scale() -> f32 {
    return select(min(1.0, 1.0 / state[GRADIENT_NORM]), state[SCALE], state[HAS_SCALE] != 0.0);
}
