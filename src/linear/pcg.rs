//! Conjugate gradients on (J̃ᵀJ̃ + diag(d)) δ = −J̃ᵀr̃ without ever forming J̃ᵀJ̃, preconditioned by the inverses of its diagonal blocks
//! (Golub and Van Loan, Matrix Computations, 4th ed., algorithm 11.5.1).

use residua_loops::{advance, dot, invert_3, normal_product, precondition, redirect, weighted_square};

use super::{SparseMatrix, System, Trouble};
use crate::error::Result;

/// The diagonal blocks of the preconditioner: ranges of coordinates, ascending, that do not overlap. Coordinates of no block are left as
/// they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// First coordinate and number of coordinates of each block.
    pub ranges: Vec<(usize, usize)>,
}

/// The number of iterations, or why there is no step.
pub type Solved = std::result::Result<usize, Trouble>;

/// When conjugate gradients stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcgOptions {
    /// η: they stop when rᵀM⁻¹r ≤ η² times what it was at the start; 0 runs all iterations.
    pub tolerance: f64,
    /// They stop after so many iterations.
    pub max_iterations: usize,
}

/// What multiplies by J̃ᵀJ̃.
pub trait Products {
    /// Adds J̃ᵀJ̃p to `image`; gives ‖J̃p‖².
    fn product(&mut self, p: &[f64], image: &mut [f64]) -> Result<f64>;
}

impl Products for SparseMatrix<'_> {
    fn product(&mut self, p: &[f64], image: &mut [f64]) -> Result<f64> {
        Ok(normal_product(self.row_offsets, self.col_indices, self.values, p, image))
    }
}

/// A system of which J̃ is known by its products alone.
#[derive(Clone, Copy, Debug)]
pub struct Normal<'a> {
    /// J̃ᵀr̃.
    pub gradient: &'a [f64],
    /// The diagonal blocks of J̃ᵀJ̃, one after another, row after row, of which the lower halves count.
    pub curvature: &'a [f64],
    /// See [`System`].
    pub damping: &'a [f64],
    /// See [`System`].
    pub frozen: &'a [bool],
}

/// Preconditioned conjugate gradients.
#[derive(Clone, Debug, Default)]
pub struct Pcg {
    /// The inverses of the blocks, row after row, block after block.
    inverses: Vec<f64>,
    residual: Vec<f64>,
    preconditioned: Vec<f64>,
    direction: Vec<f64>,
    image: Vec<f64>,
    /// rᵀM⁻¹r, and when that is small enough.
    size: f64,
    enough: f64,
    iterations: usize,
}

impl Pcg {
    /// A solver; it takes its memory when it first solves.
    pub fn new() -> Pcg {
        Pcg::default()
    }

    /// Solves into `step`, from 0; says how many iterations that took.
    pub fn solve(&mut self, system: &System, blocks: &Blocks, options: PcgOptions, step: &mut [f64]) -> Solved {
        let mut gradient = vec![0.0; system.jacobian.cols];
        system.jacobian.add_transposed_times(system.residuals, &mut gradient);
        let curvature = diagonal_blocks(system, blocks);
        let System { mut jacobian, damping, frozen, .. } = *system;
        let normal = Normal { gradient: &gradient, curvature: &curvature, damping, frozen };
        self.begin(&normal, blocks, options, step);
        loop {
            // Products with a matrix that is there do not fail.
            let done = self.iterate(&normal, blocks, options, &mut jacobian, step);
            if let Some(outcome) = done.map_err(|_| Trouble::NonFinite)? {
                return outcome;
            }
        }
    }

    /// Begins a system.
    pub fn begin(&mut self, normal: &Normal, blocks: &Blocks, options: PcgOptions, step: &mut [f64]) {
        let n = normal.gradient.len();
        step.fill(0.0);
        self.invert_blocks(normal, blocks);
        for vector in [&mut self.preconditioned, &mut self.image] {
            vector.clear();
            vector.resize(n, 0.0);
        }
        self.residual.clear();
        let right_side = normal.gradient.iter().zip(normal.frozen);
        self.residual.extend(right_side.map(|(gradient, &frozen)| if frozen { 0.0 } else { -gradient }));
        self.size = precondition(&blocks.ranges, &self.inverses, &self.residual, &mut self.preconditioned);
        self.direction.clone_from(&self.preconditioned);
        self.enough = options.tolerance * options.tolerance * self.size;
        self.iterations = 0;
    }

