//! residua solves nonlinear optimisation problems on the GPU of a web page.
//!
//! The data passes through the modules in this order:
//!
//! ```text
//! tape ─▶ model ─▶ eval ─▶ gauss_newton ─▶ solve ─▶ compile ─▶ js
//! ```
//!
//! The crates below it hold expressions (`residua_ir`), code generation (`residua_codegen`), the device (`residua_gpu`), programs
//! on the host (`residua_cpu`) and linear algebra (`residua_linalg`).

pub mod compile;
pub mod eval;
pub mod gauss_newton;
pub mod model;
mod shader_source;
pub mod solve;

#[cfg(target_arch = "wasm32")]
mod js;

pub use residua_base::{Error, ErrorCode, Result};
