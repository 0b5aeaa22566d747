//! Codes of the tape. The facade's are generated from these.

use crate::expr::{Border, Combine, Reduction};

/// Declares the codes of operations from one line each: constant, code, name in the facade.
macro_rules! operations {
    ($($name:ident $code:literal $text:literal;)+) => {
        $(pub const $name: u32 = $code;)+

        /// All of them, with their names.
        #[cfg(all(test, not(target_arch = "wasm32")))]
        pub const OPERATIONS: &[(&str, u32)] = &[$(($text, $name)),+];
    };
}

operations! {
    INPUT 0 "input";
    CONSTANT 1 "constant";
    EXTENT 2 "extent";
    IOTA 3 "iota";
    RANDOM_BITS 4 "randomBits";
    ELEMENTWISE 5 "elementwise";
    RESHAPE 6 "reshape";
    EXPAND 7 "expand";
    PERMUTE 8 "permute";
    SLICE 9 "slice";
    PAD 10 "pad";
    CONCAT 11 "concat";
    WINDOWS 12 "windows";
    GATHER 13 "gather";
    GATHER_ELEMENTS 14 "gatherElements";
    REDUCE 15 "reduce";
    SCAN 16 "scan";
    FOLD 17 "fold";
    SCAN_BY 18 "scanBy";
    MATMUL 19 "matmul";
    SCATTER 20 "scatter";
    INDEX_PUT 21 "indexPut";
    GRADIENT 22 "gradient";
    ARGSORT 23 "argsort";
    SET_SLICE 24 "setSlice";
    ATTENTION 25 "attention";
    DEQUANTIZE 27 "dequantize";
    NUMBER 28 "number";
    FOURIER 30 "fourier";
    LINALG 36 "linalg";
    CUSTOM_GRADIENT 37 "customGradient";
    SPARSE_PRODUCT 38 "sparseProduct";
}

/// The reductions by code.
pub const REDUCTIONS: [Reduction; 7] = [
    Reduction::Sum,
    Reduction::Prod,
    Reduction::Min,
    Reduction::Max,
    Reduction::ArgMin,
    Reduction::ArgMax,
    Reduction::Variance,
];

/// The combinations by code.
pub const COMBINES: [Combine; 5] = [Combine::Set, Combine::Add, Combine::Mul, Combine::Min, Combine::Max];

/// The borders by code.
pub const BORDERS: [Border; 4] = [Border::Constant, Border::Clamp, Border::Wrap, Border::Mirror];
