//! Are the derivatives right? Every entry of the engine's Jacobian against central differences in f64.

use crate::model::Model;
use residua_base::error::Result;
use residua_base::list::Listed;
use residua_ir::graph::NodeId;

use super::Functions;

/// The worst entry of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientCheck {
    /// |derivative − difference| over the larger of the two magnitudes and the largest derivative of the same residual. An
    /// entry that is small relative to its neighbours is compared at their scale, since differences resolve no more.
    pub max_relative_error: f64,
    /// Residual where it stands.
    pub residual: u32,
    /// Parameter where it stands.
    pub parameter: u32,
}

impl Functions {
    /// Compares the Jacobian at a point with central differences of the reference evaluation. Both are taken at
    /// the point rounded to the arithmetic of the evaluations. A derivative that is not finite counts as an infinite error unless the difference is the
    /// same infinity: what is NaN is not compared, and so not right. Constants are compared like all others, so the mask plays no part.
    pub async fn check_gradients(&mut self, x: Option<&[f64]>) -> Result<GradientCheck> {
        let mut x = self.point(x).await?.into_owned();
        let arithmetic = self.arithmetic();
        x.iter_mut().for_each(|number| *number = arithmetic.quantise(*number));
        self.bring_shared_data().await?;
        let has_constants = std::mem::take(&mut self.has_constants);
        let linearisation = self.evaluate_jacobian(Some(&x)).await;
        self.has_constants = has_constants;
        let derivatives = linearisation?.entries;
        let partials = self.engine.partial_columns(&self.model)?;
        let Some(pattern) = self.pattern() else {
            return Ok(GradientCheck { max_relative_error: 0.0, residual: 0, parameter: 0 });
        };
        let mut differences = vec![0.0; derivatives.len()];
        for ((number, partials), places) in partials.iter().enumerate().zip(&pattern.places) {
            match &self.model.batches[number].plain {
                Some(plain) => {
                    add_columns(&self.model, number, partials, places, &plain.differences(&x)?, &mut differences)
                }
                None => add_differences(&self.model, number, partials, places, &x, &mut differences),
            }
        }

        let mut worst = GradientCheck { max_relative_error: 0.0, residual: 0, parameter: 0 };
        for row in 0..self.model.num_residuals {
            let entries = pattern.row_offsets[row as usize] as usize..pattern.row_offsets[row as usize + 1] as usize;
            let scale = derivatives[entries.clone()].iter().fold(0.0f64, |scale, entry| scale.max(entry.abs()));
            for entry in entries {
                let error = relative_error(derivatives[entry], differences[entry], scale);
                if error > worst.max_relative_error {
                    let parameter = pattern.col_indices[entry];
                    worst = GradientCheck { max_relative_error: error, residual: row, parameter };
                }
            }
        }
        Ok(worst)
    }
}

fn relative_error(derivative: f64, difference: f64, scale: f64) -> f64 {
    let both_finite = derivative.is_finite() && difference.is_finite();
    let error = (derivative - difference).abs();
    if !both_finite {
        return if derivative == difference { 0.0 } else { f64::INFINITY };
    }
    if error == 0.0 { 0.0 } else { error / derivative.abs().max(difference.abs()).max(scale) }
}

/// Adds the differences of a plain function, a column for each local parameter and output, at the partials' places.
fn add_columns(
    model: &Model,
    number: usize,
    partials: &[(u32, u32)],
    places: &[u32],
    columns: &[f64],
    differences: &mut [f64],
) {
    let batch = &model.batches[number];
    let (outputs, count) = (batch.class.outputs.len(), batch.count as usize);
    for (&(output, local), places) in partials.iter().zip(places.chunks_exact(count.max(1))) {
        let column = (local as usize * outputs + output as usize) * count;
        for (&place, difference) in places.iter().zip(&columns[column..column + count]) {
            differences[place as usize] += difference;
        }
    }
}

/// ∛ε, for an argument of size 1: the step that balances truncation, O(h²), and rounding, O(ε/h).
const STEP: f64 = 6.055454452393343e-6;

/// Adds the central differences of a batch's residuals with respect to its local parameters at the partials' places.
fn add_differences(
    model: &Model,
    number: usize,
    partials: &[(u32, u32)],
    places: &[u32],
    x: &[f64],
    differences: &mut [f64],
) {
    let batch = &model.batches[number];
    let class = &batch.class;
    let count = batch.count as usize;
    let mut inputs = vec![0.0; class.graph.input_count() as usize];
    let mut nodes = vec![0.0; class.graph.graph().len()];
    let mut evaluate = |inputs: &[f64], outputs: &[NodeId]| -> Vec<f64> {
        class.graph.evaluate_with(inputs, &model.tables, &mut nodes);
        outputs.iter().map(|output| nodes[output.index()]).list()
    };
    // Entries of the same local parameter are adjacent once sorted, so that two evaluations serve all of its outputs.
    let key = |(&(_, local), partial): (&(u32, u32), u64)| u64::from(local) << 32 | partial;
    let mut order = partials.iter().zip(0..).map(key).list();
    order.sort_unstable();
    for instance in 0..count {
        for (input, local) in inputs.iter_mut().zip(&class.locals) {
            *input = x[(batch.column(local.column)[instance] + local.component) as usize];
        }
        let first_data = class.locals.len();
        for column in 0..class.data as usize {
            inputs[first_data + column] = batch.data[column * count + instance];
        }
        inputs[first_data + class.data as usize..].copy_from_slice(&batch.batch_constants);
        for of_local in order.chunk_by(|a, b| a >> 32 == b >> 32) {
            let local = (of_local[0] >> 32) as usize;
            let at = inputs[local];
            let step = STEP * at.abs().max(1.0);
            inputs[local] = at + step;
            let (above, above_at) = (evaluate(&inputs, &class.outputs), inputs[local]);
            inputs[local] = at - step;
            let (below, below_at) = (evaluate(&inputs, &class.outputs), inputs[local]);
            inputs[local] = at;
            for &key in of_local {
                let partial = key as u32 as usize;
                let output = partials[partial].0 as usize;
                differences[places[partial * count + instance] as usize] +=
                    (above[output] - below[output]) / (above_at - below_at);
            }
        }
    }
}
