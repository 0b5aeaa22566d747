// product
@group(0) @binding(0) var<storage, read> b0: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read> b2: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> b3: array<u32>;
@group(0) @binding(4) var<storage, read_write> b4: array<vec4<f32>>;
@group(0) @binding(5) var<uniform> sizes: array<vec4<u32>, 1>;

var<workgroup> tile_left: array<array<array<vec4<u32>, 8>, 4>, 2>;
var<workgroup> tile_right: array<array<array<vec4<u32>, 8>, 4>, 2>;
var<workgroup> left_scales: array<array<f32, 8>, 4>;
var<workgroup> right_scales: array<array<array<f32, 8>, 4>, 1>;

fn product_of_bytes(a: u32, b: u32) -> i32 {
    let bytes_of_a = vec4<i32>(bitcast<i32>(a)) << vec4<u32>(24u, 16u, 8u, 0u);
    let bytes_of_b = vec4<i32>(bitcast<i32>(b)) << vec4<u32>(24u, 16u, 8u, 0u);
    return dot(bytes_of_a >> vec4<u32>(24u), bytes_of_b >> vec4<u32>(24u));
}

@compute @workgroup_size(8, 8, 1)
fn main(
    @builtin(local_invocation_id) thread: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let column_tiles = (sizes[0].w + 31u) / 32u;
    let row_tiles = (sizes[0].w + 31u) / 32u;
    let first_column = tile % column_tiles * 32u;
    let first_row = tile / column_tiles % row_tiles * 32u;
    let batch = tile / column_tiles / row_tiles;
    if (batch >= 1u) {
        return;
    }

    let thread_column = thread.x + thread.z * 8u;
    let thread_row = thread.y;

    var sum_0_0_0 = vec4<f32>();
    var sum_0_1_0 = vec4<f32>();
    var sum_0_2_0 = vec4<f32>();
    var sum_0_3_0 = vec4<f32>();

    let left_place = lane % 8u;
    let left_remainder = lane / 8u % 4u;
    let left_half = lane / 32u;
    let row = first_row + left_place * 4u + left_remainder;
    let right_place = lane % 8u;
    let right_remainder = lane / 8u % 4u;
    let right_half = lane / 32u;
    let column = first_column + right_place * 4u + right_remainder;
    var left = vec4<u32>();
    var row_side = 0u;
    var words = vec4<u32>();
    var side = u32();

    let steps = sizes[0].w / 32u;
    if (steps > 0u) {
        let next = 0u;
        left = b0[left_index(row, next * 32u) + left_half];
        row_side = left_side(row, next * 32u);
        {
            words = b2[right_index(column, next * 32u)];
            side = right_side(column, next * 32u + right_half * 0u);
        }
    }
    for (var step = 0u; step < steps; step++) {
        {
            let scale = left_scale_of(row, step * 32u, row_side);
            tile_left[left_half][left_remainder][left_place] = left;
            if (left_half == 0u) {
                left_scales[left_remainder][left_place] = scale;
            }
        }
        {
            let pair = select(words.xy, words.zw, right_half == 1u);
            let first = vec2<u32>(right_bytes(pair.x), right_bytes(pair.x >> 16u));
            let second = vec2<u32>(right_bytes(pair.y), right_bytes(pair.y >> 16u));
            tile_right[right_half][right_remainder][right_place] = vec4<u32>(first, second);
            if (right_half < 1u) {
                let depth = step * 32u + right_half * 16u;
                right_scales[right_half][right_remainder][right_place] = right_scale_of(column, depth, side);
            }
        }
        workgroupBarrier();
        if (step + 1u < steps) {
            let next = step + 1u;
            left = b0[left_index(row, next * 32u) + left_half];
            row_side = left_side(row, next * 32u);
            {
                words = b2[right_index(column, next * 32u)];
                side = right_side(column, next * 32u + right_half * 0u);
            }
        }
        {
            var whole_0_0_0 = vec4<i32>(0x4b400000);
            var whole_0_1_0 = vec4<i32>(0x4b400000);
            var whole_0_2_0 = vec4<i32>(0x4b400000);
            var whole_0_3_0 = vec4<i32>(0x4b400000);
            {
                let b_0_0 = tile_right[0][0][thread_column + 0u];
                let b_0_1 = tile_right[0][1][thread_column + 0u];
                let b_0_2 = tile_right[0][2][thread_column + 0u];
                let b_0_3 = tile_right[0][3][thread_column + 0u];
                {
                    let a = tile_left[0][0][thread_row + 0u];
                    whole_0_0_0 += vec4<i32>(product_of_bytes(a[0], b_0_0[0]), product_of_bytes(a[0], b_0_1[0]), product_of_bytes(a[0], b_0_2[0]), product_of_bytes(a[0], b_0_3[0]));
                    whole_0_0_0 += vec4<i32>(product_of_bytes(a[1], b_0_0[1]), product_of_bytes(a[1], b_0_1[1]), product_of_bytes(a[1], b_0_2[1]), product_of_bytes(a[1], b_0_3[1]));
                    whole_0_0_0 += vec4<i32>(product_of_bytes(a[2], b_0_0[2]), product_of_bytes(a[2], b_0_1[2]), product_of_bytes(a[2], b_0_2[2]), product_of_bytes(a[2], b_0_3[2]));
                    whole_0_0_0 += vec4<i32>(product_of_bytes(a[3], b_0_0[3]), product_of_bytes(a[3], b_0_1[3]), product_of_bytes(a[3], b_0_2[3]), product_of_bytes(a[3], b_0_3[3]));
                }
                {
                    let a = tile_left[0][1][thread_row + 0u];
                    whole_0_1_0 += vec4<i32>(product_of_bytes(a[0], b_0_0[0]), product_of_bytes(a[0], b_0_1[0]), product_of_bytes(a[0], b_0_2[0]), product_of_bytes(a[0], b_0_3[0]));
                    whole_0_1_0 += vec4<i32>(product_of_bytes(a[1], b_0_0[1]), product_of_bytes(a[1], b_0_1[1]), product_of_bytes(a[1], b_0_2[1]), product_of_bytes(a[1], b_0_3[1]));
                    whole_0_1_0 += vec4<i32>(product_of_bytes(a[2], b_0_0[2]), product_of_bytes(a[2], b_0_1[2]), product_of_bytes(a[2], b_0_2[2]), product_of_bytes(a[2], b_0_3[2]));
                    whole_0_1_0 += vec4<i32>(product_of_bytes(a[3], b_0_0[3]), product_of_bytes(a[3], b_0_1[3]), product_of_bytes(a[3], b_0_2[3]), product_of_bytes(a[3], b_0_3[3]));
                }
                {
                    let a = tile_left[0][2][thread_row + 0u];
                    whole_0_2_0 += vec4<i32>(product_of_bytes(a[0], b_0_0[0]), product_of_bytes(a[0], b_0_1[0]), product_of_bytes(a[0], b_0_2[0]), product_of_bytes(a[0], b_0_3[0]));
                    whole_0_2_0 += vec4<i32>(product_of_bytes(a[1], b_0_0[1]), product_of_bytes(a[1], b_0_1[1]), product_of_bytes(a[1], b_0_2[1]), product_of_bytes(a[1], b_0_3[1]));
                    whole_0_2_0 += vec4<i32>(product_of_bytes(a[2], b_0_0[2]), product_of_bytes(a[2], b_0_1[2]), product_of_bytes(a[2], b_0_2[2]), product_of_bytes(a[2], b_0_3[2]));
                    whole_0_2_0 += vec4<i32>(product_of_bytes(a[3], b_0_0[3]), product_of_bytes(a[3], b_0_1[3]), product_of_bytes(a[3], b_0_2[3]), product_of_bytes(a[3], b_0_3[3]));
                }
                {
                    let a = tile_left[0][3][thread_row + 0u];
                    whole_0_3_0 += vec4<i32>(product_of_bytes(a[0], b_0_0[0]), product_of_bytes(a[0], b_0_1[0]), product_of_bytes(a[0], b_0_2[0]), product_of_bytes(a[0], b_0_3[0]));
                    whole_0_3_0 += vec4<i32>(product_of_bytes(a[1], b_0_0[1]), product_of_bytes(a[1], b_0_1[1]), product_of_bytes(a[1], b_0_2[1]), product_of_bytes(a[1], b_0_3[1]));
                    whole_0_3_0 += vec4<i32>(product_of_bytes(a[2], b_0_0[2]), product_of_bytes(a[2], b_0_1[2]), product_of_bytes(a[2], b_0_2[2]), product_of_bytes(a[2], b_0_3[2]));
                    whole_0_3_0 += vec4<i32>(product_of_bytes(a[3], b_0_0[3]), product_of_bytes(a[3], b_0_1[3]), product_of_bytes(a[3], b_0_2[3]), product_of_bytes(a[3], b_0_3[3]));
                }
            }
            {
                let b_0_0 = tile_right[1][0][thread_column + 0u];
                let b_0_1 = tile_right[1][1][thread_column + 0u];
                let b_0_2 = tile_right[1][2][thread_column + 0u];
                let b_0_3 = tile_right[1][3][thread_column + 0u];
                {
                    let a = tile_left[1][0][thread_row + 0u];
                    whole_0_0_0 += vec4<i32>(product_of_bytes(a[0], b_0_0[0]), product_of_bytes(a[0], b_0_1[0]), product_of_bytes(a[0], b_0_2[0]), product_of_bytes(a[0], b_0_3[0]));
                    whole_0_0_0 += vec4<i32>(product_of_bytes(a[1], b_0_0[1]), product_of_bytes(a[1], b_0_1[1]), product_of_bytes(a[1], b_0_2[1]), product_of_bytes(a[1], b_0_3[1]));
                    whole_0_0_0 += vec4<i32>(product_of_bytes(a[2], b_0_0[2]), product_of_bytes(a[2], b_0_1[2]), product_of_bytes(a[2], b_0_2[2]), product_of_bytes(a[2], b_0_3[2]));
                    whole_0_0_0 += vec4<i32>(product_of_bytes(a[3], b_0_0[3]), product_of_bytes(a[3], b_0_1[3]), product_of_bytes(a[3], b_0_2[3]), product_of_bytes(a[3], b_0_3[3]));
                }
                {
                    let a = tile_left[1][1][thread_row + 0u];
                    whole_0_1_0 += vec4<i32>(product_of_bytes(a[0], b_0_0[0]), product_of_bytes(a[0], b_0_1[0]), product_of_bytes(a[0], b_0_2[0]), product_of_bytes(a[0], b_0_3[0]));
                    whole_0_1_0 += vec4<i32>(product_of_bytes(a[1], b_0_0[1]), product_of_bytes(a[1], b_0_1[1]), product_of_bytes(a[1], b_0_2[1]), product_of_bytes(a[1], b_0_3[1]));
                    whole_0_1_0 += vec4<i32>(product_of_bytes(a[2], b_0_0[2]), product_of_bytes(a[2], b_0_1[2]), product_of_bytes(a[2], b_0_2[2]), product_of_bytes(a[2], b_0_3[2]));
                    whole_0_1_0 += vec4<i32>(product_of_bytes(a[3], b_0_0[3]), product_of_bytes(a[3], b_0_1[3]), product_of_bytes(a[3], b_0_2[3]), product_of_bytes(a[3], b_0_3[3]));
                }
                {
                    let a = tile_left[1][2][thread_row + 0u];
                    whole_0_2_0 += vec4<i32>(product_of_bytes(a[0], b_0_0[0]), product_of_bytes(a[0], b_0_1[0]), product_of_bytes(a[0], b_0_2[0]), product_of_bytes(a[0], b_0_3[0]));
                    whole_0_2_0 += vec4<i32>(product_of_bytes(a[1], b_0_0[1]), product_of_bytes(a[1], b_0_1[1]), product_of_bytes(a[1], b_0_2[1]), product_of_bytes(a[1], b_0_3[1]));
                    whole_0_2_0 += vec4<i32>(product_of_bytes(a[2], b_0_0[2]), product_of_bytes(a[2], b_0_1[2]), product_of_bytes(a[2], b_0_2[2]), product_of_bytes(a[2], b_0_3[2]));
                    whole_0_2_0 += vec4<i32>(product_of_bytes(a[3], b_0_0[3]), product_of_bytes(a[3], b_0_1[3]), product_of_bytes(a[3], b_0_2[3]), product_of_bytes(a[3], b_0_3[3]));
                }
                {
                    let a = tile_left[1][3][thread_row + 0u];
                    whole_0_3_0 += vec4<i32>(product_of_bytes(a[0], b_0_0[0]), product_of_bytes(a[0], b_0_1[0]), product_of_bytes(a[0], b_0_2[0]), product_of_bytes(a[0], b_0_3[0]));
                    whole_0_3_0 += vec4<i32>(product_of_bytes(a[1], b_0_0[1]), product_of_bytes(a[1], b_0_1[1]), product_of_bytes(a[1], b_0_2[1]), product_of_bytes(a[1], b_0_3[1]));
                    whole_0_3_0 += vec4<i32>(product_of_bytes(a[2], b_0_0[2]), product_of_bytes(a[2], b_0_1[2]), product_of_bytes(a[2], b_0_2[2]), product_of_bytes(a[2], b_0_3[2]));
                    whole_0_3_0 += vec4<i32>(product_of_bytes(a[3], b_0_0[3]), product_of_bytes(a[3], b_0_1[3]), product_of_bytes(a[3], b_0_2[3]), product_of_bytes(a[3], b_0_3[3]));
                }
            }
            let scale_0 = vec4<f32>(right_scales[0][0][thread_column + 0u], right_scales[0][1][thread_column + 0u], right_scales[0][2][thread_column + 0u], right_scales[0][3][thread_column + 0u]);
            {
                let scale = left_scales[0][thread_row + 0u];
                sum_0_0_0 = fma(bitcast<vec4<f32>>(whole_0_0_0) - vec4<f32>(12582912.0), scale * scale_0, sum_0_0_0);
            }
            {
                let scale = left_scales[1][thread_row + 0u];
                sum_0_1_0 = fma(bitcast<vec4<f32>>(whole_0_1_0) - vec4<f32>(12582912.0), scale * scale_0, sum_0_1_0);
            }
            {
                let scale = left_scales[2][thread_row + 0u];
                sum_0_2_0 = fma(bitcast<vec4<f32>>(whole_0_2_0) - vec4<f32>(12582912.0), scale * scale_0, sum_0_2_0);
            }
            {
                let scale = left_scales[3][thread_row + 0u];
                sum_0_3_0 = fma(bitcast<vec4<f32>>(whole_0_3_0) - vec4<f32>(12582912.0), scale * scale_0, sum_0_3_0);
            }
        }
        workgroupBarrier();
    }

    {
        let row = first_row + thread_row * 4u + 0u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_0_0_0);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 1u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_0_1_0);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 2u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_0_2_0);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 3u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_0_3_0);
            }
        }
    }
}

