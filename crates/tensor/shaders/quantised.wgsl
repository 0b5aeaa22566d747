// Numbers of few bits as f32, without shifts: their bits become low bits of the significand of 2^23 + n 16^k, from which 2^23 and what the number
// zero is are taken away. Numbers k = 0 … 3 are larger by 16^k, or bytes by 256^(k mod 2); the other factor, or the scale, has the inverse.

// Of the low half of a word, 0 … 15 for -8 … 7.
fn four_nibbles(word: u32) -> vec4<f32> {
    let bits = (vec4<u32>(word) & vec4<u32>(0xfu, 0xf0u, 0xf00u, 0xf000u)) | vec4<u32>(0x4b000000u);
    return bitcast<vec4<f32>>(bits) - vec4<f32>(8388616.0, 8388736.0, 8390656.0, 8421376.0);
}

// Signed.
fn four_bytes(word: u32) -> vec4<f32> {
    let shifted = word ^ 0x80808080u;
    let bits = (vec4<u32>(shifted, shifted, shifted >> 16u, shifted >> 16u) & vec4<u32>(0xffu, 0xff00u, 0xffu, 0xff00u)) | vec4<u32>(0x4b000000u);
    return bitcast<vec4<f32>>(bits) - vec4<f32>(8388736.0, 8421376.0, 8388736.0, 8421376.0);
}
