//! What every crate of residua needs: the error type with its stable codes, the clock and deadlines, numbers as text, lists and their
//! sort, cooperative scheduling of long work, work that threads share, and which adapters are software.

pub mod adapter;
pub mod clock;
pub mod cooperative;
pub mod deadline;
pub mod decimal;
pub mod error;
pub mod list;
pub mod sort;
pub mod threads;

pub use error::{Error, ErrorCode, Result};
