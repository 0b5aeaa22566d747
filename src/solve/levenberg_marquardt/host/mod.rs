//! Levenberg-Marquardt on the host, in f64.

mod attempts;
pub mod deficiency;
mod dogleg;
mod exact;
mod linear_system;
mod minimizer;
mod phase;
mod resources;
pub mod retraction;
mod run;
mod second_order;
mod solve_path;
mod steps;
mod strategy;
#[cfg(test)]
mod tests;

pub use linear_system::LinearSystems;
pub use minimizer::LevenbergMarquardt;
pub use phase::{Answer, Request};
pub use resources::SolverResources;
pub use run::minimise_least_squares;

use crate::eval::Arithmetic;
use crate::eval::cpu::CpuEngine;

/// What the solver on the host computes in, wherever its functions are.
const ARITHMETIC: Arithmetic = CpuEngine::ARITHMETIC;
