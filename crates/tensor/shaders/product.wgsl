// A tile of a product of matrices. Threads stand in a grid of {Y} rows and {X} columns. A thread computes {ROW_BLOCKS} × {COLUMN_BLOCKS}
// blocks of 4 × 4 elements, which are {Y * 4} rows and {X * 4} columns apart, so that neighbours read neighbouring vectors.
//
// Factors pass through workgroup memory in steps along the depth. Both lie there with vectors of 4 rows or columns for each place along the
// depth. While a step is computed from one half of the memory, the next one is loaded into registers; it is then written to the other half,
// so that one barrier a step suffices. Indices consist of literals, thread positions, remainders and a counter with known bounds, for which compilers
// prove that they are within bounds: a clamp for each read would take a tenth of the time. UNROLLED takes two steps a turn, one from each half.

var<workgroup> tile_left: array<array<vec4<{TYPE_NAME}>, {LEFT_VECTORS}>, {2 * STEP}>;
var<workgroup> tile_right: array<array<vec4<{TYPE_NAME}>, {RIGHT_VECTORS}>, {2 * STEP}>;

@compute @workgroup_size({LANES}, {Y}, {X / LANES})
fn main(
    @builtin(local_invocation_id) thread: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let column_tiles = ({COLUMNS} + {X * COLUMN_BLOCKS * 4 - 1}u) / {X * COLUMN_BLOCKS * 4}u;
    let row_tiles = ({ROWS} + {Y * ROW_BLOCKS * 4 - 1}u) / {Y * ROW_BLOCKS * 4}u;
    let first_column = tile % column_tiles * {X * COLUMN_BLOCKS * 4}u;
    let first_row = tile / column_tiles % row_tiles * {Y * ROW_BLOCKS * 4}u;
    let batch = tile / column_tiles / row_tiles;
    if (batch >= {BATCHES}) {
        return;
    }
{BATCH_COORDINATES}
#if LANES_SPLIT
    let thread_column = thread.x + thread.z * {LANES}u;
#else
    let thread_column = thread.x;
#endif
    let thread_row = thread.y;

#for h in 0..ROW_BLOCKS
#for r in 0..4
#for g in 0..COLUMN_BLOCKS
    var sum_{h}_{r}_{g} = vec4<{TYPE_NAME}>();
#endfor
#endfor
#endfor
#for i in 0..LEFT_LOADS
#for v in 0..LEFT_VECTORS_A_LOAD
    var left_{i}_{v} = vec4<{TYPE_NAME}>();
#endfor
#endfor
#for i in 0..RIGHT_LOADS
#for v in 0..RIGHT_VECTORS_A_LOAD
    var right_{i}_{v} = vec4<{TYPE_NAME}>();
#endfor
#endfor
#if LEFT_DIVIDED
#for i in 0..LEFT_KNOWN
#for v in 0..LEFT_VECTORS_A_LOAD
    let known_left_{i}_{v} = left_of_row({BATCH_ARGUMENTS}first_row + (lane + {i * THREADS}u) % {LEFT_VECTORS}u * 4u + {v}u);
#endfor
#endfor
#endif
#if RIGHT_DIVIDED
#for i in 0..RIGHT_KNOWN
#for v in 0..RIGHT_VECTORS_A_LOAD
    let known_right_{i}_{v} = right_of_column({BATCH_ARGUMENTS}first_column + (lane + {i * THREADS}u) % {RIGHT_VECTORS}u * 4u + {v}u);
#endfor
#endfor
#endif

    let steps = ({DEPTH} + {STEP - 1}u) / {STEP}u;
#if UNROLLED
    var next = 0u;
    if (steps > 0u) {
        #include product_load
        let write_to = 0u;
        #include product_store
    }
    workgroupBarrier();
    while (next < steps) {
#for half in 0..2
        {
            let read_from = {half * STEP}u;
            let write_to = {(1 - half) * STEP}u;
            next++;
            if (next < steps) {
                #include product_load
            }
            #include product_compute
            if (next >= steps) {
                break;
            }
            #include product_store
            workgroupBarrier();
        }
#endfor
    }
#else
    if (steps > 0u) {
        {
            let next = 0u;
            #include product_load
            let write_to = 0u;
            #include product_store
        }
        workgroupBarrier();
        for (var next = 1u; next < steps; next++) {
            #include product_load
            let write_to = next % 2u * {STEP}u;
            let read_from = {STEP}u - write_to;
            #include product_compute
            #include product_store
            workgroupBarrier();
        }
        let read_from = (steps - 1u) % 2u * {STEP}u;
        #include product_compute
    }
#endif

    #include product_results
}
