//! Four numbers that are computed side by side: a vector register of WebAssembly, and an array elsewhere.

#[cfg(not(target_arch = "wasm32"))]
pub use array::{Four, of_bytes, of_curve, of_nibbles};
#[cfg(target_arch = "wasm32")]
pub use vector::{Four, of_bytes, of_curve, of_nibbles};

#[cfg(target_arch = "wasm32")]
mod vector {
    use core::arch::wasm32::*;

    use crate::format::CURVE;

    #[derive(Clone, Copy)]
    pub struct Four(v128);

    impl Four {
        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn new(numbers: [f32; 4]) -> Four {
            // SAFETY: both types are 16 bytes, of which every value is valid.
            Four(unsafe { core::mem::transmute::<[f32; 4], v128>(numbers) })
        }

        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn numbers(self) -> [f32; 4] {
            // SAFETY: as in `new`.
            unsafe { core::mem::transmute::<v128, [f32; 4]>(self.0) }
        }

        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn all(number: f32) -> Four {
            Four(f32x4_splat(number))
        }

        /// The numbers that four halves denote. Shifted to the fraction of a single they are too small by 2¹¹², which is a power of two: the
        /// product is exact, also where the half is subnormal.
        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn of_halves(halves: &[u16; 4]) -> Four {
            // SAFETY: the array has the 8 bytes that are loaded.
            let words = unsafe { i32x4_load_extend_i16x4(halves.as_ptr().cast()) };
            let bits = v128_and(i32x4_shl(words, 13), u32x4_splat(0x8fff_e000));
            let finite = f32x4_mul(bits, f32x4_splat(f32::from_bits(239 << 23)));
            // Infinities and NaN have the largest exponent, which comes out as that of 65,536.
            let is_special = f32x4_ge(f32x4_abs(finite), f32x4_splat(65_536.0));
            Four(v128_or(finite, v128_and(is_special, u32x4_splat(0x7f80_0000))))
        }

        /// The columns of a matrix whose rows are these.
        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn transposed([a, b, c, d]: [Four; 4]) -> [Four; 4] {
            let (ab, cd) = (i32x4_shuffle::<0, 4, 1, 5>(a.0, b.0), i32x4_shuffle::<0, 4, 1, 5>(c.0, d.0));
            let (ab2, cd2) = (i32x4_shuffle::<2, 6, 3, 7>(a.0, b.0), i32x4_shuffle::<2, 6, 3, 7>(c.0, d.0));
            [
                Four(i32x4_shuffle::<0, 1, 4, 5>(ab, cd)),
                Four(i32x4_shuffle::<2, 3, 6, 7>(ab, cd)),
                Four(i32x4_shuffle::<0, 1, 4, 5>(ab2, cd2)),
                Four(i32x4_shuffle::<2, 3, 6, 7>(ab2, cd2)),
            ]
        }

        /// a b.
        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn times(self, other: Four) -> Four {
            Four(f32x4_mul(self.0, other.0))
        }

        /// The number of a lane in all lanes.
        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn lanes(self) -> [Four; 4] {
            [
                Four(i32x4_shuffle::<0, 0, 0, 0>(self.0, self.0)),
                Four(i32x4_shuffle::<1, 1, 1, 1>(self.0, self.0)),
                Four(i32x4_shuffle::<2, 2, 2, 2>(self.0, self.0)),
                Four(i32x4_shuffle::<3, 3, 3, 3>(self.0, self.0)),
            ]
        }

        /// self + a b, rounded twice.
        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn plus_product(self, a: Four, b: Four) -> Four {
            Four(f32x4_add(self.0, f32x4_mul(a.0, b.0)))
        }

        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn plus(self, other: Four) -> Four {
            Four(f32x4_add(self.0, other.0))
        }

        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn minus(self, other: Four) -> Four {
            Four(f32x4_sub(self.0, other.0))
        }

        /// The numbers with even places, and those with odd ones, of eight.
        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn split(first: Four, second: Four) -> [Four; 2] {
            [Four(i32x4_shuffle::<0, 2, 4, 6>(first.0, second.0)), Four(i32x4_shuffle::<1, 3, 5, 7>(first.0, second.0))]
        }

        /// What [`Four::split`] splits.
        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn joined(even: Four, odd: Four) -> [Four; 2] {
            [Four(i32x4_shuffle::<0, 4, 1, 5>(even.0, odd.0)), Four(i32x4_shuffle::<2, 6, 3, 7>(even.0, odd.0))]
        }

        /// The numbers in the opposite order.
        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn reversed(self) -> Four {
            Four(i32x4_shuffle::<3, 2, 1, 0>(self.0, self.0))
        }
    }

    /// Sixteen signed bytes as numbers.
    #[inline]
    #[target_feature(enable = "simd128")]
    pub fn of_bytes(bytes: &[u32; 4]) -> [Four; 4] {
        // SAFETY: both types are 16 bytes, of which every value is valid.
        numbers(unsafe { core::mem::transmute::<[u32; 4], v128>(*bytes) })
    }

    /// Thirty-two numbers of four bits, and of those of `upper` above them, less `zero`. The first is in the low bits.
    #[inline]
    #[target_feature(enable = "simd128")]
    pub fn of_nibbles(nibbles: &[u32; 4], upper: &[u32; 4], zero: i8) -> [[Four; 4]; 2] {
        let (nibbles, upper) = (bits(nibbles), bits(upper));
        let fifteen = u8x16_splat(15);
        let low = v128_or(v128_and(nibbles, fifteen), u8x16_shl(v128_and(upper, fifteen), 4));
        let high = v128_or(u8x16_shr(nibbles, 4), v128_andnot(upper, fifteen));
        let zero = i8x16_splat(zero);
        in_order(i8x16_sub(low, zero), i8x16_sub(high, zero))
    }

