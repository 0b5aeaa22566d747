//! The Gauss-Newton model ½‖r̃ + J̃δ‖² on a device, as recordings that a solver builds into its own command lists.
//!
//! A solver brings vectors in the layout of the parameters: a point, a direction p, a place for the gradient g = J̃ᵀr̃ and for a product q = J̃ᵀJ̃p.
//! The model keeps *local tables*: for each instance its rows of J̃ and what its kernels leave for the blocks. Blocks sum them by one of two
//! ways: chunk by chunk, by the gather passes that gradients have too, or all chunks at once, by fused lists.
//!
//! | step | file | reads | leaves |
//! |---|---|---|---|
//! | linearise at a point | [`linearisation`] | the point, tables of the problem | J̃, r̃ or parts of g in local tables; sums of the cost |
//! | assemble | [`assembly`], [`block_diagonal`] | local tables | g, and the diagonal blocks of J̃ᵀJ̃ |
//! | multiply | [`products`] | p, local tables | J̃p, or parts of q, in local tables, or q; sums of ‖J̃p‖² |
//! | try another point | [`linearisation`] | that point, local tables | sums of the reduction of the cost |
//!
//! [`blocks`] says what the blocks are, [`local_tables`], [`layout`] and [`fused_lists`] where everything lies and which way a problem takes, [`shaders`]
//! which kernels are hand-written (those of instances are generated, see [`crate::model::least_squares`]), [`model`] what records all that,
//! and [`declare`] what a solver must offer. All of it is plain data and runs without a device. [`session`] owns the buffers.

pub mod assembly;
pub mod block_diagonal;
pub mod blocks;
pub mod buffers;
pub mod declare;
pub mod fused_lists;
pub mod layout;
pub mod linearisation;
pub mod local_tables;
pub mod model;
pub mod products;
#[cfg(target_arch = "wasm32")]
pub mod session;
pub mod shaders;

pub use buffers::ModelBuffer;
pub use declare::DeclareModel;
pub use layout::ModelLayout;
pub use model::ModelRecorder;
pub use products::JtjProduct;
#[cfg(target_arch = "wasm32")]
pub use session::DeviceModel;
