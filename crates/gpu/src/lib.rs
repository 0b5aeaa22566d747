//! The device: buffers, pipelines, recorded work and its results, over wgpu's browser backend.
//!
//! Work on the GPU is recorded as plain data, a [`CommandList`], and [`Submissions`] checks it against the [`Limits`]; neither needs a device. A
//! `Context` creates `Buffer`s and `Pipeline`s on a device, binds a list to them (`PreparedList`) and runs it; its results are the downloads.
//! This crate handles bytes and bindings, and no shader of a domain.
//!
//! ```text
//! let [x, r] = context.allocate(&[BufferRequest::storage("x", n), BufferRequest::storage("r", m)]).await?;
//! let kernels = context.pipelines(&[PipelineRequest { wgsl, entry, layout }], &mut |_, _| Ok(())).await?;
//! let mut list = CommandList::new();
//! let (x, r) = (list.buffer("x", n), list.buffer("r", m));
//! let values = list.pipeline("values", &layout);
//! let point = list.upload_argument(list.whole(x));
//! list.dispatch(values, &[list.whole(x), list.whole(r)], limits.split_workgroups(groups)?);
//! let residuals = list.download(list.whole(r));
//! let prepared = context.prepare(&list, &buffers, &kernels).await?;
//! let results = prepared.run(&[bytes_of_x]).await?;      // any number of times
//! results.reals(residuals)
//! ```

pub mod commands;
pub mod completion;
pub mod limits;
pub mod pool;
pub mod submission;

pub mod rounding;
pub mod speed;
pub mod times;

#[cfg(target_arch = "wasm32")]
pub mod buffer;
#[cfg(target_arch = "wasm32")]
pub mod context;
#[cfg(target_arch = "wasm32")]
pub mod pipeline;
#[cfg(target_arch = "wasm32")]
mod profile;
#[cfg(target_arch = "wasm32")]
mod raw;
#[cfg(target_arch = "wasm32")]
mod request;
#[cfg(target_arch = "wasm32")]
pub mod run;
#[cfg(target_arch = "wasm32")]
mod scope;

pub use commands::{ArgumentId, BindingKind, BufferId, CommandList, DownloadId, PipelineId, PipelineRequest, Slice};
pub use limits::Limits;
pub use rounding::Rounding;
pub use speed::Speed;
pub use submission::Submissions;
pub use times::{KernelTimes, Times, Timing};

#[cfg(target_arch = "wasm32")]
pub use buffer::{Allocation, Buffer, BufferRequest};
#[cfg(target_arch = "wasm32")]
pub use context::{Context, Stats};
#[cfg(target_arch = "wasm32")]
pub use pipeline::Pipeline;
#[cfg(target_arch = "wasm32")]
pub use request::Adapter;
#[cfg(target_arch = "wasm32")]
pub use run::{Binding, Downloads, PreparedList, Submission};
