//! Compiling: a recorded problem becomes functions on an engine.
//!
//! [`backend`] chooses the engine before anything is compiled, [`engine`] makes it and may choose again by measurements, [`progress`] reports
//! the stages and reads whether the caller has cancelled.

pub mod backend;
pub mod engine;
#[cfg(target_arch = "wasm32")]
mod kit;
pub mod progress;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "wasm32")]
pub use kit::{Compiled, compile};
