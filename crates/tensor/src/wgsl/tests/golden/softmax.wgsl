// softmax
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> sizes: array<vec4<u32>, 1>;
var<workgroup> shared_0: array<Extreme, 256>;
var<workgroup> shared_1: array<vec2<f32>, 256>;
var<private> guard: u32;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    guard = select(0u, 1u, arrayLength(&b0) == 0u);
    make_units();
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
    var s0_x = Extreme(bitcast<f32>(0xff800000u | guard_zero()), 0u);
    var s0_y = Extreme(bitcast<f32>(0xff800000u | guard_zero()), 0u);
    var s0_z = Extreme(bitcast<f32>(0xff800000u | guard_zero()), 0u);
    var s0_w = Extreme(bitcast<f32>(0xff800000u | guard_zero()), 0u);
    let v8 = v0 + v7;
    let v9 = b0[v8 >> 2u];
    s0_x = larger_of(s0_x, extreme_of(v9.x));
    s0_y = larger_of(s0_y, extreme_of(v9.y));
    s0_z = larger_of(s0_z, extreme_of(v9.z));
    s0_w = larger_of(s0_w, extreme_of(v9.w));
    let v10 = v2 + v7;
    let v11 = b0[v10 >> 2u];
    s0_x = larger_of(s0_x, extreme_of(v11.x));
    s0_y = larger_of(s0_y, extreme_of(v11.y));
    s0_z = larger_of(s0_z, extreme_of(v11.z));
    s0_w = larger_of(s0_w, extreme_of(v11.w));
    let v12 = v4 + v7;
    let v13 = b0[v12 >> 2u];
    s0_x = larger_of(s0_x, extreme_of(v13.x));
    s0_y = larger_of(s0_y, extreme_of(v13.y));
    s0_z = larger_of(s0_z, extreme_of(v13.z));
    s0_w = larger_of(s0_w, extreme_of(v13.w));
    let v14 = v6 + v7;
    let v15 = b0[v14 >> 2u];
    s0_x = larger_of(s0_x, extreme_of(v15.x));
    s0_y = larger_of(s0_y, extreme_of(v15.y));
    s0_z = larger_of(s0_z, extreme_of(v15.z));
    s0_w = larger_of(s0_w, extreme_of(v15.w));
    let v16 = larger_of(s0_x, s0_y);
    let v17 = larger_of(s0_z, s0_w);
    let v18 = larger_of(v16, v17);
    shared_0[y] = v18;
    workgroupBarrier();
    if y < 32u {
        var v19 = shared_0[y];
        for (var k = 32u; k < 256u; k += 32u) {
            v19 = larger_of(v19, shared_0[y + k]);
        }
        shared_0[y] = v19;
    }
    workgroupBarrier();
    if y < 4u {
        var v20 = shared_0[y];
        for (var k = 4u; k < 32u; k += 4u) {
            v20 = larger_of(v20, shared_0[y + k]);
        }
        shared_0[y] = v20;
    }
    workgroupBarrier();
    let v21 = shared_0[0u];
    let v22 = larger_of(v21, shared_0[1u]);
    let v23 = larger_of(v22, shared_0[2u]);
    let v24 = larger_of(v23, shared_0[3u]);
    let v25 = value_of_extreme(v24);
    var s1_x = vec2<f32>();
    var s1_y = vec2<f32>();
    var s1_z = vec2<f32>();
    var s1_w = vec2<f32>();
    let v26 = v9 - vec4<f32>(v25);
    let v27 = vec4<f32>(exponential_of(v26.x), exponential_of(v26.y), exponential_of(v26.z), exponential_of(v26.w));
    s1_x = with_number(s1_x, v27.x);
    s1_y = with_number(s1_y, v27.y);
    s1_z = with_number(s1_z, v27.z);
    s1_w = with_number(s1_w, v27.w);
    let v28 = v11 - vec4<f32>(v25);
    let v29 = vec4<f32>(exponential_of(v28.x), exponential_of(v28.y), exponential_of(v28.z), exponential_of(v28.w));
    s1_x = with_number(s1_x, v29.x);
    s1_y = with_number(s1_y, v29.y);
    s1_z = with_number(s1_z, v29.z);
    s1_w = with_number(s1_w, v29.w);
    let v30 = v13 - vec4<f32>(v25);
    let v31 = vec4<f32>(exponential_of(v30.x), exponential_of(v30.y), exponential_of(v30.z), exponential_of(v30.w));
    s1_x = with_number(s1_x, v31.x);
    s1_y = with_number(s1_y, v31.y);
    s1_z = with_number(s1_z, v31.z);
    s1_w = with_number(s1_w, v31.w);
    let v32 = v15 - vec4<f32>(v25);
    let v33 = vec4<f32>(exponential_of(v32.x), exponential_of(v32.y), exponential_of(v32.z), exponential_of(v32.w));
    s1_x = with_number(s1_x, v33.x);
    s1_y = with_number(s1_y, v33.y);
    s1_z = with_number(s1_z, v33.z);
    s1_w = with_number(s1_w, v33.w);
    let v34 = merged_sums(s1_x, s1_y);
    let v35 = merged_sums(s1_z, s1_w);
    let v36 = merged_sums(v34, v35);
    workgroupBarrier();
    shared_1[y] = v36;
    workgroupBarrier();
    if y < 32u {
        var v37 = shared_1[y];
        for (var k = 32u; k < 256u; k += 32u) {
            v37 = merged_sums(v37, shared_1[y + k]);
        }
        shared_1[y] = v37;
    }
    workgroupBarrier();
    if y < 4u {
        var v38 = shared_1[y];
        for (var k = 4u; k < 32u; k += 4u) {
            v38 = merged_sums(v38, shared_1[y + k]);
        }
        shared_1[y] = v38;
    }
    workgroupBarrier();
    let v39 = shared_1[0u];
    let v40 = merged_sums(v39, shared_1[1u]);
    let v41 = merged_sums(v40, shared_1[2u]);
    let v42 = merged_sums(v41, shared_1[3u]);
    let v43 = total_of_sum(v42);
    let v44 = v27 / vec4<f32>(v43);
    b1[v8 >> 2u] = v44;
    let v45 = v29 / vec4<f32>(v43);
    b1[v10 >> 2u] = v45;
    let v46 = v31 / vec4<f32>(v43);
    b1[v12 >> 2u] = v46;
    let v47 = v33 / vec4<f32>(v43);
    b1[v14 >> 2u] = v47;
}

var<private> unit_0: f32;
var<private> unit_1: f32;
var<private> unit_2: f32;
var<private> unit_3: f32;
var<private> unit_4: f32;

fn guard_zero() -> u32 {
    return guard;
}

// of shaders/common: not_a_number, is_nan, is_finite

// of shaders of tensors: Extreme, extreme_of, smaller_of, larger_of, value_of_extreme, unit, make_units, sum_with_error, with_number, merged_sums, total_of_sum, exponential_of, logistic_of, hyperbolic_tangent_of
