// A tile of a product of matrices whose factors both have their vectors along the depth. A thread computes {ROW_BLOCKS} × {COLUMN_BLOCKS} blocks
// of 4 × 4 elements, as in product.wgsl.
//
// Factors lie in workgroup memory as they are loaded, with a vector along the depth for each row or column: nothing is transposed. Rows and
// columns are ordered by their remainders by 4, so that neighbouring threads read neighbouring vectors. A thread loads one row and one column.
// Literals, thread positions and remainders index the memory, so that compilers prove them to be within bounds.

var<workgroup> tile_left: array<array<array<array<vec4<f32>, {VECTORS}>, 4>, 2>, 2>;
var<workgroup> tile_right: array<array<array<array<vec4<f32>, {VECTORS}>, 4>, 2>, 2>;

@compute @workgroup_size({LANES}, {Y}, {X / LANES})
fn main(
    @builtin(local_invocation_id) thread: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let column_tiles = ({COLUMNS} + {4 * VECTORS - 1}u) / {4 * VECTORS}u;
    let row_tiles = ({ROWS} + {4 * VECTORS - 1}u) / {4 * VECTORS}u;
    let first_column = tile % column_tiles * {4 * VECTORS}u;
    let first_row = tile / column_tiles % row_tiles * {4 * VECTORS}u;
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

    // The row and the column that the thread loads.
    let place = lane % {VECTORS}u;
    let remainder = lane / {VECTORS}u;
    let row = first_row + place * 4u + remainder;
    let column = first_column + place * 4u + remainder;
    var left_0 = vec4<f32>();
    var left_1 = vec4<f32>();
#if PACKED
    var words = vec4<u32>();
#if UPPER
    var upper = vec4<u32>();
#endif
#if QUANTISED
    var side = {SIDE_TYPE}();
#endif
#else
    var right_0 = vec4<f32>();
    var right_1 = vec4<f32>();
#endif

    let steps = ({DEPTH} + 7u) / 8u;
    if (steps > 0u) {
        {
            let next = 0u;
            let half = 0u;
            #include product_depth_load
            #include product_depth_store
        }
        workgroupBarrier();
        for (var next = 1u; next < steps; next++) {
            #include product_depth_load
            {
                let half = (next - 1u) % 2u;
                #include product_depth_compute
            }
            let half = next % 2u;
            #include product_depth_store
            workgroupBarrier();
        }
        let half = (steps - 1u) % 2u;
        #include product_depth_compute
    }

    #include product_results
}
