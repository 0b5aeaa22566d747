// softmax
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> sizes: array<vec4<u32>, 1>;
var<workgroup> shared_0: array<f32, 256>;
var<workgroup> shared_1: array<vec2<f32>, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let workgroup = group.y * groups.x + group.x;
    let unit = workgroup;
    let y = lane;
    if unit >= sizes[0].x {
        return;
    }
    let chunks = ((sizes[0].x + 3u) / 4u);
    let v0 = y * 4u;
    let v1 = y + 256u;
    let v2 = v1 * 4u;
    let v3 = y + 512u;
    let v4 = v3 * 4u;
    let v5 = y + 768u;
    let v6 = v5 * 4u;
    let v7 = unit * sizes[0].x;
    var s0_x = bitcast<f32>(0xff800000u | guard_zero());
    var s0_y = bitcast<f32>(0xff800000u | guard_zero());
    var s0_z = bitcast<f32>(0xff800000u | guard_zero());
    var s0_w = bitcast<f32>(0xff800000u | guard_zero());
    let v8 = v0 + v7;
    let v9 = b0[v8 >> 2u];
    s0_x = maximum(s0_x, v9.x);
    s0_y = maximum(s0_y, v9.y);
    s0_z = maximum(s0_z, v9.z);
    s0_w = maximum(s0_w, v9.w);
    let v10 = v2 + v7;
    let v11 = b0[v10 >> 2u];
    s0_x = maximum(s0_x, v11.x);
    s0_y = maximum(s0_y, v11.y);
    s0_z = maximum(s0_z, v11.z);
    s0_w = maximum(s0_w, v11.w);
    let v12 = v4 + v7;
    let v13 = b0[v12 >> 2u];
    s0_x = maximum(s0_x, v13.x);
    s0_y = maximum(s0_y, v13.y);
    s0_z = maximum(s0_z, v13.z);
    s0_w = maximum(s0_w, v13.w);
    let v14 = v6 + v7;
    let v15 = b0[v14 >> 2u];
    s0_x = maximum(s0_x, v15.x);
    s0_y = maximum(s0_y, v15.y);
    s0_z = maximum(s0_z, v15.z);
    s0_w = maximum(s0_w, v15.w);
    let v16 = maximum(s0_x, s0_y);
    let v17 = maximum(s0_z, s0_w);
    let v18 = maximum(v16, v17);
    shared_0[y] = v18;
    workgroupBarrier();
    if y < 32u {
        var v19 = shared_0[y];
        for (var k = 32u; k < 256u; k += 32u) {
            v19 = maximum(v19, shared_0[y + k]);
        }
        shared_0[y] = v19;
    }
    workgroupBarrier();
    if y < 4u {
        var v20 = shared_0[y];
        for (var k = 4u; k < 32u; k += 4u) {
            v20 = maximum(v20, shared_0[y + k]);
        }
        shared_0[y] = v20;
    }
    workgroupBarrier();
    let v21 = shared_0[0u];
    let v22 = maximum(v21, shared_0[1u]);
    let v23 = maximum(v22, shared_0[2u]);
    let v24 = maximum(v23, shared_0[3u]);
    let v25 = v24;
    var s1_x = vec2<f32>();
    var s1_y = vec2<f32>();
    var s1_z = vec2<f32>();
    var s1_w = vec2<f32>();
    let v26 = v9 - vec4<f32>(v25);
    let v27 = vec4<f32>(exponential(v26.x), exponential(v26.y), exponential(v26.z), exponential(v26.w));
    s1_x = with_addend(s1_x, v27.x);
    s1_y = with_addend(s1_y, v27.y);
    s1_z = with_addend(s1_z, v27.z);
    s1_w = with_addend(s1_w, v27.w);
    let v28 = v11 - vec4<f32>(v25);
    let v29 = vec4<f32>(exponential(v28.x), exponential(v28.y), exponential(v28.z), exponential(v28.w));
    s1_x = with_addend(s1_x, v29.x);
    s1_y = with_addend(s1_y, v29.y);
    s1_z = with_addend(s1_z, v29.z);
    s1_w = with_addend(s1_w, v29.w);
    let v30 = v13 - vec4<f32>(v25);
    let v31 = vec4<f32>(exponential(v30.x), exponential(v30.y), exponential(v30.z), exponential(v30.w));
    s1_x = with_addend(s1_x, v31.x);
    s1_y = with_addend(s1_y, v31.y);
    s1_z = with_addend(s1_z, v31.z);
    s1_w = with_addend(s1_w, v31.w);
    let v32 = v15 - vec4<f32>(v25);
    let v33 = vec4<f32>(exponential(v32.x), exponential(v32.y), exponential(v32.z), exponential(v32.w));
    s1_x = with_addend(s1_x, v33.x);
    s1_y = with_addend(s1_y, v33.y);
    s1_z = with_addend(s1_z, v33.z);
    s1_w = with_addend(s1_w, v33.w);
    let v34 = sum_of_pairs(s1_x, s1_y);
    let v35 = sum_of_pairs(s1_z, s1_w);
    let v36 = sum_of_pairs(v34, v35);
    workgroupBarrier();
    shared_1[y] = v36;
    workgroupBarrier();
    if y < 32u {
        var v37 = shared_1[y];
        for (var k = 32u; k < 256u; k += 32u) {
            v37 = sum_of_pairs(v37, shared_1[y + k]);
        }
        shared_1[y] = v37;
    }
    workgroupBarrier();
    if y < 4u {
        var v38 = shared_1[y];
        for (var k = 4u; k < 32u; k += 4u) {
            v38 = sum_of_pairs(v38, shared_1[y + k]);
        }
        shared_1[y] = v38;
    }
    workgroupBarrier();
    let v39 = shared_1[0u];
    let v40 = sum_of_pairs(v39, shared_1[1u]);
    let v41 = sum_of_pairs(v40, shared_1[2u]);
    let v42 = sum_of_pairs(v41, shared_1[3u]);
    let v43 = compensated_sum(v42);
    let v44 = v27 / vec4<f32>(v43);
    b1[v8 >> 2u] = v44;
    let v45 = v29 / vec4<f32>(v43);
    b1[v10 >> 2u] = v45;
    let v46 = v31 / vec4<f32>(v43);
    b1[v12 >> 2u] = v46;
    let v47 = v33 / vec4<f32>(v43);
    b1[v14 >> 2u] = v47;
}

