//! Generated modules run by an interpreter of WebAssembly, against [`interpret`](crate::interpret).

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod compare;
mod elements;
pub mod machine;
mod parts;
mod random_graphs;
mod reductions;
mod scans;
