// broadcast
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> sizes: array<vec4<u32>, 1>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
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
    let v10 = vec4<f32>(hyperbolic_tangent(v9.x), hyperbolic_tangent(v9.y), hyperbolic_tangent(v9.z), hyperbolic_tangent(v9.w));
    b2[v4 >> 2u] = v10;
}

fn hyperbolic_tangent(x: f32) -> f32 {
    if abs(x) < 0.625 {
        let z = x * x;
        let p = -0.33333284 + z * (0.13331491 + z * (-0.053743497 + z * (0.020650586 + z * -0.0057170433)));
        return x + x * z * p;
    }
    let size = 1.0 - 2.0 / (exponential(2.0 * abs(x)) + 1.0);
    return select(size, -size, x < 0.0);
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

fn rounded(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ guard_zero());
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

fn times_power_of_two(x: f32, power: i32) -> f32 {
    let bits = bitcast<u32>(x);
    let exponent = i32((bits >> 23u) & 255u) + power;
    let scaled = bitcast<f32>((bits & 0x807fffffu) | (u32(exponent) << 23u));
    let beyond = bitcast<f32>((bits & 0x80000000u) | bitcast<u32>(infinity()));
    return select(select(scaled, beyond, exponent >= 255), 0.0, exponent <= 0);
}

fn guard_zero() -> u32 {
    return select(0u, 1u, arrayLength(&b0) == 0u);
}

fn infinity() -> f32 {
    return bitcast<f32>(0x7f800000u | guard_zero());
}
