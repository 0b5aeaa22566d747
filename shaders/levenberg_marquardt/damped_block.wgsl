// The damped block A = C + λD: d_k, the diagonal of D, free_k, whether a coordinate may move, and A's factorisation LDLᵀ. In f32 the
// factors are l_i_j, w_i_j = l_i_j d_j and the inverse pivots v_j, in registers; in pairs they are in memory.
#for k in 0..TANGENT
let c{k} = block_diagonal[place + {k * (k + 3) / 2}u];
#endfor
#if BEGINS
// Nothing has been kept before the start is linearised.
#for k in 0..TANGENT
if state[STARTED] == 0u {
    vectors[SCALE * dispatch.stride + first + {k}u] = 0.0;
}
#endfor
#endif
#for k in 0..TANGENT
let kept{k} = vectors[SCALE * dispatch.stride + first + {k}u];
#endfor
#for k in 0..TANGENT
let d{k} = max(c{k}, kept{k});
#endfor
#for k in 0..TANGENT
#if CONSTRAINED
let free{k} = !(c{k} < 0.0);
#else
let free{k} = true;
#endif
#endfor
#if PAIRS
let factors = FACTORS * dispatch.groups + dispatch.factors + block * {TANGENT * (TANGENT + 1) / 2}u;
#if BEGINS
factor_block(place, first, factors, damping);
#endif
#else
#for j in 0..TANGENT
#if CONSTRAINED
let a{j} = select(1.0, c{j} + damped(damping, d{j}), free{j});
#else
let a{j} = c{j} + damped(damping, d{j});
#endif
// What rounding leaves of a pivot must stay positive.
let v{j} = 1.0 / max(
    a{j}
    #for k in 0..j
    - w{j}_{k} * l{j}_{k}
    #endfor
    , 1e-6 * a{j});
#for i in j + 1..TANGENT
let w{i}_{j} =
    #if CONSTRAINED
    select(0.0, block_diagonal[place + {i * (i + 1) / 2 + j}u], free{i} && free{j})
    #else
    block_diagonal[place + {i * (i + 1) / 2 + j}u]
    #endif
    #for k in 0..j
    - w{i}_{k} * l{j}_{k}
    #endfor
    ;
let l{i}_{j} = w{i}_{j} * v{j};
#endfor
#endfor
#endif
