//! residua solves nonlinear optimisation problems on the GPU of a web page.
//!
//! The way of the data leads through the modules:
//!
//! ```text
//! tape ─▶ batch ─▶ graph ─▶ autodiff ─▶ codegen ─▶ gpu | cpu ─▶ functions ─▶ solve ─▶ js
//! ```
//!
//! `ARCHITECTURE.md` lists them in the order in which they may use one another.

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
pub mod linear;
mod list;
pub mod losses;
pub mod manifolds;
mod order;
#[cfg(all(test, not(target_arch = "wasm32")))]
#[path = "../tests/portable/mod.rs"]
mod portable;
pub mod solve;
pub mod table;
mod text;
pub mod turn;

pub use error::{Error, ErrorCode, Result};
