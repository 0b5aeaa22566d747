// reduction
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> sizes: array<vec4<u32>, 1>;
var<workgroup> shared_0: array<vec2<f32>, 1024>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let workgroup = group.y * groups.x + group.x;
    let rows = ((sizes[0].y + 3u) / 4u);
    if workgroup * 8u >= rows {
        return;
    }
    let x = lane % 8u;
    let y = lane / 8u;
    let is_active = workgroup * 8u + x < rows;
    let unit = min(workgroup * 8u + x, rows - 1u);
    let v0 = unit * 4u;
    let chunks = sizes[0].x;
    var s0_x = vec2<f32>();
    var s0_y = vec2<f32>();
    var s0_z = vec2<f32>();
    var s0_w = vec2<f32>();
    for (var v1 = y; v1 < chunks; v1 += 32u) {
        let v2 = v1 * sizes[0].y;
        let v3 = v0 + v2;
        let v4 = b0[v3 >> 2u];
        s0_x = with_addend(s0_x, v4.x);
        s0_y = with_addend(s0_y, v4.y);
        s0_z = with_addend(s0_z, v4.z);
        s0_w = with_addend(s0_w, v4.w);
    }
    shared_0[(y) * 8u + x] = s0_x;
    shared_0[256u + (y) * 8u + x] = s0_y;
    shared_0[512u + (y) * 8u + x] = s0_z;
    shared_0[768u + (y) * 8u + x] = s0_w;
    workgroupBarrier();
    if y < 4u {
        var v5 = shared_0[(y) * 8u + x];
        for (var k = 4u; k < 32u; k += 4u) {
            v5 = sum_of_pairs(v5, shared_0[(y + k) * 8u + x]);
        }
        shared_0[(y) * 8u + x] = v5;
        var v6 = shared_0[256u + (y) * 8u + x];
        for (var k = 4u; k < 32u; k += 4u) {
            v6 = sum_of_pairs(v6, shared_0[256u + (y + k) * 8u + x]);
        }
        shared_0[256u + (y) * 8u + x] = v6;
        var v7 = shared_0[512u + (y) * 8u + x];
        for (var k = 4u; k < 32u; k += 4u) {
            v7 = sum_of_pairs(v7, shared_0[512u + (y + k) * 8u + x]);
        }
        shared_0[512u + (y) * 8u + x] = v7;
        var v8 = shared_0[768u + (y) * 8u + x];
        for (var k = 4u; k < 32u; k += 4u) {
            v8 = sum_of_pairs(v8, shared_0[768u + (y + k) * 8u + x]);
        }
        shared_0[768u + (y) * 8u + x] = v8;
    }
    workgroupBarrier();
    let v9 = shared_0[(0u) * 8u + x];
    let v10 = sum_of_pairs(v9, shared_0[(1u) * 8u + x]);
    let v11 = sum_of_pairs(v10, shared_0[(2u) * 8u + x]);
    let v12 = sum_of_pairs(v11, shared_0[(3u) * 8u + x]);
    let v13 = shared_0[256u + (0u) * 8u + x];
    let v14 = sum_of_pairs(v13, shared_0[256u + (1u) * 8u + x]);
    let v15 = sum_of_pairs(v14, shared_0[256u + (2u) * 8u + x]);
    let v16 = sum_of_pairs(v15, shared_0[256u + (3u) * 8u + x]);
    let v17 = shared_0[512u + (0u) * 8u + x];
    let v18 = sum_of_pairs(v17, shared_0[512u + (1u) * 8u + x]);
    let v19 = sum_of_pairs(v18, shared_0[512u + (2u) * 8u + x]);
    let v20 = sum_of_pairs(v19, shared_0[512u + (3u) * 8u + x]);
    let v21 = shared_0[768u + (0u) * 8u + x];
    let v22 = sum_of_pairs(v21, shared_0[768u + (1u) * 8u + x]);
    let v23 = sum_of_pairs(v22, shared_0[768u + (2u) * 8u + x]);
    let v24 = sum_of_pairs(v23, shared_0[768u + (3u) * 8u + x]);
    let v25 = vec4<f32>(compensated_sum(v12), compensated_sum(v16), compensated_sum(v20), compensated_sum(v24));
    if y == 0u && is_active {
        b1[v0 >> 2u] = v25;
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
