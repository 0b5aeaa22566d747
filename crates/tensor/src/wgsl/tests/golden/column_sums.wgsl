// reduction
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> sizes: array<vec4<u32>, 1>;
var<workgroup> shared_0: array<vec2<f32>, 1024>;
var<private> guard: u32;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    guard = select(0u, 1u, arrayLength(&b0) == 0u);
    make_units();
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
    var v1 = y;
    for (; v1 + 96u < chunks; v1 += 128u) {
        let v2 = v1 * sizes[0].y;
        let v3 = v0 + v2;
        let v4 = b0[v3 >> 2u];
        let v5 = v1 + 32u;
        let v6 = v5 * sizes[0].y;
        let v7 = v0 + v6;
        let v8 = b0[v7 >> 2u];
        let v9 = v1 + 64u;
        let v10 = v9 * sizes[0].y;
        let v11 = v0 + v10;
        let v12 = b0[v11 >> 2u];
        let v13 = v1 + 96u;
        let v14 = v13 * sizes[0].y;
        let v15 = v0 + v14;
        let v16 = b0[v15 >> 2u];
        s0_x = with_number(s0_x, v4.x);
        s0_y = with_number(s0_y, v4.y);
        s0_z = with_number(s0_z, v4.z);
        s0_w = with_number(s0_w, v4.w);
        s0_x = with_number(s0_x, v8.x);
        s0_y = with_number(s0_y, v8.y);
        s0_z = with_number(s0_z, v8.z);
        s0_w = with_number(s0_w, v8.w);
        s0_x = with_number(s0_x, v12.x);
        s0_y = with_number(s0_y, v12.y);
        s0_z = with_number(s0_z, v12.z);
        s0_w = with_number(s0_w, v12.w);
        s0_x = with_number(s0_x, v16.x);
        s0_y = with_number(s0_y, v16.y);
        s0_z = with_number(s0_z, v16.z);
        s0_w = with_number(s0_w, v16.w);
    }
    for (; v1 < chunks; v1 += 32u) {
        let v17 = v1 * sizes[0].y;
        let v18 = v0 + v17;
        let v19 = b0[v18 >> 2u];
        s0_x = with_number(s0_x, v19.x);
        s0_y = with_number(s0_y, v19.y);
        s0_z = with_number(s0_z, v19.z);
        s0_w = with_number(s0_w, v19.w);
    }
    shared_0[(y) * 8u + x] = s0_x;
    shared_0[256u + (y) * 8u + x] = s0_y;
    shared_0[512u + (y) * 8u + x] = s0_z;
    shared_0[768u + (y) * 8u + x] = s0_w;
    workgroupBarrier();
    if y < 4u {
        var v20 = shared_0[(y) * 8u + x];
        for (var k = 4u; k < 32u; k += 4u) {
            v20 = merged_sums(v20, shared_0[(y + k) * 8u + x]);
        }
        shared_0[(y) * 8u + x] = v20;
        var v21 = shared_0[256u + (y) * 8u + x];
        for (var k = 4u; k < 32u; k += 4u) {
            v21 = merged_sums(v21, shared_0[256u + (y + k) * 8u + x]);
        }
        shared_0[256u + (y) * 8u + x] = v21;
        var v22 = shared_0[512u + (y) * 8u + x];
        for (var k = 4u; k < 32u; k += 4u) {
            v22 = merged_sums(v22, shared_0[512u + (y + k) * 8u + x]);
        }
        shared_0[512u + (y) * 8u + x] = v22;
        var v23 = shared_0[768u + (y) * 8u + x];
        for (var k = 4u; k < 32u; k += 4u) {
            v23 = merged_sums(v23, shared_0[768u + (y + k) * 8u + x]);
        }
        shared_0[768u + (y) * 8u + x] = v23;
    }
    workgroupBarrier();
    let v24 = shared_0[(0u) * 8u + x];
    let v25 = merged_sums(v24, shared_0[(1u) * 8u + x]);
    let v26 = merged_sums(v25, shared_0[(2u) * 8u + x]);
    let v27 = merged_sums(v26, shared_0[(3u) * 8u + x]);
    let v28 = shared_0[256u + (0u) * 8u + x];
    let v29 = merged_sums(v28, shared_0[256u + (1u) * 8u + x]);
    let v30 = merged_sums(v29, shared_0[256u + (2u) * 8u + x]);
    let v31 = merged_sums(v30, shared_0[256u + (3u) * 8u + x]);
    let v32 = shared_0[512u + (0u) * 8u + x];
    let v33 = merged_sums(v32, shared_0[512u + (1u) * 8u + x]);
    let v34 = merged_sums(v33, shared_0[512u + (2u) * 8u + x]);
    let v35 = merged_sums(v34, shared_0[512u + (3u) * 8u + x]);
    let v36 = shared_0[768u + (0u) * 8u + x];
    let v37 = merged_sums(v36, shared_0[768u + (1u) * 8u + x]);
    let v38 = merged_sums(v37, shared_0[768u + (2u) * 8u + x]);
    let v39 = merged_sums(v38, shared_0[768u + (3u) * 8u + x]);
    let v40 = vec4<f32>(total_of_sum(v27), total_of_sum(v31), total_of_sum(v35), total_of_sum(v39));
    if y == 0u && is_active {
        b1[v0 >> 2u] = v40;
    }
}

var<private> unit_0: f32;
var<private> unit_1: f32;
var<private> unit_2: f32;
var<private> unit_3: f32;
var<private> unit_4: f32;

fn guard_zero() -> u32 {
    return guard;
}

// of shaders/common: is_nan, is_finite

// of shaders of tensors: unit, make_units, sum_with_error, with_number, merged_sums, total_of_sum
