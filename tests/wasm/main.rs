//! The tests that need a browser's WebGPU, in one binary.
#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod affine;
#[path = "../models/landmarks.rs"]
mod landmarks;
#[path = "../models/least_squares.rs"]
mod least_squares;
#[path = "../models/mixture.rs"]
mod mixture;
#[path = "../models/pair_operations.rs"]
mod pair_operations;
#[path = "../models/recorder.rs"]
mod recorder;

mod choice;
mod cpu_program;
mod damped_steps;
mod descent;
mod descent_endings;
mod descent_losses;
mod device_gradient;
mod device_solver;
mod engines;
mod gpu;
mod gpu_contexts;
mod lost_columns;
mod nearly_dependent;
mod normal;
mod on_engines;
mod pair_evaluations;
mod pair_losses;
mod pair_solver;
mod pairs;
mod pipeline_limits;
mod profile;
mod shared_context;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
