// broadcast
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> sizes: array<vec4<u32>, 1>;
var<private> guard: u32;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    guard = select(0u, 1u, arrayLength(&b0) == 0u);
    let workgroup = group.y * groups.x + group.x;
    let point = workgroup * 256u + lane;
    if point >= sizes[0].x * ((sizes[0].y + 3u) / 4u) {
        return;
    }
    let v0 = point % ((sizes[0].y + 3u) / 4u);
    let v1 = point / ((sizes[0].y + 3u) / 4u);
    let v2 = v0 * 4u;
    let v3 = v1 * sizes[0].y;
    let v4 = v2 + v3;
    let v5 = b0[v4 >> 2u];
    let v6 = b1[v2 >> 2u];
    let v7 = b1[v1 >> 2u][v1 & 3u];
    let v8 = v5 + v6;
    let v9 = vec4<f32>(v7) * v8;
    let v10 = vec4<f32>(hyperbolic_tangent_of(v9.x), hyperbolic_tangent_of(v9.y), hyperbolic_tangent_of(v9.z), hyperbolic_tangent_of(v9.w));
    b2[v4 >> 2u] = v10;
}

fn guard_zero() -> u32 {
    return guard;
}

// of shaders/common: is_nan, is_finite

// of shaders of tensors: exponential_of, logistic_of, hyperbolic_tangent_of
