//! Levenberg-Marquardt on the device: parameters, steps, cost, damping and the end of the solve are in its buffers, and the
//! host only submits work and reads, a batch late, what became of it.
//!
//! [`record`] says what is submitted, [`state`] what is known on the device and how it is read, [`shape`] how the vectors are divided
//! among workgroups, [`elimination`] which blocks a Schur complement eliminates, [`coupling`] whether one kernel multiplies by it, [`shaders`] what the kernels' texts are, [`schedule`] how much is submitted at a time. All that is plain data
//! and runs without a device; `run` is the host's side of a solve, `resources` what it keeps for the next one.

pub mod coupling;
pub mod elimination;
pub mod record;
#[cfg(target_arch = "wasm32")]
mod resources;
#[cfg(target_arch = "wasm32")]
mod run;
pub mod schedule;
pub mod shaders;
pub mod shape;
pub mod state;

#[cfg(target_arch = "wasm32")]
pub use resources::SolverResources;
#[cfg(target_arch = "wasm32")]
pub use run::minimise_on_device;
