// Numbers of few bits as f32, without shifts: their bits become low bits of the significand of 2^23 + n 16^k, from which `zero` is taken away: 2^23 and
// what the number zero is. Numbers k = 0 … 3 are larger by 16^k, or bytes by 256^(k mod 2); the other factor, or the scale, has the inverse.

// Of the low half of a word.
fn four_nibbles(word: u32, zero: vec4<f32>) -> vec4<f32> {
    let bits = (vec4<u32>(word) & vec4<u32>(0xfu, 0xf0u, 0xf00u, 0xf000u)) | vec4<u32>(0x4b000000u);
    return bitcast<vec4<f32>>(bits) - zero;
}

// With bits above them, which have the same distances.
fn four_of_more(word: u32, upper: u32, zero: vec4<f32>) -> vec4<f32> {
    let low = vec4<u32>(word) & vec4<u32>(0xfu, 0xf0u, 0xf00u, 0xf000u);
    let high = vec4<u32>(upper << 4u) & vec4<u32>(0xf0u, 0xf00u, 0xf000u, 0xf0000u);
    return bitcast<vec4<f32>>(low | high | vec4<u32>(0x4b000000u)) - zero;
}

// Signed.
fn four_bytes(word: u32) -> vec4<f32> {
    let shifted = word ^ 0x80808080u;
    let bits = (vec4<u32>(shifted, shifted, shifted >> 16u, shifted >> 16u) & vec4<u32>(0xffu, 0xff00u, 0xffu, 0xff00u)) | vec4<u32>(0x4b000000u);
    return bitcast<vec4<f32>>(bits) - vec4<f32>(8388736.0, 8421376.0, 8388736.0, 8421376.0);
}

// Of the low half of a word, as they are: the bytes of the curve, four a word.
fn four_of_curve(word: u32) -> vec4<f32> {
    let place = (vec4<u32>(word) >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(15u);
    let is_odd = (place & vec4<u32>(4u)) != vec4<u32>();
    let low = select(vec4<u32>(0xbfad9881u), vec4<u32>(0xf6eaddcfu), is_odd);
    let high = select(vec4<u32>(0x26190d01u), vec4<u32>(0x71594535u), is_odd);
    let bytes = select(low, high, (place & vec4<u32>(8u)) != vec4<u32>());
    let first = bytes << (vec4<u32>(24u) - ((place & vec4<u32>(3u)) << vec4<u32>(3u)));
    return vec4<f32>(bitcast<vec4<i32>>(first) >> vec4<u32>(24u));
}

// Integers of one and of two bits as nibbles, eight a word.
fn spread_bits(word: u32) -> vec4<u32> {
    return (vec4<u32>(word) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(0x11111111u);
}

fn spread_pairs(a: u32, b: u32) -> vec4<u32> {
    return (vec4<u32>(a, a, b, b) >> vec4<u32>(0u, 2u, 0u, 2u)) & vec4<u32>(0x33333333u);
}
