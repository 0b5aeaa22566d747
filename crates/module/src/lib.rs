//! What every WebAssembly module of the package has: the hook of panics and restarts, an allocator that notes refused requests, threads, and errors
//! as JavaScript sees them. A module gets the exports by depending on this crate.
#![cfg(target_arch = "wasm32")]

mod error;
mod memory;
mod start;
mod threads;

pub use error::to_js;
