// sort
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<u32>;
@group(0) @binding(3) var<storage, read_write> b3: array<f32>;
@group(0) @binding(4) var<uniform> sizes: array<vec4<u32>, 1>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let workgroup = group.y * groups.x + group.x;
    if workgroup >= sizes[0].x {
        return;
    }
    let v0 = workgroup * sizes[0].y;
    let v1 = workgroup * sizes[0].z;
    for (var i = lane; i < 1024u; i += 128u) {
        var key = 4294967295u;
        if i < sizes[0].y {
            let v2 = i + v0;
            let v3 = b0[v2];
            key = v3;
        }
        pairs[i] = vec2<u32>(key, i);
    }
    sort_row(lane, sizes[0].y);
    for (var i = lane; i < sizes[0].z; i += 128u) {
        let v4 = pairs[i].y;
        let v5 = i + v1;
        let v6 = v0 + v4;
        let v7 = b1[v6];
        b2[v5] = v4;
        b3[v5] = v7;
    }
}

var<workgroup> pairs: array<vec2<u32>, 1024>;

const MIRRORED_EIGHT = 0u;
const MIRRORED_FOUR = 1u;
const WHOLES = 2u;
const HALVES = 3u;
const QUARTERS = 4u;

fn comes_before(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x < b.x || (a.x == b.x && a.y < b.y);
}

fn sort_row(lane: u32, length: u32) {
    var size = 2u;
    var distance = 0u;
    for (; size < 2u * length; ) {
        workgroupBarrier();
        var begin = QUARTERS;
        var step = 1u;
        var next = 0u;
        if (distance >= 4u) {
            begin = WHOLES;
            step = distance >> 2u;
            next = distance >> 3u;
        } else if (distance == 2u) {
            begin = HALVES;
        } else if (distance == 0u && size == 4u) {
            begin = MIRRORED_FOUR;
        } else if (distance == 0u && size > 4u) {
            begin = MIRRORED_EIGHT;
            step = size >> 3u;
            next = size >> 4u;
        }
        if (lane < 128u) {
            compare_eight(lane, step, begin);
        }
        distance = next;
        if (next == 0u) {
            size <<= 1u;
        }
    }
    workgroupBarrier();
}

fn compare_eight(lane: u32, step: u32, begin: u32) {
    let within = lane & (step - 1u);
    let first = (lane & ~(step - 1u)) * 8u;
    let low_half = first + within;
    let high_half = first + 4u * step + select(within, step - 1u - within, begin == MIRRORED_EIGHT);
    var p0 = pairs[low_half + 0u * step];
    var p4 = pairs[high_half + 0u * step];
    var p1 = pairs[low_half + 1u * step];
    var p5 = pairs[high_half + 1u * step];
    var p2 = pairs[low_half + 2u * step];
    var p6 = pairs[high_half + 2u * step];
    var p3 = pairs[low_half + 3u * step];
    var p7 = pairs[high_half + 3u * step];
    var swaps = false;
    var low = p0;
    if (begin == MIRRORED_EIGHT) {
    swaps = comes_before(p7, p0);
    low = select(p0, p7, swaps);
    p7 = select(p7, p0, swaps);
    p0 = low;
    swaps = comes_before(p6, p1);
    low = select(p1, p6, swaps);
    p6 = select(p6, p1, swaps);
    p1 = low;
    swaps = comes_before(p5, p2);
    low = select(p2, p5, swaps);
    p5 = select(p5, p2, swaps);
    p2 = low;
    swaps = comes_before(p4, p3);
    low = select(p3, p4, swaps);
    p4 = select(p4, p3, swaps);
    p3 = low;
    }
    if (begin == MIRRORED_FOUR) {
    swaps = comes_before(p3, p0);
    low = select(p0, p3, swaps);
    p3 = select(p3, p0, swaps);
    p0 = low;
    swaps = comes_before(p2, p1);
    low = select(p1, p2, swaps);
    p2 = select(p2, p1, swaps);
    p1 = low;
    swaps = comes_before(p7, p4);
    low = select(p4, p7, swaps);
    p7 = select(p7, p4, swaps);
    p4 = low;
    swaps = comes_before(p6, p5);
    low = select(p5, p6, swaps);
    p6 = select(p6, p5, swaps);
    p5 = low;
    }
    if (begin == WHOLES) {
    swaps = comes_before(p4, p0);
    low = select(p0, p4, swaps);
    p4 = select(p4, p0, swaps);
    p0 = low;
    swaps = comes_before(p5, p1);
    low = select(p1, p5, swaps);
    p5 = select(p5, p1, swaps);
    p1 = low;
    swaps = comes_before(p6, p2);
    low = select(p2, p6, swaps);
    p6 = select(p6, p2, swaps);
    p2 = low;
    swaps = comes_before(p7, p3);
    low = select(p3, p7, swaps);
    p7 = select(p7, p3, swaps);
    p3 = low;
    }
    if (begin == MIRRORED_EIGHT || begin == WHOLES || begin == HALVES) {
    swaps = comes_before(p2, p0);
    low = select(p0, p2, swaps);
    p2 = select(p2, p0, swaps);
    p0 = low;
    swaps = comes_before(p3, p1);
    low = select(p1, p3, swaps);
    p3 = select(p3, p1, swaps);
    p1 = low;
    swaps = comes_before(p6, p4);
    low = select(p4, p6, swaps);
    p6 = select(p6, p4, swaps);
    p4 = low;
    swaps = comes_before(p7, p5);
    low = select(p5, p7, swaps);
    p7 = select(p7, p5, swaps);
    p5 = low;
    }
    swaps = comes_before(p1, p0);
    low = select(p0, p1, swaps);
    p1 = select(p1, p0, swaps);
    p0 = low;
    swaps = comes_before(p3, p2);
    low = select(p2, p3, swaps);
    p3 = select(p3, p2, swaps);
    p2 = low;
    swaps = comes_before(p5, p4);
    low = select(p4, p5, swaps);
    p5 = select(p5, p4, swaps);
    p4 = low;
    swaps = comes_before(p7, p6);
    low = select(p6, p7, swaps);
    p7 = select(p7, p6, swaps);
    p6 = low;
    pairs[low_half + 0u * step] = p0;
    pairs[high_half + 0u * step] = p4;
    pairs[low_half + 1u * step] = p1;
    pairs[high_half + 1u * step] = p5;
    pairs[low_half + 2u * step] = p2;
    pairs[high_half + 2u * step] = p6;
    pairs[low_half + 3u * step] = p3;
    pairs[high_half + 3u * step] = p7;
}
