//! residua solves nonlinear optimisation problems on the GPU of a web page.
//!
//! The way of the data is the order of the modules; a module uses only modules above it:
//!
//! ```text
//! tape ─▶ graph ─▶ autodiff ─▶ batch ─▶ codegen ─▶ gpu | cpu ─▶ functions ─▶ solve ─▶ js
//! ```

pub mod autodiff;
pub mod batch;
mod clock;
pub mod codegen;
pub mod cpu;
mod decimal;
pub mod error;
pub mod functions;
pub mod gpu;
pub mod graph;

#[cfg(target_arch = "wasm32")]
mod js;
pub mod losses;
mod order;
pub mod solve;
pub mod table;
mod turn;

pub use error::{Error, ErrorCode, Result};
