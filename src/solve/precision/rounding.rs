//! How much of a cost in f64 is rounding.

use super::point::Evaluated;
use super::sample;
use crate::eval::Arithmetic;
use crate::model::{Model, losses};
use residua_base::error::Result;

/// The least-squares cost that rounding of the operations of residuals alone may leave at a point, ½ Σ weight·ρ′·Δr², by the sample of the precision guard: a
/// residual eˣ − 1 is uncertain by the rounding of eˣ, however small x is. 0 of batches that the sample leaves out.
///
/// # Errors
/// `internal` if the derivatives of a residual are not a sound graph.
pub fn rounding_of_cost(model: &Model, x: &[f64], constant: &[bool]) -> Result<f64> {
    let residuals = vec![0.0; model.num_residuals as usize];
    let point = Evaluated { x, constant, residuals: &residuals, cost: 0.0, arithmetic: Arithmetic::F64 };
    let mut cost = 0.0;
    sample::each(model, &point, &[], &mut |loss, probe, found, represented| {
        let (_, slope) = losses::evaluate(loss, found.squared);
        cost += 0.5 * represented * found.weight * slope * probe.squared_rounding();
    })?;
    Ok(cost)
}
