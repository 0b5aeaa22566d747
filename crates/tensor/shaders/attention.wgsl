// Attention of 64 queries in a workgroup, which goes through the keys in tiles of 64 and keeps the softmax of what it has seen: for each query
// the largest score m, the sum of the weights exp(s - m), and the weighted sum of the values (Milakov and Gimelshein 2018; Dao et al. 2022).
//
// Threads stand in a grid of 8 rows and 16 columns. A thread has 8 queries, in 2 blocks of 4 that are 32 apart, and of a tile 4 keys; of
// the result it has 4 places in each 64. Scores are a product of matrices whose depth goes through workgroup memory in steps of 16;
// the weighted sum is one whose depth is the keys, in steps of 16 too. What a step needs is loaded into registers while the step before is
// computed.

var<workgroup> tile_rows: array<vec4<f32>, 256>;
var<workgroup> tile_columns: array<vec4<f32>, {256 * VALUE_GROUPS}>;
var<workgroup> most: array<vec4<f32>, 16>;
var<workgroup> factors: array<vec4<f32>, 16>;

fn largest_of(x: vec4<f32>) -> f32 {
    return max(max(x.x, x.y), max(x.z, x.w));
}

fn sum_of(x: vec4<f32>) -> f32 {
    return (x.x + x.y) + (x.z + x.w);
}

