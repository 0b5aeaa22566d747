// Sweeps of rotations: whether one has turned any pair.

// Sweeps over all pairs at most: about as many as the logarithm of their number are usual.
const MOST_SWEEPS = 24u;

var<workgroup> turns: array<atomic<u32>, TEAMS>;
var<workgroup> are_turning: u32;

// The bits of the largest magnitude of some numbers; those of infinities and NaN are larger than those of numbers.
fn largest_size(t: u32, first: u32, count: u32) -> u32 {
    var size = 0u;
    for (var e = t; e < count; e += TEAM) {
        size = max(size, bitcast<u32>(load(first + e)) & 0x7fffffffu);
    }
    atomicMax(&turns[own_lane / TEAM], size);
    meet();
    return atomicLoad(&turns[own_lane / TEAM]);
}

fn begin_sweep(t: u32) {
    meet();
    if (t == 0u) {
        atomicStore(&turns[own_lane / TEAM], 0u);
    }
}

fn turn() {
    atomicStore(&turns[own_lane / TEAM], 1u);
}

// Whether a matrix of the workgroup was turned in a sweep.
fn is_turning(t: u32) -> bool {
    meet();
    if (own_lane == 0u) {
        var any = 0u;
        for (var team = 0u; team < TEAMS; team++) {
            any |= atomicLoad(&turns[team]);
        }
        are_turning = any;
    }
    return workgroupUniformLoad(&are_turning) != 0u;
}
