//! Scalar expressions: what is computed.
//!
//! [`graph`] holds the op table, the hash-consed arena, the simplifier and the f64 reference evaluation that defines every op;
//! [`autodiff`] differentiates graphs into graphs.

pub mod autodiff;
pub mod graph;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod property_tests;
