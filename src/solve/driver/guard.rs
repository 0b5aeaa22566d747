//! The precision guard of a solve: when the estimate is made, and what follows from it.

use crate::eval::{Arithmetic, Functions, Objective};
use crate::solve::precision::{self, Checked, Evaluated};
use crate::solve::session::DeviceResources;
use crate::solve::solution::Solution;
use crate::solve::summary::Termination;
use residua_base::error::Result;

/// Whether a solution is checked when it is due: it has converged, and rounds more than f64.
pub(super) fn is_checked(arithmetic: Arithmetic, termination: Termination) -> bool {
    arithmetic.epsilon() > Arithmetic::F64.epsilon() && termination.converged()
}

/// Adds an estimate to a solution that has converged. One whose estimate does not suffice ends with 'precision-limit'.
pub(super) fn judge(solution: &mut Solution, checked: Checked) {
    let summary = &mut solution.summary;
    summary.message = format!("{} {}", summary.message, checked.sentence);
    if !checked.estimate.suffices() {
        summary.termination = Termination::PrecisionLimit;
    }
    solution.precision = Some(checked);
}

/// The same with the finding of an earlier solve of the same functions, if there is one.
pub(super) fn judge_by_earlier(solution: &mut Solution, found: Option<Checked>) {
    if let Some(found) = found {
        let sentence = format!("At an earlier solution: {}", found.sentence);
        judge(solution, Checked { sentence, ..found });
    }
}

/// Estimates what rounding does to functions at their current parameters, at which a solve from `start` has found a cost.
pub(super) async fn check(
    functions: &mut Functions,
    resources: &DeviceResources,
    objective: Objective,
    cost: f64,
    start: Option<&[f64]>,
) -> Result<Checked> {
    functions.bring_values().await?;
    functions.bring_shared_data().await?;
    let residuals = functions.evaluate(None).await?;
    #[cfg(target_arch = "wasm32")]
    let suspects = match resources.of_levenberg_marquardt() {
        Some(resources) => resources.suspects(functions, &residuals).await?,
        None => Vec::new(),
    };
    #[cfg(not(target_arch = "wasm32"))]
    let (suspects, _) = (Vec::new(), resources);
    let arithmetic = functions.arithmetic();
    let point =
        Evaluated { x: functions.values(), constant: functions.constant(), residuals: &residuals, cost, arithmetic };
    let estimate = precision::estimate(functions.model(), objective, &point, start, &suspects)?;
    let sentence = estimate.sentence(functions.model(), arithmetic);
    Ok(Checked { estimate, sentence })
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
