//! L-BFGS on the device: point, gradient, history and all figures stay there, and the kernels decide by the rules that the CPU's solver
//! evaluates.
//!
//! One *round* tries one point. `walk` first comes to it, where the trial before was not taken: the cost and its slope at several steps
//! along the direction are evaluated at once, and it goes from one to the next by the rule of the line search. `place` puts it on the direction, the functions' own kernels evaluate cost and gradient there, `measure`
//! sums everything that a decision needs, `decide` judges, and, if the step is taken, `advance` takes it and sets the next direction.
//! Most trials are taken, so a round is nearly always an iteration. The host submits rounds in batches, and reads the state one batch late;
//! when a run has ended, what was submitted after it does nothing.

pub mod record;
#[cfg(target_arch = "wasm32")]
mod run;
pub mod schedule;
pub mod shaders;
pub mod state;

#[cfg(target_arch = "wasm32")]
pub use run::minimise;
