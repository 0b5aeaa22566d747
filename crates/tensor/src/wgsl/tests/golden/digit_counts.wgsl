// digit_counts
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read_write> b1: array<u32>;
@group(0) @binding(2) var<uniform> sizes: array<vec4<u32>, 1>;
var<workgroup> counts: array<atomic<u32>, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let workgroup = group.y * groups.x + group.x;
    if workgroup >= sizes[0].x * 3u {
        return;
    }
    let block = workgroup % 3u;
    let row = workgroup / 3u;
    let v0 = row * sizes[0].y;
    let v1 = row * 256u;
    for (var i = 0u; i < 8u; i++) {
        let place = block * 2048u + i * 256u + lane;
        if place < sizes[0].y {
            let v2 = place + v0;
            let v3 = b0[v2];
            atomicAdd(&counts[(v3 >> 8u) & 255u], 1u);
        }
    }
    workgroupBarrier();
    let v4 = atomicLoad(&counts[lane]);
    let v5 = lane + v1;
    let v6 = v5 * 3u;
    let v7 = block + v6;
    b1[v7] = v4;
}
