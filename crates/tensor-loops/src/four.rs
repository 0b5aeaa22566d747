//! Four numbers that are computed side by side: a vector register of WebAssembly, and an array elsewhere.

#[cfg(not(target_arch = "wasm32"))]
pub use array::Four;
#[cfg(target_arch = "wasm32")]
pub use vector::Four;

#[cfg(target_arch = "wasm32")]
mod vector {
    use core::arch::wasm32::{f32x4_add, f32x4_mul, f32x4_splat, v128};

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
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod array {
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

        /// self + a b, rounded twice.
        #[inline]
        pub fn plus_product(self, a: Four, b: Four) -> Four {
            Four(std::array::from_fn(|lane| self.0[lane] + a.0[lane] * b.0[lane]))
        }

        #[inline]
        pub fn plus(self, other: Four) -> Four {
            Four(std::array::from_fn(|lane| self.0[lane] + other.0[lane]))
        }
    }
}
