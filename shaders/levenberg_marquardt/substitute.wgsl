#import workgroup_sums
#import levenberg_marquardt/state
#import levenberg_marquardt/block_shape
#if PAIRS
#import pair_arithmetic
#import levenberg_marquardt/solve_block
#endif
// After the product q = JᵀJz of the kept blocks' z: z = C⁻¹(r - q) of the eliminated blocks, so that directions leave nothing but rounding in
// their residual r. Leaves their part of the sums zᵀDz and zᵀDp.
@compute @workgroup_size(256)
fn substitute(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if state[ITERATE] == 0u {
        return;
    }
    let damping = number(DAMPING);
    var zdz = 0.0;
    var zdp = 0.0;
    for (var block = workgroup.x * THREADS + lane; block < dispatch.blocks; block += dispatch.threads) {
        let first = dispatch.first + block * DIM;
        let place = dispatch.scale * first;
        #include levenberg_marquardt/damped_block
        #include levenberg_marquardt/block_product
        #for k in 0..TANGENT
        let r{k} = select(0.0, vectors[RESIDUAL * dispatch.stride + first + {k}u] - q{k}, free{k});
        #endfor
        #include levenberg_marquardt/preconditioned_residual
        #for k in 0..TANGENT
        vectors[PRECONDITIONED * dispatch.stride + first + {k}u] = z{k};
        #endfor
        #for k in 0..TANGENT
        zdz += z{k} * z{k} * d{k};
        zdp += z{k} * vectors[DIRECTION * dispatch.stride + first + {k}u] * d{k};
        #endfor
    }
    put_addend(0u, lane, vec2<f32>(zdz, 0.0));
    put_addend(1u, lane, vec2<f32>(zdp, 0.0));
    add_over_workgroup(lane, 2u);
    if lane == 0u {
        let own = dispatch.group + workgroup.x;
        sums[ZDZ_SUMS * dispatch.groups + own] = total_of(0u);
        sums[ZDP_SUMS * dispatch.groups + own] = total_of(1u);
    }
}
