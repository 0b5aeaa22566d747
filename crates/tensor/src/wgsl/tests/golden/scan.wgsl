// scan
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> sizes: array<vec4<u32>, 1>;
var<workgroup> shared_states: array<vec2<f32>, 256>;
var<workgroup> shared_totals: array<vec2<f32>, 16>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let workgroup = group.y * groups.x + group.x;
    let unit = workgroup;
    if unit >= sizes[0].x {
        return;
    }
    let v0 = unit * sizes[0].y;
    let chunks = ((sizes[0].y + 3u) / 4u);
    let share = (chunks + 255u) / 256u;
    var own = vec2<f32>();
    for (var v1 = lane * share; v1 < min((lane + 1u) * share, chunks); v1++) {
        let v2 = v1 * 4u;
        let v3 = v2 + v0;
        let v4 = b0[v3 >> 2u];
        own = with_addend(own, v4.x);
        own = with_addend(own, v4.y);
        own = with_addend(own, v4.z);
        own = with_addend(own, v4.w);
    }
    var state = vec2<f32>();
    shared_states[lane] = own;
    workgroupBarrier();
    if lane % 16u == 0u {
        var total = vec2<f32>();
        for (var k = 0u; k < 16u; k++) {
            total = sum_of_pairs(total, shared_states[lane + k]);
        }
        shared_totals[lane / 16u] = total;
    }
    workgroupBarrier();
    for (var k = 0u; k < lane / 16u; k++) {
        state = sum_of_pairs(state, shared_totals[k]);
    }
    for (var k = lane / 16u * 16u; k < lane; k++) {
        state = sum_of_pairs(state, shared_states[k]);
    }
    for (var v5 = lane * share; v5 < min((lane + 1u) * share, chunks); v5++) {
        let v6 = v5 * 4u;
        var result_x = state;
        var result_y = state;
        var result_z = state;
        var result_w = state;
        let v7 = v6 + v0;
        let v8 = b0[v7 >> 2u];
        state = with_addend(state, v8.x);
        result_x = state;
        state = with_addend(state, v8.y);
        result_y = state;
        state = with_addend(state, v8.z);
        result_z = state;
        state = with_addend(state, v8.w);
        result_w = state;
        let v9 = vec4<f32>(compensated_sum(result_x), compensated_sum(result_y), compensated_sum(result_z), compensated_sum(result_w));
        b1[v7 >> 2u] = v9;
    }
}

fn with_addend(sum: vec2<f32>, addend: f32) -> vec2<f32> {
    let next = exact_sum_of_any(sum.x, addend);
    return vec2<f32>(next.x, sum.y + next.y);
}

fn compensated_sum(sum: vec2<f32>) -> f32 {
    return select(sum.x, sum.x + sum.y, is_finite(sum.x));
}

fn exact_sum(a: f32, b: f32) -> vec2<f32> {
    let sum = rounded(a + b);
    return vec2<f32>(sum, b - rounded(sum - a));
}

fn exact_sum_of_any(a: f32, b: f32) -> vec2<f32> {
    let sum = rounded(a + b);
    let b_part = rounded(sum - a);
    let a_part = rounded(sum - b_part);
    return vec2<f32>(sum, rounded(a - a_part) + rounded(b - b_part));
}

fn exact_product(a: f32, b: f32) -> vec2<f32> {
    let product = rounded(a * b);
    let a_high = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
    let b_high = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
    let a_low = rounded(a - a_high);
    let b_low = rounded(b - b_high);
    let cross = rounded(rounded(rounded(a_high * b_high - product) + a_high * b_low) + a_low * b_high);
    return vec2<f32>(product, cross + a_low * b_low);
}

fn sum_of_pairs(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let sum = exact_sum_of_any(a.x, b.x);
    return select(vec2<f32>(sum.x, 0.0), exact_sum(sum.x, sum.y + (a.y + b.y)), is_finite(sum.x));
}

fn rounded(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ guard_zero());
}

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

fn guard_zero() -> u32 {
    return select(0u, 1u, arrayLength(&b0) == 0u);
}
