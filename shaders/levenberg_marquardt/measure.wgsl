#import workgroup_sums
// What the made step δ promises: parts of -gᵀδ, of δᵀr + λδᵀDδ, of ‖δ‖², of ‖x‖² and of xᵀDx. After conjugate gradients from 0,
// JᵀJδ = -g - r - λDδ, so that ‖Jδ‖² = -gᵀδ - (δᵀr + λδᵀDδ) without another product, where δ was made as it was asked for.
@group(0) @binding(0) var<storage, read> state: array<u32>;
@group(0) @binding(1) var<storage, read> gradient: array<f32>;
@group(0) @binding(2) var<storage, read> curvature: array<f32>;
@group(0) @binding(3) var<storage, read_write> vectors: array<f32>;
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
    // A thread has few blocks: their sums need no pairs.
    var descent = 0.0;
    var rest = 0.0;
    var step = 0.0;
    var size = 0.0;
    var scaled = 0.0;
    for (var block = workgroup.x * THREADS + lane; block < dispatch.blocks; block += dispatch.threads) {
        let first = dispatch.first + block * DIM;
        let place = dispatch.scale * first;
        #each let c$ = curvature[place + #diagonal$u];
        // What is kept of the diagonal: the model is known to be finite here, and to stand until the next measure.
        #each let present$ = clamp(c$, LEAST_SCALE, MOST_SCALE);
        #each let d$ = max(present$, vectors[SCALE * dispatch.stride + first + $u]);
        #each vectors[SCALE * dispatch.stride + first + $u] = d$;
        #each let s$ = made[first + $u];
        #each let x$ = point[first + $u];
        #each descent -= s$ * gradient[first + $u];
        #each rest += s$ * (vectors[RESIDUAL * dispatch.stride + first + $u] + damping * d$ * s$);
        #each step += s$ * s$;
        // Coordinates that must stay are no part of the size.
        #each size += select(x$ * x$, 0.0, c$ < 0.0);
        #each scaled += x$ * x$ * present$;
        for (var k = TANGENT; k < DIM; k++) {
            let x = point[first + k];
            size += select(x * x, 0.0, curvature[place] < 0.0);
        }
    }
    put_addend(0u, lane, vec2<f32>(descent, 0.0));
    put_addend(1u, lane, vec2<f32>(rest, 0.0));
    put_addend(2u, lane, vec2<f32>(step, 0.0));
    put_addend(3u, lane, vec2<f32>(size, 0.0));
    put_addend(4u, lane, vec2<f32>(scaled, 0.0));
    add_over_workgroup(lane, 5u);
    if lane < 5u {
        sums[(DESCENT_SUMS + lane) * dispatch.groups + dispatch.group + workgroup.x] = total_of(lane);
    }
}
