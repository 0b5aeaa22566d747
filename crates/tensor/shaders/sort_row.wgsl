// Sorts the pairs of a workgroup's memory: by their keys, equal ones by their places. It is the sorting network of Batcher ("Sorting networks and their
// applications", 1968) in the form in which every comparison puts the smaller pair first: runs of `size` pairs are made of two shorter ones, of which
// the second is taken backwards. A thread has eight pairs at a time and compares them at three distances, so that threads meet a third as often.

var<workgroup> pairs: array<vec2<u32>, {CAPACITY}>;

// Which comparisons a round begins with.
const MIRRORED_EIGHT = 0u;
const MIRRORED_FOUR = 1u;
const WHOLES = 2u;
const HALVES = 3u;
const QUARTERS = 4u;

fn comes_before(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x < b.x || (a.x == b.x && a.y < b.y);
}

// Sorts enough pairs for a length. Those beyond it are larger than all others.
fn sort_row(lane: u32, length: u32) {
    var size = 2u;
    // The largest distance that is left of a run; 0 before the first one.
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
        if (lane < {CAPACITY / 8}u) {
            compare_eight(lane, step, begin);
        }
        distance = next;
        if (next == 0u) {
            size <<= 1u;
        }
    }
    workgroupBarrier();
}

// Compares eight pairs, of which four are neighbours at a step, and the other four behind them.
fn compare_eight(lane: u32, step: u32, begin: u32) {
    let within = lane & (step - 1u);
    let first = (lane & ~(step - 1u)) * 8u;
    let low_half = first + within;
    let high_half = first + 4u * step + select(within, step - 1u - within, begin == MIRRORED_EIGHT);
#for i in 0..4
    var p{i} = pairs[low_half + {i}u * step];
    var p{i + 4} = pairs[high_half + {i}u * step];
#endfor
    var swaps = false;
    var low = p0;
    if (begin == MIRRORED_EIGHT) {
{MIRRORED_EIGHT}
    }
    if (begin == MIRRORED_FOUR) {
{MIRRORED_FOUR}
    }
    if (begin == WHOLES) {
{WHOLES}
    }
    if (begin == MIRRORED_EIGHT || begin == WHOLES || begin == HALVES) {
{HALVES}
    }
{QUARTERS}
#for i in 0..4
    pairs[low_half + {i}u * step] = p{i};
    pairs[high_half + {i}u * step] = p{i + 4};
#endfor
}
