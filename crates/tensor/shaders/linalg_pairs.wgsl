// The pair at a table in a round: each of an even number meets each other one once.
fn pair_of(table: u32, round: u32, players: u32) -> vec2<u32> {
    let others = players - 1u;
    let a = select((round + table) % others, others, table == 0u);
    let b = (round + others - table) % others;
    return vec2<u32>(min(a, b), max(a, b));
}
