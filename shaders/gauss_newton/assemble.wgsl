#import double_single
#if ROW_IN_PAIRS
#import pair_arithmetic
#endif
// The sums of entries and the diagonal blocks of JᵀJ, row by row of a transposed incidence: one thread a row, and all of its sums in
// registers.
@compute @workgroup_size(64)
fn assemble(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if gate[0] == 0u {
        return;
    }
    let row = (workgroup.x + workgroup.y * workgroups.x) * 64u + lane;
    if row >= dispatch.rows {
        return;
    }
    #for a in 0..DIM
    var sum_{a} = vec2<f32>();
    #for b in 0..a + 1
    var block_{a}_{b} = 0.0;
    #endfor
    #endfor
    let end = offsets[row + 1u];
    for (var entry = offsets[row]; entry < end; entry++) {
        let place = entries[entry];
        #if ROW_IN_PAIRS
        #if MIRRORED
        let second = place >= dispatch.stride;
        let instance = select(place, place - {DIM}u * dispatch.stride, second);
        let residual = instance + dispatch.first_partial - dispatch.stride;
        let sign = select(1.0, -1.0, second);
        #else
        let instance = place;
        let residual = place % dispatch.stride + dispatch.first_partial - dispatch.stride;
        let sign = 1.0;
        #endif
        // The low parts stand after the row of J, in the order of the first columns: of the row, then of the residual.
        let low = instance + dispatch.first_partial + dispatch.row_stride;
        let weight = sign * vec2<f32>(source[residual], source[residual + 2u * dispatch.row_stride + dispatch.stride]);
        #else
        #if MIRRORED
        let second = place >= dispatch.stride;
        let instance = select(place, place - {DIM}u * dispatch.stride, second);
        #if WIDE
        let sign = select(1.0, -1.0, second);
        let low = instance + dispatch.first_partial + dispatch.outputs * dispatch.row_stride;
        #for a in 0..DIM
        sum_{a} = sum_of_pairs(sum_{a}, sign * vec2<f32>(source[instance + {a}u * dispatch.stride], source[low + {a}u * dispatch.stride]));
        #endfor
        #else
        let weight = select(source[instance], -source[instance], second);
        #endif
        #else
        let instance = place;
        #if WEIGHTED
        let weight = source[place % dispatch.stride];
        #else
        #if WIDE
        // The low parts stand after the rows of J.
        let low = place + dispatch.first_partial + dispatch.outputs * dispatch.row_stride;
        #for a in 0..DIM
        sum_{a} = sum_of_pairs(sum_{a}, vec2<f32>(source[place + {a}u * dispatch.stride], source[low + {a}u * dispatch.stride]));
        #endfor
        #else
        #for a in 0..DIM
        sum_{a} = sum_of_pairs(sum_{a}, vec2<f32>(source[place + {a}u * dispatch.stride], 0.0));
        #endfor
        #endif
        #endif
        #endif
        #endif
        var partial = instance + dispatch.first_partial;
        for (var output = 0u; output < dispatch.outputs; output++) {
            #for a in 0..DIM
            let column_{a} = source[partial + {a}u * dispatch.stride];
            #endfor
            #for a in 0..DIM
            #if WEIGHTED
            sum_{a} = sum_of_pairs(sum_{a}, exact_product(column_{a}, weight));
            #endif
            #if ROW_IN_PAIRS
            sum_{a} = sum_of_pairs(sum_{a}, product_of_pairs(vec2<f32>(column_{a}, source[low + {a}u * dispatch.stride]), weight));
            #endif
            #for b in 0..a + 1
            block_{a}_{b} = block_{a}_{b} + column_{a} * column_{b};
            #endfor
            #endfor
            partial += dispatch.row_stride;
        }
    }
    let first = targets[row];
    #if ROW_IN_PAIRS
    // The row has the root of the weight as a factor, and the gradient the weight.
    let scale = sqrt(batch_constants[0] * batch_constants[4]);
    #endif
    #for a in 0..DIM
    #if ROW_IN_PAIRS
    result[first + {a}u] = scale * sum_{a}.x;
    #else
    result[first + {a}u] = sum_{a}.x;
    #endif
    #for b in 0..a + 1
    blocks[dispatch.scale * first + {a * (a + 1) / 2 + b}u] = block_{a}_{b};
    #endfor
    #endfor
}
