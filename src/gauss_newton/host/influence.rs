//! The cost that residuals have by their influence, ½ Σ w ρ′(s)² s / ρ′(0) with s = ‖r‖² of an instance (P. J. Huber, *Robust Statistics*, 1981, section 6.3,
//! has it in the variance of an M-estimate). With the squared loss it is the cost. With a robust one the share of an instance is bounded, or vanishes, however
//! large its residuals are, so that it measures the scale of the others.

use crate::eval::{Functions, OnHost};
use crate::model::losses::{LossKind, slopes};
use residua_base::error::Result;
use residua_linalg::loops::dot;

/// Whether a block that takes part has a robust loss.
pub(super) fn is_robust(functions: &Functions) -> bool {
    functions.model().blocks.iter().any(|block| block.takes_part() && block.loss.kind != LossKind::Squared)
}

/// The influence at a point.
pub(super) async fn influence(functions: &mut Functions, x: &[f64]) -> Result<f64> {
    let OnHost { model, engine, .. } = functions.on_host();
    let residuals = engine.values(model, x).await?;
    let (mut sum, mut seen) = (0.0, vec![false; residuals.len()]);
    for batch in &model.batches {
        let block = &model.blocks[batch.block as usize];
        if !block.takes_part() {
            continue;
        }
        let rows = batch.class.outputs.len();
        let mut loss = (block.loss.kind != LossKind::Squared).then(|| slopes(&block.loss));
        let first_slope = loss.as_mut().map_or(block.loss.factor, |loss| loss(0.0));
        for instance in 0..batch.count as usize {
            let first = batch.row(instance) as usize;
            // The addends of a long sum have one row.
            if std::mem::replace(&mut seen[first], true) {
                continue;
            }
            let r = &residuals[first..first + rows];
            let square = dot(r, r);
            let slope = loss.as_mut().map_or(first_slope, |loss| loss(square));
            let share = slope * square.sqrt();
            sum += block.weight * batch.instance_weight(instance) * share * (share / first_slope);
        }
    }
    Ok(0.5 * sum)
}
