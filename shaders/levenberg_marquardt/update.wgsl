#import workgroup_sums
#import nonfinite
#import pair_arithmetic
// After the product q = JᵀJp of an iteration of conjugate gradients: δ += αp, r -= α(q + λDp), z = M⁻¹r, with
// α = rᵀz / (‖Jp‖² + λpᵀDp). Leaves the sums rᵀz, zᵀDz and zᵀDp for the next direction.
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
#apart @group(0) @binding(_) var<storage, read> image: array<f32>; // parts of ‖Jp‖²
#vector @group(0) @binding(_) var<storage, read> product: array<f32>;
// Where each block's parts of the product stand in `local`, and the end of the last block's.
#gathered @group(0) @binding(_) var<storage, read> offsets: array<u32>;
#gathered @group(0) @binding(_) var<storage, read> entries: array<u32>;
#joint @group(0) @binding(_) var<storage, read> lists: array<u32>; // see `functions::joint`
#gathered @group(0) @binding(_) var<storage, read> local: array<f32>;
#joint @group(0) @binding(_) var<storage, read> local: array<f32>;
@group(0) @binding(_) var<storage, read> curvature: array<f32>;
@group(0) @binding(_) var<storage, read_write> vectors: array<f32>;
@group(0) @binding(_) var<storage, read_write> sums: array<vec2<f32>>;
@group(0) @binding(_) var<uniform> dispatch: Figures;

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
    // Loads are under way together, and before it is known whether they are wanted: a workgroup does nothing here but wait for them.
    var part = vec2<f32>();
    for (var k = lane; k < dispatch.count; k += 4u * THREADS) {
        let left = sum_of_pairs(part_of_image(k), part_of_image(k + THREADS));
        let right = sum_of_pairs(part_of_image(k + 2u * THREADS), part_of_image(k + 3u * THREADS));
        part = sum_of_pairs(part, sum_of_pairs(left, right));
    }
    put_addend(0u, lane, part);
    if workgroupUniformLoad(&running) == 0u {
        return;
    }
    add_over_workgroup(lane, 1u);
    let damping = number(DAMPING);
    // The product was that of a direction that nobody has written down yet.
    #formed let beta = number(BETA);
    let rz_before = number(RZ);
    // After the last iteration that is allowed nobody asks for z and p.
    let goes_on = state[LINEAR] + 1u < state[MOST_LINEAR];
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
    var zdz = 0.0;
    var zdp = 0.0;
    for (var block = workgroup.x * THREADS + lane; block < dispatch.blocks; block += dispatch.threads) {
        let first = dispatch.first + block * DIM;
        let place = dispatch.scale * first;
        #factor
        #made #each let q$ = product[first + $u];
        #gathered #each var q$ = 0.0;
        #light #each var q$ = 0.0;
        // Those blocks alone that have no list: all others' stay 0.
        #heavy #each var q$ = product[first + $u];
        #joint let end = lists[dispatch.row + block + 1u];
        #joint for (var k = lists[dispatch.row + block]; k < end; k += 4u) {
            #joint #four let entry@ = lists[min(k + @u, end - 1u)];
            #joint #four let slot@ = 8u * (1u + (entry@ >> lists[0]));
            #joint #four let place@ = lists[slot@] + (entry@ & lists[slot@ + 2u]);
            #joint #four let stride@ = lists[slot@ + 1u];
            #joint #each #four let part$_@ = local[place@ + $u * stride@];
            #joint #each #four q$ += select(0.0, part$_@, k + @u < end);
        #joint }
        #gathered let end = offsets[block + 1u];
        // Four entries at a time, so that what they point to is on its way together.
        #gathered for (var k = offsets[block]; k < end; k += 4u) {
            #gathered #four let entry@ = entries[min(k + @u, end - 1u)];
            #parts #four let place@ = entry@;
            #parts #four let factor@ = 1.0;
            #weighted #four let place@ = entry@ + dispatch.first_partial;
            #weighted #four let factor@ = local[entry@ % dispatch.local_stride];
            #gathered #each #four let part$_@ = local[place@ + $u * dispatch.local_stride] * factor@;
            #gathered #each #four q$ += select(0.0, part$_@, k + @u < end);
        #gathered }
        #ready #each let p$ = vectors[DIRECTION * dispatch.stride + first + $u];
        #ready #each let delta$ = vectors[DELTA * dispatch.stride + first + $u];
        #formed #each var p$ = vectors[PRECONDITIONED * dispatch.stride + first + $u];
        #formed #each var delta$ = 0.0;
        // The first direction of a step is z, and nothing has been done before.
        #formed if beta != 0.0 {
            #formed #each p$ += beta * vectors[DIRECTION * dispatch.stride + first + $u];
            #formed #each delta$ = vectors[DELTA * dispatch.stride + first + $u];
        #formed }
        #formed if goes_on {
            #formed #each vectors[DIRECTION * dispatch.stride + first + $u] = p$;
        #formed }
        #each let r$ = select(0.0, vectors[RESIDUAL * dispatch.stride + first + $u] - alpha * (q$ + damping * d$ * p$), free$);
        #solve
        #each vectors[DELTA * dispatch.stride + first + $u] = delta$ + alpha * p$;
        #each vectors[RESIDUAL * dispatch.stride + first + $u] = r$;
        if goes_on {
            #each vectors[PRECONDITIONED * dispatch.stride + first + $u] = z$;
        }
        // A thread has few blocks: their sums need no pairs but where a block's own energy is one.
        #pairs rz = sum_of_pairs(rz, energy);
        #single rz.x += energy.x;
        #each zdz += z$ * z$ * d$;
        #each zdp += z$ * p$ * d$;
    }
    put_addend(0u, lane, rz);
    put_addend(1u, lane, vec2<f32>(zdz, 0.0));
    put_addend(2u, lane, vec2<f32>(zdp, 0.0));
    add_over_workgroup(lane, 3u);
    if lane == 0u {
        sums[RZ_SUMS * dispatch.groups + own] = total_of(0u);
        sums[ZDZ_SUMS * dispatch.groups + own] = total_of(1u);
        sums[ZDP_SUMS * dispatch.groups + own] = total_of(2u);
    }
}

fn part_of_image(k: u32) -> vec2<f32> {
    #apart let low = select(0.0, image[2u * k + 1u], dispatch.width == 2u);
    #apart return select(vec2<f32>(), vec2<f32>(image[dispatch.width * k], low), k < dispatch.count);
    #among return select(vec2<f32>(), sums[IMAGE_SUMS * dispatch.groups + k], k < dispatch.count);
}