fn guard_zero() -> u32 {
    return select(0u, 1u, arrayLength(&b0) == 0u);
}

fn minimum(a: f32, b: f32) -> f32 {
    return select(min(a, b), not_a_number(), is_nan(a) | is_nan(b));
}

fn maximum(a: f32, b: f32) -> f32 {
    return select(max(a, b), not_a_number(), is_nan(a) | is_nan(b));
}

fn exponential_series(r: f32) -> f32 {
    let p = 0.5 + r * (0.16666518 + r * (0.041666202 + r * (0.008369025 + r * 0.001395072)));
    return 1.0 + (r + r * r * p);
}

fn exponential_scaled(x: f32, power: i32) -> f32 {
    let bounded = clamp(x, -120.0, 120.0);
    let k = floor(bounded * 1.442695 + 0.5);
    let r = rounded(bounded - k * 0.693145751953125) - k * 1.4286068e-6;
    let value = times_power_of_two(exponential_series(r), i32(k) + power);
    return select(value, not_a_number(), is_nan(x));
}

fn exponential(x: f32) -> f32 {
    return exponential_scaled(x, 0);
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

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

fn not_a_number() -> f32 {
    return bitcast<f32>(0x7fc00000u | guard_zero());
}

fn rounded(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ guard_zero());
}

fn times_power_of_two(x: f32, power: i32) -> f32 {
    let bits = bitcast<u32>(x);
    let exponent = i32((bits >> 23u) & 255u) + power;
    let scaled = bitcast<f32>((bits & 0x807fffffu) | (u32(exponent) << 23u));
    let beyond = bitcast<f32>((bits & 0x80000000u) | bitcast<u32>(infinity()));
    return select(select(scaled, beyond, exponent >= 255), 0.0, exponent <= 0);
}

fn infinity() -> f32 {
    return bitcast<f32>(0x7f800000u | guard_zero());
}
