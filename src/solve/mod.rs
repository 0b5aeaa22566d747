//! Solvers: they say where to evaluate next, and never evaluate.
//!
//! A solver here is a plain state machine. It takes the numbers of an evaluation and the time, and gives the next point to evaluate,
//! an iteration to report, or the end; it holds no device, awaits nothing and calls nobody back. The caller owns the loop, so the
//! same solver runs over the GPU, over the CPU and over a three-line function in a test:
//!
//! ```
//! use residua::solve::{Arithmetic, Evaluation, FeasibleSet, Lbfgs, LbfgsOptions, Step};
//!
//! let options = LbfgsOptions::defaults(Arithmetic::DOUBLE);
//! let start = vec![3.0, -4.0];
//! let mut lbfgs = Lbfgs::new(start, FeasibleSet::everything(2), &options, Arithmetic::DOUBLE)?;
//! let mut evaluation = None;
//! loop {
//!     match lbfgs.next(0.0, evaluation.take()) {
//!         Step::Evaluate(x) => {
//!             let cost = x.iter().map(|x| x * x).sum();
//!             evaluation = Some(Evaluation { cost, gradient: x.iter().map(|x| 2.0 * x).collect() });
//!         }
//!         Step::Iteration(_) => {}
//!         Step::Finished(summary) => break assert!(summary.success()),
//!     }
//! }
//! assert!(lbfgs.solution().iter().all(|x| x.abs() < 1e-6));
//! # Ok::<(), residua::Error>(())
//! ```
//!
//! [`options`] says what a solver may be told, [`summary`] and [`report`] what it tells; [`arithmetic`] what precision the evaluations
//! have; [`feasible`] which coordinates stay, and within which bounds; [`lbfgs`] is made of
//! [`line_search`], [`curvature`] and [`convergence`].

pub mod arithmetic;
pub mod convergence;
pub mod covariance;
pub mod curvature;
pub mod curved;
pub mod descent_rule;
pub mod device;
pub mod device_lbfgs;
mod drive;
pub mod feasible;
pub mod lbfgs;
pub mod levenberg_marquardt;
pub mod line_rule;
pub mod line_search;
pub mod many;
pub mod options;
pub mod rank;
pub mod report;
pub mod rules;
pub mod scalar;
pub mod summary;
pub mod tangent;
mod vector;

#[cfg(test)]
mod tests;

pub use crate::functions::{Evaluation, Objective};
pub use arithmetic::{Arithmetic, Precision};
pub use covariance::covariance;
pub use drive::{Details, Listener, Solution, arithmetic_of, minimise};
pub use feasible::FeasibleSet;
pub use lbfgs::{Lbfgs, Step};
pub use levenberg_marquardt::{LevenbergMarquardt, Stagnation, minimise_least_squares, take_over};
pub use options::{LbfgsOptions, LevenbergMarquardtOptions, SolveOptions};
pub use rank::{Rank, rank};
pub use report::Report;
pub use summary::{IterationSummary, SolveSummary, Termination};
