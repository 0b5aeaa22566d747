#import workgroup_sums
#import levenberg_marquardt/state
#import levenberg_marquardt/block_shape
// The predicted reduction of the projected step δ: parts of -gᵀδ, of δᵀr + λδᵀDδ, of ‖δ‖², of δᵀCδ and of xᵀCx
// with C the diagonal of JᵀJ and x the size of the point in each coordinate. After conjugate gradients
// from 0, JᵀJδ = -g - r - λDδ, so that ‖Jδ‖² = -gᵀδ - (δᵀr + λδᵀDδ) without another product, if δ is the step that was solved for. Where bounds may have cut
// it, -gᵀδ of that one in place of δᵀr + λδᵀDδ.
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
    var scaled_step = 0.0;
    var scaled = 0.0;
    for (var block = workgroup.x * THREADS + lane; block < dispatch.blocks; block += dispatch.threads) {
        let first = dispatch.first + block * DIM;
        let place = dispatch.scale * first;
        #for k in 0..TANGENT
        let c{k} = block_diagonal[place + {k * (k + 3) / 2}u];
        // What is kept of the diagonal: the model is finite here, and stands until the next measurement.
        // Coordinates that must stay are no part of any length.
        let present{k} = max(c{k}, 0.0);
        let d{k} = max(present{k}, vectors[SCALE * dispatch.stride + first + {k}u]);
        #endfor
        #for k in 0..TANGENT
        vectors[SCALE * dispatch.stride + first + {k}u] = d{k};
        #endfor
        {SIZES}
        #for k in 0..TANGENT
        let s{k} = projected_step[first + {k}u];
        #if GUARDED
        // Negative where the damped step leaves much of the gradient: λDδ.
        let leaves{k} = abs(s{k}) * d{k} * damping > LEFT_OF_GRADIENT * abs(gradient[first + {k}u]);
        vectors[COLUMN * dispatch.stride + first + {k}u] = select(present{k}, -present{k}, leaves{k});
        #endif
        descent -= s{k} * gradient[first + {k}u];
        #if CONSTRAINED
        rest -= vectors[DELTA * dispatch.stride + first + {k}u] * gradient[first + {k}u];
        #else
        rest += s{k} * (vectors[RESIDUAL * dispatch.stride + first + {k}u] + damping * d{k} * s{k});
        #endif
        step += s{k} * s{k};
        scaled_step += s{k} * s{k} * present{k};
        scaled += x{k} * x{k} * present{k};
        #endfor
    }
    put_addend(0u, lane, vec2<f32>(descent, 0.0));
    put_addend(1u, lane, vec2<f32>(rest, 0.0));
    put_addend(2u, lane, vec2<f32>(step, 0.0));
    put_addend(3u, lane, vec2<f32>(scaled_step, 0.0));
    put_addend(4u, lane, vec2<f32>(scaled, 0.0));
    add_over_workgroup(lane, 5u);
    if lane < 5u {
        sums[(DESCENT_SUMS + lane) * dispatch.groups + dispatch.group + workgroup.x] = total_of(lane);
    }
}
