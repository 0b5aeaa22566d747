//! Random bits by a counter.

/// Threefry 2×32 with 20 rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the two words for a counter
/// under a key.
pub(super) fn threefry(counter: [u32; 2], key: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [u32; 8] = [13, 15, 26, 6, 17, 29, 16, 24];
    let keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1bd1_1bda];
    let [mut x, mut y] = [counter[0].wrapping_add(keys[0]), counter[1].wrapping_add(keys[1])];
    for round in 0..20 {
        x = x.wrapping_add(y);
        y = y.rotate_left(ROTATIONS[round % 8]) ^ x;
        if round % 4 == 3 {
            let injection = round / 4 + 1;
            x = x.wrapping_add(keys[injection % 3]);
            y = y.wrapping_add(keys[(injection + 1) % 3]).wrapping_add(injection as u32);
        }
    }
    [x, y]
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_vectors() {
        // kat_vectors of Random123, threefry2x32 with 20 rounds: counter, key, result.
        let cases = [
            ([0, 0], [0, 0], [0x6b20_0159, 0x99ba_4efe]),
            ([!0, !0], [!0, !0], [0x1cb9_96fc, 0xbb00_2be7]),
            ([0x243f_6a88, 0x85a3_08d3], [0x1319_8a2e, 0x0370_7344], [0xc492_3a9c, 0x483d_f7a0]),
        ];
        for (counter, key, expected) in cases {
            assert_eq!(threefry(counter, key), expected);
        }
    }
}
