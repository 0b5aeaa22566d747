//! The tensor module: recipes of array operations become kernels and a plan.
//!
//! ```text
//! tape ─▶ expr (checked DAG) ─▶ grad ─▶ fuse (groups, lowered to scalar graphs) ─▶ kernel ─▶ wgsl, wasm
//!                                                                                └─▶ plan (order, memory, uniforms)
//! ```
//!
//! The facade (`pkg-template/src/tensor`) records operations and writes them on a tape. This crate reads the tape, differentiates, fuses
//! operations into few kernels, writes each kernel as WGSL or WebAssembly, and gives a [`plan`](plan::Plan): which kernels run in which
//! order, on which memory. The facade owns the device and runs the plan; nothing here touches a `GPUDevice`, so all of it is tested
//! natively.
//!
//! | module | holds |
//! |---|---|
//! | [`dtype`], [`size`] | element types; extents, which may depend on sizes told at each run |
//! | [`quantised`] | the form of quantised numbers |
//! | [`tape`] | how the facade hands a recipe over |
//! | [`expr`] | the DAG of operations on tensors, its shape rules, its meaning in f64 |
//! | [`grad`] | derivatives of recipes as recipes |
//! | [`scalar`] | typed expressions of one element: what kernels compute |
//! | [`kernel`] | kernels: loops over an iteration space, with their loads, reductions and stores |
//! | [`interpret`] | kernels run natively on bytes, for tests |
//! | [`half`] | conversion to and from half precision |
//! | [`wgsl`] | kernels as WGSL |
//! | [`wasm`], [`host_product`] | kernels as WebAssembly, and matrix products, transforms, sorts and linear algebra as loops of Rust |
//! | [`roots`] | tables of roots of unity |
//! | [`plan`] | the order of kernels and their memory |

pub mod dtype;
pub mod expr;
pub mod fuse;
pub mod grad;
pub mod half;
mod host_fourier;
mod host_linalg;
pub mod host_product;
mod host_sort;
mod host_strides;
pub mod interpret;
#[cfg(target_arch = "wasm32")]
pub mod js;
pub mod kernel;
pub mod lower;
pub mod plan;
pub mod quantised;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod recorded;
pub mod roots;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod sample;
pub mod scalar;
pub mod size;
pub mod tape;
pub mod turns;
pub mod verify;
pub mod wasm;
pub mod wgsl;