    /// What thirty-two numbers of four bits stand for in [`CURVE`].
    #[inline]
    #[target_feature(enable = "simd128")]
    pub fn of_curve(nibbles: &[u32; 4]) -> [[Four; 4]; 2] {
        // SAFETY: both types are 16 bytes, of which every value is valid.
        let curve = unsafe { core::mem::transmute::<[i8; 16], v128>(CURVE) };
        let nibbles = bits(nibbles);
        let of = |places: v128| i8x16_swizzle(curve, places);
        in_order(of(v128_and(nibbles, u8x16_splat(15))), of(u8x16_shr(nibbles, 4)))
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    fn bits(words: &[u32; 4]) -> v128 {
        // SAFETY: both types are 16 bytes, of which every value is valid.
        unsafe { core::mem::transmute::<[u32; 4], v128>(*words) }
    }

    /// The bytes of two vectors in turns as numbers.
    #[inline]
    #[target_feature(enable = "simd128")]
    fn in_order(low: v128, high: v128) -> [[Four; 4]; 2] {
        [
            numbers(i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(low, high)),
            numbers(i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(low, high)),
        ]
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    fn numbers(bytes: v128) -> [Four; 4] {
        let (low, high) = (i16x8_extend_low_i8x16(bytes), i16x8_extend_high_i8x16(bytes));
        [
            Four(f32x4_convert_i32x4(i32x4_extend_low_i16x8(low))),
            Four(f32x4_convert_i32x4(i32x4_extend_high_i16x8(low))),
            Four(f32x4_convert_i32x4(i32x4_extend_low_i16x8(high))),
            Four(f32x4_convert_i32x4(i32x4_extend_high_i16x8(high))),
        ]
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod array {
    use crate::elements::number_of_half;
    use crate::format::CURVE;

    #[derive(Clone, Copy)]
    pub struct Four([f32; 4]);

    impl Four {
        #[inline]
        pub fn new(numbers: [f32; 4]) -> Four {
            Four(numbers)
        }

        #[inline]
        pub fn numbers(self) -> [f32; 4] {
            self.0
        }

        #[inline]
        pub fn all(number: f32) -> Four {
            Four([number; 4])
        }

        /// The numbers that four halves denote.
        #[inline]
        pub fn of_halves(halves: &[u16; 4]) -> Four {
            Four(halves.map(number_of_half))
        }

        /// The columns of a matrix whose rows are these.
        #[inline]
        pub fn transposed(rows: [Four; 4]) -> [Four; 4] {
            std::array::from_fn(|column| Four(rows.map(|row| row.0[column])))
        }

        /// a b.
        #[inline]
        pub fn times(self, other: Four) -> Four {
            Four(std::array::from_fn(|lane| self.0[lane] * other.0[lane]))
        }

        /// The number of a lane in all lanes.
        #[inline]
        pub fn lanes(self) -> [Four; 4] {
            self.0.map(Four::all)
        }

        /// self + a b, rounded twice.
        #[inline]
        pub fn plus_product(self, a: Four, b: Four) -> Four {
            Four(std::array::from_fn(|lane| self.0[lane] + a.0[lane] * b.0[lane]))
        }

        #[inline]
        pub fn plus(self, other: Four) -> Four {
            Four(std::array::from_fn(|lane| self.0[lane] + other.0[lane]))
        }

        #[inline]
        pub fn minus(self, other: Four) -> Four {
            Four(std::array::from_fn(|lane| self.0[lane] - other.0[lane]))
        }

        /// The numbers with even places, and those with odd ones, of eight.
        #[inline]
        pub fn split(Four([a, b, c, d]): Four, Four([e, f, g, h]): Four) -> [Four; 2] {
            [Four([a, c, e, g]), Four([b, d, f, h])]
        }

        /// What [`Four::split`] splits.
        #[inline]
        pub fn joined(Four([a, c, e, g]): Four, Four([b, d, f, h]): Four) -> [Four; 2] {
            [Four([a, b, c, d]), Four([e, f, g, h])]
        }

        /// The numbers in the opposite order.
        #[inline]
        pub fn reversed(self) -> Four {
            let Four([a, b, c, d]) = self;
            Four([d, c, b, a])
        }
    }

    /// Sixteen signed bytes as numbers.
    #[inline]
    pub fn of_bytes(bytes: &[u32; 4]) -> [Four; 4] {
        bytes.map(|word| Four(word.to_le_bytes().map(|byte| f32::from(byte as i8))))
    }

    /// Thirty-two numbers of four bits, and of those of `upper` above them, less `zero`. The first is in the low bits.
    #[inline]
    pub fn of_nibbles(nibbles: &[u32; 4], upper: &[u32; 4], zero: i8) -> [[Four; 4]; 2] {
        in_order(|place| (nibble(nibbles, place) | nibble(upper, place) << 4) as f32 - f32::from(zero))
    }

    /// What thirty-two numbers of four bits stand for in [`CURVE`].
    #[inline]
    pub fn of_curve(nibbles: &[u32; 4]) -> [[Four; 4]; 2] {
        in_order(|place| f32::from(CURVE[nibble(nibbles, place) as usize]))
    }

    #[inline]
    fn nibble(words: &[u32; 4], place: usize) -> u32 {
        (words[place / 8] >> (4 * (place % 8))) & 15
    }

    #[inline]
    fn in_order(number: impl Fn(usize) -> f32) -> [[Four; 4]; 2] {
        let four = |first: usize| Four(std::array::from_fn(|lane| number(first + lane)));
        [0, 16].map(|first| [0, 4, 8, 12].map(|place| four(first + place)))
    }
}
