//! Native integration tests, one binary: what the module records and writes, run by interpreters.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod interpreter;
mod kernels;
#[path = "../models/landmarks.rs"]
mod landmarks;
#[path = "../models/least_squares.rs"]
mod least_squares;
mod many;
#[path = "../models/mixture.rs"]
mod mixture;
#[path = "../models/pair_operations.rs"]
mod pair_operations;
mod random;
#[path = "../models/recorder.rs"]
mod recorder;

mod fused;
mod grouping;
mod hostile_input;
mod many_guard;
mod many_lost;
mod many_parallel;
mod newton;
mod pairs;
mod random_graphs;
mod recompute;
mod rows_in_pairs;
mod schedule;
mod solve_many;
mod solve_many_pairs;
mod standard_errors;
mod tables;
mod weights;
mod wgsl_arithmetic;
mod wgsl_kernels;
mod wgsl_loops;
mod wgsl_pairs;
