//! The precision guard of a sum of energies, Σ weight·f.

use super::finding::PrecisionEstimate;
use super::point::{Evaluated, share};
use super::sample;
use crate::model::Model;
use residua_base::error::Result;

/// Estimates which share of a sum rounding explains.
pub(super) fn estimate(model: &Model, point: &Evaluated) -> Result<PrecisionEstimate> {
    let (mut sum, mut difference) = (0.0, 0.0);
    let instances = sample::each(model, point, &[], &mut |_, probe, found, represented| {
        for output in probe.outputs() {
            sum += represented * found.weight * probe.residual(output);
            difference += represented * found.weight * probe.difference(output);
        }
    })?;
    let loss = share(difference.abs(), sum.abs().max(point.cost.abs()));
    Ok(PrecisionEstimate {
        loss,
        shift: None,
        instances,
        underflows: false,
        immovable: None,
        lost: None,
        without_effect: None,
        is_undetermined: false,
        left: 0.0,
    })
}
