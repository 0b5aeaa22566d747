//! Products with the Hessian, and steps that are refined by them.

use residua_base::cooperative::Yielder;
use residua_base::list::Listed;
use residua_linalg::SparseMatrix;
use residua_linalg::loops::dot;

use super::{HessianSystem, Instance};

/// Iterations that refine a step, at most.
const MOST_REFINEMENTS: usize = 50;

/// How far a step is refined.
#[derive(Clone, Copy, Debug)]
pub struct Refinement<'a> {
    /// What it may promise, in units of what it has promised; 0 for no refinement.
    pub ratio: f64,
    /// The share of the first residual that is left.
    pub left: f64,
    /// The ball ‖Dδ‖ ≤ Δ that bounds steps, D² and Δ: a direction without curvature is followed to it (T. Steihaug, "The conjugate gradient method and trust
    /// regions in large scale optimization", 1983).
    pub ball: Option<(&'a [f64], f64)>,
}

impl Refinement<'_> {
    /// That of a line search: a step that promises more than so many times as much is not taken.
    pub fn up_to(ratio: f64) -> Refinement<'static> {
        Refinement { ratio, left: 1e-8, ball: None }
    }
}

impl HessianSystem {
    /// Turns the solution of the system into that of the Hessian itself, in which no eigenvalues are replaced, by conjugate gradients that the system
    /// preconditions. Leaves it as it is where that Hessian is not positive along a direction of theirs, or promises more than `ratio` times as much, and
    /// where the caller stops it.
    pub async fn refine(
        &mut self,
        (gradient, frozen): (&[f64], &[bool]),
        Refinement { ratio, left, ball }: Refinement<'_>,
        step: &mut [f64],
        yielder: &mut Yielder,
        stops: &mut dyn FnMut() -> bool,
    ) {
        // A long sum of negative factor has no rows.
        if ratio == 0.0 || self.replaced.is_empty() || self.replaced.len() < self.indefinite {
            return;
        }
        let free = |vector: &mut [f64]| {
            vector.iter_mut().zip(frozen).filter(|(_, frozen)| **frozen).for_each(|(entry, _)| *entry = 0.0);
        };
        let mut residual = gradient.iter().map(|entry| -entry).list();
        free(&mut residual);
        let (mut refined, mut direction, mut product) = (vec![0.0; step.len()], step.to_vec(), vec![0.0; step.len()]);
        let mut slope = dot(&residual, &direction);
        let (least, most) = (left * slope, ratio * slope);
        for _ in 0..MOST_REFINEMENTS {
            if yielder.yield_if_due().await && stops() {
                return;
            }
            self.multiply(&direction, &mut product);
            free(&mut product);
            let curvature = dot(&direction, &product);
            if !(curvature > 0.0 && curvature.is_finite()) {
                let Some((scale, radius)) = ball.filter(|_| curvature.is_finite()) else { return };
                let share = to_ball(&refined, &direction, scale, radius);
                refined.iter_mut().zip(&direction).for_each(|(entry, direction)| *entry += share * direction);
                break;
            }
            let size = slope / curvature;
            refined.iter_mut().zip(&direction).for_each(|(entry, direction)| *entry += size * direction);
            residual.iter_mut().zip(&product).for_each(|(entry, product)| *entry -= size * product);
            let mut preconditioned = residual.clone();
            self.cholesky.factorisation().solve(&mut preconditioned);
            free(&mut preconditioned);
            let next = dot(&residual, &preconditioned);
            if next.is_nan() || next <= least {
                break;
            }
            let share = next / slope;
            slope = next;
            direction.iter_mut().zip(&preconditioned).for_each(|(entry, new)| *entry = new + share * *entry);
        }
        // The decrement is half of −gᵀd.
        let promised = -dot(gradient, &refined);
        if promised <= most && refined.iter().all(|entry| entry.is_finite()) {
            step.copy_from_slice(&refined);
            self.is_replaced = false;
        }
    }

    /// vᵀHv of a vector: of the Hessians without negative eigenvalues, or as they are.
    pub fn quadratic_form(&self, vector: &[f64], is_convex: bool) -> f64 {
        if is_convex && !self.is_as_is {
            let jacobian = SparseMatrix {
                cols: vector.len(),
                row_offsets: &self.row_offsets,
                col_indices: &self.col_indices,
                values: &self.values,
            };
            let mut products = vec![0.0; jacobian.rows()];
            jacobian.times(vector, &mut products);
            return dot(&products, &products);
        }
        let mut product = vec![0.0; vector.len()];
        self.multiply(vector, &mut product);
        dot(vector, &product)
    }

    /// The Hessian, without damping, times a vector.
    fn multiply(&self, vector: &[f64], product: &mut [f64]) {
        let HessianSystem { row_offsets, col_indices, values, replaced, originals, .. } = self;
        product.fill(0.0);
        if self.is_as_is {
            for &Instance { first, width } in self.instances.iter().flatten().filter(|instance| instance.width > 0) {
                let columns = &col_indices[first..first + width];
                for (&column, row) in columns.iter().zip(values[first..first + width * width].chunks_exact(width)) {
                    product[column as usize] += gathered(columns, row, vector);
                }
            }
            return;
        }
        for row in row_offsets.windows(2) {
            let entries = row[0] as usize..row[1] as usize;
            add_outer(&col_indices[entries.clone()], &values[entries], vector, 1.0, product);
        }
        let mut originals = &originals[..];
        for &(first, width) in replaced {
            let (original, others) = originals.split_at(width * width);
            originals = others;
            let columns = &col_indices[first..first + width];
            for row in values[first..first + width * width].chunks_exact(width) {
                add_outer(columns, row, vector, -1.0, product);
            }
            for (&column, row) in columns.iter().zip(original.chunks_exact(width)) {
                product[column as usize] += gathered(columns, row, vector);
            }
        }
    }
}

/// The t ≥ 0 for which ‖D(x + td)‖ = Δ; 0 from outside of the ball.
fn to_ball(x: &[f64], direction: &[f64], scale: &[f64], radius: f64) -> f64 {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).zip(scale).map(|((a, b), scale)| scale * a * b).sum::<f64>();
    let (square, along) = (product(direction, direction), product(x, direction));
    let room = radius * radius - product(x, x);
    let share = room / (along + (along * along + square * room).sqrt());
    if room > 0.0 && share.is_finite() { share } else { 0.0 }
}

/// Σ rₖ v of the columns of a row.
fn gathered(columns: &[u32], row: &[f64], vector: &[f64]) -> f64 {
    columns.iter().zip(row).map(|(&column, entry)| entry * vector[column as usize]).sum()
}

/// Adds ±r rᵀv for a row r.
fn add_outer(columns: &[u32], row: &[f64], vector: &[f64], sign: f64, product: &mut [f64]) {
    let along = sign * gathered(columns, row, vector);
    columns.iter().zip(row).for_each(|(&column, entry)| product[column as usize] += along * entry);
}
