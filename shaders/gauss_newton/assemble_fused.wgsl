#import double_single
// The sums of entries and the diagonal blocks of JᵀJ, block by block, over the lists of all local tables: one thread a block.
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
    #if PAIRS
    var block_{a}_{b} = vec2<f32>();
    #else
    var block_{a}_{b} = 0.0;
    #endif
    #endfor
    #endfor
    let end = lists[dispatch.offsets + row + 1u];
    for (var k = lists[dispatch.offsets + row]; k < end; k++) {
        let slot = 8u * (1u + (lists[k] >> lists[0]));
        let instance = lists[k] & lists[slot + 2u];
        let place = lists[slot] + instance;
        let stride = lists[slot + 1u];
        #if WIDE
        let lower = place + lists[slot + 7u];
        #for a in 0..DIM
        sum_{a} = sum_of_pairs(sum_{a}, vec2<f32>(source[place + {a}u * stride], source[lower + {a}u * stride]));
        #endfor
        #else
        #for a in 0..DIM
        sum_{a} = sum_of_pairs(sum_{a}, vec2<f32>(source[place + {a}u * stride], 0.0));
        #endfor
        #endif
        var partial = lists[slot + 3u] + instance;
        let outputs = lists[slot + 5u];
        for (var output = 0u; output < outputs; output++) {
            #for a in 0..DIM
            let column_{a} = source[partial + {a}u * stride];
            #endfor
            #for a in 0..DIM
            #for b in 0..a + 1
            #if PAIRS
            block_{a}_{b} = sum_of_pairs(block_{a}_{b}, exact_product(column_{a}, column_{b}));
            #else
            block_{a}_{b} = block_{a}_{b} + column_{a} * column_{b};
            #endif
            #endfor
            #endfor
            partial += lists[slot + 4u];
        }
    }
    let first = dispatch.first + row * {DIM}u;
    #for a in 0..DIM
    result[first + {a}u] = sum_{a}.x;
    #for b in 0..a + 1
    #if PAIRS
    blocks[dispatch.scale * first + {a * (a + 1) / 2 + b}u] = block_{a}_{b}.x;
    low[dispatch.scale * first + {a * (a + 1) / 2 + b}u] = block_{a}_{b}.y;
    #else
    blocks[dispatch.scale * first + {a * (a + 1) / 2 + b}u] = block_{a}_{b};
    #endif
    #endfor
    #endfor
}
