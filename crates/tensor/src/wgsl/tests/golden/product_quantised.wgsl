// product
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> b2: array<u32>;
@group(0) @binding(3) var<storage, read_write> b3: array<vec4<f32>>;
@group(0) @binding(4) var<uniform> sizes: array<vec4<u32>, 2>;

@compute @workgroup_size(128)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    var tile = group.x + group.y * groups.x;
    if (tile < tiles_0()) {
        product_0(lane, tile);
        return;
    }
    tile -= tiles_0();
}


var<workgroup> sums_0: array<vec4<f32>, 128>;

fn tiles_0() -> u32 {
    return (sizes[0].w + 31u) / 32u * ((sizes[0].z + 0u) / 1u) * 1u;
}

fn product_0(lane: u32, tile: u32) {
    let column_tiles = (sizes[0].w + 31u) / 32u;
    let row_tiles = (sizes[0].z + 0u) / 1u;
    let first_column = tile % column_tiles * 32u;
    let first_row = tile / column_tiles % row_tiles * 1u;
    let batch = tile / column_tiles / row_tiles;

    var sum_0 = vec4<f32>();
    let cluster = lane / 4u;
    let place = lane % 4u + cluster / 8u * 4u;
    let slot = cluster % 8u * 16u + place;
    let column = first_column + cluster % 8u * 4u;
    for (var depth = place * 32u; depth < sizes[1].x; depth += 512u) {
        let index_0 = right_index_0(column + 0u, depth);
        let words_0_0 = b1[index_0 + 0u];
        let scale_0_0 = right_scale_0(column + 0u, depth + 0u);
        let index_1 = right_index_0(column + 1u, depth);
        let words_1_0 = b1[index_1 + 0u];
        let scale_1_0 = right_scale_0(column + 1u, depth + 0u);
        let index_2 = right_index_0(column + 2u, depth);
        let words_2_0 = b1[index_2 + 0u];
        let scale_2_0 = right_scale_0(column + 2u, depth + 0u);
        let index_3 = right_index_0(column + 3u, depth);
        let words_3_0 = b1[index_3 + 0u];
        let scale_3_0 = right_scale_0(column + 3u, depth + 0u);
        {
            var block_0 = vec4<f32>();
            {
                let b_0 = right_four_0(words_0_0[0] >> 0u);
                let b_1 = right_four_0(words_1_0[0] >> 0u);
                let b_2 = right_four_0(words_2_0[0] >> 0u);
                let b_3 = right_four_0(words_3_0[0] >> 0u);
                let left_0 = left_along_depth_0(first_row + 0u, depth + 0u);
                let a_0 = left_0 * vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625);
                block_0 = fma(vec4<f32>(a_0[0]), vec4<f32>(b_0[0], b_1[0], b_2[0], b_3[0]), block_0);
                block_0 = fma(vec4<f32>(a_0[1]), vec4<f32>(b_0[1], b_1[1], b_2[1], b_3[1]), block_0);
                block_0 = fma(vec4<f32>(a_0[2]), vec4<f32>(b_0[2], b_1[2], b_2[2], b_3[2]), block_0);
                block_0 = fma(vec4<f32>(a_0[3]), vec4<f32>(b_0[3], b_1[3], b_2[3], b_3[3]), block_0);
            }
            {
                let b_0 = right_four_0(words_0_0[0] >> 16u);
                let b_1 = right_four_0(words_1_0[0] >> 16u);
                let b_2 = right_four_0(words_2_0[0] >> 16u);
                let b_3 = right_four_0(words_3_0[0] >> 16u);
                let left_0 = left_along_depth_0(first_row + 0u, depth + 4u);
                let a_0 = left_0 * vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625);
                block_0 = fma(vec4<f32>(a_0[0]), vec4<f32>(b_0[0], b_1[0], b_2[0], b_3[0]), block_0);
                block_0 = fma(vec4<f32>(a_0[1]), vec4<f32>(b_0[1], b_1[1], b_2[1], b_3[1]), block_0);
                block_0 = fma(vec4<f32>(a_0[2]), vec4<f32>(b_0[2], b_1[2], b_2[2], b_3[2]), block_0);
                block_0 = fma(vec4<f32>(a_0[3]), vec4<f32>(b_0[3], b_1[3], b_2[3], b_3[3]), block_0);
            }
            {
                let b_0 = right_four_0(words_0_0[1] >> 0u);
                let b_1 = right_four_0(words_1_0[1] >> 0u);
                let b_2 = right_four_0(words_2_0[1] >> 0u);
                let b_3 = right_four_0(words_3_0[1] >> 0u);
                let left_0 = left_along_depth_0(first_row + 0u, depth + 8u);
                let a_0 = left_0 * vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625);
                block_0 = fma(vec4<f32>(a_0[0]), vec4<f32>(b_0[0], b_1[0], b_2[0], b_3[0]), block_0);
                block_0 = fma(vec4<f32>(a_0[1]), vec4<f32>(b_0[1], b_1[1], b_2[1], b_3[1]), block_0);
                block_0 = fma(vec4<f32>(a_0[2]), vec4<f32>(b_0[2], b_1[2], b_2[2], b_3[2]), block_0);
                block_0 = fma(vec4<f32>(a_0[3]), vec4<f32>(b_0[3], b_1[3], b_2[3], b_3[3]), block_0);
            }
            {
                let b_0 = right_four_0(words_0_0[1] >> 16u);
                let b_1 = right_four_0(words_1_0[1] >> 16u);
                let b_2 = right_four_0(words_2_0[1] >> 16u);
                let b_3 = right_four_0(words_3_0[1] >> 16u);
                let left_0 = left_along_depth_0(first_row + 0u, depth + 12u);
                let a_0 = left_0 * vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625);
                block_0 = fma(vec4<f32>(a_0[0]), vec4<f32>(b_0[0], b_1[0], b_2[0], b_3[0]), block_0);
                block_0 = fma(vec4<f32>(a_0[1]), vec4<f32>(b_0[1], b_1[1], b_2[1], b_3[1]), block_0);
                block_0 = fma(vec4<f32>(a_0[2]), vec4<f32>(b_0[2], b_1[2], b_2[2], b_3[2]), block_0);
                block_0 = fma(vec4<f32>(a_0[3]), vec4<f32>(b_0[3], b_1[3], b_2[3], b_3[3]), block_0);
            }
            {
                let b_0 = right_four_0(words_0_0[2] >> 0u);
                let b_1 = right_four_0(words_1_0[2] >> 0u);
                let b_2 = right_four_0(words_2_0[2] >> 0u);
                let b_3 = right_four_0(words_3_0[2] >> 0u);
                let left_0 = left_along_depth_0(first_row + 0u, depth + 16u);
                let a_0 = left_0 * vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625);
                block_0 = fma(vec4<f32>(a_0[0]), vec4<f32>(b_0[0], b_1[0], b_2[0], b_3[0]), block_0);
                block_0 = fma(vec4<f32>(a_0[1]), vec4<f32>(b_0[1], b_1[1], b_2[1], b_3[1]), block_0);
                block_0 = fma(vec4<f32>(a_0[2]), vec4<f32>(b_0[2], b_1[2], b_2[2], b_3[2]), block_0);
                block_0 = fma(vec4<f32>(a_0[3]), vec4<f32>(b_0[3], b_1[3], b_2[3], b_3[3]), block_0);
            }
            {
                let b_0 = right_four_0(words_0_0[2] >> 16u);
                let b_1 = right_four_0(words_1_0[2] >> 16u);
                let b_2 = right_four_0(words_2_0[2] >> 16u);
                let b_3 = right_four_0(words_3_0[2] >> 16u);
                let left_0 = left_along_depth_0(first_row + 0u, depth + 20u);
                let a_0 = left_0 * vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625);
                block_0 = fma(vec4<f32>(a_0[0]), vec4<f32>(b_0[0], b_1[0], b_2[0], b_3[0]), block_0);
                block_0 = fma(vec4<f32>(a_0[1]), vec4<f32>(b_0[1], b_1[1], b_2[1], b_3[1]), block_0);
                block_0 = fma(vec4<f32>(a_0[2]), vec4<f32>(b_0[2], b_1[2], b_2[2], b_3[2]), block_0);
                block_0 = fma(vec4<f32>(a_0[3]), vec4<f32>(b_0[3], b_1[3], b_2[3], b_3[3]), block_0);
            }
            {
                let b_0 = right_four_0(words_0_0[3] >> 0u);
                let b_1 = right_four_0(words_1_0[3] >> 0u);
                let b_2 = right_four_0(words_2_0[3] >> 0u);
                let b_3 = right_four_0(words_3_0[3] >> 0u);
                let left_0 = left_along_depth_0(first_row + 0u, depth + 24u);
                let a_0 = left_0 * vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625);
                block_0 = fma(vec4<f32>(a_0[0]), vec4<f32>(b_0[0], b_1[0], b_2[0], b_3[0]), block_0);
                block_0 = fma(vec4<f32>(a_0[1]), vec4<f32>(b_0[1], b_1[1], b_2[1], b_3[1]), block_0);
                block_0 = fma(vec4<f32>(a_0[2]), vec4<f32>(b_0[2], b_1[2], b_2[2], b_3[2]), block_0);
                block_0 = fma(vec4<f32>(a_0[3]), vec4<f32>(b_0[3], b_1[3], b_2[3], b_3[3]), block_0);
            }
            {
                let b_0 = right_four_0(words_0_0[3] >> 16u);
                let b_1 = right_four_0(words_1_0[3] >> 16u);
                let b_2 = right_four_0(words_2_0[3] >> 16u);
                let b_3 = right_four_0(words_3_0[3] >> 16u);
                let left_0 = left_along_depth_0(first_row + 0u, depth + 28u);
                let a_0 = left_0 * vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625);
                block_0 = fma(vec4<f32>(a_0[0]), vec4<f32>(b_0[0], b_1[0], b_2[0], b_3[0]), block_0);
                block_0 = fma(vec4<f32>(a_0[1]), vec4<f32>(b_0[1], b_1[1], b_2[1], b_3[1]), block_0);
                block_0 = fma(vec4<f32>(a_0[2]), vec4<f32>(b_0[2], b_1[2], b_2[2], b_3[2]), block_0);
                block_0 = fma(vec4<f32>(a_0[3]), vec4<f32>(b_0[3], b_1[3], b_2[3], b_3[3]), block_0);
            }
            sum_0 = fma(vec4<f32>(scale_0_0, scale_1_0, scale_2_0, scale_3_0), block_0, sum_0);
        }
    }

    sums_0[slot] = sum_0;
    workgroupBarrier();
    for (var distance = 8u; distance > 0u; distance /= 2u) {
        if (place < distance) {
            sums_0[slot] += sums_0[slot + distance];
        }
        workgroupBarrier();
    }
    if (lane < 8u && first_row + 0u < sizes[0].z && first_column + lane * 4u < sizes[0].w) {
        store_0(first_row + 0u, first_column + lane * 4u, sums_0[lane * 16u]);
    }
    workgroupBarrier();
}

fn left_along_depth_0(row: u32, depth: u32) -> vec4<f32> {
    let v0 = row * sizes[1].x;
    let v1 = depth + v0;
    let v2 = b0[v1 >> 2u];
    return v2;
}

fn right_index_0(column: u32, depth: u32) -> u32 {
    let v0 = depth >> 3u;
    let v1 = column * sizes[0].x;
    let v2 = v0 + v1;
    return v2 >> 2u;
}

fn right_four_0(word: u32) -> vec4<f32> {
    return four_nibbles(word, vec4<f32>(8388616.0, 8388736.0, 8390656.0, 8421376.0));
}

fn right_scale_0(column: u32, depth: u32) -> f32 {
    let v0 = depth >> 5u;
    let v1 = column * sizes[0].y;
    let v2 = v0 + v1;
    let v3 = unpack2x16float(b2[v2 >> 1u] >> ((v2 & 1u) << 4u)).x;
    return v3;
}

fn store_0(row: u32, column: u32, product: vec4<f32>) {
    let v0 = row * sizes[0].w;
    let v1 = column + v0;
    b3[v1 >> 2u] = product;
}

// of shaders of tensors: four_nibbles, four_of_more, four_bytes, four_of_curve, spread_bits, spread_pairs
