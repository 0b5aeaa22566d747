// Attention of one query to a block of 128 keys in a workgroup, for products with few queries. Four threads have the product of the query and a
// key; 32 threads have the scores of 4 keys each; for the weighted sum each thread has 4 places of the values and every {PARTS}th key.
// The state of the block is its largest score, the sum of its weights, and the weighted sum of its values.

var<workgroup> products: array<f32, 512>;
// More than there are keys, so that a thread takes 4 at a time; those beyond are 0.
var<workgroup> weights: array<f32, {128 + 4 * PARTS}>;
var<workgroup> largest: array<f32, 8>;
var<workgroup> sums: array<vec4<f32>, 128>;

fn largest_of(x: vec4<f32>) -> f32 {
    return max(max(x.x, x.y), max(x.z, x.w));
}

fn sum_of(x: vec4<f32>) -> f32 {
    return (x.x + x.y) + (x.z + x.w);
}

@compute @workgroup_size(128)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let workgroup = group.x + group.y * groups.x;
    let batches = {BATCHES};
    let batch = workgroup % batches;
    let row = workgroup / batches % {QUERIES};
    let block = workgroup / batches / {QUERIES};
    let first_key = block * 128u;
    if (first_key >= {KEYS}) {
        return;
    }
{BATCH_COORDINATES}
#if LIMITED
    let position = {POSITION} + i32(row);
    let end = min(u32(clamp(position + 1, 0, i32({KEYS}))), first_key + 128u);
#if WINDOWED
    let is_seen = first_key < end && i32(first_key) + 127 >= position - {WINDOW};
#else
    let is_seen = first_key < end;
#endif
#else
    let end = min({KEYS}, first_key + 128u);
    let is_seen = true;
#endif
    let column = lane % {VALUE_VECTORS}u * 4u;
    if (!is_seen) {
        if (lane < {VALUE_VECTORS}u) {
            store({BATCH_ARGUMENTS}row, column, block, vec4<f32>());
        }
        if (lane == 0u) {
            store_state({BATCH_ARGUMENTS}row, block, {LEAST}, 0.0);
        }
        return;
    }

    let part = lane % 4u;
#for i in 0..SIZE_STEPS
    let query_{i} = query_at({BATCH_ARGUMENTS}row, part * 4u + {i * 16}u);
#endfor
#for pass in 0..4
    {
        let key = lane / 4u + {pass * 32}u;
        var product = vec4<f32>();
#for i in 0..SIZE_STEPS
        product = fma(query_{i}, key_at({BATCH_ARGUMENTS}first_key + key, part * 4u + {i * 16}u), product);
#endfor
        products[key * 4u + part] = sum_of(product);
    }
#endfor
    workgroupBarrier();

    var score = vec4<f32>({LEAST});
    if (lane < 32u) {
        let key = first_key + lane * 4u;
        var product = vec4<f32>();
#for k in 0..4
        product[{k}] = (products[lane * 16u + {4 * k}u] + products[lane * 16u + {4 * k + 1}u]) + (products[lane * 16u + {4 * k + 2}u] + products[lane * 16u + {4 * k + 3}u]);
#endfor
        let is_key = vec4<u32>(key) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>({KEYS});
        score = select(vec4<f32>({LEAST}), score_at({BATCH_ARGUMENTS}row, key, product), is_key);
#if LIMITED
        let place = vec4<i32>(i32(key)) + vec4<i32>(0, 1, 2, 3);
        score = select(vec4<f32>({LEAST}), score, place <= vec4<i32>(position));
#endif
#if WINDOWED
        score = select(vec4<f32>({LEAST}), score, place >= vec4<i32>(position - {WINDOW}));
#endif
        weights[lane] = largest_of(score);
    }
    workgroupBarrier();
    if (lane < 8u) {
        largest[lane] = max(max(weights[lane * 4u], weights[lane * 4u + 1u]), max(weights[lane * 4u + 2u], weights[lane * 4u + 3u]));
    }
    workgroupBarrier();
    var most = largest[0];
    for (var i = 1u; i < 8u; i++) {
        most = max(most, largest[i]);
    }
    if (lane < 32u) {
        // Not a comparison that a NaN fails: it must pass.
        let weight = select(exp(score - most), vec4<f32>(), score <= vec4<f32>({LEAST}));
#for k in 0..4
        weights[lane * 4u + {k}u] = weight[{k}];
#endfor
        products[lane] = sum_of(weight);
    }
    workgroupBarrier();

    var sum = vec4<f32>();
    let first = lane / {VALUE_VECTORS}u;
    if (first < {PARTS}u) {
        for (var key = first; key < end - first_key; key += {4 * PARTS}u) {
#for i in 0..4
            let value_{i} = value_at({BATCH_ARGUMENTS}first_key + key + {i * PARTS}u, column);
#endfor
#for i in 0..4
            sum = fma(vec4<f32>(weights[key + {i * PARTS}u]), value_{i}, sum);
#endfor
        }
    }
    sums[lane] = sum;
    workgroupBarrier();
    if (lane < {VALUE_VECTORS}u) {
        var total = sums[lane];
        for (var i = 1u; i < {PARTS}u; i++) {
            total += sums[i * {VALUE_VECTORS}u + lane];
        }
        store({BATCH_ARGUMENTS}row, column, block, total);
    }
    if (lane == 0u) {
        var total = 0.0;
        for (var i = 0u; i < 32u; i++) {
            total += products[i];
        }
        store_state({BATCH_ARGUMENTS}row, block, most, total);
    }
}
