// product
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@group(0) @binding(3) var<storage, read> b3: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> b4: array<f32>;
@group(0) @binding(5) var<uniform> sizes: array<vec4<u32>, 1>;

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
    if (batch >= sizes[0].x) {
        return;
    }
    let batch_0 = batch;
    let thread_column = thread.x + thread.z * 2u;
    let thread_row = thread.y;

    var sum_0_0_0 = vec4<f32>();
    var sum_0_1_0 = vec4<f32>();
    var sum_0_2_0 = vec4<f32>();
    var sum_0_3_0 = vec4<f32>();
    var left_0_0 = vec4<f32>();
    var left_1_0 = vec4<f32>();
    var left_2_0 = vec4<f32>();
    var left_3_0 = vec4<f32>();
    var right_0_0 = vec4<f32>();
    var right_0_1 = vec4<f32>();
    var right_0_2 = vec4<f32>();
    var right_0_3 = vec4<f32>();

    let steps = (sizes[0].w + 31u) / 32u;
    var next = 0u;
    if (steps > 0u) {
        {
            let block = lane + 0u;
            let first_depth = next * 32u;
            let row = first_row + block % 8u * 4u;
            left_0_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
        }
        {
            let block = lane + 64u;
            let first_depth = next * 32u;
            let row = first_row + block % 8u * 4u;
            left_1_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
        }
        {
            let block = lane + 128u;
            let first_depth = next * 32u;
            let row = first_row + block % 8u * 4u;
            left_2_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
        }
        {
            let block = lane + 192u;
            let first_depth = next * 32u;
            let row = first_row + block % 8u * 4u;
            left_3_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
        }
        {
            let block = lane + 0u;
            let first_depth = next * 32u;
            let column = first_column + block % 8u * 4u;
            let depth = first_depth + block / 8u * 4u;
            right_0_0 = right_along_depth(batch_0, column + 0u, depth);
            right_0_1 = right_along_depth(batch_0, column + 1u, depth);
            right_0_2 = right_along_depth(batch_0, column + 2u, depth);
            right_0_3 = right_along_depth(batch_0, column + 3u, depth);
        }
        let write_to = 0u;
        {
            let block = lane + 0u;
            tile_left[write_to + block / 8u][block % 8u] = left_0_0;
        }
        {
            let block = lane + 64u;
            tile_left[write_to + block / 8u][block % 8u] = left_1_0;
        }
        {
            let block = lane + 128u;
            tile_left[write_to + block / 8u][block % 8u] = left_2_0;
        }
        {
            let block = lane + 192u;
            tile_left[write_to + block / 8u][block % 8u] = left_3_0;
        }
        {
            let block = lane + 0u;
            tile_right[write_to + block / 8u * 4u + 0u][block % 8u] =
                vec4<f32>(right_0_0[0], right_0_1[0], right_0_2[0], right_0_3[0]);
            tile_right[write_to + block / 8u * 4u + 1u][block % 8u] =
                vec4<f32>(right_0_0[1], right_0_1[1], right_0_2[1], right_0_3[1]);
            tile_right[write_to + block / 8u * 4u + 2u][block % 8u] =
                vec4<f32>(right_0_0[2], right_0_1[2], right_0_2[2], right_0_3[2]);
            tile_right[write_to + block / 8u * 4u + 3u][block % 8u] =
                vec4<f32>(right_0_0[3], right_0_1[3], right_0_2[3], right_0_3[3]);
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
                    left_0_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
                }
                {
                    let block = lane + 64u;
                    let first_depth = next * 32u;
                    let row = first_row + block % 8u * 4u;
                    left_1_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
                }
                {
                    let block = lane + 128u;
                    let first_depth = next * 32u;
                    let row = first_row + block % 8u * 4u;
                    left_2_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
                }
                {
                    let block = lane + 192u;
                    let first_depth = next * 32u;
                    let row = first_row + block % 8u * 4u;
                    left_3_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
                }
                {
                    let block = lane + 0u;
                    let first_depth = next * 32u;
                    let column = first_column + block % 8u * 4u;
                    let depth = first_depth + block / 8u * 4u;
                    right_0_0 = right_along_depth(batch_0, column + 0u, depth);
                    right_0_1 = right_along_depth(batch_0, column + 1u, depth);
                    right_0_2 = right_along_depth(batch_0, column + 2u, depth);
                    right_0_3 = right_along_depth(batch_0, column + 3u, depth);
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
                tile_left[write_to + block / 8u][block % 8u] = left_0_0;
            }
            {
                let block = lane + 64u;
                tile_left[write_to + block / 8u][block % 8u] = left_1_0;
            }
            {
                let block = lane + 128u;
                tile_left[write_to + block / 8u][block % 8u] = left_2_0;
            }
            {
                let block = lane + 192u;
                tile_left[write_to + block / 8u][block % 8u] = left_3_0;
            }
            {
                let block = lane + 0u;
                tile_right[write_to + block / 8u * 4u + 0u][block % 8u] =
                    vec4<f32>(right_0_0[0], right_0_1[0], right_0_2[0], right_0_3[0]);
                tile_right[write_to + block / 8u * 4u + 1u][block % 8u] =
                    vec4<f32>(right_0_0[1], right_0_1[1], right_0_2[1], right_0_3[1]);
                tile_right[write_to + block / 8u * 4u + 2u][block % 8u] =
                    vec4<f32>(right_0_0[2], right_0_1[2], right_0_2[2], right_0_3[2]);
                tile_right[write_to + block / 8u * 4u + 3u][block % 8u] =
                    vec4<f32>(right_0_0[3], right_0_1[3], right_0_2[3], right_0_3[3]);
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
                    left_0_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
                }
                {
                    let block = lane + 64u;
                    let first_depth = next * 32u;
                    let row = first_row + block % 8u * 4u;
                    left_1_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
                }
                {
                    let block = lane + 128u;
                    let first_depth = next * 32u;
                    let row = first_row + block % 8u * 4u;
                    left_2_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
                }
                {
                    let block = lane + 192u;
                    let first_depth = next * 32u;
                    let row = first_row + block % 8u * 4u;
                    left_3_0 = left_along_rows(batch_0, row, first_depth + block / 8u);
                }
                {
                    let block = lane + 0u;
                    let first_depth = next * 32u;
                    let column = first_column + block % 8u * 4u;
                    let depth = first_depth + block / 8u * 4u;
                    right_0_0 = right_along_depth(batch_0, column + 0u, depth);
                    right_0_1 = right_along_depth(batch_0, column + 1u, depth);
                    right_0_2 = right_along_depth(batch_0, column + 2u, depth);
                    right_0_3 = right_along_depth(batch_0, column + 3u, depth);
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
                tile_left[write_to + block / 8u][block % 8u] = left_0_0;
            }
            {
                let block = lane + 64u;
                tile_left[write_to + block / 8u][block % 8u] = left_1_0;
            }
            {
                let block = lane + 128u;
                tile_left[write_to + block / 8u][block % 8u] = left_2_0;
            }
            {
                let block = lane + 192u;
                tile_left[write_to + block / 8u][block % 8u] = left_3_0;
            }
            {
                let block = lane + 0u;
                tile_right[write_to + block / 8u * 4u + 0u][block % 8u] =
                    vec4<f32>(right_0_0[0], right_0_1[0], right_0_2[0], right_0_3[0]);
                tile_right[write_to + block / 8u * 4u + 1u][block % 8u] =
                    vec4<f32>(right_0_0[1], right_0_1[1], right_0_2[1], right_0_3[1]);
                tile_right[write_to + block / 8u * 4u + 2u][block % 8u] =
                    vec4<f32>(right_0_0[2], right_0_1[2], right_0_2[2], right_0_3[2]);
                tile_right[write_to + block / 8u * 4u + 3u][block % 8u] =
                    vec4<f32>(right_0_0[3], right_0_1[3], right_0_2[3], right_0_3[3]);
            }
            workgroupBarrier();
        }
    }

    {
        let row = first_row + thread_row * 4u + 0u;
        if (row < sizes[0].y) {
            {
                let column = first_column + thread_column * 4u + 0u;
                if (column < sizes[0].z) {
                    store(batch_0, row, column, sum_0_0_0);
                }
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 1u;
        if (row < sizes[0].y) {
            {
                let column = first_column + thread_column * 4u + 0u;
                if (column < sizes[0].z) {
                    store(batch_0, row, column, sum_0_1_0);
                }
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 2u;
        if (row < sizes[0].y) {
            {
                let column = first_column + thread_column * 4u + 0u;
                if (column < sizes[0].z) {
                    store(batch_0, row, column, sum_0_2_0);
                }
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 3u;
        if (row < sizes[0].y) {
            {
                let column = first_column + thread_column * 4u + 0u;
                if (column < sizes[0].z) {
                    store(batch_0, row, column, sum_0_3_0);
                }
            }
        }
    }
}

fn left_along_rows(batch_0: u32, row: u32, depth: u32) -> vec4<f32> {
    if depth >= sizes[0].w {
        return vec4<f32>();
    }
    let v0 = min(row, (sizes[0].y - 1u) / 4u * 4u);
    let v1 = batch_0 * sizes[0].w;
    let v2 = depth + v1;
    let v3 = v2 * sizes[0].y;
    let v4 = v0 + v3;
    let v5 = vec4<f32>(b0[v4], b0[(v4 + 1u)], b0[(v4 + 2u)], b0[(v4 + 3u)]);
    let v6 = v5 * vec4<f32>(0.5);
    return v6;
}

fn right_along_depth(batch_0: u32, column: u32, depth: u32) -> vec4<f32> {
    if depth >= sizes[0].w {
        return vec4<f32>();
    }
    let v0 = min(column, sizes[0].z - 1u);
    let v1 = batch_0 * sizes[0].z;
    let v2 = v0 + v1;
    let v3 = sizes[0].w * v2;
    let v4 = depth + v3;
    let v5 = vec4<f32>(b1[v4], b1[(v4 + 1u)], b1[(v4 + 2u)], b1[(v4 + 3u)]);
    return select(vec4<f32>(), v5, vec4<u32>(depth) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(sizes[0].w));
}

fn store(batch_0: u32, row: u32, column: u32, product: vec4<f32>) {
    let v0 = (column + vec4<u32>(0u, 1u, 2u, 3u)) < vec4<u32>(sizes[0].z);
    let v1 = batch_0 * sizes[0].y;
    let v2 = row + v1;
    let v3 = sizes[0].z * v2;
    let v4 = column + v3;
    let v5 = b3[column >> 2u];
    let v6 = vec4<f32>(b4[v4], b4[(v4 + 1u)], b4[(v4 + 2u)], b4[(v4 + 3u)]);
    let v7 = product + v5;
    let v8 = v6 + four_times_one(v7);
    if all(v0) {
        b2[v4] = v8.x;
        b2[(v4 + 1u)] = v8.y;
        b2[(v4 + 2u)] = v8.z;
        b2[(v4 + 3u)] = v8.w;
    }
    if !all(v0) {
        if v0.x {
            b2[v4] = v8.x;
        }
        if v0.y {
            b2[(v4 + 1u)] = v8.y;
        }
        if v0.z {
            b2[(v4 + 2u)] = v8.z;
        }
        if v0.w {
            b2[(v4 + 3u)] = v8.w;
        }
    }
}

fn guard_zero() -> u32 {
    return select(0u, 1u, arrayLength(&b0) == 0u);
}

// of shaders of tensors: times_one, four_times_one, rounded_four
