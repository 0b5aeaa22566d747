// digit_sort
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read> b1: array<u32>;
@group(0) @binding(2) var<storage, read> b2: array<u32>;
@group(0) @binding(3) var<storage, read_write> b3: array<u32>;
@group(0) @binding(4) var<uniform> sizes: array<vec4<u32>, 1>;

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
    let first = block * 2048u;
    let v2 = lane + v1;
    let v3 = b1[v2];
    let v4 = v2 * 3u;
    let v5 = block + v4;
    let v6 = b2[v5];
    for (var i = lane; i < 2048u; i += 256u) {
        var digit = 255u;
        if first + i < sizes[0].y {
            let v7 = first + i;
            let v8 = v7 + v0;
            let v9 = b0[v8];
            digit = (v9 >> 8u) & 255u;
        }
        slots[i] = (digit << 16u) | i;
    }
    sort_digits(lane, v3, v6);
    let end = min(sizes[0].y - min(first, sizes[0].y), 2048u);
    for (var i = lane; i < end; i += 256u) {
        let slot = slots[i];
        let rank = starts[slot >> 16u] + i;
        let v10 = first + (slot & 0xffffu);
        let v11 = rank + v0;
        b3[v11] = v10;
    }
}

var<workgroup> slots: array<u32, 2048>;
var<workgroup> sums: array<array<vec2<u32>, 256>, 2>;
var<workgroup> starts: array<u32, 256>;

fn sum_before(lane: u32, own: vec2<u32>) -> vec2<u32> {
    var sum = own;
    sums[0][lane] = sum;
    var side = 0u;
    for (var distance = 1u; distance < 256u; distance <<= 1u) {
        workgroupBarrier();
        if (lane >= distance) {
            sum += sums[side][lane - distance];
        }
        side = 1u - side;
        sums[side][lane] = sum;
    }
    workgroupBarrier();
    return sum;
}

fn field(fields: vec2<u32>, number: u32) -> u32 {
    return (select(fields.x, fields.y, number >= 2u) >> ((number & 1u) * 16u)) & 0xffffu;
}

fn one_in(number: u32) -> vec2<u32> {
    let one = 1u << ((number & 1u) * 16u);
    return select(vec2<u32>(one, 0u), vec2<u32>(0u, one), number >= 2u);
}

fn sort_digits(lane: u32, total: u32, before: u32) {
    let first = lane * 8u;
    for (var bit = 16u; bit < 24u; bit += 2u) {
        workgroupBarrier();
        var counts = vec2<u32>();
        let slot_0 = slots[first + 0u];
        counts += one_in((slot_0 >> bit) & 3u);
        let slot_1 = slots[first + 1u];
        counts += one_in((slot_1 >> bit) & 3u);
        let slot_2 = slots[first + 2u];
        counts += one_in((slot_2 >> bit) & 3u);
        let slot_3 = slots[first + 3u];
        counts += one_in((slot_3 >> bit) & 3u);
        let slot_4 = slots[first + 4u];
        counts += one_in((slot_4 >> bit) & 3u);
        let slot_5 = slots[first + 5u];
        counts += one_in((slot_5 >> bit) & 3u);
        let slot_6 = slots[first + 6u];
        counts += one_in((slot_6 >> bit) & 3u);
        let slot_7 = slots[first + 7u];
        counts += one_in((slot_7 >> bit) & 3u);
        var next = sum_before(lane, counts) - counts;
        let all = sums[0][255];
        let of_0 = all.x & 0xffffu;
        let of_1 = of_0 + (all.x >> 16u);
        let of_2 = of_1 + (all.y & 0xffffu);
        next += vec2<u32>(of_0 << 16u, of_1 | (of_2 << 16u));
        let value_0 = (slot_0 >> bit) & 3u;
        slots[field(next, value_0)] = slot_0;
        next += one_in(value_0);
        let value_1 = (slot_1 >> bit) & 3u;
        slots[field(next, value_1)] = slot_1;
        next += one_in(value_1);
        let value_2 = (slot_2 >> bit) & 3u;
        slots[field(next, value_2)] = slot_2;
        next += one_in(value_2);
        let value_3 = (slot_3 >> bit) & 3u;
        slots[field(next, value_3)] = slot_3;
        next += one_in(value_3);
        let value_4 = (slot_4 >> bit) & 3u;
        slots[field(next, value_4)] = slot_4;
        next += one_in(value_4);
        let value_5 = (slot_5 >> bit) & 3u;
        slots[field(next, value_5)] = slot_5;
        next += one_in(value_5);
        let value_6 = (slot_6 >> bit) & 3u;
        slots[field(next, value_6)] = slot_6;
        next += one_in(value_6);
        let value_7 = (slot_7 >> bit) & 3u;
        slots[field(next, value_7)] = slot_7;
        next += one_in(value_7);
    }
    workgroupBarrier();
    for (var i = lane; i < 2048u; i += 256u) {
        let digit = slots[i] >> 16u;
        if (i == 0u || (slots[max(i, 1u) - 1u] >> 16u) != digit) {
            starts[digit] = i;
        }
    }
    let rank = sum_before(lane, vec2<u32>(total, 0u)).x - total + before;
    starts[lane] = rank - starts[lane];
    workgroupBarrier();
}
