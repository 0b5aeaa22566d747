// Sweeps of rotations: which pairs a round has, and whether a sweep has turned any.

// Sweeps over all pairs at most: about as many as the logarithm of their number are usual.
const MOST_SWEEPS = 24u;

var<workgroup> turns: array<atomic<u32>, TEAMS>;
var<workgroup> are_turning: u32;

// The pair at a table in a round: each of an even number meets each other one once.
fn pair_of(table: u32, round: u32, players: u32) -> vec2<u32> {
    let others = players - 1u;
    let a = select((round + table) % others, others, table == 0u);
    let b = (round + others - table) % others;
    return vec2<u32>(min(a, b), max(a, b));
}

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
