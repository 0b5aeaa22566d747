// Integers of few bits as signed bytes of a word, of four nibbles of the low half of a word. `zero` has what the number zero is in each byte.

fn spread_nibbles(word: u32) -> u32 {
    let pairs = ((word & 0xffffu) | (word << 8u)) & 0x00ff00ffu;
    return (pairs | (pairs << 4u)) & 0x0f0f0f0fu;
}

// Bytes below 64 less up to 64: the highest bit of each keeps what is borrowed.
fn bytes_of_nibbles(word: u32, zero: u32) -> u32 {
    return ((spread_nibbles(word) | 0x80808080u) - zero) ^ 0x80808080u;
}

// With bits above them, which have the same distances.
fn bytes_of_more(word: u32, upper: u32, zero: u32) -> u32 {
    let bytes = spread_nibbles(word) | (spread_nibbles(upper) << 4u);
    return ((bytes | 0x80808080u) - zero) ^ 0x80808080u;
}

// The levels of the curve.
fn bytes_of_curve(word: u32) -> u32 {
    let bytes = bitcast<vec4<u32>>(vec4<i32>(four_of_curve(word))) & vec4<u32>(255u);
    return bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
}
