// reduction
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<i32>;
@group(0) @binding(2) var<uniform> sizes: array<vec4<u32>, 1>;
var<workgroup> shared_0: array<Place_f32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let workgroup = group.y * groups.x + group.x;
    let rows = sizes[0].x;
    if workgroup * 8u >= rows {
        return;
    }
    let x = lane / 32u;
    let y = lane % 32u;
    let is_active = workgroup * 8u + x < rows;
    let unit = min(workgroup * 8u + x, rows - 1u);
    let chunks = ((sizes[0].y + 3u) / 4u);
    let v0 = unit * sizes[0].y;
    var s0_x = Place_f32(bitcast<f32>(0xff800000u | guard_zero()), 0xffffffffu);
    var s0_y = Place_f32(bitcast<f32>(0xff800000u | guard_zero()), 0xffffffffu);
    var s0_z = Place_f32(bitcast<f32>(0xff800000u | guard_zero()), 0xffffffffu);
    var s0_w = Place_f32(bitcast<f32>(0xff800000u | guard_zero()), 0xffffffffu);
    for (var v1 = y; v1 < chunks; v1 += 32u) {
        let v2 = v1 * 4u;
        let v3 = v2 + vec4<u32>(0u, 1u, 2u, 3u);
        let v4 = v2 + v0;
        let v5 = b0[v4 >> 2u];
        s0_x = first_extreme_f32(true, s0_x, Place_f32(v5.x, v3.x));
        s0_y = first_extreme_f32(true, s0_y, Place_f32(v5.y, v3.y));
        s0_z = first_extreme_f32(true, s0_z, Place_f32(v5.z, v3.z));
        s0_w = first_extreme_f32(true, s0_w, Place_f32(v5.w, v3.w));
    }
    let v6 = first_extreme_f32(true, s0_x, s0_y);
    let v7 = first_extreme_f32(true, s0_z, s0_w);
    let v8 = first_extreme_f32(true, v6, v7);
    shared_0[x * 32u + y] = v8;
    workgroupBarrier();
    if y < 4u {
        var v9 = shared_0[x * 32u + y];
        for (var k = 4u; k < 32u; k += 4u) {
            v9 = first_extreme_f32(true, v9, shared_0[x * 32u + y + k]);
        }
        shared_0[x * 32u + y] = v9;
    }
    workgroupBarrier();
    let v10 = shared_0[x * 32u + 0u];
    let v11 = first_extreme_f32(true, v10, shared_0[x * 32u + 1u]);
    let v12 = first_extreme_f32(true, v11, shared_0[x * 32u + 2u]);
    let v13 = first_extreme_f32(true, v12, shared_0[x * 32u + 3u]);
    let v14 = i32(v13.position);
    if y == 0u && is_active {
        b1[unit] = v14;
    }
}

struct Place_f32 {
    value: f32,
    position: u32,
}

fn is_beyond_f32(largest: bool, a: f32, b: f32) -> bool {
    let beyond = select(a < b, b < a, largest);
    return select(beyond, is_nan(a) & !is_nan(b), is_nan(a) | is_nan(b));
}

fn first_extreme_f32(largest: bool, a: Place_f32, b: Place_f32) -> Place_f32 {
    let is_later = b.position < a.position;
    let later = is_beyond_f32(largest, b.value, a.value) | (!is_beyond_f32(largest, a.value, b.value) & is_later);
    return Place_f32(select(a.value, b.value, later), select(a.position, b.position, later));
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
