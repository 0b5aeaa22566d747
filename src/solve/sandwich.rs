//! The sandwich estimate of the covariance of an M-estimator, A⁻¹BA⁻¹ (P. J. Huber, "The behavior of maximum likelihood estimates under
//! nonstandard conditions", 1967; *Robust Statistics*, 1981, section 6.3; for squared residuals H. White, 1980).
//!
//! With weight w, loss ρ, and an instance's residuals r and Jacobian J, s = ‖r‖²:
//!
//! - g = wρ′(s) Jᵀr is the gradient of the instance's share of the cost, and B = Σ ggᵀ;
//! - A = Σ w (ρ′ JᵀJ + 2ρ″ Jᵀr rᵀJ) is the second derivative of the cost without the curvature of the residuals, as in Gauss-Newton.
//!
//! The solvers' J̃ and r̃ have J̃ᵀr̃ = g. J̃ᵀJ̃ is the instance's part of A where ρ″ is not negative; elsewhere it lacks 2ρ″/(wρ′²) ggᵀ. So A
//! is J̃ᵀJ̃ and a sum of such terms, and conjugate gradients that are preconditioned by (J̃ᵀJ̃)⁻¹ solve with it in few iterations.

use crate::eval::{Functions, OnHost};
use crate::model::losses::{LossKind, derivatives};
use residua_base::error::{Error, Result};
use residua_linalg::loops::dot;
use residua_linalg::{Inverse, SparseMatrix};

/// The residual of a solve with A, relative in the norm of (J̃ᵀJ̃)⁻¹, where conjugate gradients end.
const TOLERANCE: f64 = 1e-11;
/// Iterations of a solve with A, at most. They are few unless A is nearly singular.
const MOST_ITERATIONS: usize = 1_000;

/// The rows of an instance.
pub(super) struct Instance {
    first: usize,
    rows: usize,
    /// 2ρ″/(wρ′²) where ρ″ is negative, else 0.
    bend: f64,
}

/// The instances of the blocks that take part, at a point. A long sum is one instance.
pub(super) async fn instances(functions: &mut Functions, x: &[f64]) -> Result<Vec<Instance>> {
    let OnHost { model, engine, .. } = functions.on_host();
    let residuals = engine.values(model, x).await?;
    let mut instances = Vec::new();
    let mut seen = vec![false; residuals.len()];
    for batch in &model.batches {
        let block = &model.blocks[batch.block as usize];
        if !block.takes_part() {
            continue;
        }
        let rows = batch.class.outputs.len();
        let loss = (block.loss.kind != LossKind::Squared).then(|| derivatives(&block.loss));
        for instance in 0..batch.count as usize {
            let first = batch.row(instance) as usize;
            if std::mem::replace(&mut seen[first], true) {
                continue;
            }
            let r = &residuals[first..first + rows];
            let bend = loss.as_ref().map_or(0.0, |loss| {
                let [slope, bend] = loss(dot(r, r));
                let negative = bend < 0.0 && slope > 0.0;
                let weight = block.weight * batch.instance_weight(instance);
                if negative && weight > 0.0 { 2.0 * bend / (weight * slope * slope) } else { 0.0 }
            });
            instances.push(Instance { first, rows, bend });
        }
    }
    Ok(instances)
}

/// A⁻¹BA⁻¹ at a point, as a product with a vector.
pub(super) struct Sandwich<'a> {
    /// J̃
    pub matrix: SparseMatrix<'a>,
    /// r̃
    pub residuals: &'a [f64],
    /// (J̃ᵀJ̃)⁻¹
    pub inverse: &'a Inverse,
    pub instances: Vec<Instance>,
}

impl Sandwich<'_> {
    /// Replaces x by A⁻¹BA⁻¹ x.
    ///
    /// # Errors
    /// `invalid-argument` if A is not positive definite.
    pub(super) fn apply(&self, x: &mut [f64]) -> Result<()> {
        self.solve(x)?;
        let product = self.times(x, 0.0, |_| 1.0);
        x.copy_from_slice(&product);
        self.solve(x)
    }

    /// J̃ᵀ(κJ̃x) + Σ c ggᵀx, with c of each instance.
    fn times(&self, x: &[f64], kept: f64, c: impl Fn(&Instance) -> f64) -> Vec<f64> {
        let mut rows = vec![0.0; self.matrix.rows()];
        self.matrix.times(x, &mut rows);
        for instance in &self.instances {
            let places = instance.first..instance.first + instance.rows;
            let residuals = &self.residuals[places.clone()];
            let along = c(instance) * dot(residuals, &rows[places.clone()]);
            rows[places].iter_mut().zip(residuals).for_each(|(row, r)| *row = kept * *row + along * r);
        }
        let mut product = vec![0.0; x.len()];
        self.matrix.add_transposed_times(&rows, &mut product);
        product
    }

    /// Replaces x by A⁻¹x, by preconditioned conjugate gradients.
    fn solve(&self, x: &mut [f64]) -> Result<()> {
        if self.instances.iter().all(|instance| instance.bend == 0.0) {
            self.inverse.apply(x);
            return Ok(());
        }
        let mut rest = x.to_vec();
        let mut direction = rest.clone();
        self.inverse.apply(&mut direction);
        let mut square = dot(&rest, &direction);
        let enough = TOLERANCE * TOLERANCE * square;
        x.fill(0.0);
        for _ in 0..MOST_ITERATIONS {
            if square <= enough {
                return Ok(());
            }
            let product = self.times(&direction, 1.0, |instance| instance.bend);
            let curvature = dot(&direction, &product);
            if curvature.is_nan() || curvature <= 0.0 {
                break;
            }
            let step = square / curvature;
            let mut scaled = rest.clone();
            for (k, r) in scaled.iter_mut().enumerate() {
                x[k] += step * direction[k];
                *r -= step * product[k];
            }
            rest.copy_from_slice(&scaled);
            self.inverse.apply(&mut scaled);
            let next = dot(&rest, &scaled);
            direction.iter_mut().zip(&scaled).for_each(|(d, z)| *d = z + next / square * *d);
            square = next;
        }
        Err(Error::invalid_argument(
            "the sandwich estimate of the covariance does not exist: the second derivative of the cost with its robust losses is not \
             positive definite here, so that the point is no minimum, or a flat one; robust: false leaves the losses' second derivatives out",
        ))
    }
}
