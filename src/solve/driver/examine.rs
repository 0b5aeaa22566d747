//! What is found at the end of a run: blocks that no residual touches, directions that residuals leave free, digits of the arithmetic, problems without anything to
//! solve. One function looks at the solution of every solver but `solveMany`.

use super::least_squares::Take;
use crate::eval::{Arithmetic, Functions, Objective};
use crate::gauss_newton::host::HostModel;
use crate::model::BlockInfo;
use crate::solve::check_schedule::{CheckTime, End};
use crate::solve::findings::Finding;
use crate::solve::levenberg_marquardt::host::deficiency;
use crate::solve::precision::{self, Checked, Evaluated};
use crate::solve::session::{DeviceResources, Parts};
use crate::solve::solution::Solution;
use crate::solve::summary::Termination;
use crate::solve::untouched::Untouched;
use residua_base::error::Result;
use residua_base::list::PushAll;

/// Adds to a solution, which is at the current parameters of the functions, what is found there. One that has converged, but not as far as its arithmetic tells,
/// ends with 'precision-limit'.
pub(super) async fn examine(
    (functions, host, device): Parts<'_>,
    objective: Objective,
    take: Take<'_>,
    solution: &mut Solution,
) -> Result<()> {
    // A loop of frames does not look for them at each.
    let untouched =
        if take.read_back { Untouched::of(functions.model(), functions.constant()) } else { Untouched::default() };
    let are_some_untouched = untouched.count > 0;
    if are_some_untouched {
        solution.summary.findings.push(Finding::Untouched(untouched));
    }
    if solution.details.may_lack_rank {
        solution.summary.findings.push_all(deficiency::finding(functions, host, are_some_untouched).await?);
    }
    if is_checked(solution.arithmetic, solution.summary.termination) {
        let end = End { objective, cost: solution.summary.final_cost, by_model: take.by_model };
        match device.checks.time(take.read_back, end) {
            CheckTime::Now => {
                judge(solution, check(functions, host, device, end, take.start, are_some_untouched).await?);
            }
            CheckTime::Later(found) => judge_by_earlier(solution, found),
        }
    }
    let findings = &mut solution.summary.findings;
    if functions.constant().iter().all(|constant| *constant) {
        findings.push(Finding::AllConstant);
    } else if functions.sample_count() == 0 {
        let all_blocks = !functions.model().blocks.iter().any(BlockInfo::takes_part);
        findings.push(Finding::NoResiduals { all_blocks });
    }
    findings.push_all(functions.device_fault().map(|fault| Finding::DeviceFault(fault.message.clone())));
    Ok(())
}

/// Whether a solution is checked when it is due: it has converged, and rounds more than f64.
pub(super) fn is_checked(arithmetic: Arithmetic, termination: Termination) -> bool {
    arithmetic.epsilon() > Arithmetic::F64.epsilon() && termination.converged()
}

/// Adds an estimate to a solution that has converged. One whose estimate does not suffice ends with 'precision-limit'.
pub(super) fn judge(solution: &mut Solution, checked: Checked) {
    solution.summary.findings.push_all(checked.findings.iter().cloned());
    if !checked.estimate.suffices() {
        solution.summary.termination = Termination::PrecisionLimit;
    }
    solution.precision = Some(checked);
}

/// The same with the finding of an earlier solve of the same functions, if there is one.
pub(super) fn judge_by_earlier(solution: &mut Solution, found: Option<Checked>) {
    if let Some(mut found) = found {
        for finding in &mut found.findings {
            if let Finding::Rounding { is_earlier, .. } = finding {
                *is_earlier = true;
            }
        }
        judge(solution, found);
    }
}

/// Estimates what rounding does to functions at their current parameters, at which a solve from `start` has ended. Where its success stands for a small promise,
/// also what J̃ promises in f64, and its rank.
pub(super) async fn check(
    functions: &mut Functions,
    host: &mut HostModel,
    device: &DeviceResources,
    End { objective, cost, by_model }: End,
    start: Option<&[f64]>,
    are_some_untouched: bool,
) -> Result<Checked> {
    functions.bring_values().await?;
    functions.bring_shared_data().await?;
    let residuals = functions.evaluate(None).await?;
    #[cfg(target_arch = "wasm32")]
    let suspects = match device.of_levenberg_marquardt() {
        Some(resources) => resources.suspects(functions, &residuals).await?,
        None => Vec::new(),
    };
    #[cfg(not(target_arch = "wasm32"))]
    let (suspects, _) = (Vec::new(), device);
    let arithmetic = functions.arithmetic();
    let point =
        Evaluated { x: functions.values(), constant: functions.constant(), residuals: &residuals, cost, arithmetic };
    let mut estimate = precision::estimate(functions.model(), objective, &point, start, &suspects)?;
    let by_model = by_model && objective == Objective::LeastSquares;
    if by_model && estimate.suffices() && cost > 0.0 {
        estimate.left = deficiency::promise(functions, host, arithmetic, None).await?.unwrap_or(0.0);
    }
    let mut findings = estimate.findings(functions.model(), arithmetic);
    if by_model && estimate.is_undetermined {
        findings.push_all(deficiency::finding(functions, host, are_some_untouched).await?);
    }
    Ok(Checked { estimate, findings })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_converged_in_less_than_double_precision_is_checked() {
        assert!(is_checked(Arithmetic::F32, Termination::CostTolerance));
        assert!(!is_checked(Arithmetic::F32, Termination::MaxIterations));
        assert!(!is_checked(Arithmetic::F64, Termination::CostTolerance));
    }
}
