//! Elements of factors in memory, and the numbers that they denote.

use super::four::Four;

/// A half as it stands in memory: the bits of IEEE 754 binary16.
pub type Half = u16;

/// An element that denotes a number.
pub trait StoredNumber: Copy {
    /// The number.
    fn number(self) -> f32;

    /// The numbers of four elements.
    fn four(elements: &[Self; 4]) -> Four;
}

impl StoredNumber for f32 {
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn number(self) -> f32 {
        self
    }

    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn four(elements: &[f32; 4]) -> Four {
        Four::new(*elements)
    }
}

impl StoredNumber for Half {
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn number(self) -> f32 {
        number_of_half(self)
    }

    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn four(elements: &[Half; 4]) -> Four {
        Four::of_halves(elements)
    }
}

/// The number that a half denotes, exactly.
#[inline]
pub fn number_of_half(half: Half) -> f32 {
    let bits = ((half as i16 as i32) << 13) as u32 & 0x8fff_e000;
    // Shifted to the fraction of a single, a half is too small by 2¹¹².
    let finite = f32::from_bits(bits) * f32::from_bits(239 << 23);
    if finite.abs() >= 65_536.0 { f32::from_bits(finite.to_bits() | 0x7f80_0000) } else { finite }
}
