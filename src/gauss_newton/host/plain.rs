//! Differences of plain functions: how exact their derivatives are, and second derivatives along a direction.

use residua_base::error::Result;
use residua_base::list::Listed;
use residua_ir::graph::Graph;

use crate::model::manifolds::path;
use crate::model::{Batch, Model};

/// Share of the direction by which differences are taken. The direction is a step, along which residuals change by as much as they are large, so that rounding
/// leaves 1e-10 of their second derivative, and the fourth one, which is left out, 1e-7.
const SHARE: f64 = 1.0 / 1024.0;

/// [`super::LeastSquares::accuracy`] and `noise` of the plain functions that take part, after a linearisation.
pub(super) fn accuracy(model: &Model) -> Result<(Vec<f64>, f64)> {
    let (mut accuracy, mut noise) = (Vec::new(), 0.0);
    for (batch, plain) in taking_part(model).filter_map(|batch| Some((batch, batch.plain.as_ref()?))) {
        let mut given = plain.accuracy()?;
        noise += model.blocks[batch.block as usize].weight * given.pop().unwrap_or(0.0);
        accuracy.resize(given.len().max(accuracy.len()), 0.0);
        accuracy.iter_mut().zip(&given).for_each(|(error, &given)| *error = given.max(*error));
    }
    Ok((accuracy, noise))
}

fn taking_part(model: &Model) -> impl Iterator<Item = &Batch> {
    model.batches.iter().filter(|batch| model.blocks[batch.block as usize].takes_part())
}

/// Adds (r(x + hv) − 2r(x) + r(x − hv))/h² to the rows of plain functions, where v is how x moves along the direction. How its path bends is in the kernels.
/// Where a point is beyond a bound, or a row is not finite, nothing is added.
pub(super) fn add_differences(
    model: &Model,
    x: &[f64],
    bounds: Option<(&[f64], &[f64])>,
    direction: &[f64],
    seconds: &mut [f64],
) -> Result<()> {
    let is_within = |point: &[f64]| {
        let is_between = |(number, (lower, upper)): (&f64, (&f64, &f64))| lower <= number && number <= upper;
        bounds.is_none_or(|(lower, upper)| point.iter().zip(lower.iter().zip(upper)).all(is_between))
    };
    let plain = taking_part(model).filter_map(|batch| Some((batch, batch.plain.as_ref()?)));
    let mut points = None;
    for (batch, plain) in plain {
        let [above, below] = points.get_or_insert_with(|| {
            let velocity = velocity(model, x, direction);
            [SHARE, -SHARE].map(|share| x.iter().zip(&velocity).map(|(x, v)| x + share * v).list())
        });
        if !is_within(above) || !is_within(below) {
            return Ok(());
        }
        let (at, above, below) = (plain.residuals_at(x)?, plain.residuals_at(above)?, plain.residuals_at(below)?);
        let count = batch.count as usize;
        for (place, ((at, above), below)) in at.iter().zip(&above).zip(&below).enumerate() {
            let second = ((above - at) - (at - below)) / (SHARE * SHARE);
            // An instance of weight 0 is left out.
            if second.is_finite() && batch.instance_weight(place % count) != 0.0 {
                seconds[batch.row(place % count) as usize + place / count] += second;
            }
        }
    }
    Ok(())
}

/// The derivative of x ⊞ tδ in t at t = 0.
fn velocity(model: &Model, x: &[f64], direction: &[f64]) -> Vec<f64> {
    let mut velocity = direction.to_vec();
    for array in model.arrays.iter().filter(|array| !array.manifold.has_unit_basis()) {
        let tangents = array.manifold.tangent_dim(array.dim) as usize;
        for block in 0..array.count {
            let first = (array.offset + block * array.dim) as usize;
            let places = first..first + array.dim as usize;
            // Literals are computed as they are written.
            let mut graph = Graph::new();
            let point = x[places.clone()].iter().map(|&number| graph.literal(number)).list();
            let delta = direction[first..first + tangents].iter().map(|&number| graph.literal(number)).list();
            let along = path(&mut graph, array.manifold, &point, &delta).0;
            for (place, node) in places.zip(along) {
                velocity[place] = graph.literal_value(node).unwrap_or(0.0);
            }
        }
    }
    velocity
}
