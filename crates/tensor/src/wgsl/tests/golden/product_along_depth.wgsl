// product
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> b2: array<u32>;
@group(0) @binding(3) var<storage, read_write> b3: array<vec4<f32>>;
@group(0) @binding(4) var<uniform> sizes: array<vec4<u32>, 2>;

var<workgroup> tile_left: array<array<array<array<vec4<f32>, 32>, 4>, 2>, 2>;
var<workgroup> tile_right: array<array<array<array<vec4<f32>, 32>, 4>, 2>, 2>;

@compute @workgroup_size(8, 8, 2)
fn main(
    @builtin(local_invocation_id) thread: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let column_tiles = (sizes[0].w + 127u) / 128u;
    let row_tiles = (sizes[0].z + 127u) / 128u;
    let first_column = tile % column_tiles * 128u;
    let first_row = tile / column_tiles % row_tiles * 128u;
    let batch = tile / column_tiles / row_tiles;
    if (batch >= 1u) {
        return;
    }

    let thread_column = thread.x + thread.z * 8u;
    let thread_row = thread.y;

    var sum_0_0_0 = vec4<f32>();
    var sum_0_0_1 = vec4<f32>();
    var sum_0_1_0 = vec4<f32>();
    var sum_0_1_1 = vec4<f32>();
    var sum_0_2_0 = vec4<f32>();
    var sum_0_2_1 = vec4<f32>();
    var sum_0_3_0 = vec4<f32>();
    var sum_0_3_1 = vec4<f32>();
    var sum_1_0_0 = vec4<f32>();
    var sum_1_0_1 = vec4<f32>();
    var sum_1_1_0 = vec4<f32>();
    var sum_1_1_1 = vec4<f32>();
    var sum_1_2_0 = vec4<f32>();
    var sum_1_2_1 = vec4<f32>();
    var sum_1_3_0 = vec4<f32>();
    var sum_1_3_1 = vec4<f32>();
    var sum_2_0_0 = vec4<f32>();
    var sum_2_0_1 = vec4<f32>();
    var sum_2_1_0 = vec4<f32>();
    var sum_2_1_1 = vec4<f32>();
    var sum_2_2_0 = vec4<f32>();
    var sum_2_2_1 = vec4<f32>();
    var sum_2_3_0 = vec4<f32>();
    var sum_2_3_1 = vec4<f32>();
    var sum_3_0_0 = vec4<f32>();
    var sum_3_0_1 = vec4<f32>();
    var sum_3_1_0 = vec4<f32>();
    var sum_3_1_1 = vec4<f32>();
    var sum_3_2_0 = vec4<f32>();
    var sum_3_2_1 = vec4<f32>();
    var sum_3_3_0 = vec4<f32>();
    var sum_3_3_1 = vec4<f32>();

    let place = lane % 32u;
    let remainder = lane / 32u;
    let row = first_row + place * 4u + remainder;
    let column = first_column + place * 4u + remainder;
    var left_0 = vec4<f32>();
    var left_1 = vec4<f32>();
    var words = vec4<u32>();
    var side = u32();

    let steps = (sizes[1].x + 7u) / 8u;
    if (steps > 0u) {
        {
            let next = 0u;
            let half = 0u;
            left_0 = left_along_depth(row, next * 8u);
            left_1 = left_along_depth(row, next * 8u + 4u);
            if (next % 4u == 0u) {
                words = b1[right_index(column, next * 8u)];
                side = right_side(column, next * 8u);
            }
            tile_left[half][0][remainder][place] = left_0;
            tile_left[half][1][remainder][place] = left_1;
            {
                let unit = right_scale_of(column, next * 8u, side) * vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625);
                tile_right[half][0][remainder][place] = right_four(words.x) * unit;
                tile_right[half][1][remainder][place] = right_four(words.x >> 16u) * unit;
                words = words.yzwx;
            }
        }
        workgroupBarrier();
        for (var next = 1u; next < steps; next++) {
            left_0 = left_along_depth(row, next * 8u);
            left_1 = left_along_depth(row, next * 8u + 4u);
            if (next % 4u == 0u) {
                words = b1[right_index(column, next * 8u)];
                side = right_side(column, next * 8u);
            }
            {
                let half = (next - 1u) % 2u;
                {
                    let a_0_0 = tile_left[half][0][0][thread_row + 0u];
                    let a_0_1 = tile_left[half][0][1][thread_row + 0u];
                    let a_0_2 = tile_left[half][0][2][thread_row + 0u];
                    let a_0_3 = tile_left[half][0][3][thread_row + 0u];
                    let a_1_0 = tile_left[half][0][0][thread_row + 8u];
                    let a_1_1 = tile_left[half][0][1][thread_row + 8u];
                    let a_1_2 = tile_left[half][0][2][thread_row + 8u];
                    let a_1_3 = tile_left[half][0][3][thread_row + 8u];
                    let a_2_0 = tile_left[half][0][0][thread_row + 16u];
                    let a_2_1 = tile_left[half][0][1][thread_row + 16u];
                    let a_2_2 = tile_left[half][0][2][thread_row + 16u];
                    let a_2_3 = tile_left[half][0][3][thread_row + 16u];
                    let a_3_0 = tile_left[half][0][0][thread_row + 24u];
                    let a_3_1 = tile_left[half][0][1][thread_row + 24u];
                    let a_3_2 = tile_left[half][0][2][thread_row + 24u];
                    let a_3_3 = tile_left[half][0][3][thread_row + 24u];
                    let b_0_0 = tile_right[half][0][0][thread_column + 0u];
                    let b_0_1 = tile_right[half][0][1][thread_column + 0u];
                    let b_0_2 = tile_right[half][0][2][thread_column + 0u];
                    let b_0_3 = tile_right[half][0][3][thread_column + 0u];
                    let b_1_0 = tile_right[half][0][0][thread_column + 16u];
                    let b_1_1 = tile_right[half][0][1][thread_column + 16u];
                    let b_1_2 = tile_right[half][0][2][thread_column + 16u];
                    let b_1_3 = tile_right[half][0][3][thread_column + 16u];
                    let b0_0 = vec4<f32>(b_0_0[0], b_0_1[0], b_0_2[0], b_0_3[0]);
                    sum_0_0_0 = fma(vec4<f32>(a_0_0[0]), b0_0, sum_0_0_0);
                    sum_0_1_0 = fma(vec4<f32>(a_0_1[0]), b0_0, sum_0_1_0);
                    sum_0_2_0 = fma(vec4<f32>(a_0_2[0]), b0_0, sum_0_2_0);
                    sum_0_3_0 = fma(vec4<f32>(a_0_3[0]), b0_0, sum_0_3_0);
                    sum_1_0_0 = fma(vec4<f32>(a_1_0[0]), b0_0, sum_1_0_0);
                    sum_1_1_0 = fma(vec4<f32>(a_1_1[0]), b0_0, sum_1_1_0);
                    sum_1_2_0 = fma(vec4<f32>(a_1_2[0]), b0_0, sum_1_2_0);
                    sum_1_3_0 = fma(vec4<f32>(a_1_3[0]), b0_0, sum_1_3_0);
                    sum_2_0_0 = fma(vec4<f32>(a_2_0[0]), b0_0, sum_2_0_0);
                    sum_2_1_0 = fma(vec4<f32>(a_2_1[0]), b0_0, sum_2_1_0);
                    sum_2_2_0 = fma(vec4<f32>(a_2_2[0]), b0_0, sum_2_2_0);
                    sum_2_3_0 = fma(vec4<f32>(a_2_3[0]), b0_0, sum_2_3_0);
                    sum_3_0_0 = fma(vec4<f32>(a_3_0[0]), b0_0, sum_3_0_0);
                    sum_3_1_0 = fma(vec4<f32>(a_3_1[0]), b0_0, sum_3_1_0);
                    sum_3_2_0 = fma(vec4<f32>(a_3_2[0]), b0_0, sum_3_2_0);
                    sum_3_3_0 = fma(vec4<f32>(a_3_3[0]), b0_0, sum_3_3_0);
                    let b0_1 = vec4<f32>(b_1_0[0], b_1_1[0], b_1_2[0], b_1_3[0]);
                    sum_0_0_1 = fma(vec4<f32>(a_0_0[0]), b0_1, sum_0_0_1);
                    sum_0_1_1 = fma(vec4<f32>(a_0_1[0]), b0_1, sum_0_1_1);
                    sum_0_2_1 = fma(vec4<f32>(a_0_2[0]), b0_1, sum_0_2_1);
                    sum_0_3_1 = fma(vec4<f32>(a_0_3[0]), b0_1, sum_0_3_1);
                    sum_1_0_1 = fma(vec4<f32>(a_1_0[0]), b0_1, sum_1_0_1);
                    sum_1_1_1 = fma(vec4<f32>(a_1_1[0]), b0_1, sum_1_1_1);
                    sum_1_2_1 = fma(vec4<f32>(a_1_2[0]), b0_1, sum_1_2_1);
                    sum_1_3_1 = fma(vec4<f32>(a_1_3[0]), b0_1, sum_1_3_1);
                    sum_2_0_1 = fma(vec4<f32>(a_2_0[0]), b0_1, sum_2_0_1);
                    sum_2_1_1 = fma(vec4<f32>(a_2_1[0]), b0_1, sum_2_1_1);
                    sum_2_2_1 = fma(vec4<f32>(a_2_2[0]), b0_1, sum_2_2_1);
                    sum_2_3_1 = fma(vec4<f32>(a_2_3[0]), b0_1, sum_2_3_1);
                    sum_3_0_1 = fma(vec4<f32>(a_3_0[0]), b0_1, sum_3_0_1);
                    sum_3_1_1 = fma(vec4<f32>(a_3_1[0]), b0_1, sum_3_1_1);
                    sum_3_2_1 = fma(vec4<f32>(a_3_2[0]), b0_1, sum_3_2_1);
                    sum_3_3_1 = fma(vec4<f32>(a_3_3[0]), b0_1, sum_3_3_1);
                    let b1_0 = vec4<f32>(b_0_0[1], b_0_1[1], b_0_2[1], b_0_3[1]);
                    sum_0_0_0 = fma(vec4<f32>(a_0_0[1]), b1_0, sum_0_0_0);
                    sum_0_1_0 = fma(vec4<f32>(a_0_1[1]), b1_0, sum_0_1_0);
                    sum_0_2_0 = fma(vec4<f32>(a_0_2[1]), b1_0, sum_0_2_0);
                    sum_0_3_0 = fma(vec4<f32>(a_0_3[1]), b1_0, sum_0_3_0);
                    sum_1_0_0 = fma(vec4<f32>(a_1_0[1]), b1_0, sum_1_0_0);
                    sum_1_1_0 = fma(vec4<f32>(a_1_1[1]), b1_0, sum_1_1_0);
                    sum_1_2_0 = fma(vec4<f32>(a_1_2[1]), b1_0, sum_1_2_0);
                    sum_1_3_0 = fma(vec4<f32>(a_1_3[1]), b1_0, sum_1_3_0);
                    sum_2_0_0 = fma(vec4<f32>(a_2_0[1]), b1_0, sum_2_0_0);
                    sum_2_1_0 = fma(vec4<f32>(a_2_1[1]), b1_0, sum_2_1_0);
                    sum_2_2_0 = fma(vec4<f32>(a_2_2[1]), b1_0, sum_2_2_0);
                    sum_2_3_0 = fma(vec4<f32>(a_2_3[1]), b1_0, sum_2_3_0);
                    sum_3_0_0 = fma(vec4<f32>(a_3_0[1]), b1_0, sum_3_0_0);
                    sum_3_1_0 = fma(vec4<f32>(a_3_1[1]), b1_0, sum_3_1_0);
                    sum_3_2_0 = fma(vec4<f32>(a_3_2[1]), b1_0, sum_3_2_0);
                    sum_3_3_0 = fma(vec4<f32>(a_3_3[1]), b1_0, sum_3_3_0);
                    let b1_1 = vec4<f32>(b_1_0[1], b_1_1[1], b_1_2[1], b_1_3[1]);
                    sum_0_0_1 = fma(vec4<f32>(a_0_0[1]), b1_1, sum_0_0_1);
                    sum_0_1_1 = fma(vec4<f32>(a_0_1[1]), b1_1, sum_0_1_1);
                    sum_0_2_1 = fma(vec4<f32>(a_0_2[1]), b1_1, sum_0_2_1);
                    sum_0_3_1 = fma(vec4<f32>(a_0_3[1]), b1_1, sum_0_3_1);
                    sum_1_0_1 = fma(vec4<f32>(a_1_0[1]), b1_1, sum_1_0_1);
                    sum_1_1_1 = fma(vec4<f32>(a_1_1[1]), b1_1, sum_1_1_1);
                    sum_1_2_1 = fma(vec4<f32>(a_1_2[1]), b1_1, sum_1_2_1);
                    sum_1_3_1 = fma(vec4<f32>(a_1_3[1]), b1_1, sum_1_3_1);
                    sum_2_0_1 = fma(vec4<f32>(a_2_0[1]), b1_1, sum_2_0_1);
                    sum_2_1_1 = fma(vec4<f32>(a_2_1[1]), b1_1, sum_2_1_1);
                    sum_2_2_1 = fma(vec4<f32>(a_2_2[1]), b1_1, sum_2_2_1);
                    sum_2_3_1 = fma(vec4<f32>(a_2_3[1]), b1_1, sum_2_3_1);
                    sum_3_0_1 = fma(vec4<f32>(a_3_0[1]), b1_1, sum_3_0_1);
                    sum_3_1_1 = fma(vec4<f32>(a_3_1[1]), b1_1, sum_3_1_1);
                    sum_3_2_1 = fma(vec4<f32>(a_3_2[1]), b1_1, sum_3_2_1);
                    sum_3_3_1 = fma(vec4<f32>(a_3_3[1]), b1_1, sum_3_3_1);
                    let b2_0 = vec4<f32>(b_0_0[2], b_0_1[2], b_0_2[2], b_0_3[2]);
                    sum_0_0_0 = fma(vec4<f32>(a_0_0[2]), b2_0, sum_0_0_0);
                    sum_0_1_0 = fma(vec4<f32>(a_0_1[2]), b2_0, sum_0_1_0);
                    sum_0_2_0 = fma(vec4<f32>(a_0_2[2]), b2_0, sum_0_2_0);
                    sum_0_3_0 = fma(vec4<f32>(a_0_3[2]), b2_0, sum_0_3_0);
                    sum_1_0_0 = fma(vec4<f32>(a_1_0[2]), b2_0, sum_1_0_0);
                    sum_1_1_0 = fma(vec4<f32>(a_1_1[2]), b2_0, sum_1_1_0);
                    sum_1_2_0 = fma(vec4<f32>(a_1_2[2]), b2_0, sum_1_2_0);
                    sum_1_3_0 = fma(vec4<f32>(a_1_3[2]), b2_0, sum_1_3_0);
                    sum_2_0_0 = fma(vec4<f32>(a_2_0[2]), b2_0, sum_2_0_0);
                    sum_2_1_0 = fma(vec4<f32>(a_2_1[2]), b2_0, sum_2_1_0);
                    sum_2_2_0 = fma(vec4<f32>(a_2_2[2]), b2_0, sum_2_2_0);
                    sum_2_3_0 = fma(vec4<f32>(a_2_3[2]), b2_0, sum_2_3_0);
                    sum_3_0_0 = fma(vec4<f32>(a_3_0[2]), b2_0, sum_3_0_0);
                    sum_3_1_0 = fma(vec4<f32>(a_3_1[2]), b2_0, sum_3_1_0);
                    sum_3_2_0 = fma(vec4<f32>(a_3_2[2]), b2_0, sum_3_2_0);
                    sum_3_3_0 = fma(vec4<f32>(a_3_3[2]), b2_0, sum_3_3_0);
                    let b2_1 = vec4<f32>(b_1_0[2], b_1_1[2], b_1_2[2], b_1_3[2]);
                    sum_0_0_1 = fma(vec4<f32>(a_0_0[2]), b2_1, sum_0_0_1);
                    sum_0_1_1 = fma(vec4<f32>(a_0_1[2]), b2_1, sum_0_1_1);
                    sum_0_2_1 = fma(vec4<f32>(a_0_2[2]), b2_1, sum_0_2_1);
                    sum_0_3_1 = fma(vec4<f32>(a_0_3[2]), b2_1, sum_0_3_1);
                    sum_1_0_1 = fma(vec4<f32>(a_1_0[2]), b2_1, sum_1_0_1);
                    sum_1_1_1 = fma(vec4<f32>(a_1_1[2]), b2_1, sum_1_1_1);
                    sum_1_2_1 = fma(vec4<f32>(a_1_2[2]), b2_1, sum_1_2_1);
                    sum_1_3_1 = fma(vec4<f32>(a_1_3[2]), b2_1, sum_1_3_1);
                    sum_2_0_1 = fma(vec4<f32>(a_2_0[2]), b2_1, sum_2_0_1);
                    sum_2_1_1 = fma(vec4<f32>(a_2_1[2]), b2_1, sum_2_1_1);
                    sum_2_2_1 = fma(vec4<f32>(a_2_2[2]), b2_1, sum_2_2_1);
                    sum_2_3_1 = fma(vec4<f32>(a_2_3[2]), b2_1, sum_2_3_1);
                    sum_3_0_1 = fma(vec4<f32>(a_3_0[2]), b2_1, sum_3_0_1);
                    sum_3_1_1 = fma(vec4<f32>(a_3_1[2]), b2_1, sum_3_1_1);
                    sum_3_2_1 = fma(vec4<f32>(a_3_2[2]), b2_1, sum_3_2_1);
                    sum_3_3_1 = fma(vec4<f32>(a_3_3[2]), b2_1, sum_3_3_1);
                    let b3_0 = vec4<f32>(b_0_0[3], b_0_1[3], b_0_2[3], b_0_3[3]);
                    sum_0_0_0 = fma(vec4<f32>(a_0_0[3]), b3_0, sum_0_0_0);
                    sum_0_1_0 = fma(vec4<f32>(a_0_1[3]), b3_0, sum_0_1_0);
                    sum_0_2_0 = fma(vec4<f32>(a_0_2[3]), b3_0, sum_0_2_0);
                    sum_0_3_0 = fma(vec4<f32>(a_0_3[3]), b3_0, sum_0_3_0);
                    sum_1_0_0 = fma(vec4<f32>(a_1_0[3]), b3_0, sum_1_0_0);
                    sum_1_1_0 = fma(vec4<f32>(a_1_1[3]), b3_0, sum_1_1_0);
                    sum_1_2_0 = fma(vec4<f32>(a_1_2[3]), b3_0, sum_1_2_0);
                    sum_1_3_0 = fma(vec4<f32>(a_1_3[3]), b3_0, sum_1_3_0);
                    sum_2_0_0 = fma(vec4<f32>(a_2_0[3]), b3_0, sum_2_0_0);
                    sum_2_1_0 = fma(vec4<f32>(a_2_1[3]), b3_0, sum_2_1_0);
                    sum_2_2_0 = fma(vec4<f32>(a_2_2[3]), b3_0, sum_2_2_0);
                    sum_2_3_0 = fma(vec4<f32>(a_2_3[3]), b3_0, sum_2_3_0);
                    sum_3_0_0 = fma(vec4<f32>(a_3_0[3]), b3_0, sum_3_0_0);
                    sum_3_1_0 = fma(vec4<f32>(a_3_1[3]), b3_0, sum_3_1_0);
                    sum_3_2_0 = fma(vec4<f32>(a_3_2[3]), b3_0, sum_3_2_0);
                    sum_3_3_0 = fma(vec4<f32>(a_3_3[3]), b3_0, sum_3_3_0);
                    let b3_1 = vec4<f32>(b_1_0[3], b_1_1[3], b_1_2[3], b_1_3[3]);
                    sum_0_0_1 = fma(vec4<f32>(a_0_0[3]), b3_1, sum_0_0_1);
                    sum_0_1_1 = fma(vec4<f32>(a_0_1[3]), b3_1, sum_0_1_1);
                    sum_0_2_1 = fma(vec4<f32>(a_0_2[3]), b3_1, sum_0_2_1);
                    sum_0_3_1 = fma(vec4<f32>(a_0_3[3]), b3_1, sum_0_3_1);
                    sum_1_0_1 = fma(vec4<f32>(a_1_0[3]), b3_1, sum_1_0_1);
                    sum_1_1_1 = fma(vec4<f32>(a_1_1[3]), b3_1, sum_1_1_1);
                    sum_1_2_1 = fma(vec4<f32>(a_1_2[3]), b3_1, sum_1_2_1);
                    sum_1_3_1 = fma(vec4<f32>(a_1_3[3]), b3_1, sum_1_3_1);
                    sum_2_0_1 = fma(vec4<f32>(a_2_0[3]), b3_1, sum_2_0_1);
                    sum_2_1_1 = fma(vec4<f32>(a_2_1[3]), b3_1, sum_2_1_1);
                    sum_2_2_1 = fma(vec4<f32>(a_2_2[3]), b3_1, sum_2_2_1);
                    sum_2_3_1 = fma(vec4<f32>(a_2_3[3]), b3_1, sum_2_3_1);
                    sum_3_0_1 = fma(vec4<f32>(a_3_0[3]), b3_1, sum_3_0_1);
                    sum_3_1_1 = fma(vec4<f32>(a_3_1[3]), b3_1, sum_3_1_1);
                    sum_3_2_1 = fma(vec4<f32>(a_3_2[3]), b3_1, sum_3_2_1);
                    sum_3_3_1 = fma(vec4<f32>(a_3_3[3]), b3_1, sum_3_3_1);
                }
                {
                    let a_0_0 = tile_left[half][1][0][thread_row + 0u];
                    let a_0_1 = tile_left[half][1][1][thread_row + 0u];
                    let a_0_2 = tile_left[half][1][2][thread_row + 0u];
                    let a_0_3 = tile_left[half][1][3][thread_row + 0u];
                    let a_1_0 = tile_left[half][1][0][thread_row + 8u];
                    let a_1_1 = tile_left[half][1][1][thread_row + 8u];
                    let a_1_2 = tile_left[half][1][2][thread_row + 8u];
                    let a_1_3 = tile_left[half][1][3][thread_row + 8u];
                    let a_2_0 = tile_left[half][1][0][thread_row + 16u];
                    let a_2_1 = tile_left[half][1][1][thread_row + 16u];
                    let a_2_2 = tile_left[half][1][2][thread_row + 16u];
                    let a_2_3 = tile_left[half][1][3][thread_row + 16u];
                    let a_3_0 = tile_left[half][1][0][thread_row + 24u];
                    let a_3_1 = tile_left[half][1][1][thread_row + 24u];
                    let a_3_2 = tile_left[half][1][2][thread_row + 24u];
                    let a_3_3 = tile_left[half][1][3][thread_row + 24u];
                    let b_0_0 = tile_right[half][1][0][thread_column + 0u];
                    let b_0_1 = tile_right[half][1][1][thread_column + 0u];
                    let b_0_2 = tile_right[half][1][2][thread_column + 0u];
                    let b_0_3 = tile_right[half][1][3][thread_column + 0u];
                    let b_1_0 = tile_right[half][1][0][thread_column + 16u];
                    let b_1_1 = tile_right[half][1][1][thread_column + 16u];
                    let b_1_2 = tile_right[half][1][2][thread_column + 16u];
                    let b_1_3 = tile_right[half][1][3][thread_column + 16u];
                    let b0_0 = vec4<f32>(b_0_0[0], b_0_1[0], b_0_2[0], b_0_3[0]);
                    sum_0_0_0 = fma(vec4<f32>(a_0_0[0]), b0_0, sum_0_0_0);
                    sum_0_1_0 = fma(vec4<f32>(a_0_1[0]), b0_0, sum_0_1_0);
                    sum_0_2_0 = fma(vec4<f32>(a_0_2[0]), b0_0, sum_0_2_0);
                    sum_0_3_0 = fma(vec4<f32>(a_0_3[0]), b0_0, sum_0_3_0);
                    sum_1_0_0 = fma(vec4<f32>(a_1_0[0]), b0_0, sum_1_0_0);
                    sum_1_1_0 = fma(vec4<f32>(a_1_1[0]), b0_0, sum_1_1_0);
                    sum_1_2_0 = fma(vec4<f32>(a_1_2[0]), b0_0, sum_1_2_0);
                    sum_1_3_0 = fma(vec4<f32>(a_1_3[0]), b0_0, sum_1_3_0);
                    sum_2_0_0 = fma(vec4<f32>(a_2_0[0]), b0_0, sum_2_0_0);
                    sum_2_1_0 = fma(vec4<f32>(a_2_1[0]), b0_0, sum_2_1_0);
                    sum_2_2_0 = fma(vec4<f32>(a_2_2[0]), b0_0, sum_2_2_0);
                    sum_2_3_0 = fma(vec4<f32>(a_2_3[0]), b0_0, sum_2_3_0);
                    sum_3_0_0 = fma(vec4<f32>(a_3_0[0]), b0_0, sum_3_0_0);
                    sum_3_1_0 = fma(vec4<f32>(a_3_1[0]), b0_0, sum_3_1_0);
                    sum_3_2_0 = fma(vec4<f32>(a_3_2[0]), b0_0, sum_3_2_0);
                    sum_3_3_0 = fma(vec4<f32>(a_3_3[0]), b0_0, sum_3_3_0);
                    let b0_1 = vec4<f32>(b_1_0[0], b_1_1[0], b_1_2[0], b_1_3[0]);
                    sum_0_0_1 = fma(vec4<f32>(a_0_0[0]), b0_1, sum_0_0_1);
                    sum_0_1_1 = fma(vec4<f32>(a_0_1[0]), b0_1, sum_0_1_1);
                    sum_0_2_1 = fma(vec4<f32>(a_0_2[0]), b0_1, sum_0_2_1);
                    sum_0_3_1 = fma(vec4<f32>(a_0_3[0]), b0_1, sum_0_3_1);
                    sum_1_0_1 = fma(vec4<f32>(a_1_0[0]), b0_1, sum_1_0_1);
                    sum_1_1_1 = fma(vec4<f32>(a_1_1[0]), b0_1, sum_1_1_1);
                    sum_1_2_1 = fma(vec4<f32>(a_1_2[0]), b0_1, sum_1_2_1);
                    sum_1_3_1 = fma(vec4<f32>(a_1_3[0]), b0_1, sum_1_3_1);
                    sum_2_0_1 = fma(vec4<f32>(a_2_0[0]), b0_1, sum_2_0_1);
                    sum_2_1_1 = fma(vec4<f32>(a_2_1[0]), b0_1, sum_2_1_1);
                    sum_2_2_1 = fma(vec4<f32>(a_2_2[0]), b0_1, sum_2_2_1);
                    sum_2_3_1 = fma(vec4<f32>(a_2_3[0]), b0_1, sum_2_3_1);
                    sum_3_0_1 = fma(vec4<f32>(a_3_0[0]), b0_1, sum_3_0_1);
                    sum_3_1_1 = fma(vec4<f32>(a_3_1[0]), b0_1, sum_3_1_1);
                    sum_3_2_1 = fma(vec4<f32>(a_3_2[0]), b0_1, sum_3_2_1);
                    sum_3_3_1 = fma(vec4<f32>(a_3_3[0]), b0_1, sum_3_3_1);
                    let b1_0 = vec4<f32>(b_0_0[1], b_0_1[1], b_0_2[1], b_0_3[1]);
                    sum_0_0_0 = fma(vec4<f32>(a_0_0[1]), b1_0, sum_0_0_0);
                    sum_0_1_0 = fma(vec4<f32>(a_0_1[1]), b1_0, sum_0_1_0);
                    sum_0_2_0 = fma(vec4<f32>(a_0_2[1]), b1_0, sum_0_2_0);
                    sum_0_3_0 = fma(vec4<f32>(a_0_3[1]), b1_0, sum_0_3_0);
                    sum_1_0_0 = fma(vec4<f32>(a_1_0[1]), b1_0, sum_1_0_0);
                    sum_1_1_0 = fma(vec4<f32>(a_1_1[1]), b1_0, sum_1_1_0);
                    sum_1_2_0 = fma(vec4<f32>(a_1_2[1]), b1_0, sum_1_2_0);
                    sum_1_3_0 = fma(vec4<f32>(a_1_3[1]), b1_0, sum_1_3_0);
                    sum_2_0_0 = fma(vec4<f32>(a_2_0[1]), b1_0, sum_2_0_0);
                    sum_2_1_0 = fma(vec4<f32>(a_2_1[1]), b1_0, sum_2_1_0);
                    sum_2_2_0 = fma(vec4<f32>(a_2_2[1]), b1_0, sum_2_2_0);
                    sum_2_3_0 = fma(vec4<f32>(a_2_3[1]), b1_0, sum_2_3_0);
                    sum_3_0_0 = fma(vec4<f32>(a_3_0[1]), b1_0, sum_3_0_0);
                    sum_3_1_0 = fma(vec4<f32>(a_3_1[1]), b1_0, sum_3_1_0);
                    sum_3_2_0 = fma(vec4<f32>(a_3_2[1]), b1_0, sum_3_2_0);
                    sum_3_3_0 = fma(vec4<f32>(a_3_3[1]), b1_0, sum_3_3_0);
                    let b1_1 = vec4<f32>(b_1_0[1], b_1_1[1], b_1_2[1], b_1_3[1]);
                    sum_0_0_1 = fma(vec4<f32>(a_0_0[1]), b1_1, sum_0_0_1);
                    sum_0_1_1 = fma(vec4<f32>(a_0_1[1]), b1_1, sum_0_1_1);
                    sum_0_2_1 = fma(vec4<f32>(a_0_2[1]), b1_1, sum_0_2_1);
                    sum_0_3_1 = fma(vec4<f32>(a_0_3[1]), b1_1, sum_0_3_1);
                    sum_1_0_1 = fma(vec4<f32>(a_1_0[1]), b1_1, sum_1_0_1);
                    sum_1_1_1 = fma(vec4<f32>(a_1_1[1]), b1_1, sum_1_1_1);
                    sum_1_2_1 = fma(vec4<f32>(a_1_2[1]), b1_1, sum_1_2_1);
                    sum_1_3_1 = fma(vec4<f32>(a_1_3[1]), b1_1, sum_1_3_1);
                    sum_2_0_1 = fma(vec4<f32>(a_2_0[1]), b1_1, sum_2_0_1);
                    sum_2_1_1 = fma(vec4<f32>(a_2_1[1]), b1_1, sum_2_1_1);
                    sum_2_2_1 = fma(vec4<f32>(a_2_2[1]), b1_1, sum_2_2_1);
                    sum_2_3_1 = fma(vec4<f32>(a_2_3[1]), b1_1, sum_2_3_1);
                    sum_3_0_1 = fma(vec4<f32>(a_3_0[1]), b1_1, sum_3_0_1);
                    sum_3_1_1 = fma(vec4<f32>(a_3_1[1]), b1_1, sum_3_1_1);
                    sum_3_2_1 = fma(vec4<f32>(a_3_2[1]), b1_1, sum_3_2_1);
                    sum_3_3_1 = fma(vec4<f32>(a_3_3[1]), b1_1, sum_3_3_1);
                    let b2_0 = vec4<f32>(b_0_0[2], b_0_1[2], b_0_2[2], b_0_3[2]);
                    sum_0_0_0 = fma(vec4<f32>(a_0_0[2]), b2_0, sum_0_0_0);
                    sum_0_1_0 = fma(vec4<f32>(a_0_1[2]), b2_0, sum_0_1_0);
                    sum_0_2_0 = fma(vec4<f32>(a_0_2[2]), b2_0, sum_0_2_0);
                    sum_0_3_0 = fma(vec4<f32>(a_0_3[2]), b2_0, sum_0_3_0);
                    sum_1_0_0 = fma(vec4<f32>(a_1_0[2]), b2_0, sum_1_0_0);
                    sum_1_1_0 = fma(vec4<f32>(a_1_1[2]), b2_0, sum_1_1_0);
                    sum_1_2_0 = fma(vec4<f32>(a_1_2[2]), b2_0, sum_1_2_0);
                    sum_1_3_0 = fma(vec4<f32>(a_1_3[2]), b2_0, sum_1_3_0);
                    sum_2_0_0 = fma(vec4<f32>(a_2_0[2]), b2_0, sum_2_0_0);
                    sum_2_1_0 = fma(vec4<f32>(a_2_1[2]), b2_0, sum_2_1_0);
                    sum_2_2_0 = fma(vec4<f32>(a_2_2[2]), b2_0, sum_2_2_0);
                    sum_2_3_0 = fma(vec4<f32>(a_2_3[2]), b2_0, sum_2_3_0);
                    sum_3_0_0 = fma(vec4<f32>(a_3_0[2]), b2_0, sum_3_0_0);
                    sum_3_1_0 = fma(vec4<f32>(a_3_1[2]), b2_0, sum_3_1_0);
                    sum_3_2_0 = fma(vec4<f32>(a_3_2[2]), b2_0, sum_3_2_0);
                    sum_3_3_0 = fma(vec4<f32>(a_3_3[2]), b2_0, sum_3_3_0);
                    let b2_1 = vec4<f32>(b_1_0[2], b_1_1[2], b_1_2[2], b_1_3[2]);
                    sum_0_0_1 = fma(vec4<f32>(a_0_0[2]), b2_1, sum_0_0_1);
                    sum_0_1_1 = fma(vec4<f32>(a_0_1[2]), b2_1, sum_0_1_1);
                    sum_0_2_1 = fma(vec4<f32>(a_0_2[2]), b2_1, sum_0_2_1);
                    sum_0_3_1 = fma(vec4<f32>(a_0_3[2]), b2_1, sum_0_3_1);
                    sum_1_0_1 = fma(vec4<f32>(a_1_0[2]), b2_1, sum_1_0_1);
                    sum_1_1_1 = fma(vec4<f32>(a_1_1[2]), b2_1, sum_1_1_1);
                    sum_1_2_1 = fma(vec4<f32>(a_1_2[2]), b2_1, sum_1_2_1);
                    sum_1_3_1 = fma(vec4<f32>(a_1_3[2]), b2_1, sum_1_3_1);
                    sum_2_0_1 = fma(vec4<f32>(a_2_0[2]), b2_1, sum_2_0_1);
                    sum_2_1_1 = fma(vec4<f32>(a_2_1[2]), b2_1, sum_2_1_1);
                    sum_2_2_1 = fma(vec4<f32>(a_2_2[2]), b2_1, sum_2_2_1);
                    sum_2_3_1 = fma(vec4<f32>(a_2_3[2]), b2_1, sum_2_3_1);
                    sum_3_0_1 = fma(vec4<f32>(a_3_0[2]), b2_1, sum_3_0_1);
                    sum_3_1_1 = fma(vec4<f32>(a_3_1[2]), b2_1, sum_3_1_1);
                    sum_3_2_1 = fma(vec4<f32>(a_3_2[2]), b2_1, sum_3_2_1);
                    sum_3_3_1 = fma(vec4<f32>(a_3_3[2]), b2_1, sum_3_3_1);
                    let b3_0 = vec4<f32>(b_0_0[3], b_0_1[3], b_0_2[3], b_0_3[3]);
                    sum_0_0_0 = fma(vec4<f32>(a_0_0[3]), b3_0, sum_0_0_0);
                    sum_0_1_0 = fma(vec4<f32>(a_0_1[3]), b3_0, sum_0_1_0);
                    sum_0_2_0 = fma(vec4<f32>(a_0_2[3]), b3_0, sum_0_2_0);
                    sum_0_3_0 = fma(vec4<f32>(a_0_3[3]), b3_0, sum_0_3_0);
                    sum_1_0_0 = fma(vec4<f32>(a_1_0[3]), b3_0, sum_1_0_0);
                    sum_1_1_0 = fma(vec4<f32>(a_1_1[3]), b3_0, sum_1_1_0);
                    sum_1_2_0 = fma(vec4<f32>(a_1_2[3]), b3_0, sum_1_2_0);
                    sum_1_3_0 = fma(vec4<f32>(a_1_3[3]), b3_0, sum_1_3_0);
                    sum_2_0_0 = fma(vec4<f32>(a_2_0[3]), b3_0, sum_2_0_0);
                    sum_2_1_0 = fma(vec4<f32>(a_2_1[3]), b3_0, sum_2_1_0);
                    sum_2_2_0 = fma(vec4<f32>(a_2_2[3]), b3_0, sum_2_2_0);
                    sum_2_3_0 = fma(vec4<f32>(a_2_3[3]), b3_0, sum_2_3_0);
                    sum_3_0_0 = fma(vec4<f32>(a_3_0[3]), b3_0, sum_3_0_0);
                    sum_3_1_0 = fma(vec4<f32>(a_3_1[3]), b3_0, sum_3_1_0);
                    sum_3_2_0 = fma(vec4<f32>(a_3_2[3]), b3_0, sum_3_2_0);
                    sum_3_3_0 = fma(vec4<f32>(a_3_3[3]), b3_0, sum_3_3_0);
                    let b3_1 = vec4<f32>(b_1_0[3], b_1_1[3], b_1_2[3], b_1_3[3]);
                    sum_0_0_1 = fma(vec4<f32>(a_0_0[3]), b3_1, sum_0_0_1);
                    sum_0_1_1 = fma(vec4<f32>(a_0_1[3]), b3_1, sum_0_1_1);
                    sum_0_2_1 = fma(vec4<f32>(a_0_2[3]), b3_1, sum_0_2_1);
                    sum_0_3_1 = fma(vec4<f32>(a_0_3[3]), b3_1, sum_0_3_1);
                    sum_1_0_1 = fma(vec4<f32>(a_1_0[3]), b3_1, sum_1_0_1);
                    sum_1_1_1 = fma(vec4<f32>(a_1_1[3]), b3_1, sum_1_1_1);
                    sum_1_2_1 = fma(vec4<f32>(a_1_2[3]), b3_1, sum_1_2_1);
                    sum_1_3_1 = fma(vec4<f32>(a_1_3[3]), b3_1, sum_1_3_1);
                    sum_2_0_1 = fma(vec4<f32>(a_2_0[3]), b3_1, sum_2_0_1);
                    sum_2_1_1 = fma(vec4<f32>(a_2_1[3]), b3_1, sum_2_1_1);
                    sum_2_2_1 = fma(vec4<f32>(a_2_2[3]), b3_1, sum_2_2_1);
                    sum_2_3_1 = fma(vec4<f32>(a_2_3[3]), b3_1, sum_2_3_1);
                    sum_3_0_1 = fma(vec4<f32>(a_3_0[3]), b3_1, sum_3_0_1);
                    sum_3_1_1 = fma(vec4<f32>(a_3_1[3]), b3_1, sum_3_1_1);
                    sum_3_2_1 = fma(vec4<f32>(a_3_2[3]), b3_1, sum_3_2_1);
                    sum_3_3_1 = fma(vec4<f32>(a_3_3[3]), b3_1, sum_3_3_1);
                }
            }
            let half = next % 2u;
            tile_left[half][0][remainder][place] = left_0;
            tile_left[half][1][remainder][place] = left_1;
            {
                let unit = right_scale_of(column, next * 8u, side) * vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625);
                tile_right[half][0][remainder][place] = right_four(words.x) * unit;
                tile_right[half][1][remainder][place] = right_four(words.x >> 16u) * unit;
                words = words.yzwx;
            }
            workgroupBarrier();
        }
        let half = (steps - 1u) % 2u;
        {
            let a_0_0 = tile_left[half][0][0][thread_row + 0u];
            let a_0_1 = tile_left[half][0][1][thread_row + 0u];
            let a_0_2 = tile_left[half][0][2][thread_row + 0u];
            let a_0_3 = tile_left[half][0][3][thread_row + 0u];
            let a_1_0 = tile_left[half][0][0][thread_row + 8u];
            let a_1_1 = tile_left[half][0][1][thread_row + 8u];
            let a_1_2 = tile_left[half][0][2][thread_row + 8u];
            let a_1_3 = tile_left[half][0][3][thread_row + 8u];
            let a_2_0 = tile_left[half][0][0][thread_row + 16u];
            let a_2_1 = tile_left[half][0][1][thread_row + 16u];
            let a_2_2 = tile_left[half][0][2][thread_row + 16u];
            let a_2_3 = tile_left[half][0][3][thread_row + 16u];
            let a_3_0 = tile_left[half][0][0][thread_row + 24u];
            let a_3_1 = tile_left[half][0][1][thread_row + 24u];
            let a_3_2 = tile_left[half][0][2][thread_row + 24u];
            let a_3_3 = tile_left[half][0][3][thread_row + 24u];
            let b_0_0 = tile_right[half][0][0][thread_column + 0u];
            let b_0_1 = tile_right[half][0][1][thread_column + 0u];
            let b_0_2 = tile_right[half][0][2][thread_column + 0u];
            let b_0_3 = tile_right[half][0][3][thread_column + 0u];
            let b_1_0 = tile_right[half][0][0][thread_column + 16u];
            let b_1_1 = tile_right[half][0][1][thread_column + 16u];
            let b_1_2 = tile_right[half][0][2][thread_column + 16u];
            let b_1_3 = tile_right[half][0][3][thread_column + 16u];
            let b0_0 = vec4<f32>(b_0_0[0], b_0_1[0], b_0_2[0], b_0_3[0]);
            sum_0_0_0 = fma(vec4<f32>(a_0_0[0]), b0_0, sum_0_0_0);
            sum_0_1_0 = fma(vec4<f32>(a_0_1[0]), b0_0, sum_0_1_0);
            sum_0_2_0 = fma(vec4<f32>(a_0_2[0]), b0_0, sum_0_2_0);
            sum_0_3_0 = fma(vec4<f32>(a_0_3[0]), b0_0, sum_0_3_0);
            sum_1_0_0 = fma(vec4<f32>(a_1_0[0]), b0_0, sum_1_0_0);
            sum_1_1_0 = fma(vec4<f32>(a_1_1[0]), b0_0, sum_1_1_0);
            sum_1_2_0 = fma(vec4<f32>(a_1_2[0]), b0_0, sum_1_2_0);
            sum_1_3_0 = fma(vec4<f32>(a_1_3[0]), b0_0, sum_1_3_0);
            sum_2_0_0 = fma(vec4<f32>(a_2_0[0]), b0_0, sum_2_0_0);
            sum_2_1_0 = fma(vec4<f32>(a_2_1[0]), b0_0, sum_2_1_0);
            sum_2_2_0 = fma(vec4<f32>(a_2_2[0]), b0_0, sum_2_2_0);
            sum_2_3_0 = fma(vec4<f32>(a_2_3[0]), b0_0, sum_2_3_0);
            sum_3_0_0 = fma(vec4<f32>(a_3_0[0]), b0_0, sum_3_0_0);
            sum_3_1_0 = fma(vec4<f32>(a_3_1[0]), b0_0, sum_3_1_0);
            sum_3_2_0 = fma(vec4<f32>(a_3_2[0]), b0_0, sum_3_2_0);
            sum_3_3_0 = fma(vec4<f32>(a_3_3[0]), b0_0, sum_3_3_0);
            let b0_1 = vec4<f32>(b_1_0[0], b_1_1[0], b_1_2[0], b_1_3[0]);
            sum_0_0_1 = fma(vec4<f32>(a_0_0[0]), b0_1, sum_0_0_1);
            sum_0_1_1 = fma(vec4<f32>(a_0_1[0]), b0_1, sum_0_1_1);
            sum_0_2_1 = fma(vec4<f32>(a_0_2[0]), b0_1, sum_0_2_1);
            sum_0_3_1 = fma(vec4<f32>(a_0_3[0]), b0_1, sum_0_3_1);
            sum_1_0_1 = fma(vec4<f32>(a_1_0[0]), b0_1, sum_1_0_1);
            sum_1_1_1 = fma(vec4<f32>(a_1_1[0]), b0_1, sum_1_1_1);
            sum_1_2_1 = fma(vec4<f32>(a_1_2[0]), b0_1, sum_1_2_1);
            sum_1_3_1 = fma(vec4<f32>(a_1_3[0]), b0_1, sum_1_3_1);
            sum_2_0_1 = fma(vec4<f32>(a_2_0[0]), b0_1, sum_2_0_1);
            sum_2_1_1 = fma(vec4<f32>(a_2_1[0]), b0_1, sum_2_1_1);
            sum_2_2_1 = fma(vec4<f32>(a_2_2[0]), b0_1, sum_2_2_1);
            sum_2_3_1 = fma(vec4<f32>(a_2_3[0]), b0_1, sum_2_3_1);
            sum_3_0_1 = fma(vec4<f32>(a_3_0[0]), b0_1, sum_3_0_1);
            sum_3_1_1 = fma(vec4<f32>(a_3_1[0]), b0_1, sum_3_1_1);
            sum_3_2_1 = fma(vec4<f32>(a_3_2[0]), b0_1, sum_3_2_1);
            sum_3_3_1 = fma(vec4<f32>(a_3_3[0]), b0_1, sum_3_3_1);
            let b1_0 = vec4<f32>(b_0_0[1], b_0_1[1], b_0_2[1], b_0_3[1]);
            sum_0_0_0 = fma(vec4<f32>(a_0_0[1]), b1_0, sum_0_0_0);
            sum_0_1_0 = fma(vec4<f32>(a_0_1[1]), b1_0, sum_0_1_0);
            sum_0_2_0 = fma(vec4<f32>(a_0_2[1]), b1_0, sum_0_2_0);
            sum_0_3_0 = fma(vec4<f32>(a_0_3[1]), b1_0, sum_0_3_0);
            sum_1_0_0 = fma(vec4<f32>(a_1_0[1]), b1_0, sum_1_0_0);
            sum_1_1_0 = fma(vec4<f32>(a_1_1[1]), b1_0, sum_1_1_0);
            sum_1_2_0 = fma(vec4<f32>(a_1_2[1]), b1_0, sum_1_2_0);
            sum_1_3_0 = fma(vec4<f32>(a_1_3[1]), b1_0, sum_1_3_0);
            sum_2_0_0 = fma(vec4<f32>(a_2_0[1]), b1_0, sum_2_0_0);
            sum_2_1_0 = fma(vec4<f32>(a_2_1[1]), b1_0, sum_2_1_0);
            sum_2_2_0 = fma(vec4<f32>(a_2_2[1]), b1_0, sum_2_2_0);
            sum_2_3_0 = fma(vec4<f32>(a_2_3[1]), b1_0, sum_2_3_0);
            sum_3_0_0 = fma(vec4<f32>(a_3_0[1]), b1_0, sum_3_0_0);
            sum_3_1_0 = fma(vec4<f32>(a_3_1[1]), b1_0, sum_3_1_0);
            sum_3_2_0 = fma(vec4<f32>(a_3_2[1]), b1_0, sum_3_2_0);
            sum_3_3_0 = fma(vec4<f32>(a_3_3[1]), b1_0, sum_3_3_0);
            let b1_1 = vec4<f32>(b_1_0[1], b_1_1[1], b_1_2[1], b_1_3[1]);
            sum_0_0_1 = fma(vec4<f32>(a_0_0[1]), b1_1, sum_0_0_1);
            sum_0_1_1 = fma(vec4<f32>(a_0_1[1]), b1_1, sum_0_1_1);
            sum_0_2_1 = fma(vec4<f32>(a_0_2[1]), b1_1, sum_0_2_1);
            sum_0_3_1 = fma(vec4<f32>(a_0_3[1]), b1_1, sum_0_3_1);
            sum_1_0_1 = fma(vec4<f32>(a_1_0[1]), b1_1, sum_1_0_1);
            sum_1_1_1 = fma(vec4<f32>(a_1_1[1]), b1_1, sum_1_1_1);
            sum_1_2_1 = fma(vec4<f32>(a_1_2[1]), b1_1, sum_1_2_1);
            sum_1_3_1 = fma(vec4<f32>(a_1_3[1]), b1_1, sum_1_3_1);
            sum_2_0_1 = fma(vec4<f32>(a_2_0[1]), b1_1, sum_2_0_1);
            sum_2_1_1 = fma(vec4<f32>(a_2_1[1]), b1_1, sum_2_1_1);
            sum_2_2_1 = fma(vec4<f32>(a_2_2[1]), b1_1, sum_2_2_1);
            sum_2_3_1 = fma(vec4<f32>(a_2_3[1]), b1_1, sum_2_3_1);
            sum_3_0_1 = fma(vec4<f32>(a_3_0[1]), b1_1, sum_3_0_1);
            sum_3_1_1 = fma(vec4<f32>(a_3_1[1]), b1_1, sum_3_1_1);
            sum_3_2_1 = fma(vec4<f32>(a_3_2[1]), b1_1, sum_3_2_1);
            sum_3_3_1 = fma(vec4<f32>(a_3_3[1]), b1_1, sum_3_3_1);
            let b2_0 = vec4<f32>(b_0_0[2], b_0_1[2], b_0_2[2], b_0_3[2]);
            sum_0_0_0 = fma(vec4<f32>(a_0_0[2]), b2_0, sum_0_0_0);
            sum_0_1_0 = fma(vec4<f32>(a_0_1[2]), b2_0, sum_0_1_0);
            sum_0_2_0 = fma(vec4<f32>(a_0_2[2]), b2_0, sum_0_2_0);
            sum_0_3_0 = fma(vec4<f32>(a_0_3[2]), b2_0, sum_0_3_0);
            sum_1_0_0 = fma(vec4<f32>(a_1_0[2]), b2_0, sum_1_0_0);
            sum_1_1_0 = fma(vec4<f32>(a_1_1[2]), b2_0, sum_1_1_0);
            sum_1_2_0 = fma(vec4<f32>(a_1_2[2]), b2_0, sum_1_2_0);
            sum_1_3_0 = fma(vec4<f32>(a_1_3[2]), b2_0, sum_1_3_0);
            sum_2_0_0 = fma(vec4<f32>(a_2_0[2]), b2_0, sum_2_0_0);
            sum_2_1_0 = fma(vec4<f32>(a_2_1[2]), b2_0, sum_2_1_0);
            sum_2_2_0 = fma(vec4<f32>(a_2_2[2]), b2_0, sum_2_2_0);
            sum_2_3_0 = fma(vec4<f32>(a_2_3[2]), b2_0, sum_2_3_0);
            sum_3_0_0 = fma(vec4<f32>(a_3_0[2]), b2_0, sum_3_0_0);
            sum_3_1_0 = fma(vec4<f32>(a_3_1[2]), b2_0, sum_3_1_0);
            sum_3_2_0 = fma(vec4<f32>(a_3_2[2]), b2_0, sum_3_2_0);
            sum_3_3_0 = fma(vec4<f32>(a_3_3[2]), b2_0, sum_3_3_0);
            let b2_1 = vec4<f32>(b_1_0[2], b_1_1[2], b_1_2[2], b_1_3[2]);
            sum_0_0_1 = fma(vec4<f32>(a_0_0[2]), b2_1, sum_0_0_1);
            sum_0_1_1 = fma(vec4<f32>(a_0_1[2]), b2_1, sum_0_1_1);
            sum_0_2_1 = fma(vec4<f32>(a_0_2[2]), b2_1, sum_0_2_1);
            sum_0_3_1 = fma(vec4<f32>(a_0_3[2]), b2_1, sum_0_3_1);
            sum_1_0_1 = fma(vec4<f32>(a_1_0[2]), b2_1, sum_1_0_1);
            sum_1_1_1 = fma(vec4<f32>(a_1_1[2]), b2_1, sum_1_1_1);
            sum_1_2_1 = fma(vec4<f32>(a_1_2[2]), b2_1, sum_1_2_1);
            sum_1_3_1 = fma(vec4<f32>(a_1_3[2]), b2_1, sum_1_3_1);
            sum_2_0_1 = fma(vec4<f32>(a_2_0[2]), b2_1, sum_2_0_1);
            sum_2_1_1 = fma(vec4<f32>(a_2_1[2]), b2_1, sum_2_1_1);
            sum_2_2_1 = fma(vec4<f32>(a_2_2[2]), b2_1, sum_2_2_1);
            sum_2_3_1 = fma(vec4<f32>(a_2_3[2]), b2_1, sum_2_3_1);
            sum_3_0_1 = fma(vec4<f32>(a_3_0[2]), b2_1, sum_3_0_1);
            sum_3_1_1 = fma(vec4<f32>(a_3_1[2]), b2_1, sum_3_1_1);
            sum_3_2_1 = fma(vec4<f32>(a_3_2[2]), b2_1, sum_3_2_1);
            sum_3_3_1 = fma(vec4<f32>(a_3_3[2]), b2_1, sum_3_3_1);
            let b3_0 = vec4<f32>(b_0_0[3], b_0_1[3], b_0_2[3], b_0_3[3]);
            sum_0_0_0 = fma(vec4<f32>(a_0_0[3]), b3_0, sum_0_0_0);
            sum_0_1_0 = fma(vec4<f32>(a_0_1[3]), b3_0, sum_0_1_0);
            sum_0_2_0 = fma(vec4<f32>(a_0_2[3]), b3_0, sum_0_2_0);
            sum_0_3_0 = fma(vec4<f32>(a_0_3[3]), b3_0, sum_0_3_0);
            sum_1_0_0 = fma(vec4<f32>(a_1_0[3]), b3_0, sum_1_0_0);
            sum_1_1_0 = fma(vec4<f32>(a_1_1[3]), b3_0, sum_1_1_0);
            sum_1_2_0 = fma(vec4<f32>(a_1_2[3]), b3_0, sum_1_2_0);
            sum_1_3_0 = fma(vec4<f32>(a_1_3[3]), b3_0, sum_1_3_0);
            sum_2_0_0 = fma(vec4<f32>(a_2_0[3]), b3_0, sum_2_0_0);
            sum_2_1_0 = fma(vec4<f32>(a_2_1[3]), b3_0, sum_2_1_0);
            sum_2_2_0 = fma(vec4<f32>(a_2_2[3]), b3_0, sum_2_2_0);
            sum_2_3_0 = fma(vec4<f32>(a_2_3[3]), b3_0, sum_2_3_0);
            sum_3_0_0 = fma(vec4<f32>(a_3_0[3]), b3_0, sum_3_0_0);
            sum_3_1_0 = fma(vec4<f32>(a_3_1[3]), b3_0, sum_3_1_0);
            sum_3_2_0 = fma(vec4<f32>(a_3_2[3]), b3_0, sum_3_2_0);
            sum_3_3_0 = fma(vec4<f32>(a_3_3[3]), b3_0, sum_3_3_0);
            let b3_1 = vec4<f32>(b_1_0[3], b_1_1[3], b_1_2[3], b_1_3[3]);
            sum_0_0_1 = fma(vec4<f32>(a_0_0[3]), b3_1, sum_0_0_1);
            sum_0_1_1 = fma(vec4<f32>(a_0_1[3]), b3_1, sum_0_1_1);
            sum_0_2_1 = fma(vec4<f32>(a_0_2[3]), b3_1, sum_0_2_1);
            sum_0_3_1 = fma(vec4<f32>(a_0_3[3]), b3_1, sum_0_3_1);
            sum_1_0_1 = fma(vec4<f32>(a_1_0[3]), b3_1, sum_1_0_1);
            sum_1_1_1 = fma(vec4<f32>(a_1_1[3]), b3_1, sum_1_1_1);
            sum_1_2_1 = fma(vec4<f32>(a_1_2[3]), b3_1, sum_1_2_1);
            sum_1_3_1 = fma(vec4<f32>(a_1_3[3]), b3_1, sum_1_3_1);
            sum_2_0_1 = fma(vec4<f32>(a_2_0[3]), b3_1, sum_2_0_1);
            sum_2_1_1 = fma(vec4<f32>(a_2_1[3]), b3_1, sum_2_1_1);
            sum_2_2_1 = fma(vec4<f32>(a_2_2[3]), b3_1, sum_2_2_1);
            sum_2_3_1 = fma(vec4<f32>(a_2_3[3]), b3_1, sum_2_3_1);
            sum_3_0_1 = fma(vec4<f32>(a_3_0[3]), b3_1, sum_3_0_1);
            sum_3_1_1 = fma(vec4<f32>(a_3_1[3]), b3_1, sum_3_1_1);
            sum_3_2_1 = fma(vec4<f32>(a_3_2[3]), b3_1, sum_3_2_1);
            sum_3_3_1 = fma(vec4<f32>(a_3_3[3]), b3_1, sum_3_3_1);
        }
        {
            let a_0_0 = tile_left[half][1][0][thread_row + 0u];
            let a_0_1 = tile_left[half][1][1][thread_row + 0u];
            let a_0_2 = tile_left[half][1][2][thread_row + 0u];
            let a_0_3 = tile_left[half][1][3][thread_row + 0u];
            let a_1_0 = tile_left[half][1][0][thread_row + 8u];
            let a_1_1 = tile_left[half][1][1][thread_row + 8u];
            let a_1_2 = tile_left[half][1][2][thread_row + 8u];
            let a_1_3 = tile_left[half][1][3][thread_row + 8u];
            let a_2_0 = tile_left[half][1][0][thread_row + 16u];
            let a_2_1 = tile_left[half][1][1][thread_row + 16u];
            let a_2_2 = tile_left[half][1][2][thread_row + 16u];
            let a_2_3 = tile_left[half][1][3][thread_row + 16u];
            let a_3_0 = tile_left[half][1][0][thread_row + 24u];
            let a_3_1 = tile_left[half][1][1][thread_row + 24u];
            let a_3_2 = tile_left[half][1][2][thread_row + 24u];
            let a_3_3 = tile_left[half][1][3][thread_row + 24u];
            let b_0_0 = tile_right[half][1][0][thread_column + 0u];
            let b_0_1 = tile_right[half][1][1][thread_column + 0u];
            let b_0_2 = tile_right[half][1][2][thread_column + 0u];
            let b_0_3 = tile_right[half][1][3][thread_column + 0u];
            let b_1_0 = tile_right[half][1][0][thread_column + 16u];
            let b_1_1 = tile_right[half][1][1][thread_column + 16u];
            let b_1_2 = tile_right[half][1][2][thread_column + 16u];
            let b_1_3 = tile_right[half][1][3][thread_column + 16u];
            let b0_0 = vec4<f32>(b_0_0[0], b_0_1[0], b_0_2[0], b_0_3[0]);
            sum_0_0_0 = fma(vec4<f32>(a_0_0[0]), b0_0, sum_0_0_0);
            sum_0_1_0 = fma(vec4<f32>(a_0_1[0]), b0_0, sum_0_1_0);
            sum_0_2_0 = fma(vec4<f32>(a_0_2[0]), b0_0, sum_0_2_0);
            sum_0_3_0 = fma(vec4<f32>(a_0_3[0]), b0_0, sum_0_3_0);
            sum_1_0_0 = fma(vec4<f32>(a_1_0[0]), b0_0, sum_1_0_0);
            sum_1_1_0 = fma(vec4<f32>(a_1_1[0]), b0_0, sum_1_1_0);
            sum_1_2_0 = fma(vec4<f32>(a_1_2[0]), b0_0, sum_1_2_0);
            sum_1_3_0 = fma(vec4<f32>(a_1_3[0]), b0_0, sum_1_3_0);
            sum_2_0_0 = fma(vec4<f32>(a_2_0[0]), b0_0, sum_2_0_0);
            sum_2_1_0 = fma(vec4<f32>(a_2_1[0]), b0_0, sum_2_1_0);
            sum_2_2_0 = fma(vec4<f32>(a_2_2[0]), b0_0, sum_2_2_0);
            sum_2_3_0 = fma(vec4<f32>(a_2_3[0]), b0_0, sum_2_3_0);
            sum_3_0_0 = fma(vec4<f32>(a_3_0[0]), b0_0, sum_3_0_0);
            sum_3_1_0 = fma(vec4<f32>(a_3_1[0]), b0_0, sum_3_1_0);
            sum_3_2_0 = fma(vec4<f32>(a_3_2[0]), b0_0, sum_3_2_0);
            sum_3_3_0 = fma(vec4<f32>(a_3_3[0]), b0_0, sum_3_3_0);
            let b0_1 = vec4<f32>(b_1_0[0], b_1_1[0], b_1_2[0], b_1_3[0]);
            sum_0_0_1 = fma(vec4<f32>(a_0_0[0]), b0_1, sum_0_0_1);
            sum_0_1_1 = fma(vec4<f32>(a_0_1[0]), b0_1, sum_0_1_1);
            sum_0_2_1 = fma(vec4<f32>(a_0_2[0]), b0_1, sum_0_2_1);
            sum_0_3_1 = fma(vec4<f32>(a_0_3[0]), b0_1, sum_0_3_1);
            sum_1_0_1 = fma(vec4<f32>(a_1_0[0]), b0_1, sum_1_0_1);
            sum_1_1_1 = fma(vec4<f32>(a_1_1[0]), b0_1, sum_1_1_1);
            sum_1_2_1 = fma(vec4<f32>(a_1_2[0]), b0_1, sum_1_2_1);
            sum_1_3_1 = fma(vec4<f32>(a_1_3[0]), b0_1, sum_1_3_1);
            sum_2_0_1 = fma(vec4<f32>(a_2_0[0]), b0_1, sum_2_0_1);
            sum_2_1_1 = fma(vec4<f32>(a_2_1[0]), b0_1, sum_2_1_1);
            sum_2_2_1 = fma(vec4<f32>(a_2_2[0]), b0_1, sum_2_2_1);
            sum_2_3_1 = fma(vec4<f32>(a_2_3[0]), b0_1, sum_2_3_1);
            sum_3_0_1 = fma(vec4<f32>(a_3_0[0]), b0_1, sum_3_0_1);
            sum_3_1_1 = fma(vec4<f32>(a_3_1[0]), b0_1, sum_3_1_1);
            sum_3_2_1 = fma(vec4<f32>(a_3_2[0]), b0_1, sum_3_2_1);
            sum_3_3_1 = fma(vec4<f32>(a_3_3[0]), b0_1, sum_3_3_1);
            let b1_0 = vec4<f32>(b_0_0[1], b_0_1[1], b_0_2[1], b_0_3[1]);
            sum_0_0_0 = fma(vec4<f32>(a_0_0[1]), b1_0, sum_0_0_0);
            sum_0_1_0 = fma(vec4<f32>(a_0_1[1]), b1_0, sum_0_1_0);
            sum_0_2_0 = fma(vec4<f32>(a_0_2[1]), b1_0, sum_0_2_0);
            sum_0_3_0 = fma(vec4<f32>(a_0_3[1]), b1_0, sum_0_3_0);
            sum_1_0_0 = fma(vec4<f32>(a_1_0[1]), b1_0, sum_1_0_0);
            sum_1_1_0 = fma(vec4<f32>(a_1_1[1]), b1_0, sum_1_1_0);
            sum_1_2_0 = fma(vec4<f32>(a_1_2[1]), b1_0, sum_1_2_0);
            sum_1_3_0 = fma(vec4<f32>(a_1_3[1]), b1_0, sum_1_3_0);
            sum_2_0_0 = fma(vec4<f32>(a_2_0[1]), b1_0, sum_2_0_0);
            sum_2_1_0 = fma(vec4<f32>(a_2_1[1]), b1_0, sum_2_1_0);
            sum_2_2_0 = fma(vec4<f32>(a_2_2[1]), b1_0, sum_2_2_0);
            sum_2_3_0 = fma(vec4<f32>(a_2_3[1]), b1_0, sum_2_3_0);
            sum_3_0_0 = fma(vec4<f32>(a_3_0[1]), b1_0, sum_3_0_0);
            sum_3_1_0 = fma(vec4<f32>(a_3_1[1]), b1_0, sum_3_1_0);
            sum_3_2_0 = fma(vec4<f32>(a_3_2[1]), b1_0, sum_3_2_0);
            sum_3_3_0 = fma(vec4<f32>(a_3_3[1]), b1_0, sum_3_3_0);
            let b1_1 = vec4<f32>(b_1_0[1], b_1_1[1], b_1_2[1], b_1_3[1]);
            sum_0_0_1 = fma(vec4<f32>(a_0_0[1]), b1_1, sum_0_0_1);
            sum_0_1_1 = fma(vec4<f32>(a_0_1[1]), b1_1, sum_0_1_1);
            sum_0_2_1 = fma(vec4<f32>(a_0_2[1]), b1_1, sum_0_2_1);
            sum_0_3_1 = fma(vec4<f32>(a_0_3[1]), b1_1, sum_0_3_1);
            sum_1_0_1 = fma(vec4<f32>(a_1_0[1]), b1_1, sum_1_0_1);
            sum_1_1_1 = fma(vec4<f32>(a_1_1[1]), b1_1, sum_1_1_1);
            sum_1_2_1 = fma(vec4<f32>(a_1_2[1]), b1_1, sum_1_2_1);
            sum_1_3_1 = fma(vec4<f32>(a_1_3[1]), b1_1, sum_1_3_1);
            sum_2_0_1 = fma(vec4<f32>(a_2_0[1]), b1_1, sum_2_0_1);
            sum_2_1_1 = fma(vec4<f32>(a_2_1[1]), b1_1, sum_2_1_1);
            sum_2_2_1 = fma(vec4<f32>(a_2_2[1]), b1_1, sum_2_2_1);
            sum_2_3_1 = fma(vec4<f32>(a_2_3[1]), b1_1, sum_2_3_1);
            sum_3_0_1 = fma(vec4<f32>(a_3_0[1]), b1_1, sum_3_0_1);
            sum_3_1_1 = fma(vec4<f32>(a_3_1[1]), b1_1, sum_3_1_1);
            sum_3_2_1 = fma(vec4<f32>(a_3_2[1]), b1_1, sum_3_2_1);
            sum_3_3_1 = fma(vec4<f32>(a_3_3[1]), b1_1, sum_3_3_1);
            let b2_0 = vec4<f32>(b_0_0[2], b_0_1[2], b_0_2[2], b_0_3[2]);
            sum_0_0_0 = fma(vec4<f32>(a_0_0[2]), b2_0, sum_0_0_0);
            sum_0_1_0 = fma(vec4<f32>(a_0_1[2]), b2_0, sum_0_1_0);
            sum_0_2_0 = fma(vec4<f32>(a_0_2[2]), b2_0, sum_0_2_0);
            sum_0_3_0 = fma(vec4<f32>(a_0_3[2]), b2_0, sum_0_3_0);
            sum_1_0_0 = fma(vec4<f32>(a_1_0[2]), b2_0, sum_1_0_0);
            sum_1_1_0 = fma(vec4<f32>(a_1_1[2]), b2_0, sum_1_1_0);
            sum_1_2_0 = fma(vec4<f32>(a_1_2[2]), b2_0, sum_1_2_0);
            sum_1_3_0 = fma(vec4<f32>(a_1_3[2]), b2_0, sum_1_3_0);
            sum_2_0_0 = fma(vec4<f32>(a_2_0[2]), b2_0, sum_2_0_0);
            sum_2_1_0 = fma(vec4<f32>(a_2_1[2]), b2_0, sum_2_1_0);
            sum_2_2_0 = fma(vec4<f32>(a_2_2[2]), b2_0, sum_2_2_0);
            sum_2_3_0 = fma(vec4<f32>(a_2_3[2]), b2_0, sum_2_3_0);
            sum_3_0_0 = fma(vec4<f32>(a_3_0[2]), b2_0, sum_3_0_0);
            sum_3_1_0 = fma(vec4<f32>(a_3_1[2]), b2_0, sum_3_1_0);
            sum_3_2_0 = fma(vec4<f32>(a_3_2[2]), b2_0, sum_3_2_0);
            sum_3_3_0 = fma(vec4<f32>(a_3_3[2]), b2_0, sum_3_3_0);
            let b2_1 = vec4<f32>(b_1_0[2], b_1_1[2], b_1_2[2], b_1_3[2]);
            sum_0_0_1 = fma(vec4<f32>(a_0_0[2]), b2_1, sum_0_0_1);
            sum_0_1_1 = fma(vec4<f32>(a_0_1[2]), b2_1, sum_0_1_1);
            sum_0_2_1 = fma(vec4<f32>(a_0_2[2]), b2_1, sum_0_2_1);
            sum_0_3_1 = fma(vec4<f32>(a_0_3[2]), b2_1, sum_0_3_1);
            sum_1_0_1 = fma(vec4<f32>(a_1_0[2]), b2_1, sum_1_0_1);
            sum_1_1_1 = fma(vec4<f32>(a_1_1[2]), b2_1, sum_1_1_1);
            sum_1_2_1 = fma(vec4<f32>(a_1_2[2]), b2_1, sum_1_2_1);
            sum_1_3_1 = fma(vec4<f32>(a_1_3[2]), b2_1, sum_1_3_1);
            sum_2_0_1 = fma(vec4<f32>(a_2_0[2]), b2_1, sum_2_0_1);
            sum_2_1_1 = fma(vec4<f32>(a_2_1[2]), b2_1, sum_2_1_1);
            sum_2_2_1 = fma(vec4<f32>(a_2_2[2]), b2_1, sum_2_2_1);
            sum_2_3_1 = fma(vec4<f32>(a_2_3[2]), b2_1, sum_2_3_1);
            sum_3_0_1 = fma(vec4<f32>(a_3_0[2]), b2_1, sum_3_0_1);
            sum_3_1_1 = fma(vec4<f32>(a_3_1[2]), b2_1, sum_3_1_1);
            sum_3_2_1 = fma(vec4<f32>(a_3_2[2]), b2_1, sum_3_2_1);
            sum_3_3_1 = fma(vec4<f32>(a_3_3[2]), b2_1, sum_3_3_1);
            let b3_0 = vec4<f32>(b_0_0[3], b_0_1[3], b_0_2[3], b_0_3[3]);
            sum_0_0_0 = fma(vec4<f32>(a_0_0[3]), b3_0, sum_0_0_0);
            sum_0_1_0 = fma(vec4<f32>(a_0_1[3]), b3_0, sum_0_1_0);
            sum_0_2_0 = fma(vec4<f32>(a_0_2[3]), b3_0, sum_0_2_0);
            sum_0_3_0 = fma(vec4<f32>(a_0_3[3]), b3_0, sum_0_3_0);
            sum_1_0_0 = fma(vec4<f32>(a_1_0[3]), b3_0, sum_1_0_0);
            sum_1_1_0 = fma(vec4<f32>(a_1_1[3]), b3_0, sum_1_1_0);
            sum_1_2_0 = fma(vec4<f32>(a_1_2[3]), b3_0, sum_1_2_0);
            sum_1_3_0 = fma(vec4<f32>(a_1_3[3]), b3_0, sum_1_3_0);
            sum_2_0_0 = fma(vec4<f32>(a_2_0[3]), b3_0, sum_2_0_0);
            sum_2_1_0 = fma(vec4<f32>(a_2_1[3]), b3_0, sum_2_1_0);
            sum_2_2_0 = fma(vec4<f32>(a_2_2[3]), b3_0, sum_2_2_0);
            sum_2_3_0 = fma(vec4<f32>(a_2_3[3]), b3_0, sum_2_3_0);
            sum_3_0_0 = fma(vec4<f32>(a_3_0[3]), b3_0, sum_3_0_0);
            sum_3_1_0 = fma(vec4<f32>(a_3_1[3]), b3_0, sum_3_1_0);
            sum_3_2_0 = fma(vec4<f32>(a_3_2[3]), b3_0, sum_3_2_0);
            sum_3_3_0 = fma(vec4<f32>(a_3_3[3]), b3_0, sum_3_3_0);
            let b3_1 = vec4<f32>(b_1_0[3], b_1_1[3], b_1_2[3], b_1_3[3]);
            sum_0_0_1 = fma(vec4<f32>(a_0_0[3]), b3_1, sum_0_0_1);
            sum_0_1_1 = fma(vec4<f32>(a_0_1[3]), b3_1, sum_0_1_1);
            sum_0_2_1 = fma(vec4<f32>(a_0_2[3]), b3_1, sum_0_2_1);
            sum_0_3_1 = fma(vec4<f32>(a_0_3[3]), b3_1, sum_0_3_1);
            sum_1_0_1 = fma(vec4<f32>(a_1_0[3]), b3_1, sum_1_0_1);
            sum_1_1_1 = fma(vec4<f32>(a_1_1[3]), b3_1, sum_1_1_1);
            sum_1_2_1 = fma(vec4<f32>(a_1_2[3]), b3_1, sum_1_2_1);
            sum_1_3_1 = fma(vec4<f32>(a_1_3[3]), b3_1, sum_1_3_1);
            sum_2_0_1 = fma(vec4<f32>(a_2_0[3]), b3_1, sum_2_0_1);
            sum_2_1_1 = fma(vec4<f32>(a_2_1[3]), b3_1, sum_2_1_1);
            sum_2_2_1 = fma(vec4<f32>(a_2_2[3]), b3_1, sum_2_2_1);
            sum_2_3_1 = fma(vec4<f32>(a_2_3[3]), b3_1, sum_2_3_1);
            sum_3_0_1 = fma(vec4<f32>(a_3_0[3]), b3_1, sum_3_0_1);
            sum_3_1_1 = fma(vec4<f32>(a_3_1[3]), b3_1, sum_3_1_1);
            sum_3_2_1 = fma(vec4<f32>(a_3_2[3]), b3_1, sum_3_2_1);
            sum_3_3_1 = fma(vec4<f32>(a_3_3[3]), b3_1, sum_3_3_1);
        }
    }

    {
        let row = first_row + thread_row * 4u + 0u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_0_0_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_0_0_1);
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
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_0_1_1);
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
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_0_2_1);
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
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_0_3_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 32u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_1_0_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_1_0_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 33u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_1_1_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_1_1_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 34u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_1_2_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_1_2_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 35u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_1_3_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_1_3_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 64u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_2_0_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_2_0_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 65u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_2_1_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_2_1_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 66u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_2_2_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_2_2_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 67u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_2_3_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_2_3_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 96u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_3_0_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_3_0_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 97u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_3_1_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_3_1_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 98u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_3_2_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_3_2_1);
            }
        }
    }
    {
        let row = first_row + thread_row * 4u + 99u;
        {
            {
                let column = first_column + thread_column * 4u + 0u;
                store(row, column, sum_3_3_0);
            }
            {
                let column = first_column + thread_column * 4u + 64u;
                store(row, column, sum_3_3_1);
            }
        }
    }
}

