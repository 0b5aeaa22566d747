// Sorts the slots of a block by their digits, equal ones in their order, and finds for each digit the rank of its first key in the row less its slot.
// A slot has the digit above its low 16 bits. Two bits of the digit are sorted at a time: a thread counts the values of its {SHARE} neighbouring slots
// in fields of 16 bits, the counts of the threads before it are summed, and each slot goes behind those before it.

var<workgroup> slots: array<u32, {BLOCK}>;
var<workgroup> sums: array<array<vec2<u32>, 256>, 2>;
var<workgroup> starts: array<u32, 256>;

// The sum of the numbers of all threads up to one; sums[0] then has those of all threads.
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

// A field of 16 bits.
fn field(fields: vec2<u32>, number: u32) -> u32 {
    return (select(fields.x, fields.y, number >= 2u) >> ((number & 1u) * 16u)) & 0xffffu;
}

// One in a field.
fn one_in(number: u32) -> vec2<u32> {
    let one = 1u << ((number & 1u) * 16u);
    return select(vec2<u32>(one, 0u), vec2<u32>(0u, one), number >= 2u);
}

fn sort_digits(lane: u32, total: u32, before: u32) {
    let first = lane * {SHARE}u;
    for (var bit = 16u; bit < 24u; bit += 2u) {
        workgroupBarrier();
        var counts = vec2<u32>();
#for i in 0..SHARE
        let slot_{i} = slots[first + {i}u];
        counts += one_in((slot_{i} >> bit) & 3u);
#endfor
        var next = sum_before(lane, counts) - counts;
        let all = sums[0][255];
        let of_0 = all.x & 0xffffu;
        let of_1 = of_0 + (all.x >> 16u);
        let of_2 = of_1 + (all.y & 0xffffu);
        next += vec2<u32>(of_0 << 16u, of_1 | (of_2 << 16u));
#for i in 0..SHARE
        let value_{i} = (slot_{i} >> bit) & 3u;
        slots[field(next, value_{i})] = slot_{i};
        next += one_in(value_{i});
#endfor
    }
    workgroupBarrier();
    for (var i = lane; i < {BLOCK}u; i += 256u) {
        let digit = slots[i] >> 16u;
        if (i == 0u || (slots[max(i, 1u) - 1u] >> 16u) != digit) {
            starts[digit] = i;
        }
    }
    let rank = sum_before(lane, vec2<u32>(total, 0u)).x - total + before;
    starts[lane] = rank - starts[lane];
    workgroupBarrier();
}
