#import workgroup_sums
// What the made step δ promises: parts of -gᵀδ, of δᵀr + λδᵀDδ, of ‖δ‖², of ‖x‖² and of xᵀDx. After conjugate gradients from 0,
// JᵀJδ = -g - r - λDδ, so that ‖Jδ‖² = -gᵀδ - (δᵀr + λδᵀDδ) without another product, where δ was made as it was asked for.
@group(0) @binding(0) var<storage, read> state: array<u32>;
@group(0) @binding(1) var<storage, read> gradient: array<f32>;
@group(0) @binding(2) var<storage, read> curvature: array<f32>;
@group(0) @binding(3) var<storage, read> vectors: array<f32>;
@group(0) @binding(4) var<storage, read> point: array<f32>;
@group(0) @binding(5) var<storage, read> made: array<f32>;
@group(0) @binding(6) var<storage, read_write> sums: array<vec2<f32>>;
@group(0) @binding(7) var<uniform> dispatch: Figures;

@compute @workgroup_size(256)
fn measure(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if state[TRIAL] == 0u {
        return;
    }
    let damping = number(DAMPING);
    var descent = vec2<f32>();
    var rest = vec2<f32>();
    var step = vec2<f32>();
    var size = vec2<f32>();
    var scaled = vec2<f32>();
    for (var block = workgroup.x * THREADS + lane; block < dispatch.blocks; block += dispatch.threads) {
        let first = dispatch.first + block * DIM;
        let place = dispatch.scale * first;
        var block_descent = 0.0;
        var block_rest = 0.0;
        var block_step = 0.0;
        var block_size = 0.0;
        var block_scaled = 0.0;
        for (var k = 0u; k < TANGENT; k++) {
            let s = made[first + k];
            let d = clamp(curvature[place + diagonal(k)], LEAST_SCALE, MOST_SCALE);
            block_descent -= s * gradient[first + k];
            block_rest += s * (vectors[RESIDUAL * dispatch.stride + first + k] + damping * d * s);
            block_step += s * s;
        }
        for (var k = 0u; k < DIM; k++) {
            let c = curvature[place + diagonal(min(k, TANGENT - 1u))];
            let x = point[first + k];
            // Coordinates that must stay are no part of the size.
            block_size += select(x * x, 0.0, c < 0.0);
            block_scaled += select(0.0, x * x * clamp(c, LEAST_SCALE, MOST_SCALE), k < TANGENT);
        }
        descent = sum_of_pairs(descent, vec2<f32>(block_descent, 0.0));
        rest = sum_of_pairs(rest, vec2<f32>(block_rest, 0.0));
        step = sum_of_pairs(step, vec2<f32>(block_step, 0.0));
        size = sum_of_pairs(size, vec2<f32>(block_size, 0.0));
        scaled = sum_of_pairs(scaled, vec2<f32>(block_scaled, 0.0));
    }
    put_addend(0u, lane, descent);
    put_addend(1u, lane, rest);
    put_addend(2u, lane, step);
    put_addend(3u, lane, size);
    put_addend(4u, lane, scaled);
    add_over_workgroup(lane, 5u);
    if lane < 5u {
        sums[(DESCENT_SUMS + lane) * dispatch.groups + dispatch.group + workgroup.x] = total_of(lane);
    }
}
