// points: robust distance

struct Dispatch {
    count: u32,  // instances
    stride: u32, // distance between the columns of a table
    first: u32,  // where instance 0 stands in an interleaved buffer
    nan: u32,    // bits of a NaN
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> data: array<f32>;
@group(0) @binding(2) var<storage, read> settings: array<f32>;
@group(0) @binding(3) var<storage, read_write> local: array<f32>;
@group(0) @binding(4) var<storage, read_write> partials: array<f32>;
@group(0) @binding(5) var<uniform> dispatch: Dispatch;

var<workgroup> sums: array<f32, 64>;

@compute @workgroup_size(64)
fn cost(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = workgroup.x + workgroup.y * workgroups.x;
    let instance = group * 64u + lane;
    var total = 0.0;
    if instance < dispatch.count {
        let x_0 = x[dispatch.first + instance];
        let data_0 = data[instance];
        let v0 = x_0 - data_0;
        let v1 = v0 * v0;
        let settings_at_0 = settings[0u];
        let settings_at_1 = settings[1u];
        let loss_0 = loss(u32(settings_at_0), v1, settings_at_1, 0.0);
        let settings_at_3 = settings[3u];
        let v2 = 0.5 * settings_at_3;
        let v3 = v2 * loss_0.x;
        let v4 = settings_at_3 * loss_0.y;
        let v5 = v4 * v0;
        local[instance] = v5;
        total = v3;
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

fn loss(selector: u32, s: f32, a: f32, b: f32) -> vec2<f32> {
    switch selector {
        case 1u: { // huber
            let v0 = a * a;
            let v1 = square_root(s);
            let v2 = a * v1;
            let v3 = 2.0 * v2;
            let v4 = v3 - v0;
            let v5 = select(v4, s, (s <= v0) & !is_nan(s) & !is_nan(v0));
            let v6 = a / v1;
            let v7 = select(v6, 1.0, (s <= v0) & !is_nan(s) & !is_nan(v0));
            return vec2<f32>(v5, v7);
        }
        default: { // squared
            return vec2<f32>(s, 1.0);
        }
    }
}

// of shaders/common: square_root, vector_norm, inverse_norm, is_nan, is_finite, not_a_number
