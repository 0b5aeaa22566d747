// product
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> sizes: array<vec4<u32>, 1>;


@compute @workgroup_size(256)
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


var<workgroup> sums_0: array<vec4<f32>, 256>;

fn tiles_0() -> u32 {
    return (sizes[0].y + 15u) / 16u * ((sizes[0].x + 0u) / 1u) * 1u;
}

fn product_0(lane: u32, tile: u32) {
    let column_tiles = (sizes[0].y + 15u) / 16u;
    let row_tiles = (sizes[0].x + 0u) / 1u;
    let first_column = tile % column_tiles * 16u;
    let first_row = tile / column_tiles % row_tiles * 1u;
    let batch = tile / column_tiles / row_tiles;

    var sum_0 = vec4<f32>();
    let place = lane / 4u;
    let column = first_column + lane % 4u * 4u;
    for (var depth = place * 4u; depth < sizes[0].z; depth += 256u) {
        let b_0 = right_along_columns_0(column, depth + 0u);
        let b_1 = right_along_columns_0(column, depth + 1u);
        let b_2 = right_along_columns_0(column, depth + 2u);
        let b_3 = right_along_columns_0(column, depth + 3u);
        let a_0 = left_along_depth_0(first_row + 0u, depth);
        sum_0 = fma(vec4<f32>(a_0[0]), b_0, sum_0);
        sum_0 = fma(vec4<f32>(a_0[1]), b_1, sum_0);
        sum_0 = fma(vec4<f32>(a_0[2]), b_2, sum_0);
        sum_0 = fma(vec4<f32>(a_0[3]), b_3, sum_0);
    }

    sums_0[lane] = sum_0;
    workgroupBarrier();
    for (var distance = 32u; distance > 0u; distance /= 2u) {
        if (place < distance) {
            sums_0[lane] += sums_0[lane + distance * 4u];
        }
        workgroupBarrier();
    }
    if (lane < 4u && first_row + 0u < sizes[0].x && first_column + lane * 4u < sizes[0].y) {
        store_0(first_row + 0u, first_column + lane * 4u, sums_0[lane]);
    }
    workgroupBarrier();
}

fn left_along_depth_0(row: u32, depth: u32) -> vec4<f32> {
    let v0 = row * sizes[0].z;
    let v1 = depth + v0;
    let v2 = b0[v1 >> 2u];
    return v2;
}

fn right_along_columns_0(column: u32, depth: u32) -> vec4<f32> {
    let v0 = depth * sizes[0].y;
    let v1 = column + v0;
    let v2 = b1[v1 >> 2u];
    return v2;
}

fn store_0(row: u32, column: u32, product: vec4<f32>) {
    let v0 = row * sizes[0].y;
    let v1 = column + v0;
    b2[v1 >> 2u] = product;
}
