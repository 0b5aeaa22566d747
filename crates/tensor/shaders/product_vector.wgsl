// Products with few rows, which read the right factor once: a workgroup computes some columns of {ROW_COUNT} rows. Its threads divide the
// depth, {PLACES} threads a column or 4 columns. Each sums its own part of the depth; a tree then adds the sums of the threads.

var<workgroup> sums: array<{SUM_TYPE}, {THREADS}>;

@compute @workgroup_size({THREADS})
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group.x + group.y * groups.x;
    let column_tiles = ({COLUMNS} + {COLUMN_COUNT - 1}u) / {COLUMN_COUNT}u;
    let row_tiles = ({ROWS} + {ROW_COUNT - 1}u) / {ROW_COUNT}u;
    let first_column = tile % column_tiles * {COLUMN_COUNT}u;
    let first_row = tile / column_tiles % row_tiles * {ROW_COUNT}u;
    let batch = tile / column_tiles / row_tiles;
    if (batch >= {BATCHES}) {
        return;
    }
{BATCH_COORDINATES}

#for r in 0..ROW_COUNT
    var sum_{r} = vec4<{TYPE_NAME}>();
#endfor
#if RIGHT_ALONG_DEPTH
    let place = lane % {PLACES}u;
    let column = first_column + lane / {PLACES}u;
#else
    let place = lane / {THREADS / PLACES}u;
    let column = first_column + lane % {THREADS / PLACES}u * 4u;
#endif
    for (var depth = place * 4u; depth < {DEPTH}; depth += {PLACES * 4}u) {
#if RIGHT_ALONG_DEPTH
        let b = right_along_depth({BATCH_ARGUMENTS}column, depth);
#else
#for i in 0..4
        let b_{i} = right_along_columns({BATCH_ARGUMENTS}column, depth + {i}u);
#endfor
#endif
#for r in 0..ROW_COUNT
        let a_{r} = left_along_depth({BATCH_ARGUMENTS}first_row + {r}u, depth);
#if RIGHT_ALONG_DEPTH
#if FLOAT
        sum_{r} = fma(a_{r}, b, sum_{r});
#else
        sum_{r} += a_{r} * b;
#endif
#else
#for i in 0..4
#if FLOAT
        sum_{r} = fma(vec4<f32>(a_{r}[{i}]), b_{i}, sum_{r});
#else
        sum_{r} += a_{r}[{i}] * b_{i};
#endif
#endfor
#endif
#endfor
    }

#for r in 0..ROW_COUNT
#if RIGHT_ALONG_DEPTH
    sums[lane] = (sum_{r}.x + sum_{r}.y) + (sum_{r}.z + sum_{r}.w);
#else
    sums[lane] = sum_{r};
#endif
    workgroupBarrier();
    for (var distance = {PLACES / 2}u; distance > 0u; distance /= 2u) {
        if (place < distance) {
#if RIGHT_ALONG_DEPTH
            sums[lane] += sums[lane + distance];
#else
            sums[lane] += sums[lane + distance * {THREADS / PLACES}u];
#endif
        }
        workgroupBarrier();
    }
    if (lane < {COLUMN_COUNT / 4}u && first_row + {r}u < {ROWS} && first_column + lane * 4u < {COLUMNS}) {
#if RIGHT_ALONG_DEPTH
        let first = lane * {PLACES * 4}u;
        let product = vec4<{TYPE_NAME}>(sums[first], sums[first + {PLACES}u], sums[first + {PLACES * 2}u], sums[first + {PLACES * 3}u]);
        store({BATCH_ARGUMENTS}first_row + {r}u, first_column + lane * 4u, product);
#else
        store({BATCH_ARGUMENTS}first_row + {r}u, first_column + lane * 4u, sums[lane]);
#endif
    }
    workgroupBarrier();
#endfor
}
