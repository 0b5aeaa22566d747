// product
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> sizes: array<vec4<u32>, 1>;


var<workgroup> tile_left: array<array<vec4<f32>, 8>, 64>;
var<workgroup> tile_right: array<array<vec4<f32>, 8>, 64>;

@compute @workgroup_size(2, 8, 4)
fn main(
    @builtin(local_invocation_id) thread: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let column_tiles = (sizes[0].z + 31u) / 32u;
    let row_tiles = (sizes[0].y + 31u) / 32u;
    let first_column = tile % column_tiles * 32u;
    let first_row = tile / column_tiles % row_tiles * 32u;
    let batch = tile / column_tiles / row_tiles;
    if (batch >= 1u) {
        return;
    }

    let thread_column = thread.x + thread.z * 2u;
    let thread_row = thread.y;

    var sum_0_0_0 = vec4<f32>();
    var sum_0_1_0 = vec4<f32>();
    var sum_0_2_0 = vec4<f32>();
    var sum_0_3_0 = vec4<f32>();
    var left_0_0 = vec4<f32>();
    var left_0_1 = vec4<f32>();
    var left_0_2 = vec4<f32>();
    var left_0_3 = vec4<f32>();
    var right_0_0 = vec4<f32>();
    var right_1_0 = vec4<f32>();
    var right_2_0 = vec4<f32>();
    var right_3_0 = vec4<f32>();

    let steps = (sizes[0].w + 31u) / 32u;
    var next = 0u;
    if (steps > 0u) {
        {
            let block = lane + 0u;
            let first_depth = next * 32u;
            let row = first_row + block % 8u * 4u;
            let depth = first_depth + block / 8u * 4u;
            left_0_0 = left_along_depth(row + 0u, depth);
            left_0_1 = left_along_depth(row + 1u, depth);
            left_0_2 = left_along_depth(row + 2u, depth);
            left_0_3 = left_along_depth(row + 3u, depth);
        }
        {
            let block = lane + 0u;
            let first_depth = next * 32u;
            let column = first_column + block % 8u * 4u;
            right_0_0 = right_along_columns(column, first_depth + block / 8u);
        }
        {
            let block = lane + 64u;
            let first_depth = next * 32u;
            let column = first_column + block % 8u * 4u;
            right_1_0 = right_along_columns(column, first_depth + block / 8u);
        }
        {
            let block = lane + 128u;
            let first_depth = next * 32u;
            let column = first_column + block % 8u * 4u;
            right_2_0 = right_along_columns(column, first_depth + block / 8u);
        }
        {
            let block = lane + 192u;
            let first_depth = next * 32u;
            let column = first_column + block % 8u * 4u;
            right_3_0 = right_along_columns(column, first_depth + block / 8u);
        }
        let write_to = 0u;
        {
            let block = lane + 0u;
            tile_left[write_to + block / 8u * 4u + 0u][block % 8u] =
                vec4<f32>(left_0_0[0], left_0_1[0], left_0_2[0], left_0_3[0]);
            tile_left[write_to + block / 8u * 4u + 1u][block % 8u] =
                vec4<f32>(left_0_0[1], left_0_1[1], left_0_2[1], left_0_3[1]);
            tile_left[write_to + block / 8u * 4u + 2u][block % 8u] =
                vec4<f32>(left_0_0[2], left_0_1[2], left_0_2[2], left_0_3[2]);
            tile_left[write_to + block / 8u * 4u + 3u][block % 8u] =
                vec4<f32>(left_0_0[3], left_0_1[3], left_0_2[3], left_0_3[3]);
        }
        {
            let block = lane + 0u;
            tile_right[write_to + block / 8u][block % 8u] = right_0_0;
        }
        {
            let block = lane + 64u;
            tile_right[write_to + block / 8u][block % 8u] = right_1_0;
        }
        {
            let block = lane + 128u;
            tile_right[write_to + block / 8u][block % 8u] = right_2_0;
        }
        {
            let block = lane + 192u;
            tile_right[write_to + block / 8u][block % 8u] = right_3_0;
        }
    }
    workgroupBarrier();
    while (next < steps) {
        {
            let read_from = 0u;
            let write_to = 32u;
            next++;
            if (next < steps) {
                {
                    let block = lane + 0u;
                    let first_depth = next * 32u;
                    let row = first_row + block % 8u * 4u;
                    let depth = first_depth + block / 8u * 4u;
                    left_0_0 = left_along_depth(row + 0u, depth);
                    left_0_1 = left_along_depth(row + 1u, depth);
                    left_0_2 = left_along_depth(row + 2u, depth);
                    left_0_3 = left_along_depth(row + 3u, depth);
                }
                {
                    let block = lane + 0u;
                    let first_depth = next * 32u;
                    let column = first_column + block % 8u * 4u;
                    right_0_0 = right_along_columns(column, first_depth + block / 8u);
                }
                {
                    let block = lane + 64u;
                    let first_depth = next * 32u;
                    let column = first_column + block % 8u * 4u;
                    right_1_0 = right_along_columns(column, first_depth + block / 8u);
                }
                {
                    let block = lane + 128u;
                    let first_depth = next * 32u;
                    let column = first_column + block % 8u * 4u;
                    right_2_0 = right_along_columns(column, first_depth + block / 8u);
                }
                {
                    let block = lane + 192u;
                    let first_depth = next * 32u;
                    let column = first_column + block % 8u * 4u;
                    right_3_0 = right_along_columns(column, first_depth + block / 8u);
                }
            }
            for (var k = 0u; k < 32u; k++) {
                let a_0 = tile_left[read_from + k][0u + thread_row];
                let b_0 = tile_right[read_from + k][0u + thread_column];
                sum_0_0_0 = fma(vec4<f32>(a_0[0]), b_0, sum_0_0_0);
                sum_0_1_0 = fma(vec4<f32>(a_0[1]), b_0, sum_0_1_0);
                sum_0_2_0 = fma(vec4<f32>(a_0[2]), b_0, sum_0_2_0);
                sum_0_3_0 = fma(vec4<f32>(a_0[3]), b_0, sum_0_3_0);
            }
            if (next >= steps) {
                break;
            }
            {
                let block = lane + 0u;
                tile_left[write_to + block / 8u * 4u + 0u][block % 8u] =
                    vec4<f32>(left_0_0[0], left_0_1[0], left_0_2[0], left_0_3[0]);
                tile_left[write_to + block / 8u * 4u + 1u][block % 8u] =
                    vec4<f32>(left_0_0[1], left_0_1[1], left_0_2[1], left_0_3[1]);
                tile_left[write_to + block / 8u * 4u + 2u][block % 8u] =
                    vec4<f32>(left_0_0[2], left_0_1[2], left_0_2[2], left_0_3[2]);
                tile_left[write_to + block / 8u * 4u + 3u][block % 8u] =
                    vec4<f32>(left_0_0[3], left_0_1[3], left_0_2[3], left_0_3[3]);
            }
            {
                let block = lane + 0u;
                tile_right[write_to + block / 8u][block % 8u] = right_0_0;
            }
            {
                let block = lane + 64u;
                tile_right[write_to + block / 8u][block % 8u] = right_1_0;
            }
            {
                let block = lane + 128u;
                tile_right[write_to + block / 8u][block % 8u] = right_2_0;
            }
            {
                let block = lane + 192u;
                tile_right[write_to + block / 8u][block % 8u] = right_3_0;
            }
            workgroupBarrier();
        }
        {
            let read_from = 32u;
            let write_to = 0u;
            next++;
            if (next < steps) {
                {
                    let block = lane + 0u;
                    let first_depth = next * 32u;
                    let row = first_row + block % 8u * 4u;
                    let depth = first_depth + block / 8u * 4u;
                    left_0_0 = left_along_depth(row + 0u, depth);
                    left_0_1 = left_along_depth(row + 1u, depth);
                    left_0_2 = left_along_depth(row + 2u, depth);
                    left_0_3 = left_along_depth(row + 3u, depth);
                }
                {
                    let block = lane + 0u;
                    let first_depth = next * 32u;
                    let column = first_column + block % 8u * 4u;
                    right_0_0 = right_along_columns(column, first_depth + block / 8u);
                }
                {
                    let block = lane + 64u;
                    let first_depth = next * 32u;
                    let column = first_column + block % 8u * 4u;
                    right_1_0 = right_along_columns(column, first_depth + block / 8u);
                }
                {
                    let block = lane + 128u;
                    let first_depth = next * 32u;
                    let column = first_column + block % 8u * 4u;
                    right_2_0 = right_along_columns(column, first_depth + block / 8u);
                }
                {
                    let block = lane + 192u;
                    let first_depth = next * 32u;
                    let column = first_column + block % 8u * 4u;
                    right_3_0 = right_along_columns(column, first_depth + block / 8u);
                }
            }
            for (var k = 0u; k < 32u; k++) {
                let a_0 = tile_left[read_from + k][0u + thread_row];
                let b_0 = tile_right[read_from + k][0u + thread_column];
                sum_0_0_0 = fma(vec4<f32>(a_0[0]), b_0, sum_0_0_0);
                sum_0_1_0 = fma(vec4<f32>(a_0[1]), b_0, sum_0_1_0);
                sum_0_2_0 = fma(vec4<f32>(a_0[2]), b_0, sum_0_2_0);
                sum_0_3_0 = fma(vec4<f32>(a_0[3]), b_0, sum_0_3_0);
            }
            if (next >= steps) {
                break;
            }
            {
                let block = lane + 0u;
                tile_left[write_to + block / 8u * 4u + 0u][block % 8u] =
                    vec4<f32>(left_0_0[0], left_0_1[0], left_0_2[0], left_0_3[0]);
                tile_left[write_to + block / 8u * 4u + 1u][block % 8u] =
                    vec4<f32>(left_0_0[1], left_0_1[1], left_0_2[1], left_0_3[1]);
                tile_left[write_to + block / 8u * 4u + 2u][block % 8u] =
                    vec4<f32>(left_0_0[2], left_0_1[2], left_0_2[2], left_0_3[2]);
                tile_left[write_to + block / 8u * 4u + 3u][block % 8u] =
                    vec4<f32>(left_0_0[3], left_0_1[3], left_0_2[3], left_0_3[3]);
            }
            {
                let block = lane + 0u;
                tile_right[write_to + block / 8u][block % 8u] = right_0_0;
            }
            {
                let block = lane + 64u;
                tile_right[write_to + block / 8u][block % 8u] = right_1_0;
            }
            {
                let block = lane + 128u;
                tile_right[write_to + block / 8u][block % 8u] = right_2_0;
            }
            {
                let block = lane + 192u;
                tile_right[write_to + block / 8u][block % 8u] = right_3_0;
            }
            workgroupBarrier();
        }
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

fn left_along_depth(row: u32, depth: u32) -> vec4<f32> {
    let v0 = row * sizes[0].w;
    let v1 = depth + v0;
    let v2 = b0[v1 >> 2u];
    return v2;
}

fn right_along_columns(column: u32, depth: u32) -> vec4<f32> {
    let v0 = depth * sizes[0].z;
    let v1 = column + v0;
    let v2 = b1[v1 >> 2u];
    return v2;
}

fn store(row: u32, column: u32, product: vec4<f32>) {
    let v0 = row * sizes[0].z;
    let v1 = column + v0;
    b2[v1 >> 2u] = product;
}
