//! Two numbers that are computed side by side: a vector register of WebAssembly, and an array elsewhere.

#[cfg(not(target_arch = "wasm32"))]
pub use array::Pair;
#[cfg(target_arch = "wasm32")]
pub use vector::Pair;

#[cfg(target_arch = "wasm32")]
mod vector {
    use core::arch::wasm32::{f64x2_add, f64x2_mul, f64x2_splat, f64x2_sub, v128};

    #[derive(Clone, Copy)]
    pub struct Pair(v128);

    impl Pair {
        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn new(numbers: [f64; 2]) -> Pair {
            // SAFETY: both types are 16 bytes, of which every value is valid.
            Pair(unsafe { core::mem::transmute::<[f64; 2], v128>(numbers) })
        }

        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn numbers(self) -> [f64; 2] {
            // SAFETY: as in `new`.
            unsafe { core::mem::transmute::<v128, [f64; 2]>(self.0) }
        }

        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn both(number: f64) -> Pair {
            Pair(f64x2_splat(number))
        }

        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn add(self, other: Pair) -> Pair {
            Pair(f64x2_add(self.0, other.0))
        }

        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn sub(self, other: Pair) -> Pair {
            Pair(f64x2_sub(self.0, other.0))
        }

        #[inline]
        #[target_feature(enable = "simd128")]
        pub fn mul(self, other: Pair) -> Pair {
            Pair(f64x2_mul(self.0, other.0))
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod array {
    #[derive(Clone, Copy)]
    pub struct Pair([f64; 2]);

    impl Pair {
        #[inline(always)]
        pub fn new(numbers: [f64; 2]) -> Pair {
            Pair(numbers)
        }

        #[inline(always)]
        pub fn numbers(self) -> [f64; 2] {
            self.0
        }

        #[inline(always)]
        pub fn both(number: f64) -> Pair {
            Pair([number; 2])
        }

        #[inline(always)]
        pub fn add(self, other: Pair) -> Pair {
            Pair([self.0[0] + other.0[0], self.0[1] + other.0[1]])
        }

        #[inline(always)]
        pub fn sub(self, other: Pair) -> Pair {
            Pair([self.0[0] - other.0[0], self.0[1] - other.0[1]])
        }

        #[inline(always)]
        pub fn mul(self, other: Pair) -> Pair {
            Pair([self.0[0] * other.0[0], self.0[1] * other.0[1]])
        }
    }
}
