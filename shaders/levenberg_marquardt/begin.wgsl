#import workgroup_sums
#import nonfinite
#import levenberg_marquardt/largest
#import levenberg_marquardt/state
#import levenberg_marquardt/block_shape
#if PAIRS
#import pair_arithmetic
#import levenberg_marquardt/factor_block
#import levenberg_marquardt/solve_block
#endif
#if CONSTRAINED && WIDE
#import pair_order
#endif
// A step begins: for each block r = -g, z = M⁻¹r, p = z (unless the kernels that read p form it), δ = 0, where M is the block of
// JᵀJ + λD. Before a Schur complement the eliminated blocks alone step at first: z of the others is 0. A coordinate that must stay is marked by a negative number on the diagonal of its block of JᵀJ; its part of every vector is 0.
@compute @workgroup_size(256)
fn begin(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if state[STEP] == 0u {
        return;
    }
    #if CONSTRAINED
    // After a rejected step the marks still stand.
    let arrived = state[LINEARISE] != 0u;
    #endif
    let damping = number(DAMPING);
    var rz = vec2<f32>();
    var zdz = 0.0;
    var squares = 0.0;
    // Of |g|, or of C where that is not finite; of |g|/√C; 1 where a column of J is 0, and 3 where that was otherwise.
    var largest = array<u32, MAXIMA>();
    #if GUARDED
    // The model is exact for the step that was taken.
    let is_exact = number(record_of(state[ITERATION]) + RECORD_GAIN) > EXACT_GAIN;
    #endif
    for (var block = workgroup.x * THREADS + lane; block < dispatch.blocks; block += dispatch.threads) {
        let first = dispatch.first + block * DIM;
        let place = dispatch.scale * first;
        #for k in 0..TANGENT
        let g{k} = gradient[first + {k}u];
        #endfor
        #if GUARDED
        // What the step has made of the diagonal of JᵀJ: the most, and of columns that may be lost the complement of the least.
        if state[LINEARISE] != 0u {
            #for k in 0..TANGENT
            let before{k} = vectors[COLUMN * dispatch.stride + first + {k}u];
            if before{k} != 0.0 {
                let fall{k} = bitcast<u32>(block_diagonal[place + {k * (k + 3) / 2}u] / abs(before{k}));
                largest[3] = max(largest[3], fall{k});
                largest[4] = max(largest[4], select(~fall{k}, 0u, is_exact && before{k} > 0.0));
            }
            #endfor
        }
        #endif
        #if CONSTRAINED
        #for k in 0..TANGENT
        if arrived && stays(first + {k}u, g{k}) {
            block_diagonal[place + {k * (k + 3) / 2}u] = -1.0;
        }
        #endfor
        #endif
        #include levenberg_marquardt/damped_block
        #for k in 0..TANGENT
        let r{k} = select(0.0, -g{k}, free{k});
        #endfor
        #include levenberg_marquardt/preconditioned_residual
        #for k in 0..TANGENT
        #if KEPT
        let first_z{k} = 0.0;
        #else
        let first_z{k} = z{k};
        #endif
        #endfor
        #for k in 0..TANGENT
        vectors[RESIDUAL * dispatch.stride + first + {k}u] = r{k};
        #endfor
        #for k in 0..TANGENT
        vectors[PRECONDITIONED * dispatch.stride + first + {k}u] = first_z{k};
        #endfor
        #if !FORMS_DIRECTION
        #for k in 0..TANGENT
        vectors[DIRECTION * dispatch.stride + first + {k}u] = first_z{k};
        #endfor
        #endif
        #for k in 0..TANGENT
        vectors[DELTA * dispatch.stride + first + {k}u] = 0.0;
        #endfor
        // A thread has few blocks: their sums need no pairs unless a block's own rᵀz is one.
        #if PAIRS
        rz = sum_of_pairs(rz, block_rz);
        #else
        rz.x += block_rz.x;
        #endif
        #for k in 0..TANGENT
        zdz += first_z{k} * first_z{k} * d{k};
        let scaled{k} = select(0.0, abs(r{k}) * inverseSqrt(c{k}), c{k} > 0.0);
        squares += scaled{k} * scaled{k};
        let slope{k} = select(c{k}, r{k}, is_finite(c{k}));
        largest[0] = max(largest[0], bitcast<u32>(abs(slope{k})));
        largest[1] = max(largest[1], bitcast<u32>(scaled{k}));
        if free{k} && c{k} < SMALLEST_SQUARE {
            largest[2] = max(largest[2], select(1u, 3u, kept{k} > 0.0));
        }
        #endfor
    }
    put_addend(0u, lane, rz);
    put_addend(1u, lane, vec2<f32>(zdz, 0.0));
    put_addend(2u, lane, vec2<f32>(squares, 0.0));
    add_over_workgroup(lane, 3u);
    let most = largest_of_workgroup(largest);
    if lane == 0u {
        let own = dispatch.group + workgroup.x;
        sums[RZ_SUMS * dispatch.groups + own] = total_of(0u);
        sums[ZDZ_SUMS * dispatch.groups + own] = total_of(1u);
        sums[SQUARES_SUMS * dispatch.groups + own] = total_of(2u);
        sums[LARGEST_SUMS * dispatch.groups + own] = bitcast<vec2<f32>>(vec2<u32>(most[0], most[1]));
        sums[VANISHED_SUMS * dispatch.groups + own] = vec2<f32>(f32(most[2]), 0.0);
        #if GUARDED
        sums[FALL_SUMS * dispatch.groups + own] = bitcast<vec2<f32>>(vec2<u32>(most[3], most[4]));
        #endif
    }
}

#if CONSTRAINED
// Whether a coordinate is constant, or at a bound with the descent pointing outward.
#if WIDE
fn stays(place: u32, g: f32) -> bool {
    let x = vec2<f32>(trial[place], trial[dispatch.stride + place]);
    let lower = vec2<f32>(bounds[place], bounds[dispatch.stride + place]);
    let upper = vec2<f32>(bounds[2u * dispatch.stride + place], bounds[3u * dispatch.stride + place]);
    return bounds[4u * dispatch.stride + place] != 0.0
        || (pair_is_at_most(x, lower) && g > 0.0)
        || (pair_is_at_most(upper, x) && g < 0.0);
}
#else
fn stays(place: u32, g: f32) -> bool {
    let x = trial[place];
    return bounds[2u * dispatch.stride + place] != 0.0
        || (x <= bounds[place] && g > 0.0)
        || (x >= bounds[dispatch.stride + place] && g < 0.0);
}
#endif
#endif
