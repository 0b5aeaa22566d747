#import workgroup_sums
#import limited_memory/state
#import limited_memory/coordinates
// A step that is taken: the trial becomes the point, the pair goes into the history, and the next direction is the combination of the
// history that the recursion gave; its slope and length are summed, since the next kernel judges it.
@compute @workgroup_size(256)
fn advance(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if state[ACCEPTED] == 0.0 {
        return;
    }
    let starts = state[ITERATION] == 0.0;
    let lowest = state[STORE_LOWEST] != 0.0;
    let kept = state[KEPT];
    let pairs = select(0u, u32(state[COUNT]), state[STEEPEST] == 0.0);
    var slope = vec2<f32>();
    var square = vec2<f32>();
    for (var i = workgroup.x * THREADS + lane; i < dispatch.count; i += dispatch.threads) {
        let x = point[i];
        let t = trial[i];
        let g = vectors[GRADIENT * dispatch.stride + i];
        let h = select(gradient[i], 0.0, is_constant(i));
        if lowest {
            vectors[LOWEST * dispatch.stride + i] = x;
        }
        if kept >= 0.0 {
            let place = 2u * u32(kept) * dispatch.stride + i;
            history[place] = tangent_step(i, x, t, state[ACCEPTED_STEP]);
            history[place + dispatch.stride] = select(h - g, 0.0, stays(i, x, g));
        }
        point[i] = t;
        vectors[GRADIENT * dispatch.stride + i] = h;
        if starts {
            vectors[BEGAN * dispatch.stride + i] = t;
        }
        let steep = STEEP * dispatch.stride + i;
        vectors[steep] = max(select(vectors[steep], 0.0, starts), select(abs(h), 0.0, stays(i, t, h)));
        if pairs == 0u {
            continue;
        }
        var d = 0.0;
        if !stays(i, t, h) {
            var sum = exact_product(state[GRADIENT_FACTOR], h);
            for (var k = 0u; k < 2u * pairs; k++) {
                sum = sum_of_pairs(sum, exact_product(state[FACTORS + k], history[k * dispatch.stride + i]));
            }
            d = sum.x;
            // At a bound, a direction that points outward is 0.
            if stays(i, t, -d) {
                d = 0.0;
            }
        }
        vectors[DIRECTION * dispatch.stride + i] = d;
        slope = sum_of_pairs(slope, exact_product(h, d));
        square = sum_of_pairs(square, exact_product(d, d));
    }
    put_addend(0u, lane, slope);
    put_addend(1u, lane, square);
    add_over_workgroup(lane, 2u);
    if lane < 2u {
        partials[(TURN + lane) * dispatch.groups + workgroup.x] = total_of(lane);
    }
}
