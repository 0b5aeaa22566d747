#import workgroup_sums
#import nonfinite
#import levenberg_marquardt/state
#import levenberg_marquardt/set_number
#import levenberg_marquardt/part_of_jvp
#import levenberg_marquardt/block_shape
#if PAIRS
#import pair_arithmetic
#import levenberg_marquardt/solve_block
#endif
// After the product q = JᵀJp of an iteration of conjugate gradients: δ += αp, r -= α(q + λDp), z = M⁻¹r, with
// α = rᵀz / (‖Jp‖² + λpᵀDp); 1 for the eliminated blocks' own step, which begins a Schur complement, and eliminated blocks have no z yet. Leaves the sums rᵀz, zᵀDz and zᵀDp for the next direction.
var<workgroup> running: u32;

@compute @workgroup_size(256)
fn update(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    #include levenberg_marquardt/step_length

    var rz = vec2<f32>();
    var zdz = 0.0;
    var zdp = 0.0;
    for (var block = workgroup.x * THREADS + lane; block < dispatch.blocks; block += dispatch.threads) {
        let first = dispatch.first + block * DIM;
        let place = dispatch.scale * first;
        #include levenberg_marquardt/damped_block
        #include levenberg_marquardt/block_product
        #if FORMS_DIRECTION
        #for k in 0..TANGENT
        var p{k} = vectors[PRECONDITIONED * dispatch.stride + first + {k}u];
        #endfor
        #for k in 0..TANGENT
        #if REDUCED
        let delta{k} = vectors[DELTA * dispatch.stride + first + {k}u];
        #else
        var delta{k} = 0.0;
        #endif
        #endfor
        // The first direction of a step is z, and δ is 0 before it unless blocks are eliminated.
        if beta != 0.0 {
            #for k in 0..TANGENT
            p{k} += beta * vectors[DIRECTION * dispatch.stride + first + {k}u];
            #endfor
            #if !REDUCED
            #for k in 0..TANGENT
            delta{k} = vectors[DELTA * dispatch.stride + first + {k}u];
            #endfor
            #endif
        }
        if goes_on {
            #for k in 0..TANGENT
            vectors[DIRECTION * dispatch.stride + first + {k}u] = p{k};
            #endfor
        }
        #else
        #for k in 0..TANGENT
        let p{k} = vectors[DIRECTION * dispatch.stride + first + {k}u];
        #endfor
        #for k in 0..TANGENT
        let delta{k} = vectors[DELTA * dispatch.stride + first + {k}u];
        #endfor
        #endif
        #for k in 0..TANGENT
        let r{k} = select(0.0, vectors[RESIDUAL * dispatch.stride + first + {k}u] - alpha * (q{k} + damping * d{k} * p{k}), free{k});
        #endfor
        #if ELIMINATED
        // The products for z are those of the kept blocks alone.
        #for k in 0..TANGENT
        let z{k} = 0.0;
        #endfor
        let block_rz = vec2<f32>();
        #else
        #include levenberg_marquardt/preconditioned_residual
        #endif
        #for k in 0..TANGENT
        vectors[DELTA * dispatch.stride + first + {k}u] = delta{k} + alpha * p{k};
        #endfor
        #for k in 0..TANGENT
        vectors[RESIDUAL * dispatch.stride + first + {k}u] = r{k};
        #endfor
        if goes_on {
            #for k in 0..TANGENT
            vectors[PRECONDITIONED * dispatch.stride + first + {k}u] = z{k};
            #endfor
        }
        // A thread has few blocks: their sums need no pairs unless a block's own rᵀz is one.
        #if PAIRS
        rz = sum_of_pairs(rz, block_rz);
        #else
        rz.x += block_rz.x;
        #endif
        #for k in 0..TANGENT
        zdz += z{k} * z{k} * d{k};
        zdp += z{k} * p{k} * d{k};
        #endfor
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
