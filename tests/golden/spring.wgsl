// springs: 7,500 instances
// energy and its gradient by both ends

struct Dispatch {
    count: u32,  // instances
    stride: u32, // distance between the columns of a table
    first: u32,  // where instance 0 stands in an interleaved buffer
    nan: u32,    // bits of a NaN
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> slots: array<u32>;
@group(0) @binding(2) var<storage, read> data: array<f32>;
@group(0) @binding(3) var<storage, read_write> local: array<f32>;
@group(0) @binding(4) var<storage, read_write> partials: array<f32>;
@group(0) @binding(5) var<uniform> dispatch: Dispatch;

var<workgroup> sums: array<f32, 64>;

@compute @workgroup_size(64)
fn gradient(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = workgroup.x + workgroup.y * workgroups.x;
    let instance = group * 64u + lane;
    var total = 0.0;
    if instance < dispatch.count {
        let slots_1 = slots[dispatch.stride + instance];
        let x_1_0 = x[slots_1];
        let slots_0 = slots[instance];
        let x_0_0 = x[slots_0];
        let x_1_1 = x[slots_1 + 1u];
        let x_0_1 = x[slots_0 + 1u];
        let x_1_2 = x[slots_1 + 2u];
        let x_0_2 = x[slots_0 + 2u];
        let v0 = x_1_0 - x_0_0;
        let v1 = v0 * v0;
        let v2 = x_1_1 - x_0_1;
        let v3 = v2 * v2;
        let v4 = v1 + v3;
        let v5 = x_1_2 - x_0_2;
        let v6 = v5 * v5;
        let v7 = v4 + v6;
        let v8 = vector_norm(v7);
        let data_0 = data[instance];
        let v9 = v8 - data_0;
        let v10 = inverse_norm(v7);
        let v11 = v9 * v10;
        let v12 = v11 * v0;
        local[3u * dispatch.stride + instance] = v12;
        let v13 = -v12;
        local[instance] = v13;
        let v14 = v11 * v2;
        local[4u * dispatch.stride + instance] = v14;
        let v15 = -v14;
        local[dispatch.stride + instance] = v15;
        let v16 = v11 * v5;
        local[5u * dispatch.stride + instance] = v16;
        let v17 = -v16;
        local[2u * dispatch.stride + instance] = v17;
        let v18 = v9 * v9;
        let v19 = 0.5 * v18;
        total = v19;
    }

    sums[lane] = total;
    workgroupBarrier();
    for (var width = 32u; width > 0u; width /= 2u) {
        if lane < width {
            sums[lane] += sums[lane + width];
        }
        workgroupBarrier();
    }
    if lane == 0u && instance < dispatch.count {
        partials[group] = sums[0];
    }
}

// of shaders/common: square_root, vector_norm, inverse_norm, not_a_number
