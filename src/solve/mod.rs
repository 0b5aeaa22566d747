//! Solvers: L-BFGS ([`lbfgs`]), Levenberg-Marquardt ([`levenberg_marquardt`]), Newton's method ([`newton`]), many small problems at once
//! ([`many`]) and one that grows ([`incremental`]).
//!
//! A host solver is a state machine. It takes the numbers of an evaluation and the time, and returns the next point to evaluate, an
//! iteration to report, or the end. It holds no device, awaits nothing and calls nothing back, so the same solver runs over compiled
//! functions and over a closure in a test:
//!
//! ```
//! use residua::solve::{Arithmetic, Evaluation, FeasibleSet, Lbfgs, LbfgsOptions, Start, Step};
//!
//! let options = LbfgsOptions::defaults();
//! let start = Start::new(vec![3.0, -4.0], FeasibleSet::unconstrained(2), Arithmetic::F64)?;
//! let mut lbfgs = Lbfgs::new(start, None, &options, Arithmetic::F64)?;
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
//! # Ok::<(), residua_base::Error>(())
//! ```
//!
//! Both solvers take [`options`], begin at a [`start`] within a [`feasible`] set, and return a [`summary`], which a [`record`]
//! packs for the facade. [`covariance`](mod@covariance) and [`rank`](mod@rank) describe the solution.

mod before_start;
mod check_schedule;
pub mod covariance;
pub mod driver;
pub mod ending;
pub mod feasible;
pub mod findings;
pub mod incremental;
pub mod lbfgs;
pub mod levenberg_marquardt;
mod listener;
pub mod manifold_map;
pub mod many;
pub mod newton;
pub mod options;
pub mod precision;
pub mod rank;
pub mod record;
pub mod rules;
mod sandwich;
pub mod scalar;
pub mod session;
mod solution;
pub mod start;
pub mod summary;
pub mod tangent;
pub mod untouched;
mod vector;
mod words;
mod write_back;

#[cfg(test)]
mod covariance_tests;
#[cfg(test)]
mod sandwich_tests;

pub use crate::eval::{Arithmetic, Evaluation, Objective};
pub use covariance::{CovarianceOptions, covariance};
pub use driver::minimise;
pub use feasible::FeasibleSet;
pub use incremental::Smoother;
pub use lbfgs::host::{Lbfgs, Step};
pub use levenberg_marquardt::host::{LevenbergMarquardt, minimise_least_squares};
pub use listener::Listener;
pub use options::{LbfgsOptions, LevenbergMarquardtOptions, NewtonOptions, SolveOptions};
pub use rank::{Rank, rank};
pub use session::{DeviceResources, Session};
pub use solution::{Details, Solution};
pub use start::Start;
pub use summary::{IterationSummary, SolveSummary, Termination};
