//! WHICH instances share a kernel.
//!
//! In comes a [`CompileInput`]: a [`Tape`] with one expression a residual (the params form), or templates, each one
//! [`Expression`] with index and data tables for its instances (the problem form). Out goes a [`Model`]: [`Batch`]es of
//! instances that share one [`Class`] of residual expression, with their tables in structure-of-arrays form, from which
//! [`access_plan`] makes the kernels of either engine, [`incidence`] the transposed tables that gather gradients without atomics,
//! [`recompute`] the kernels that need none, and [`pattern`] the sparsity of the Jacobian.
//!
//! Everything here costs time linear in the nodes of the tape and the entries of the tables.

pub mod access_plan;
mod batch;
pub mod chunks;
mod class;
mod compile_input;
mod derivatives;
mod elimination;
pub mod energy;
pub mod entries;
mod entry_point;
mod group;
pub mod hessian;
pub mod incidence;
pub mod instance_matrices;
pub mod least_squares;
pub mod levels;
pub mod line;
pub mod losses;
pub mod manifolds;
mod memory_source;
pub mod normal_equations;
mod objective;
pub mod pattern;
pub mod plain;
mod planner;
pub mod recompute;
mod reduction;
mod residual_template;
mod role;
mod samples;
pub mod scatter;
pub mod second_order;
mod signature;
mod sums;
mod tangent;
mod tape;
mod tape_graph;

pub use batch::{ArrayInfo, Batch, BlockInfo, Manifold, Model, Rows};
pub use class::{Class, Local, Losses};
pub use compile_input::{CompileInput, InstanceList, TableSource, TapeSource};
pub use memory_source::MemoryTables;
pub use residual_template::Expression;
pub use samples::SampleCounter;
pub use tape::{Leaf, Room, Tape, TapeNode};

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod wide_tests;
