// scan
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> sizes: array<vec4<u32>, 1>;
var<workgroup> shared_states: array<vec2<f32>, 256>;
var<workgroup> shared_totals: array<vec2<f32>, 16>;
var<private> guard: u32;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    guard = select(0u, 1u, arrayLength(&b0) == 0u);
    make_units();
    let workgroup = group.y * groups.x + group.x;
    let rows = sizes[0].x;
    if workgroup * 1u >= rows {
        return;
    }
    let y = lane;
    let unit = workgroup;
    let v0 = unit * sizes[0].y;
    let chunks = ((sizes[0].y + 3u) / 4u);
    let share = 4u;
    let v1 = y * share + 0u;
    let v2 = v1 * 4u;
    let v3 = y * share + 1u;
    let v4 = v3 * 4u;
    let v5 = y * share + 2u;
    let v6 = v5 * 4u;
    let v7 = y * share + 3u;
    let v8 = v7 * 4u;
    var own = vec2<f32>();
    let v9 = v2 + v0;
    let v10 = b0[v9 >> 2u];
    own = with_number(own, v10.x);
    own = with_number(own, v10.y);
    own = with_number(own, v10.z);
    own = with_number(own, v10.w);
    let v11 = v4 + v0;
    let v12 = b0[v11 >> 2u];
    own = with_number(own, v12.x);
    own = with_number(own, v12.y);
    own = with_number(own, v12.z);
    own = with_number(own, v12.w);
    let v13 = v6 + v0;
    let v14 = b0[v13 >> 2u];
    own = with_number(own, v14.x);
    own = with_number(own, v14.y);
    own = with_number(own, v14.z);
    own = with_number(own, v14.w);
    let v15 = v8 + v0;
    let v16 = b0[v15 >> 2u];
    own = with_number(own, v16.x);
    own = with_number(own, v16.y);
    own = with_number(own, v16.z);
    own = with_number(own, v16.w);
    var state = vec2<f32>();
    shared_states[y] = own;
    workgroupBarrier();
    if y < 16u {
        var total = vec2<f32>();
        for (var k = 0u; k < 16u; k++) {
            let next = shared_states[y * 16u + k];
            shared_states[y * 16u + k] = total;
            total = merged_sums(total, next);
        }
        shared_totals[y] = total;
    }
    workgroupBarrier();
    for (var k = 0u; k < y / 16u; k++) {
        state = merged_sums(state, shared_totals[k]);
    }
    state = merged_sums(state, shared_states[y]);
    var v17 = state;
    var v18 = state;
    var v19 = state;
    var v20 = state;
    state = with_number(state, v10.x);
    v17 = state;
    state = with_number(state, v10.y);
    v18 = state;
    state = with_number(state, v10.z);
    v19 = state;
    state = with_number(state, v10.w);
    v20 = state;
    let v21 = vec4<f32>(total_of_sum(v17), total_of_sum(v18), total_of_sum(v19), total_of_sum(v20));
    b1[v9 >> 2u] = v21;
    var v22 = state;
    var v23 = state;
    var v24 = state;
    var v25 = state;
    state = with_number(state, v12.x);
    v22 = state;
    state = with_number(state, v12.y);
    v23 = state;
    state = with_number(state, v12.z);
    v24 = state;
    state = with_number(state, v12.w);
    v25 = state;
    let v26 = vec4<f32>(total_of_sum(v22), total_of_sum(v23), total_of_sum(v24), total_of_sum(v25));
    b1[v11 >> 2u] = v26;
    var v27 = state;
    var v28 = state;
    var v29 = state;
    var v30 = state;
    state = with_number(state, v14.x);
    v27 = state;
    state = with_number(state, v14.y);
    v28 = state;
    state = with_number(state, v14.z);
    v29 = state;
    state = with_number(state, v14.w);
    v30 = state;
    let v31 = vec4<f32>(total_of_sum(v27), total_of_sum(v28), total_of_sum(v29), total_of_sum(v30));
    b1[v13 >> 2u] = v31;
    var v32 = state;
    var v33 = state;
    var v34 = state;
    var v35 = state;
    state = with_number(state, v16.x);
    v32 = state;
    state = with_number(state, v16.y);
    v33 = state;
    state = with_number(state, v16.z);
    v34 = state;
    state = with_number(state, v16.w);
    v35 = state;
    let v36 = vec4<f32>(total_of_sum(v32), total_of_sum(v33), total_of_sum(v34), total_of_sum(v35));
    b1[v15 >> 2u] = v36;
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
