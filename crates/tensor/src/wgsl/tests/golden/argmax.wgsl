// reduction
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<i32>;
@group(0) @binding(2) var<uniform> sizes: array<vec4<u32>, 1>;
var<workgroup> shared_0: array<Place, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let workgroup = group.y * groups.x + group.x;
    let rows = sizes[0].x;
    if workgroup * 32u >= rows {
        return;
    }
    let x = lane / 8u;
    let y = lane % 8u;
    let is_active = workgroup * 32u + x < rows;
    let unit = min(workgroup * 32u + x, rows - 1u);
    let chunks = ((sizes[0].y + 3u) / 4u);
    let v0 = unit * sizes[0].y;
    var s0_x = Place(0u, 0xffffffffu);
    var s0_y = Place(0u, 0xffffffffu);
    var s0_z = Place(0u, 0xffffffffu);
    var s0_w = Place(0u, 0xffffffffu);
    var v1 = y;
    for (; v1 < chunks; v1 += 8u) {
        let v2 = v1 * 4u;
        let v3 = v2 + vec4<u32>(0u, 1u, 2u, 3u);
        let v4 = v2 + v0;
        let v5 = b0[v4 >> 2u];
        s0_x = first_of(s0_x, place_of_f32(v5.x, v3.x, 0u));
        s0_y = first_of(s0_y, place_of_f32(v5.y, v3.y, 0u));
        s0_z = first_of(s0_z, place_of_f32(v5.z, v3.z, 0u));
        s0_w = first_of(s0_w, place_of_f32(v5.w, v3.w, 0u));
    }
    let v6 = first_of(s0_x, s0_y);
    let v7 = first_of(s0_z, s0_w);
    let v8 = first_of(v6, v7);
    shared_0[x * 8u + y] = v8;
    workgroupBarrier();
    let v9 = shared_0[x * 8u + 0u];
    let v10 = first_of(v9, shared_0[x * 8u + 1u]);
    let v11 = first_of(v10, shared_0[x * 8u + 2u]);
    let v12 = first_of(v11, shared_0[x * 8u + 3u]);
    let v13 = first_of(v12, shared_0[x * 8u + 4u]);
    let v14 = first_of(v13, shared_0[x * 8u + 5u]);
    let v15 = first_of(v14, shared_0[x * 8u + 6u]);
    let v16 = first_of(v15, shared_0[x * 8u + 7u]);
    let v17 = i32(select(v16.position, 0u, v16.position == 0xffffffffu));
    if y == 0u && is_active {
        b1[unit] = v17;
    }
}

fn key_of_f32(x: f32, flip: u32) -> u32 {
    let bits = bitcast<u32>(x);
    let ordered = select(bits | 0x80000000u, 0u - bits, bits >= 0x80000000u);
    let key = select(ordered, 0x80000000u, x == 0.0) ^ flip;
    return select(key, 0xffffffffu, (bits & 0x7fffffffu) > 0x7f800000u);
}

fn f32_of_key(key: u32, flip: u32) -> f32 {
    let ordered = key ^ flip;
    let bits = select(0u - ordered, ordered ^ 0x80000000u, ordered >= 0x80000000u);
    let number = select(bits, 0x7fc00000u, key == 0xffffffffu);
    return bitcast<f32>(select(number, select(0xff800000u, 0x7f800000u, flip != 0u), key == 0u));
}

fn place_of_f32(x: f32, position: u32, flip: u32) -> Place {
    return Place(select(key_of_f32(x, flip), 0u, position == 0xffffffffu), position);
}

// of shaders of tensors: Place, first_of