    /// One iteration. When it is over it says how many there were, or what the trouble is.
    pub fn iterate(
        &mut self,
        normal: &Normal,
        blocks: &Blocks,
        options: PcgOptions,
        products: &mut dyn Products,
        step: &mut [f64],
    ) -> Result<Option<Solved>> {
        if self.size == 0.0 || self.iterations >= options.max_iterations {
            return Ok(Some(Ok(self.iterations)));
        }
        // pᵀAp as a sum of squares: it is positive wherever p is not 0.
        self.image.fill(0.0);
        let curvature =
            products.product(&self.direction, &mut self.image)? + weighted_square(normal.damping, &self.direction);
        if !(curvature > 0.0 && curvature.is_finite() && self.size.is_finite()) {
            return Ok(Some(Err(Trouble::NotPositiveDefinite)));
        }
        // Where δ is 0 the direction is, too, and the residual is to stay so.
        self.image.iter_mut().zip(normal.frozen).filter(|(_, frozen)| **frozen).for_each(|(image, _)| *image = 0.0);
        let alpha = self.size / curvature;
        advance(alpha, &self.direction, &self.image, normal.damping, step, &mut self.residual);
        let next = precondition(&blocks.ranges, &self.inverses, &self.residual, &mut self.preconditioned);
        self.iterations += 1;
        if next <= self.enough {
            return Ok(Some(Ok(self.iterations)));
        }
        redirect(next / self.size, &self.preconditioned, &mut self.direction);
        self.size = next;
        Ok(None)
    }

    /// The inverses of the damped diagonal blocks; of a block that is not positive definite, those of its diagonal, or 1.
    fn invert_blocks(&mut self, normal: &Normal, blocks: &Blocks) {
        self.inverses.clear();
        self.inverses.resize(normal.curvature.len(), 0.0);
        let mut start = 0;
        let mut factor = Vec::new();
        for &(first, count) in &blocks.ranges {
            let range = start..start + count * count;
            start = range.end;
            if let Ok(mut block) = <[f64; 9]>::try_from(&normal.curvature[range.clone()])
                && !normal.frozen[first..first + 3].contains(&true)
            {
                for k in 0..3 {
                    block[4 * k] += normal.damping[first + k];
                }
                if let Some(inverse) = invert_3(&block) {
                    self.inverses[range].copy_from_slice(&inverse);
                    continue;
                }
            }
            factor.clear();
            factor.extend_from_slice(&normal.curvature[range.clone()]);
            let block = factor.as_mut_slice();
            for i in 0..count {
                let frozen = |k: usize| normal.frozen[first + k];
                for j in 0..i {
                    if frozen(i) || frozen(j) {
                        block[i * count + j] = 0.0;
                    }
                }
                let diagonal = &mut block[i * count + i];
                *diagonal = if frozen(i) { 1.0 } else { *diagonal + normal.damping[first + i] };
            }
            let inverse = &mut self.inverses[range];
            for k in 0..count {
                let diagonal = block[k * count + k];
                inverse[k * count + k] = if diagonal > 0.0 { 1.0 / diagonal } else { 1.0 };
            }
            if cholesky(block, count) {
                invert(block, count, inverse);
            }
        }
    }
}

/// The diagonal blocks of J̃ᵀJ̃, as [`Normal`] has them.
fn diagonal_blocks(system: &System, blocks: &Blocks) -> Vec<f64> {
    let mut starts = Vec::with_capacity(blocks.ranges.len());
    let mut block_of = vec![u32::MAX; system.jacobian.cols];
    let mut total = 0;
    for (block, &(first, count)) in blocks.ranges.iter().enumerate() {
        starts.push(total);
        block_of[first..first + count].fill(block as u32);
        total += count * count;
    }
    let mut curvature = vec![0.0; total];
    for row in 0..system.jacobian.rows() {
        for (i, a) in system.jacobian.row(row) {
            let block = block_of[i];
            if block == u32::MAX {
                continue;
            }
            let (first, count) = blocks.ranges[block as usize];
            let target = &mut curvature[starts[block as usize]..];
            for (j, b) in system.jacobian.row(row) {
                if block_of[j] == block && j <= i {
                    target[(i - first) * count + (j - first)] += a * b;
                }
            }
        }
    }
    curvature
}

/// The inverse, in full, of a matrix from its Cholesky factor.
fn invert(factor: &[f64], n: usize, inverse: &mut [f64]) {
    for column in 0..n {
        let x = &mut inverse[column * n..column * n + n];
        x.fill(0.0);
        x[column] = 1.0;
        for i in column..n {
            let known = dot(&factor[i * n + column..i * n + i], &x[column..i]);
            x[i] = (x[i] - known) / factor[i * n + i];
        }
        for i in (0..n).rev() {
            x[i] /= factor[i * n + i];
            let value = x[i];
            for (x, entry) in x[..i].iter_mut().zip(&factor[i * n..]) {
                *x -= entry * value;
            }
        }
    }
}

/// The Cholesky factor of a small dense matrix, row after row, in the place of its lower half. `false` if a pivot is not positive.
pub(super) fn cholesky(a: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        let (above, row) = a.split_at_mut(i * n);
        for j in 0..i {
            let known = dot(&above[j * n..j * n + j], &row[..j]);
            row[j] = (row[j] - known) / above[j * n + j];
        }
        let pivot = row[i] - dot(&row[..i], &row[..i]);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        row[i] = pivot.sqrt();
    }
    true
}
