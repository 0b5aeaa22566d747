#import not_a_number
// The smallest or largest of some numbers, and the largest of their bits without sign, which tells whether one is NaN.
struct Extreme {
    value: f32,
    size: u32,
}

fn extreme_of(x: f32) -> Extreme {
    return Extreme(x, bitcast<u32>(x) & 0x7fffffffu);
}

fn smaller_of(a: Extreme, b: Extreme) -> Extreme {
    return Extreme(min(a.value, b.value), max(a.size, b.size));
}

fn larger_of(a: Extreme, b: Extreme) -> Extreme {
    return Extreme(max(a.value, b.value), max(a.size, b.size));
}

fn value_of_extreme(extreme: Extreme) -> f32 {
    return select(extreme.value, not_a_number(), extreme.size > 0x7f800000u);
}
