//! The linear system of a step on a device, in single precision and without a matrix of the whole: conjugate gradients with the Hessians of instances.
//!
//! Kernels of the functions write the Hessian of each instance into a table ([`crate::model::instance_matrices`]); `project` writes a second one in which
//! negative eigenvalues are replaced. A product with the sum of either is a product in each instance, gathered as gradients are, in a fixed order. The
//! preconditioner is the block diagonal of the sum, factorised block by block, and a coarse part ([`aggregates`]).
//!
//! | list | kernels | what they do |
//! |---|---|---|
//! | linearise | `hessian`, `matrixMagnitudes`, `units`, `project` | Hessians, scales of units, projected Hessians |
//! | | `matrixMagnitudes`, `matrixColumn` | diagonal and block diagonal of their sum, each gathered |
//! | probe | `probe`, `matrixProduct`, gather, `restrict_product` | the matrix of the coarse part |
//! | begin | `begin` | factorises the blocks, takes a step of 0 and the residual −g |
//! | iterate | `coarse_part`, `direction`, `matrixProduct`, gather, `update` | an iteration of conjugate gradients |
//! | measure | `matrixProduct` | curvature along a step |
//!
//! The host drives a step at a time: it evaluates objective and gradient there, decides as on the host, and reads a gradient, a diagonal and a step of each.
//! Iterations are submitted in batches, one ahead of what has been read; a word of the state block says on the device whether they go on, so that how many
//! are submitted changes no number.
//!
//! What the device does not take the host does, in f64: blocks on manifolds, instances of more than [`record::MOST_ROWS`] numbers, blocks of more than
//! [`record::MOST_NUMBERS`], blocks of which an instance has a part, Hessians of long expressions, least squares of long sums, numbers in pairs, and what
//! does not fit.

pub mod aggregates;
pub mod record;
pub mod shaders;
pub mod state;
#[cfg(target_arch = "wasm32")]
mod system;

#[cfg(target_arch = "wasm32")]
pub(super) use system::DeviceSystem;