fn left_index(column: u32, depth: u32) -> u32 {
    let v0 = depth >> 2u;
    let v1 = column * sizes[0].z;
    let v2 = v0 + v1;
    return v2 >> 2u;
}

fn left_side(column: u32, depth: u32) -> u32 {
    let v0 = depth >> 5u;
    let v1 = column * sizes[0].y;
    let v2 = v0 + v1;
    return bitcast<u32>(b1[v2]);
}

fn left_scale_of(column: u32, depth: u32, side: u32) -> f32 {
    return bitcast<f32>(side);
}

fn right_index(column: u32, depth: u32) -> u32 {
    let v0 = depth >> 3u;
    let v1 = column * sizes[0].x;
    let v2 = v0 + v1;
    return v2 >> 2u;
}

fn right_bytes(word: u32) -> u32 {
    return bytes_of_nibbles(word, 134744072u);
}

fn right_side(column: u32, depth: u32) -> u32 {
    let v0 = depth >> 5u;
    let v1 = column * sizes[0].y;
    let v2 = v0 + v1;
    return b3[v2 >> 1u] >> ((v2 & 1u) << 4u);
}

fn right_scale_of(column: u32, depth: u32, side: u32) -> f32 {
    return unpack2x16float(side).x;
}

fn store(row: u32, column: u32, product: vec4<f32>) {
    let v0 = row * sizes[0].w;
    let v1 = column + v0;
    b4[v1 >> 2u] = product;
}

// of shaders of tensors: four_nibbles, four_of_more, four_bytes, four_of_curve, spread_bits, spread_pairs, spread_nibbles, bytes_of_nibbles, bytes_of_more, bytes_of_curve
