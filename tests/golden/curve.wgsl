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

fn guard_zero() -> u32 {
    return zero[0];
}

// of shaders/common: minimum, maximum, sine_cosine, sine, cosine, is_nan, is_finite, not_a_number, ReducedAngle, reduced_angle, rounded
