//! The scalar rules of L-BFGS. Each is one graph, which the CPU solver evaluates in f64 and the device kernels run in f32.
//!
//! | step | function | result |
//! |---|---|---|
//! | direction | [`history::descends`] | whether the quasi-Newton direction points downhill beyond rounding |
//! | line search | [`line_search::verdict`] | whether a trial step is taken, too long or too short |
//! | | [`line_search::bracket`] | the bracket after a trial, and the next step |
//! | | [`line_search::contradictions`] | how many trials in a row contradict the derivative |
//! | | [`line_search::outcome`] | whether the search goes on, and how it ends |
//! | | [`losses::refused`] | whether a trial is not taken, since it loses a parameter |
//! | history update | [`history::pair`] | whether a pair is kept, its ρ and its γ |
//! | convergence | [`convergence::progress`] | iterations since the last visible progress |
//! | | [`convergence::fall`] | by how much a step lowered the cost |
//! | | [`convergence::share_limit`] | how far entries of the gradient must have fallen |
//! | | [`convergence::ending`] | whether the run ends, and by which test |

pub mod convergence;
pub mod history;
pub mod line_search;
pub mod losses;
