#import double_single
// Accumulates without atomics: each row of a transposed incidence sums its entries in their order. One thread sums one
// component of one row. Rows of very many entries are split into segments that write to scratch, which a second run gathers.
@compute @workgroup_size(64)
fn gather(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    #if GATED
    if gate[0] == 0u {
        return;
    }
    #endif
    let thread = (workgroup.x + workgroup.y * workgroups.x) * 64u + lane;
    if thread >= dispatch.rows * dispatch.dim {
        return;
    }
    let row = thread / dispatch.dim;
    let component = thread - row * dispatch.dim;
    let place = targets[row] + component;
    let end = offsets[row + 1u];
    let shift = component * dispatch.component_stride;

    var sum = vec2<f32>();
    for (var entry = offsets[row]; entry < end; entry++) {
        #if FUSED
        let slot = 8u * (1u + (entries[entry] >> lists[0]));
        let place = lists[slot] + (entries[entry] & lists[slot + 2u]) + component * lists[slot + 1u];
        #else
        let place = entries[entry] + shift;
        #endif
        #if PAIRS
        #if FUSED
        let low = place + lists[slot + 7u];
        #else
        let low = place + dispatch.local_low;
        #endif
        sum = sum_of_pairs(sum, vec2<f32>(local[place], local[low]));
        #else
        sum = sum_of_pairs(sum, vec2<f32>(local[place], 0.0));
        #endif
    }
    #if PAIRS
    let low = place + dispatch.result_low;
    if dispatch.add != 0u {
        sum = sum_of_pairs(sum, vec2<f32>(result[place], result[low]));
    }
    result[place] = sum.x;
    result[low] = sum.y;
    #else
    if dispatch.add != 0u {
        sum = sum_of_pairs(sum, vec2<f32>(result[place], 0.0));
    }
    result[place] = sum.x;
    #endif
}
