//! Generated modules run by an interpreter of WebAssembly.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

pub mod machine;
