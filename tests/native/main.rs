//! Native integration tests, one binary: what the module records and writes, run by interpreters.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod interpreter;
mod kernels;
mod many;
#[path = "../models/mixture.rs"]
mod mixture;
#[path = "../models/recorder.rs"]
mod recorder;

mod joint;
mod recompute;
mod schedule;
mod solve_many;
mod wgsl_arithmetic;
mod wgsl_kernels;
