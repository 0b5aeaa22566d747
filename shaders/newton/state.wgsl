// The words of the state block by their names, the sections of the partial sums, the vectors that share a buffer.
{WORDS}

const THREADS = 256u;

var<workgroup> addends: array<f32, THREADS>;
var<workgroup> gate: u32;

// Whether conjugate gradients go on, the same for all threads of a workgroup.
fn goes_on(lane: u32) -> bool {
    if lane == 0u {
        gate = u32(state[GATE]);
    }
    return workgroupUniformLoad(&gate) != 0u;
}

// The sum over a workgroup, in a fixed order, for all of its threads.
fn sum_over_workgroup(lane: u32, addend: f32) -> f32 {
    workgroupBarrier();
    addends[lane] = addend;
    workgroupBarrier();
    for (var width = THREADS / 2u; width > 0u; width /= 2u) {
        if lane < width {
            addends[lane] += addends[lane + width];
        }
        workgroupBarrier();
    }
    return workgroupUniformLoad(&addends[0]);
}

// The sum of partial sums, likewise.
fn sum_of(first: u32, count: u32, lane: u32) -> f32 {
    var sum = 0.0;
    for (var k = lane; k < count; k += THREADS) {
        sum += sums[first + k];
    }
    return sum_over_workgroup(lane, sum);
}

fn place_of(vector: u32, coordinate: u32) -> u32 {
    return vector * dispatch.stride + coordinate;
}

// First coordinate and dimension of a block by its place in the order of aggregates. A workgroup has those of its part.
fn first_of(block: u32) -> u32 {
    return blocks[dispatch.places + 2u * block];
}

fn dim_of(block: u32) -> u32 {
    return blocks[dispatch.places + 2u * block + 1u];
}
