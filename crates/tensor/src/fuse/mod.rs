//! From a recipe to kernels.
//!
//! 1. [`unique`] leaves each operation once.
//! 2. [`storage`], and `factors` for those of products, decide which tensors have memory. All others are computed within the kernels that read them.
//! 3. [`groups`] decides which tensors with memory one kernel writes: a [`Group`](group::Group), whose members read each other where they are
//!    computed.
//! 4. The file of each kind of group ([`elements`], [`rows`], [`scan`], [`product`], [`sort`], [`attention`], [`fourier`], [`scatter`]) makes its kernel, with what
//!    [`build`] has for all: it lowers the members to one scalar graph ([`crate::lower`]), merges axes, and lists buffers and stores. Long rows and
//!    depths become several kernels, by way of [`states`] in scratch memory.
//! 5. On a device [`siblings`] makes one dispatch of kernels that wait for nothing in between, and [`norms`] of a norm and the products of its
//!    row, whose results share memory where buffers are few ([`packed`]).
//!
//! [`crate::plan`] calls these steps, and puts the kernels in order.

pub mod attention;
pub mod blocks;
pub mod build;
mod composed;
pub mod elements;
mod factors;
pub mod fourier;
pub mod group;
pub mod groups;
pub mod linalg;
pub mod norms;
mod operations;
mod packed;
pub mod product;
pub mod rows;
pub mod scan;
pub mod scatter;
pub mod siblings;
pub mod sort;
mod split;
pub mod states;
pub mod storage;
pub mod tile;
mod unique;

pub use storage::Target;
pub use unique::unique;
