#import nonfinite
// A value and where it stands: the first of the smallest, or of the largest; a NaN is either.
struct Place_{TY} {
    value: {TY},
    position: u32,
}

fn is_beyond_{TY}(largest: bool, a: {TY}, b: {TY}) -> bool {
    let beyond = select(a < b, b < a, largest);
#if REAL
    return select(beyond, is_nan(a) & !is_nan(b), is_nan(a) | is_nan(b));
#else
    return beyond;
#endif
}

fn first_extreme_{TY}(largest: bool, a: Place_{TY}, b: Place_{TY}) -> Place_{TY} {
    let is_later = b.position < a.position;
    let later = is_beyond_{TY}(largest, b.value, a.value) | (!is_beyond_{TY}(largest, a.value, b.value) & is_later);
    return Place_{TY}(select(a.value, b.value, later), select(a.position, b.position, later));
}
