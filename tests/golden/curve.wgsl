// curve: residual and partials by a, b, c

struct Dispatch {
    count: u32,  // instances
    stride: u32, // distance between the columns of a table
    first: u32,  // where instance 0 stands in an interleaved buffer
    nan: u32,    // bits of a NaN
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> data: array<f32>;
@group(0) @binding(2) var<storage, read> constants: array<f32>;
@group(0) @binding(3) var<storage, read_write> residuals: array<f32>;
@group(0) @binding(4) var<storage, read_write> jacobian_values: array<f32>;
@group(0) @binding(5) var<storage, read> zero: array<u32>;
@group(0) @binding(6) var<uniform> dispatch: Dispatch;

@compute @workgroup_size(64)
fn jacobian(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = workgroup.x + workgroup.y * workgroups.x;
    let instance = group * 64u + lane;
    if instance >= dispatch.count {
        return;
    }

    let x_at_0 = x[0u];
    let constants_at_0 = constants[0u];
    let v0 = minimum(x_at_0, constants_at_0);
    let x_at_1 = x[1u];
    let data_0 = data[instance];
    let v1 = x_at_1 * data_0;
    let x_at_2 = x[2u];
    let v2 = v1 + x_at_2;
    let v3 = sine_cosine(v2);
    let v4 = select(0.0, v3.x, (x_at_0 < constants_at_0) & !is_nan(x_at_0) & !is_nan(constants_at_0));
    jacobian_values[instance] = v4;
    let v5 = v0 * v3.x;
    let data_1 = data[dispatch.stride + instance];
    let v6 = v5 - data_1;
    residuals[dispatch.first + instance] = v6;
    let v7 = v0 * v3.y;
    jacobian_values[2u * dispatch.stride + instance] = v7;
    let v8 = v7 * data_0;
    jacobian_values[dispatch.stride + instance] = v8;
}

fn minimum(a: f32, b: f32) -> f32 {
    return select(min(a, b), not_a_number(), is_nan(a) | is_nan(b));
}

fn maximum(a: f32, b: f32) -> f32 {
    return select(max(a, b), not_a_number(), is_nan(a) | is_nan(b));
}

fn sine_cosine(x: f32) -> vec2<f32> {
    let angle = reduced_angle(x);
    let r = angle.remainder;
    let z = r * r;
    let sine_part = r + r * z * (-0.16666654 + z * (0.008332071 + z * -0.00019503069));
    let cosine_part = 1.0 - (0.5 * z - z * z * (0.041666646 + z * (-0.0013887251 + z * 2.4424924e-5)));
    let swapped = (angle.quadrant & 1u) != 0u;
    let sine_bits = bitcast<u32>(select(sine_part, cosine_part, swapped));
    let cosine_bits = bitcast<u32>(select(cosine_part, sine_part, swapped));
    return vec2<f32>(
        bitcast<f32>(sine_bits ^ ((angle.quadrant & 2u) << 30u)),
        bitcast<f32>(cosine_bits ^ (((angle.quadrant + 1u) & 2u) << 30u)),
    );
}

fn sine(x: f32) -> f32 {
    return sine_cosine(x).x;
}

fn cosine(x: f32) -> f32 {
    return sine_cosine(x).y;
}

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

fn not_a_number() -> f32 {
    return bitcast<f32>(dispatch.nan);
}

struct ReducedAngle {
    remainder: f32,
    quadrant: u32,
}

fn reduced_angle(x: f32) -> ReducedAngle {
    let turns = floor(x * 0.636619772 + 0.5);
    var remainder = rounded(x - turns * 1.5703125);
    remainder = rounded(remainder - turns * 0.0004825592041015625);
    remainder = rounded(remainder - turns * 1.2665987014770508e-6);
    remainder = clamp(remainder - turns * 9.920936e-10, -0.8, 0.8);
    let whole = clamp(turns, -1e9, 1e9);
    return ReducedAngle(select(not_a_number(), remainder, is_finite(x)), bitcast<u32>(i32(whole)) & 3u);
}

fn rounded(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ guard_zero());
}

fn guard_zero() -> u32 {
    return zero[0];
}
