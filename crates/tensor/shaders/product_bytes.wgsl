// A tile of a product of integers: of a left factor of bytes and a right one of few bits, which becomes bytes in workgroup memory. A thread computes
// {ROW_BLOCKS} × {COLUMN_BLOCKS} blocks of 4 × 4 elements, as in product.wgsl. A step is a block of 32 places along the depth.
//
// Factors lie in workgroup memory as in product_depth.wgsl, with 16 numbers in a vector. The sums of a group are whole numbers below 2^22, which are
// added to the bits of 1.5 · 2^23: these are then the bits of that f32 and the sum, from which it is taken away.

var<workgroup> tile_left: array<array<array<vec4<u32>, {ROWS_OF_TILE / 4}>, 4>, 2>;
var<workgroup> tile_right: array<array<array<vec4<u32>, {COLUMNS_OF_TILE / 4}>, 4>, 2>;
var<workgroup> left_scales: array<array<f32, {ROWS_OF_TILE / 4}>, 4>;
var<workgroup> right_scales: array<array<array<f32, {COLUMNS_OF_TILE / 4}>, 4>, {GROUPS}>;
#if MINIMA
var<workgroup> left_totals: array<array<array<f32, {ROWS_OF_TILE / 4}>, 4>, 2>;
var<workgroup> right_minima: array<array<array<f32, {COLUMNS_OF_TILE / 4}>, 4>, {GROUPS}>;
#endif

// The sum of the products of four signed bytes.
fn product_of_bytes(a: u32, b: u32) -> i32 {
#if PACKED_DOT
    return dot4I8Packed(a, b);
#else
    let bytes_of_a = vec4<i32>(bitcast<i32>(a)) << vec4<u32>(24u, 16u, 8u, 0u);
    let bytes_of_b = vec4<i32>(bitcast<i32>(b)) << vec4<u32>(24u, 16u, 8u, 0u);
    return dot(bytes_of_a >> vec4<u32>(24u), bytes_of_b >> vec4<u32>(24u));
#endif
}

@compute @workgroup_size({LANES}, {Y}, {X / LANES})
fn main(
    @builtin(local_invocation_id) thread: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let column_tiles = ({COLUMNS} + {COLUMNS_OF_TILE - 1}u) / {COLUMNS_OF_TILE}u;
    let row_tiles = ({ROWS} + {ROWS_OF_TILE - 1}u) / {ROWS_OF_TILE}u;
    let first_column = tile % column_tiles * {COLUMNS_OF_TILE}u;
    let first_row = tile / column_tiles % row_tiles * {ROWS_OF_TILE}u;
    let batch = tile / column_tiles / row_tiles;
    if (batch >= {BATCHES}) {
        return;
    }
{BATCH_COORDINATES}
    let thread_column = thread.x + thread.z * {LANES}u;
    let thread_row = thread.y;

#for h in 0..ROW_BLOCKS
#for r in 0..4
#for g in 0..COLUMN_BLOCKS
    var sum_{h}_{r}_{g} = vec4<f32>();
#endfor
#endfor
#endfor

    // The half of a block of a row that the thread loads, and that of a column, which some threads load.
    let left_place = lane % {ROWS_OF_TILE / 4}u;
    let left_remainder = lane / {ROWS_OF_TILE / 4}u % 4u;
    let left_half = lane / {ROWS_OF_TILE}u;
    let row = first_row + left_place * 4u + left_remainder;
    let right_place = lane % {COLUMNS_OF_TILE / 4}u;
    let right_remainder = lane / {COLUMNS_OF_TILE / 4}u % 4u;
    let right_half = lane / {COLUMNS_OF_TILE}u;
    let column = first_column + right_place * 4u + right_remainder;
    var left = vec4<u32>();
    var row_side = 0u;
    var words = vec4<u32>();
#if UPPER
    var upper = vec4<u32>();
#endif
    var side = {SIDE_TYPE}();

    let steps = {DEPTH} / 32u;
    if (steps > 0u) {
        let next = 0u;
        #include product_bytes_load
    }
    for (var step = 0u; step < steps; step++) {
        #include product_bytes_store
        workgroupBarrier();
        if (step + 1u < steps) {
            let next = step + 1u;
            #include product_bytes_load
        }
        #include product_bytes_compute
        workgroupBarrier();
    }

    #include product_results
}
