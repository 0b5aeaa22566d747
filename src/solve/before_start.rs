//! The end of a run while its kernels are made, before the cost of its start is known.

use super::ending;
use super::findings::Finding;
use super::listener::Listener;
use super::options::SolveOptions;
use super::solution::{Details, Solution};
use super::start::Start;
use super::summary::{SolveSummary, Termination};
use super::write_back::{Left, write_back};
use crate::eval::{Arithmetic, Functions};
use residua_base::clock::now_ms;
use residua_base::error::Result;

/// The summary of a run from a start with those corrections, which began at `began` of [`now_ms`]: its time is over, unless the caller stopped it.
pub(super) fn summary(
    options: &SolveOptions,
    corrections: Vec<Finding>,
    listener: &mut dyn Listener,
    began: f64,
) -> SolveSummary {
    let (termination, why) = match listener.aborted() {
        true => (Termination::Aborted, ending::STOPPED_BY_CALLER.to_owned()),
        false => (Termination::MaxTime, ending::time_limit_at_start(options)),
    };
    let elapsed_ms = now_ms() - began;
    SolveSummary { termination, why, findings: corrections, elapsed_ms, ..SolveSummary::before_start() }
}

/// The solution of a run of Levenberg-Marquardt that ends so: its start.
///
/// # Errors
/// What setting the parameters fails with.
pub(super) async fn solution(
    functions: &mut Functions,
    options: &SolveOptions,
    (start, arithmetic): (Start, Arithmetic),
    listener: &mut dyn Listener,
    began: f64,
) -> Result<Solution> {
    let summary = summary(options, start.corrections, listener, began);
    let times = vec![("setup", summary.elapsed_ms)];
    let (x, summary) = write_back(functions, arithmetic, Ok(summary), || Left::Host(start.point)).await?;
    let details = Details { times, ..Details::default() };
    Ok(Solution { x, summary, arithmetic, precision: None, details })
}
