#import double_single
// The diagonal blocks of JᵀJ: row by row of a transposed incidence, the products of an entry's own columns of J, summed. One
// thread sums one number of one block: of its lower triangle, row by row, or of its diagonal alone. Rows of very many entries
// are summed in segments to scratch, as pairs of a number and its error, which later runs sum again.
struct Curvature {
    rows: u32,
    dim: u32,          // columns an entry has
    numbers: u32,      // a row gives: dim (dim + 1) / 2, or dim for the diagonal
    outputs: u32,      // rows of J an entry has; 0 where `source` is scratch
    first_partial: u32, // where in `source` the first column of J starts
    row_stride: u32,   // distance between the rows of J in `source`
    stride: u32,       // distance between its columns
    scale: u32,        // numbers in `result` for each parameter; 0 where the result is scratch
    add: u32,          // 1: add to what stands in `result`, 0: write over it
    pairs: u32,        // 1: keep the errors of sums, in `low`
    zero: u32,         // 0, which the compiler does not know
}

@group(0) @binding(0) var<storage, read> offsets: array<u32>; // of each row's first entry, and the end of the last
@group(0) @binding(1) var<storage, read> entries: array<u32>; // places of entries, as those of a gather
@group(0) @binding(2) var<storage, read> targets: array<u32>; // places of rows, as those of a gather
@group(0) @binding(3) var<storage, read> source: array<f32>;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;
@group(0) @binding(5) var<storage, read_write> low: array<f32>;
#joint @group(0) @binding(6) var<storage, read> lists: array<u32>; // the slots of entries, see `functions::joint`
#joint @group(0) @binding(7) var<uniform> dispatch: Curvature;
#plain @group(0) @binding(6) var<uniform> dispatch: Curvature;

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
fn curvature(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
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
        #plain let outputs = dispatch.outputs;
        #plain let row_stride = dispatch.row_stride;
        #plain let stride = dispatch.stride;
        for (var entry = offsets[row]; entry < end; entry++) {
            #plain var place = entries[entry] + dispatch.first_partial;
            #joint let slot = 8u * (1u + (entries[entry] >> lists[0]));
            #joint let outputs = lists[slot + 5u];
            #joint let row_stride = lists[slot + 4u];
            #joint let stride = lists[slot + 1u];
            #joint var place = lists[slot + 3u] + (entries[entry] & lists[slot + 2u]);
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
