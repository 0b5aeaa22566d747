//! The precision guard: how much of a solution that was found in f32 is rounding.
//!
//! The device reads rounded parameters and data, and rounds every operation. None of its own numbers shows what that costs: a solve of GPS
//! ranges ends with a gradient of zero at a point that is metres off. So a sample of the instances ([`sample`]) is evaluated again in f64,
//! with the caller's own numbers, and compared with the residuals of the device at the same point. Two figures come of it:
//!
//! - **loss**, the share of the final cost that rounding can explain. Rounding adds ½ Σ weight·ρ′·(Δr² + q²) to the cost: Δr is the difference
//!   of the two residuals, and q their change when each parameter moves by its own rounding error, ε|x|/√12 in root mean square. The part of q
//!   is at most the cost in f64: a point that solves the problem exactly has lost nothing.
//! - **shift**, how far Δr moves the minimum: the least-squares solution of J δ = −Δr over the sample, relative to the parameter's scale, the
//!   largest of |x|, its standard error with the others fixed and the radius of a sphere (or a radian of an angle) that it is a number of; where the residuals
//!   vanish but for rounding, of its block too. It is estimated for at most [`MOST_SHIFTED`] free parameters; a sample does not determine more.
//!
//! A parameter whose derivatives have squares below the smallest normal number of f32 stands still on the device, and no test of convergence sees it. It is
//! looked for among as many parameters as the shift. One whose derivatives are 0 in f64 too is lost where residuals that depend on it are not 0: the cost
//! is flat in it, as in the rate of an exponential that has vanished, unless it had no effect at the start of the solve either. Where they are 0 it is as
//! right as any other, as one within its limits. In larger problems those parameters are looked at whose columns of J̃ the solver has found to be 0, by the
//! instances that touch them.
//!
//! Squares below the smallest normal number of f32 are lost as a whole: the device sees a cost of 0, however far the residuals are from 0.
//!
//! Of a sum of energies ([`sum`]) the loss is the difference of the two sums, relative to the sum itself, and there is no shift.
//!
//! A solution with a loss above [`MOST_LOSS`] or a shift above [`MOST_SHIFT`] has not converged: the arithmetic cannot tell.

mod finding;
mod point;
mod probe;
mod rounding;
mod sample;
mod shift;
mod sum;
#[cfg(test)]
mod tests;

use crate::eval::Objective;
use crate::model::{Model, losses};
use point::{SMALLEST_SQUARE, share};
use residua_base::error::Result;
use shift::Rows;

pub use finding::{Checked, MOST_LOSS, MOST_SHIFT, PrecisionEstimate};
pub use point::Evaluated;
pub use rounding::rounding_of_cost;
pub use shift::{MOST_SHIFTED, Shift};

/// Estimates what rounding does to a point at which a solve has ended. Batches whose residuals are long sums, or whose block takes no part,
/// are left out. `start`: where the solve began; without it no parameter is called lost. `suspects`: where there are more than [`MOST_SHIFTED`] free
/// parameters, those whose columns of J̃ the solver has found to be 0, ascending.
///
/// # Errors
/// `internal` if the derivatives of a residual are not a sound graph.
pub fn estimate(
    model: &Model,
    objective: Objective,
    point: &Evaluated,
    start: Option<&[f64]>,
    suspects: &[u32],
) -> Result<PrecisionEstimate> {
    if objective == Objective::Sum {
        return sum::estimate(model, point);
    }
    let (mut cost, mut difference, mut observed, mut quantised, mut underflown) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let mut rows = Rows::new(point, suspects);
    let instances = sample::each(model, point, &[], &mut |loss, probe, found, represented| {
        let (rho, rho_slope) = losses::evaluate(loss, found.squared);
        let share = 0.5 * represented * found.weight;
        cost += share * rho;
        difference += share * (rho - losses::evaluate(loss, found.squared_as_computed).0);
        observed += share * rho_slope * found.squared_difference;
        quantised += share * rho_slope * found.squared_quantisation;
        if found.squared.min(found.weight * rho) < SMALLEST_SQUARE {
            underflown += share * rho;
        }
        rows.add(probe, (represented * found.weight * rho_slope).abs().sqrt());
    })?;
    let explained = (observed + quantised.min(cost)).max(difference.abs()).max(underflown);
    let whole = cost.max(point.cost);
    let underflows = share(underflown, whole) > MOST_LOSS;
    let shift = rows.shift(model, cost);
    if !suspects.is_empty() {
        sample::each(model, point, suspects, &mut |_, probe, found, _| rows.add(probe, found.weight))?;
    }
    let [mut immovable, mut lost, mut without_effect] = rows.immovable();
    if lost.is_some() {
        let mut before = Rows::new(point, suspects);
        if let Some(x) = start {
            sample::each(model, &Evaluated { x, ..*point }, suspects, &mut |_, probe, found, _| {
                before.add(probe, found.weight)
            })?;
        }
        rows.compare(&before);
        [immovable, lost, without_effect] = rows.immovable();
    }
    let loss = share(explained, whole);
    let is_known = immovable.or(lost).or(without_effect).is_some();
    let is_undetermined = !is_known && shift.is_none() && rows.are_all(model.num_residuals as usize);
    Ok(PrecisionEstimate {
        loss,
        shift,
        instances,
        underflows,
        immovable,
        lost,
        without_effect,
        is_undetermined,
        left: 0.0,
    })
}
