// Rounds of rotations over blocks of columns. The last row of a state has numbers of rounds: what is over, and what is under way, −1 after the last one.

const ENDED = 0xffffffffu;

var<workgroup> under_way: u32;

// The column of the state that is a column of a pair of blocks.
fn column_of(column: u32, blocks: vec2<u32>) -> u32 {
    return select(blocks.x, blocks.y, column >= BLOCK) * BLOCK + column % BLOCK;
}

// Where it stands whether a pair turned in sweeps of a parity, and whether it turned in the round.
fn turned_in_sweep(pair: u32, pairs: u32, sweep: u32) -> u32 {
    return 2u + (sweep % 2u) * pairs + pair;
}

fn turned_in_round(pair: u32, pairs: u32) -> u32 {
    return 2u + 2u * pairs + pair;
}
