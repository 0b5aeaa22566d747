#import double_single
// Sums over the threads of a workgroup of 256, several at a time, in a fixed order.
const THREADS = 256u;

var<workgroup> pairs: array<vec2<f32>, MOST_SUMS * THREADS>; // whoever imports this says how many sums there may be

// Puts this thread's addend of a sum in its place.
fn put_addend(sum: u32, lane: u32, addend: vec2<f32>) {
    pairs[sum * THREADS + lane] = addend;
}

// Adds the addends of the first `count` sums; their totals then stand where `total_of` finds them.
fn add_over_workgroup(lane: u32, count: u32) {
    workgroupBarrier();
    for (var width = THREADS / 2u; width > 0u; width /= 2u) {
        if lane < width {
            for (var sum = 0u; sum < count; sum++) {
                let place = sum * THREADS + lane;
                pairs[place] = sum_of_pairs(pairs[place], pairs[place + width]);
            }
        }
        workgroupBarrier();
    }
}

fn total_of(sum: u32) -> vec2<f32> {
    return pairs[sum * THREADS];
}
