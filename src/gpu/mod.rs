//! The device: buffers, pipelines, recorded work and its results, over wgpu's browser backend.
//!
//! Whoever computes on the GPU [records](CommandList) what is to happen, as plain data; [`Plan`] checks it against the
//! [`Limits`]. Both know no device. On one, a `Context` makes `Buffer`s and `Pipeline`s, binds a list to them (`Prepared`)
//! and runs it; what comes back are the downloads. Everything knows bytes and bindings, and nothing of what they mean.

pub mod commands;
pub mod limits;
pub mod plan;
pub mod pool;
pub mod shaders;

pub use commands::{ArgumentId, BindingKind, BufferId, CommandList, DownloadId, PipelineId, Slice};
pub use limits::Limits;
pub use plan::Plan;
