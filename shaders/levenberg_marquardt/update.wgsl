#import workgroup_sums
#import nonfinite
#import pair_arithmetic
// After the product q = JᵀJp of an iteration of conjugate gradients: δ += αp, r -= α(q + λDp), z = M⁻¹r, with
// α = rᵀz / (‖Jp‖² + λpᵀDp). Leaves the sums rᵀz, zᵀDz and zᵀDp for the next direction.
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@group(0) @binding(1) var<storage, read> image: array<f32>; // parts of ‖Jp‖²
@group(0) @binding(2) var<storage, read> product: array<f32>;
@group(0) @binding(3) var<storage, read> curvature: array<f32>;
@group(0) @binding(4) var<storage, read_write> vectors: array<f32>;
@group(0) @binding(5) var<storage, read_write> sums: array<vec2<f32>>;
@group(0) @binding(6) var<uniform> dispatch: Figures;

var<workgroup> running: u32;

@compute @workgroup_size(256)
fn update(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // No word that this kernel writes is one that it reads: what the next kernel needs of them is copied.
    let own = dispatch.group + workgroup.x;
    if lane == 0u {
        running = state[ITERATE];
        if own == 0u {
            state[ITERATE_NOW] = running;
        }
    }
    if workgroupUniformLoad(&running) == 0u {
        return;
    }
    var part = vec2<f32>();
    for (var k = lane; k < dispatch.count; k += THREADS) {
        var addend = vec2<f32>(image[k * dispatch.width], 0.0);
        if dispatch.width == 2u {
            addend.y = image[2u * k + 1u];
        }
        part = sum_of_pairs(part, addend);
    }
    put_addend(0u, lane, part);
    add_over_workgroup(lane, 1u);
    let damping = number(DAMPING);
    let rz_before = number(RZ);
    let curved = total_of(0u).x + damping * number(PDP);
    let usable = curved > 0.0 && is_finite(curved);
    let alpha = select(0.0, rz_before / curved, usable);
    workgroupBarrier();
    if lane == 0u && own == 0u {
        set_number(RZ_BEFORE, rz_before);
        set_number(PDP_BEFORE, number(PDP));
        state[LINEAR_BEFORE] = state[LINEAR];
        state[USABLE] = select(0u, 1u, usable && is_finite(alpha));
    }

    var rz = vec2<f32>();
    var zdz = vec2<f32>();
    var zdp = vec2<f32>();
    for (var block = workgroup.x * THREADS + lane; block < dispatch.blocks; block += dispatch.threads) {
        let first = dispatch.first + block * DIM;
        let place = dispatch.scale * first;
        #factor
        #each let p$ = vectors[DIRECTION * dispatch.stride + first + $u];
        #each let r$ = select(0.0, vectors[RESIDUAL * dispatch.stride + first + $u] - alpha * (product[first + $u] + damping * d$ * p$), free$);
        #solve
        #each vectors[DELTA * dispatch.stride + first + $u] += alpha * p$;
        #each vectors[RESIDUAL * dispatch.stride + first + $u] = r$;
        #each vectors[PRECONDITIONED * dispatch.stride + first + $u] = z$;
        rz = sum_of_pairs(rz, energy);
        var block_zdz = 0.0;
        var block_zdp = 0.0;
        #each block_zdz += z$ * z$ * d$;
        #each block_zdp += z$ * p$ * d$;
        zdz = sum_of_pairs(zdz, vec2<f32>(block_zdz, 0.0));
        zdp = sum_of_pairs(zdp, vec2<f32>(block_zdp, 0.0));
    }
    put_addend(0u, lane, rz);
    put_addend(1u, lane, zdz);
    put_addend(2u, lane, zdp);
    add_over_workgroup(lane, 3u);
    if lane == 0u {
        sums[RZ_SUMS * dispatch.groups + own] = total_of(0u);
        sums[ZDZ_SUMS * dispatch.groups + own] = total_of(1u);
        sums[ZDP_SUMS * dispatch.groups + own] = total_of(2u);
    }
}
