// Weighted sum of the residuals and its gradient: springs.
// 1 residual(s) an instance, 6 local parameter(s) in 2 block(s), 0 data, 1 batch constant(s).
// Summed by block of 3 number(s): one list for each of 2 slot(s).

struct Dispatch {
    count: u32,  // owners
    stride: u32, // distance between the columns of a table of entries
    first: u32,  // where the first owner's numbers stand
    nan: u32,    // bits of a NaN
    width: u32,  // distance between the columns of other tables
    add: u32,    // 1: add to what stands there, 0: write over it
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> others: array<u32>;
@group(0) @binding(2) var<storage, read> batch_constants: array<f32>;
@group(0) @binding(3) var<storage, read_write> gradient: array<f32>;
@group(0) @binding(4) var<storage, read> offsets: array<u32>;
@group(0) @binding(5) var<storage, read_write> partials: array<f32>;
@group(0) @binding(6) var<uniform> dispatch: Dispatch;

var<workgroup> sums: array<f32, 64>;

@compute @workgroup_size(64)
fn sumGradientByBlockOf3(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = workgroup.x + workgroup.y * workgroups.x;
    let start = group * 64u + lane;
    let threads = workgroups.x * workgroups.y * 64u;
    var total = 0.0;
    for (var owner = start; owner < dispatch.count; owner += threads) {
        let first = dispatch.first + owner * 3u;
        let own_x_0 = x[first];
        let own_x_1 = x[first + 1u];
        let own_x_2 = x[first + 2u];
        var sum_0 = vec2<f32>();
        var sum_1 = vec2<f32>();
        var sum_2 = vec2<f32>();
        if dispatch.add != 0u {
            sum_0.x = gradient[first];
            sum_1.x = gradient[first + 1u];
            sum_2.x = gradient[first + 2u];
        }
        let end_0 = offsets[owner * 2u + 1u];
        for (var instance = offsets[owner * 2u]; instance < end_0; instance++) {
            let others_0 = others[instance];
            let x_0_0 = x[others_0];
            let v0 = own_x_0 - x_0_0;
            let batch_constants_at_0 = batch_constants[0u];
            let x_0_2 = x[others_0 + 2u];
            let v1 = own_x_2 - x_0_2;
            let v2 = v1 * v1;
            let v3 = v0 * v0;
            let x_0_1 = x[others_0 + 1u];
            let v4 = own_x_1 - x_0_1;
            let v5 = v4 * v4;
            let v6 = v3 + v5;
            let v7 = v2 + v6;
            let v8 = inverse_norm(v7);
            let v9 = batch_constants_at_0 * v8;
            let v10 = v0 * v9;
            sum_0 = with_addend(sum_0, v10);
            let v11 = v4 * v9;
            sum_1 = with_addend(sum_1, v11);
            let v12 = v1 * v9;
            sum_2 = with_addend(sum_2, v12);
            let v13 = vector_norm(v7);
            let batch_constants_at_5 = batch_constants[5u];
            let v14 = v13 - batch_constants_at_5;
            let v15 = v14 * batch_constants_at_0;
            total += v15;
        }
        let end_1 = offsets[owner * 2u + 2u];
        for (var instance = end_0; instance < end_1; instance++) {
            let others_0 = others[instance];
            let x_0_0 = x[others_0];
            let v0 = x_0_0 - own_x_0;
            let batch_constants_at_0 = batch_constants[0u];
            let x_0_2 = x[others_0 + 2u];
            let v1 = x_0_2 - own_x_2;
            let v2 = v1 * v1;
            let v3 = v0 * v0;
            let x_0_1 = x[others_0 + 1u];
            let v4 = x_0_1 - own_x_1;
            let v5 = v4 * v4;
            let v6 = v3 + v5;
            let v7 = v2 + v6;
            let v8 = inverse_norm(v7);
            let v9 = batch_constants_at_0 * v8;
            let v10 = v0 * v9;
            let v11 = -v10;
            sum_0 = with_addend(sum_0, v11);
            let v12 = v4 * v9;
            let v13 = -v12;
            sum_1 = with_addend(sum_1, v13);
            let v14 = v1 * v9;
            let v15 = -v14;
            sum_2 = with_addend(sum_2, v15);
        }
        gradient[first] = compensated_sum(sum_0);
        gradient[first + 1u] = compensated_sum(sum_1);
        gradient[first + 2u] = compensated_sum(sum_2);
    }

    sums[lane] = total;
    workgroupBarrier();
    for (var width = 32u; width > 0u; width /= 2u) {
        if lane < width {
            sums[lane] += sums[lane + width];
        }
        workgroupBarrier();
    }
    if lane == 0u && start < dispatch.count {
        partials[group] = sums[0];
    }
}

fn guard_zero() -> u32 {
    return offsets[0];
}

// of shaders/common: square_root, vector_norm, inverse_norm, with_addend, compensated_sum, not_a_number, exact_sum, exact_sum_of_any, exact_product, sum_of_pairs, rounded, is_nan, is_finite
