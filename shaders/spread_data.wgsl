// Copies numbers that the application wrote, in its own order, into columns of a data table.
struct Spread {
    count: u32, // numbers to copy
    first: u32, // where in `data` the first goes
}

@group(0) @binding(0) var<storage, read> sources: array<u32>; // where in `numbers` each comes from
@group(0) @binding(1) var<storage, read> numbers: array<f32>;
@group(0) @binding(2) var<storage, read_write> data: array<f32>;
@group(0) @binding(3) var<uniform> dispatch: Spread;

@compute @workgroup_size(64)
fn spread_data(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let position = (workgroup.x + workgroup.y * workgroups.x) * 64u + lane;
    if position < dispatch.count {
        data[dispatch.first + position] = numbers[sources[position]];
    }
}
