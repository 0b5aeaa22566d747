// Products with few rows, which read the right factor once: a workgroup computes some columns of {ROW_COUNT} rows. Its threads divide the
// depth, {PLACES} threads a column or 4 columns. Each sums its own part of the depth; a tree then adds the sums of the threads.

var<workgroup> sums{SUFFIX}: array<{SUM_TYPE}, {THREADS}>;

fn tiles{SUFFIX}() -> u32 {
    return ({COLUMNS} + {COLUMN_COUNT - 1}u) / {COLUMN_COUNT}u * (({ROWS} + {ROW_COUNT - 1}u) / {ROW_COUNT}u) * {BATCHES};
}

fn product{SUFFIX}(lane: u32, tile: u32) {
    let column_tiles = ({COLUMNS} + {COLUMN_COUNT - 1}u) / {COLUMN_COUNT}u;
    let row_tiles = ({ROWS} + {ROW_COUNT - 1}u) / {ROW_COUNT}u;
    let first_column = tile % column_tiles * {COLUMN_COUNT}u;
    let first_row = tile / column_tiles % row_tiles * {ROW_COUNT}u;
    let batch = tile / column_tiles / row_tiles;
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
        let b = right_along_depth{SUFFIX}({BATCH_ARGUMENTS}column, depth);
#else
#for i in 0..4
        let b_{i} = right_along_columns{SUFFIX}({BATCH_ARGUMENTS}column, depth + {i}u);
#endfor
#endif
#for r in 0..ROW_COUNT
        let a_{r} = left_along_depth{SUFFIX}({BATCH_ARGUMENTS}first_row + {r}u, depth);
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
    sums{SUFFIX}[lane] = (sum_{r}.x + sum_{r}.y) + (sum_{r}.z + sum_{r}.w);
#else
    sums{SUFFIX}[lane] = sum_{r};
#endif
    workgroupBarrier();
    for (var distance = {PLACES / 2}u; distance > 0u; distance /= 2u) {
        if (place < distance) {
#if RIGHT_ALONG_DEPTH
            sums{SUFFIX}[lane] += sums{SUFFIX}[lane + distance];
#else
            sums{SUFFIX}[lane] += sums{SUFFIX}[lane + distance * {THREADS / PLACES}u];
#endif
        }
        workgroupBarrier();
    }
    if (lane < {COLUMN_COUNT / 4}u && first_row + {r}u < {ROWS} && first_column + lane * 4u < {COLUMNS}) {
#if RIGHT_ALONG_DEPTH
        let first = lane * {PLACES * 4}u;
        let product = vec4<{TYPE_NAME}>(sums{SUFFIX}[first], sums{SUFFIX}[first + {PLACES}u], sums{SUFFIX}[first + {PLACES * 2}u], sums{SUFFIX}[first + {PLACES * 3}u]);
        store{SUFFIX}({BATCH_ARGUMENTS}first_row + {r}u, first_column + lane * 4u, product);
#else
        store{SUFFIX}({BATCH_ARGUMENTS}first_row + {r}u, first_column + lane * 4u, sums{SUFFIX}[lane]);
#endif
    }
    workgroupBarrier();
#endfor
}
