// Where the first of the greatest keys stands. The key of nothing is 0, its position beyond all others.
struct Place {
    key: u32,
    position: u32,
}

fn first_of(a: Place, b: Place) -> Place {
    let later = (b.key > a.key) | ((b.key == a.key) & (b.position < a.position));
    return Place(select(a.key, b.key, later), select(a.position, b.position, later));
}
