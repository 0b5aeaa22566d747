//! The error where no problem can start, and what all of them share is to blame.

use super::batch::{Batch, make_feasible};
use super::template::SharedProblem;
use super::{ManySolutions, single};
use crate::eval::{Arithmetic, Objective};
use crate::solve::summary::Termination;
use residua_base::error::{Error, Result};
use residua_linalg::loops::all_finite;

/// Problems whose numbers are read at a time.
const AT_A_TIME: u32 = 64;

/// Refuses solutions of problems that have all ended with 'non-finite' where they started, if the numbers that one of them has of its own are finite.
///
/// # Errors
/// `non-finite`, naming a residual of that problem, as a single solve does.
pub async fn check_starts(template: &SharedProblem, batch: &Batch<'_>, solutions: &ManySolutions) -> Result<()> {
    let mut ends = solutions.termination.iter().zip(&solutions.iterations);
    if !ends.all(|(&end, &iterations)| end == Termination::NonFinite && iterations == 0) {
        return Ok(());
    }
    let numbers = template.values.len();
    for first in (0..batch.count).step_by(AT_A_TIME as usize) {
        let problems = first..batch.count.min(first + AT_A_TIME);
        let mut starts = batch.starts(template, problems.clone());
        let own = batch.read_data(problems.clone());
        for (place, x) in starts.chunks_exact_mut(numbers).enumerate() {
            let data =
                batch.data.iter().zip(&own).map(|(varying, own)| &own[place * varying.length..][..varying.length]);
            if !all_finite(x) || !data.into_iter().all(all_finite) || !make_feasible(template, x) {
                continue;
            }
            let mut functions = single::functions(template.clone())?;
            single::set_problem(&mut functions, batch, &own, place, x)?;
            let found = functions.evaluate_at(Objective::LeastSquares, x).await?;
            if found.cost.is_finite() && all_finite(&found.gradient) {
                return Ok(());
            }
            let error = functions.non_finite_error(x, Arithmetic::F64).await?;
            let problem = problems.start + place as u32;
            let message = format!("solveMany: no problem can start: of problem {problem}, {}", error.message);
            return Err(Error::new(error.code, message));
        }
    }
    Ok(())
}
