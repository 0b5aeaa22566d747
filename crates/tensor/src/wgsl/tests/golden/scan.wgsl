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
        own = with_number(own, v4.x);
        own = with_number(own, v4.y);
        own = with_number(own, v4.z);
        own = with_number(own, v4.w);
    }
    var state = vec2<f32>();
    shared_states[lane] = own;
    workgroupBarrier();
    if lane % 16u == 0u {
        var total = vec2<f32>();
        for (var k = 0u; k < 16u; k++) {
            total = merged_sums(total, shared_states[lane + k]);
        }
        shared_totals[lane / 16u] = total;
    }
    workgroupBarrier();
    for (var k = 0u; k < lane / 16u; k++) {
        state = merged_sums(state, shared_totals[k]);
    }
    for (var k = lane / 16u * 16u; k < lane; k++) {
        state = merged_sums(state, shared_states[k]);
    }
    for (var v5 = lane * share; v5 < min((lane + 1u) * share, chunks); v5++) {
        let v6 = v5 * 4u;
        var result_x = state;
        var result_y = state;
        var result_z = state;
        var result_w = state;
        let v7 = v6 + v0;
        let v8 = b0[v7 >> 2u];
        state = with_number(state, v8.x);
        result_x = state;
        state = with_number(state, v8.y);
        result_y = state;
        state = with_number(state, v8.z);
        result_z = state;
        state = with_number(state, v8.w);
        result_w = state;
        let v9 = vec4<f32>(total_of_sum(result_x), total_of_sum(result_y), total_of_sum(result_z), total_of_sum(result_w));
        b1[v7 >> 2u] = v9;
    }
}

var<private> unit_0: f32;
var<private> unit_1: f32;
var<private> unit_2: f32;
var<private> unit_3: f32;
var<private> unit_4: f32;

fn unit(number: u32) -> f32 {
    return bitcast<f32>(0x3f800000u | (guard_zero() << number));
}

fn make_units() {
    unit_0 = unit(0u);
    unit_1 = unit(1u);
    unit_2 = unit(2u);
    unit_3 = unit(3u);
    unit_4 = unit(4u);
}

fn sum_with_error(a: f32, b: f32) -> vec2<f32> {
    let sum = a + b;
    let b_part = sum * unit_0 - a;
    let a_part = sum * unit_1 - b_part;
    let a_error = a - a_part * unit_2;
    let b_error = b - b_part * unit_3;
    return vec2<f32>(sum, a_error * unit_4 + b_error);
}

fn with_number(sum: vec2<f32>, addend: f32) -> vec2<f32> {
    let next = sum_with_error(sum.x, addend);
    return vec2<f32>(next.x, sum.y + next.y);
}

fn merged_sums(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let sum = sum_with_error(a.x, b.x);
    return vec2<f32>(sum.x, sum.y + (a.y + b.y));
}

fn total_of_sum(sum: vec2<f32>) -> f32 {
    return select(sum.x, sum.x + sum.y, is_finite(sum.x));
}

fn guard_zero() -> u32 {
    return guard;
}

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}
