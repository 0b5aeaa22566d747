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

fn exponential_of(x: f32) -> f32 {
    let shifted = bitcast<u32>(x * 1.442695 + 12582912.0);
    let k = bitcast<f32>(shifted ^ guard_zero()) - 12582912.0;
    let one = bitcast<f32>(0x3f800000u | guard_zero());
    let r = (x - k * 0.693145751953125) * one - k * 1.4286068e-6;
    let p = 0.5 + r * (0.16666518 + r * (0.041666202 + r * (0.008369025 + r * 0.001395072)));
    let scaled = bitcast<f32>(bitcast<u32>(1.0 + (r + r * r * p)) + (shifted << 23u));
    let beyond = bitcast<f32>(0x7f800000u | guard_zero());
    let value = select(select(scaled, beyond, x > 88.72283), 0.0, x < -87.33654);
    return select(value, x, is_nan(x));
}

fn logistic_of(x: f32) -> f32 {
    let e = exponential_of(-abs(x));
    return select(1.0, e, x < 0.0) / (1.0 + e);
}

fn hyperbolic_tangent_of(x: f32) -> f32 {
    let z = x * x;
    let p = -0.33333284 + z * (0.13331491 + z * (-0.053743497 + z * (0.020650586 + z * -0.0057170433)));
    let size = 1.0 - 2.0 / (exponential_of(2.0 * abs(x)) + 1.0);
    return select(select(size, -size, x < 0.0), x + x * z * p, abs(x) < 0.625);
}

fn guard_zero() -> u32 {
    return guard;
}

// of shaders/common: is_nan, is_finite
