// The solution z_k of A z = r for the block's factors, and rᵀz.
#if PAIRS
var right: array<f32, TANGENT>;
#for k in 0..TANGENT
right[{k}] = r{k};
#endfor
let solution = solve_block(factors, right);
#for k in 0..TANGENT
let z{k} = solution[{k}].x;
#endfor
let block_rz = solution[{TANGENT}];
#else
#for i in 0..TANGENT
let y{i} = r{i}
    #for k in 0..i
    - l{i}_{k} * y{k}
    #endfor
    ;
#endfor
#for i in (0..TANGENT).rev()
let z{i} = y{i} * v{i}
    #for k in i + 1..TANGENT
    - l{k}_{i} * z{k}
    #endfor
    ;
#endfor
let block_rz = vec2<f32>(
    y0 * y0 * v0
    #for i in 1..TANGENT
    + y{i} * y{i} * v{i}
    #endfor
    , 0.0);
#endif