fn left_along_depth(row: u32, depth: u32) -> vec4<f32> {
    let v0 = row * sizes[1].x;
    let v1 = depth + v0;
    let v2 = b0[v1 >> 2u];
    return v2;
}

fn right_index(column: u32, depth: u32) -> u32 {
    let v0 = depth >> 3u;
    let v1 = column * sizes[0].x;
    let v2 = v0 + v1;
    return v2 >> 2u;
}

fn right_four(word: u32) -> vec4<f32> {
    return four_nibbles(word, vec4<f32>(8388616.0, 8388736.0, 8390656.0, 8421376.0));
}

fn right_side(column: u32, depth: u32) -> u32 {
    let v0 = depth >> 5u;
    let v1 = column * sizes[0].y;
    let v2 = v0 + v1;
    return b2[v2 >> 1u] >> ((v2 & 1u) << 4u);
}

fn right_scale_of(column: u32, depth: u32, side: u32) -> f32 {
    return unpack2x16float(side).x;
}

fn store(row: u32, column: u32, product: vec4<f32>) {
    let v0 = row * sizes[0].w;
    let v1 = column + v0;
    b3[v1 >> 2u] = product;
}

// of shaders of tensors: four_nibbles, four_of_more, four_bytes, four_of_curve, spread_bits, spread_pairs
