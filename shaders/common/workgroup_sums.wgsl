#import double_single
// Sums over the threads of a workgroup of 256, several at a time, in a fixed order.
const THREADS = 256u;
const MOST_SUMS = {MOST_SUMS}u;
const_assert MOST_SUMS <= 8u; // of 32 threads each

var<workgroup> pairs: array<vec2<f32>, MOST_SUMS * THREADS>;

// Puts this thread's addend of a sum in its place.
fn put_addend(sum: u32, lane: u32, addend: vec2<f32>) {
    pairs[sum * THREADS + lane] = addend;
}

// Adds the addends of the first `count` sums; `total_of` gives their totals afterwards. Barriers cost more than additions, so a thread
// adds up to eight addends between two of them, and the sums share the threads.
fn add_over_workgroup(lane: u32, count: u32) {
    workgroupBarrier();
    add_columns(lane, count, THREADS, 32u);
    add_columns(lane, count, 32u, 4u);
    add_columns(lane, count, 4u, 1u);
}

// Brings the first `rows` addends of each sum to `columns`.
fn add_columns(lane: u32, count: u32, rows: u32, columns: u32) {
    if lane < count * columns {
        let first = lane / columns * THREADS + lane % columns;
        var total = pairs[first];
        for (var k = columns; k < rows; k += columns) {
            total = sum_of_pairs(total, pairs[first + k]);
        }
        pairs[first] = total;
    }
    workgroupBarrier();
}

fn total_of(sum: u32) -> vec2<f32> {
    return pairs[sum * THREADS];
}
