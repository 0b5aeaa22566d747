// An accepted trial point becomes the point.
@group(0) @binding(0) var<storage, read> state: array<u32>;
@group(0) @binding(1) var<storage, read> trial: array<f32>;
@group(0) @binding(2) var<storage, read_write> point: array<f32>;
@group(0) @binding(3) var<uniform> dispatch: Figures;

@compute @workgroup_size(256)
fn commit(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    if state[COMMIT] == 0u {
        return;
    }
    for (var k = workgroup.x * 256u + lane; k < dispatch.blocks; k += dispatch.threads) {
        point[k] = trial[k];
    }
}
