//! What every crate of residua needs: the error type with its stable codes, the clock and deadlines, numbers as text, lists and their
//! sort, and cooperative scheduling of long work.

pub mod clock;
pub mod cooperative;
pub mod deadline;
pub mod decimal;
pub mod error;
pub mod list;
pub mod sort;

pub use error::{Error, ErrorCode, Result};
