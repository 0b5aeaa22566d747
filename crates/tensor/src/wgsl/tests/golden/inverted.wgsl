// inverted
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read_write> b1: array<u32>;
@group(0) @binding(2) var<uniform> sizes: array<vec4<u32>, 1>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let workgroup = group.y * groups.x + group.x;
    let point = workgroup * 256u + lane;
    if point >= ((sizes[0].x + 3u) / 4u) {
        return;
    }
    let v0 = point * 4u;
    let v1 = (vec4<u32>(b0[v0 >> 2u]) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u);
    let v2 = vec4<u32>(255u) - v1;
    b1[v0 >> 2u] = dot(v2 & vec4<u32>(255u), vec4<u32>(1u, 256u, 65536u, 16777216u));
}
