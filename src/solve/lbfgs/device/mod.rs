//! L-BFGS on the device: point, gradient, history and state stay there, and the kernels decide by the [`rules`](super::rules) that the host
//! solver evaluates.
//!
//! The unit of work is a *round*: one trial point, and the decision on it. Its kernels, in the steps of [`super`]:
//!
//! | step | kernel | work |
//! |---|---|---|
//! | line search | `walk` | after a rejected trial: cost and slope at several steps along the direction are evaluated at once, and the search continues over them |
//! | direction, line search | `place` | tests a new direction, replaces it by the gradient's if it does not descend, and writes the trial point |
//! | | those of the functions | cost and gradient at the trial point |
//! | line search | `measure` | all sums that the decision needs, and the products of the new pair with the history |
//! | line search, history update, convergence | `decide` | the verdict; for an accepted step the pair, the convergence test and the two-loop recursion on the Gram matrix |
//! | history update, direction | `advance` | for an accepted step: moves the point, writes the pair, combines the direction |
//!
//! Most first trials are accepted, so a round is nearly always an iteration. The host submits rounds in batches and reads the state one batch
//! late; rounds after the end of a run change nothing.

pub mod pending_report;
pub mod record;
#[cfg(target_arch = "wasm32")]
mod resources;
#[cfg(target_arch = "wasm32")]
mod run;
pub mod schedule;
pub mod shaders;
pub mod state;

#[cfg(target_arch = "wasm32")]
pub use resources::SolverResources;
#[cfg(target_arch = "wasm32")]
pub use run::Run;
