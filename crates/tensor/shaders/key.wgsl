// Keys that order values, all their bits flipped where the smallest is sought. A NaN has the greatest either way. What the device's comparisons take
// for 0 has the key of 0.
fn key_of_{TY}(x: {TY}, flip: u32) -> u32 {
#if REAL
    let bits = bitcast<u32>(x);
    let ordered = select(bits | 0x80000000u, 0u - bits, bits >= 0x80000000u);
    let key = select(ordered, 0x80000000u, x == 0.0) ^ flip;
    return select(key, 0xffffffffu, (bits & 0x7fffffffu) > 0x7f800000u);
#else
#if SIGNED
    return bitcast<u32>(x) ^ 0x80000000u ^ flip;
#else
    return x ^ flip;
#endif
#endif
}

// A value of a key. That of nothing is the infinity that every number replaces, as in states on the CPU.
fn {TY}_of_key(key: u32, flip: u32) -> {TY} {
    let ordered = key ^ flip;
#if REAL
    let bits = select(0u - ordered, ordered ^ 0x80000000u, ordered >= 0x80000000u);
    let number = select(bits, 0x7fc00000u, key == 0xffffffffu);
    return bitcast<f32>(select(number, select(0xff800000u, 0x7f800000u, flip != 0u), key == 0u));
#else
#if SIGNED
    return bitcast<i32>(ordered ^ 0x80000000u);
#else
    return ordered;
#endif
#endif
}

// The state of a value and its position, which is that of nothing beyond all positions.
fn place_of_{TY}(x: {TY}, position: u32, flip: u32) -> Place {
    return Place(select(key_of_{TY}(x, flip), 0u, position == 0xffffffffu), position);
}