@compute @workgroup_size(2, 8, 8)
fn main(
    @builtin(local_invocation_id) thread: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let workgroup = group.x + group.y * groups.x;
    let row_tiles = ({QUERIES} + 63u) / 64u;
    let batches = {BATCHES};
    let tile = workgroup / batches;
    let batch = workgroup % batches;
    if (tile >= row_tiles) {
        return;
    }
{BATCH_COORDINATES}
    let thread_column = thread.x + thread.z * 2u;
    let thread_row = thread.y;
#if LIMITED
    // Later queries see more keys: they begin first.
    let first_row = (row_tiles - 1u - tile) * 64u;
    let position = {POSITION} + i32(first_row);
    let end = u32(clamp(position + 64, 0, i32({KEYS})));
#if WINDOWED
    let start = u32(clamp(position - {WINDOW}, 0, i32({KEYS}))) / 64u * 64u;
#else
    let start = 0u;
#endif
#else
    let first_row = tile * 64u;
    let end = {KEYS};
    let start = 0u;
#endif

#for h in 0..2
#for r in 0..4
#for g in 0..VALUE_GROUPS
    var sum_{h}_{r}_{g} = vec4<f32>();
#endfor
#endfor
    var total_{h} = vec4<f32>();
#endfor
    if (lane < 16u) {
        most[lane] = vec4<f32>({LEAST});
    }
    let vector = lane % 16u;
    let quarter = lane / 16u % 4u * 4u;
    let loads_rows = lane < 64u;

    for (var first_key = start; first_key < end; first_key += 64u) {
#for h in 0..2
#for r in 0..4
        var score_{h}_{r} = vec4<f32>();
#endfor
#endfor
#for v in 0..4
        var next_{v} = vec4<f32>();
#endfor
        // Each turn computes one step while the next one is loaded.
        for (var depth = 0u; depth < {SIZE + 16}u; depth += 16u) {
            if (depth < {SIZE}u) {
                if (loads_rows) {
#for v in 0..4
                    next_{v} = query_at({BATCH_ARGUMENTS}first_row + vector * 4u + {v}u, depth + quarter);
#endfor
                } else {
#for v in 0..4
                    next_{v} = key_at({BATCH_ARGUMENTS}first_key + vector * 4u + {v}u, depth + quarter);
#endfor
                }
            }
            if (depth > 0u) {
                for (var k = 0u; k < 16u; k++) {
#for h in 0..2
                    let a_{h} = tile_rows[k * 16u + {h * 8}u + thread_row];
#endfor
                    let b = tile_columns[k * 16u + thread_column];
#for h in 0..2
#for r in 0..4
                    score_{h}_{r} = fma(vec4<f32>(a_{h}[{r}]), b, score_{h}_{r});
#endfor
#endfor
                }
            }
            workgroupBarrier();
            if (depth < {SIZE}u) {
                if (loads_rows) {
#for i in 0..4
                    tile_rows[(quarter + {i}u) * 16u + vector] = vec4<f32>(next_0[{i}], next_1[{i}], next_2[{i}], next_3[{i}]);
#endfor
                } else {
#for i in 0..4
                    tile_columns[(quarter + {i}u) * 16u + vector] = vec4<f32>(next_0[{i}], next_1[{i}], next_2[{i}], next_3[{i}]);
#endfor
                }
            }
            workgroupBarrier();
        }

        let key = first_key + thread_column * 4u;
#if LIMITED
#if WINDOWED
        let is_within = first_key + 64u <= {KEYS} && i32(first_key) + 63 <= position && i32(first_key) >= position + 63 - {WINDOW};
#else
        let is_within = first_key + 64u <= {KEYS} && i32(first_key) + 63 <= position;
#endif
#else
        let is_within = first_key + 64u <= {KEYS};
#endif
#for h in 0..2
#for r in 0..4
        score_{h}_{r} = score_at({BATCH_ARGUMENTS}first_row + thread_row * 4u + {h * 32 + r}u, key, score_{h}_{r});
#endfor
#endfor
        if (!is_within) {
            let is_key = vec4<u32>(key) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>({KEYS});
#if LIMITED
            let place = vec4<i32>(i32(key)) + vec4<i32>(0, 1, 2, 3);
            let own = position + i32(thread_row) * 4;
#endif
#for h in 0..2
#for r in 0..4
#if WINDOWED
            score_{h}_{r} = select(vec4<f32>({LEAST}), score_{h}_{r}, is_key & (place <= vec4<i32>(own + {h * 32 + r})) & (place >= vec4<i32>(own + {h * 32 + r} - {WINDOW})));
#else if LIMITED
            score_{h}_{r} = select(vec4<f32>({LEAST}), score_{h}_{r}, is_key & (place <= vec4<i32>(own + {h * 32 + r})));
#else
            score_{h}_{r} = select(vec4<f32>({LEAST}), score_{h}_{r}, is_key);
#endif
#endfor
#endfor
        }

        workgroupBarrier();
#for h in 0..2
        tile_rows[thread_column * 16u + {h * 8}u + thread_row] = vec4<f32>(largest_of(score_{h}_0), largest_of(score_{h}_1), largest_of(score_{h}_2), largest_of(score_{h}_3));
#endfor
        workgroupBarrier();
        if (lane < 16u) {
            let before = most[lane];
            var largest = before;
            for (var column = 0u; column < 16u; column++) {
                largest = max(largest, tile_rows[column * 16u + lane]);
            }
            most[lane] = largest;
            factors[lane] = exp(before - largest);
        }
        workgroupBarrier();
#for h in 0..2
        let most_{h} = most[{h * 8}u + thread_row];
        let factor_{h} = factors[{h * 8}u + thread_row];
#for r in 0..4
        // Not a comparison that a NaN fails: it must pass.
        score_{h}_{r} = select(exp(score_{h}_{r} - most_{h}[{r}]), vec4<f32>(), score_{h}_{r} <= vec4<f32>({LEAST}));
#for g in 0..VALUE_GROUPS
        sum_{h}_{r}_{g} *= factor_{h}[{r}];
#endfor
#endfor
        total_{h} = fma(total_{h}, factor_{h}, vec4<f32>(sum_of(score_{h}_0), sum_of(score_{h}_1), sum_of(score_{h}_2), sum_of(score_{h}_3)));
#endfor

#for i in 0..VALUE_LOADS
        var value_{i} = vec4<f32>();
#endfor
        let steps = min(4u, (end - first_key + 15u) / 16u);
        for (var step = 0u; step <= steps; step++) {
            if (step < steps) {
#for i in 0..VALUE_LOADS
#if VALUE_PARTIAL
                if (lane + {i * 128}u < {VALUE_VECTORS * 16}u) {
#else
                {
#endif
                    let load = lane + {i * 128}u;
                    value_{i} = value_at({BATCH_ARGUMENTS}first_key + step * 16u + load / {VALUE_VECTORS}u, load % {VALUE_VECTORS}u * 4u);
                }
#endfor
            }
            if (step > 0u) {
                for (var k = 0u; k < 16u; k++) {
#for h in 0..2
                    let a_{h} = tile_rows[k * 16u + {h * 8}u + thread_row];
#endfor
#for g in 0..VALUE_GROUPS
                    let b_{g} = tile_columns[k * {VALUE_GROUPS * 16}u + {g * 16}u + thread_column];
#endfor
#for h in 0..2
#for r in 0..4
#for g in 0..VALUE_GROUPS
                    sum_{h}_{r}_{g} = fma(vec4<f32>(a_{h}[{r}]), b_{g}, sum_{h}_{r}_{g});
#endfor
#endfor
#endfor
                }
            }
            workgroupBarrier();
            if (step < steps) {
                if (thread_column / 4u == step) {
#for i in 0..4
#for h in 0..2
                    tile_rows[(thread_column % 4u * 4u + {i}u) * 16u + {h * 8}u + thread_row] = vec4<f32>(score_{h}_0[{i}], score_{h}_1[{i}], score_{h}_2[{i}], score_{h}_3[{i}]);
#endfor
#endfor
                }
#for i in 0..VALUE_LOADS
#if VALUE_PARTIAL
                if (lane + {i * 128}u < {VALUE_VECTORS * 16}u) {
#else
                {
#endif
                    let load = lane + {i * 128}u;
                    tile_columns[load / {VALUE_VECTORS}u * {VALUE_GROUPS * 16}u + load % {VALUE_VECTORS}u] = value_{i};
                }
#endfor
            }
            workgroupBarrier();
        }
    }

    workgroupBarrier();
#for h in 0..2
    tile_rows[thread_column * 16u + {h * 8}u + thread_row] = total_{h};
#endfor
    workgroupBarrier();
    if (lane < 16u) {
        var total = vec4<f32>();
        for (var column = 0u; column < 16u; column++) {
            total += tile_rows[column * 16u + lane];
        }
        // A query that sees no key gives 0.
        factors[lane] = 1.0 / select(total, vec4<f32>(1.0), total == vec4<f32>());
    }
    workgroupBarrier();
#for h in 0..2
    let inverse_{h} = factors[{h * 8}u + thread_row];
#for r in 0..4
    if (first_row + thread_row * 4u + {h * 32 + r}u < {QUERIES}) {
#for g in 0..VALUE_GROUPS
        if (thread_column * 4u + {g * 64}u < {WIDTH}u) {
            store({BATCH_ARGUMENTS}first_row + thread_row * 4u + {h * 32 + r}u, thread_column * 4u + {g * 64}u, sum_{h}_{r}_{g} * inverse_{h}[{r}]);
        }
#endfor
    }
#endfor
#endfor
}
