//! L-BFGS on the host: a state machine over evaluations in f64 or f32, which decides in f64.

mod convergence;
mod history;
mod line_search;
mod minimizer;
mod run;
mod shares;
#[cfg(test)]
mod tests;

pub use minimizer::{Lbfgs, Step};
pub use run::run;
