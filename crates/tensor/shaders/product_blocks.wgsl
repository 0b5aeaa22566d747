// A product with few rows, whose right factor lies along the depth in whole vectors of words: a thread reads {VECTORS} vectors of each of four
// columns at once, {BLOCK} numbers a column. {PLACES} threads divide the depth of four columns; a tree adds their sums.

var<workgroup> sums{SUFFIX}: array<vec4<f32>, {THREADS}>;

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

    // Of four columns.
#for r in 0..ROW_COUNT
    var sum_{r} = vec4<f32>();
#endfor
    // Neighbours read few places of many columns, so that they share what they read of the left factor.
    let cluster = lane / {CLUSTER}u;
    let place = lane % {CLUSTER}u + cluster / {THREADS / PLACES}u * {CLUSTER}u;
    let slot = cluster % {THREADS / PLACES}u * {PLACES}u + place;
    let column = first_column + cluster % {THREADS / PLACES}u * 4u;
    for (var depth = place * {BLOCK}u; depth < {DEPTH}; depth += {PLACES * BLOCK}u) {
#for c in 0..4
#if SPREAD
        let words_{c}_0 = right_words{SUFFIX}({BATCH_ARGUMENTS}column + {c}u, depth);
#else
        let index_{c} = right_index{SUFFIX}({BATCH_ARGUMENTS}column + {c}u, depth);
#for v in 0..VECTORS
#if IN_WINDOWS
        let words_{c}_{v} = load_{WORDS}(index_{c} + {v}u);
#else
        let words_{c}_{v} = {WORDS}[index_{c} + {v}u];
#endif
#endfor
#endif
#if UPPER
        let upper_{c} = right_upper{SUFFIX}({BATCH_ARGUMENTS}column + {c}u, depth);
#endif
#if QUANTISED
#for g in 0..GROUPS
        let scale_{c}_{g} = right_scale{SUFFIX}({BATCH_ARGUMENTS}column + {c}u, depth + {16 * g}u);
#if MINIMA
        let minimum_{c}_{g} = right_minimum{SUFFIX}({BATCH_ARGUMENTS}column + {c}u, depth + {16 * g}u);
#endif
#endfor
#endif
#endfor
#for g in 0..GROUPS
        {
#if QUANTISED
#for r in 0..ROW_COUNT
            var block_{r} = vec4<f32>();
#if MINIMA
            var total_{r} = 0.0;
#endif
#endfor
#endif
#for v in 0..VECTORS
#for w in 0..WORD_STEPS
#for h in 0..HALF_STEPS
            {
#for c in 0..4
#if UPPER
                let b_{c} = right_four{SUFFIX}(words_{c}_{v}[{g * WORD_STEPS + w}] >> {h * 16}u, upper_{c}[{g * WORD_STEPS + w}] >> {h * 16}u);
#else if QUANTISED
                let b_{c} = right_four{SUFFIX}(words_{c}_{v}[{g * WORD_STEPS + w}] >> {h * 16}u);
#else if HALVES
                let b_{c} = vec4<f32>(unpack2x16float(words_{c}_{v}[{w * 2}]), unpack2x16float(words_{c}_{v}[{w * 2 + 1}]));
#else
                let b_{c} = words_{c}_{v};
#endif
#endfor
#for r in 0..ROW_COUNT
#if QUANTISED
                let left_{r} = left_along_depth{SUFFIX}({BATCH_ARGUMENTS}first_row + {r}u, depth + {v * VECTOR + g * 16 + w * WORD + h * 4}u);
                let a_{r} = left_{r} * {UNIT};
#if MINIMA
                total_{r} += (left_{r}.x + left_{r}.y) + (left_{r}.z + left_{r}.w);
#endif
#else
                let a_{r} = left_along_depth{SUFFIX}({BATCH_ARGUMENTS}first_row + {r}u, depth + {v * VECTOR + w * WORD + h * 4}u);
#endif
#for k in 0..4
                {SUM}_{r} = fma(vec4<f32>(a_{r}[{k}]), vec4<f32>(b_0[{k}], b_1[{k}], b_2[{k}], b_3[{k}]), {SUM}_{r});
#endfor
#endfor
            }
#endfor
#endfor
#endfor
#if QUANTISED
#for r in 0..ROW_COUNT
            sum_{r} = fma(vec4<f32>(scale_0_{g}, scale_1_{g}, scale_2_{g}, scale_3_{g}), block_{r}, sum_{r});
#if MINIMA
            sum_{r} = fma(vec4<f32>(minimum_0_{g}, minimum_1_{g}, minimum_2_{g}, minimum_3_{g}), vec4<f32>(-total_{r}), sum_{r});
#endif
#endfor
#endif
        }
#endfor
    }

#for r in 0..ROW_COUNT
    sums{SUFFIX}[slot] = sum_{r};
    workgroupBarrier();
    for (var distance = {PLACES / 2}u; distance > 0u; distance /= 2u) {
        if (place < distance) {
            sums{SUFFIX}[slot] += sums{SUFFIX}[slot + distance];
        }
        workgroupBarrier();
    }
    if (lane < {COLUMN_COUNT / 4}u && first_row + {r}u < {ROWS} && first_column + lane * 4u < {COLUMNS}) {
        store{SUFFIX}({BATCH_ARGUMENTS}first_row + {r}u, first_column + lane * 4u, sums{SUFFIX}[lane * {PLACES}u]);
    }
    workgroupBarrier();
#endfor
}
