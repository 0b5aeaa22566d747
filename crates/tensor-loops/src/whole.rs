//! Four integers that are computed side by side: a vector register of WebAssembly, and an array elsewhere.

#[cfg(target_arch = "wasm32")]
use core::arch::wasm32::*;

use super::four::Four;

#[cfg(target_arch = "wasm32")]
type Lanes = v128;
#[cfg(not(target_arch = "wasm32"))]
type Lanes = [i32; 4];

#[derive(Clone, Copy)]
pub struct Whole(Lanes);

#[cfg(target_arch = "wasm32")]
impl Whole {
    #[inline]
    #[target_feature(enable = "simd128")]
    pub fn zero() -> Whole {
        Whole(i32x4_splat(0))
    }

    /// self + a₀ b₀ + a₁ b₁ of two signed integers of 16 bits in a word, the same a for all.
    #[inline]
    #[target_feature(enable = "simd128")]
    pub fn plus_pairs(self, a: u32, b: &[u32; 4]) -> Whole {
        // SAFETY: both types are 16 bytes, of which every value is valid.
        let b = unsafe { core::mem::transmute::<[u32; 4], v128>(*b) };
        Whole(i32x4_add(self.0, i32x4_dot_i16x8(u32x4_splat(a), b)))
    }

    #[inline]
    #[target_feature(enable = "simd128")]
    pub fn singles(self) -> Four {
        // SAFETY: as in `plus_pairs`.
        Four::new(unsafe { core::mem::transmute::<v128, [f32; 4]>(f32x4_convert_i32x4(self.0)) })
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Whole {
    #[inline]
    pub fn zero() -> Whole {
        Whole([0; 4])
    }

    /// self + a₀ b₀ + a₁ b₁ of two signed integers of 16 bits in a word, the same a for all.
    #[inline]
    pub fn plus_pairs(self, a: u32, b: &[u32; 4]) -> Whole {
        let pair = |word: u32| [i32::from(word as i16), i32::from((word >> 16) as i16)];
        let [first, second] = pair(a);
        let Whole(mut lanes) = self;
        for (lane, b) in lanes.iter_mut().zip(b) {
            let [b, c] = pair(*b);
            *lane += first * b + second * c;
        }
        Whole(lanes)
    }

    #[inline]
    pub fn singles(self) -> Four {
        Four::new(self.0.map(|integer| integer as f32))
    }
}
