#import double_single
// The diagonal blocks of JᵀJ: row by row of a transposed incidence, the products of an entry's own columns of J, summed. One
// thread sums one number of one block: of its lower triangle, row by row, or of its diagonal alone. Rows of very many entries
// are summed in segments to scratch, as pairs of a number and its error, which later runs sum again.

// The row and column of a number of the lower triangle.
fn triangle(number: u32) -> vec2<u32> {
    var row = 0u;
    var first = 0u;
    while first + row < number {
        first += row + 1u;
        row += 1u;
    }
    return vec2<u32>(row, number - first);
}

@compute @workgroup_size(64)
fn block_diagonal(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if gate[0] == 0u {
        return;
    }
    let thread = (workgroup.x + workgroup.y * workgroups.x) * 64u + lane;
    if thread >= dispatch.rows * dispatch.numbers {
        return;
    }
    let row = thread / dispatch.numbers;
    let number = thread - row * dispatch.numbers;
    let end = offsets[row + 1u];

    var sum = vec2<f32>();
    if dispatch.outputs == 0u {
        for (var entry = offsets[row]; entry < end; entry++) {
            let place = 2u * (entries[entry] / dispatch.dim * dispatch.numbers + number);
            sum = sum_of_pairs(sum, vec2<f32>(source[place], source[place + 1u]));
        }
    } else {
        var position = vec2<u32>(number, number);
        if dispatch.numbers > dispatch.dim {
            position = triangle(number);
        }
        #if !FUSED
        let outputs = dispatch.outputs;
        let row_stride = dispatch.row_stride;
        let stride = dispatch.stride;
        #endif
        for (var entry = offsets[row]; entry < end; entry++) {
            #if FUSED
            let slot = 8u * (1u + (entries[entry] >> lists[0]));
            let outputs = lists[slot + 5u];
            let row_stride = lists[slot + 4u];
            let stride = lists[slot + 1u];
            var place = lists[slot + 3u] + (entries[entry] & lists[slot + 2u]);
            #else
            var place = entries[entry] + dispatch.first_partial;
            #endif
            for (var output = 0u; output < outputs; output++) {
                let a = source[place + position.x * stride];
                let b = source[place + position.y * stride];
                if dispatch.pairs != 0u {
                    sum = sum_of_pairs(sum, exact_product(a, b));
                } else {
                    sum.x += a * b;
                }
                place += row_stride;
            }
        }
    }

    if dispatch.scale == 0u {
        let place = 2u * (targets[row] / dispatch.dim * dispatch.numbers + number);
        result[place] = sum.x;
        result[place + 1u] = sum.y;
        return;
    }
    // The diagonal of a block stands apart, as the blocks of its single parameters.
    var place = dispatch.scale * targets[row] + number;
    if dispatch.numbers == dispatch.dim {
        place = dispatch.scale * (targets[row] + number);
    }
    if dispatch.add != 0u {
        var before = vec2<f32>(result[place], 0.0);
        if dispatch.pairs != 0u {
            before.y = low[place];
        }
        sum = sum_of_pairs(sum, before);
    }
    result[place] = sum.x;
    if dispatch.pairs != 0u {
        low[place] = sum.y;
    }
}
