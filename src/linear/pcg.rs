//! Conjugate gradients on (J̃ᵀJ̃ + diag(d)) δ = −J̃ᵀr̃ without ever forming J̃ᵀJ̃, preconditioned by the inverses of its diagonal blocks
//! (Golub and Van Loan, Matrix Computations, 4th ed., algorithm 11.5.1).

use super::{System, Trouble};
use crate::list::Listed;

/// The diagonal blocks of the preconditioner: ranges of coordinates, ascending, that do not overlap. Coordinates of no block are left as
/// they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// First coordinate and number of coordinates of each block.
    pub ranges: Vec<(usize, usize)>,
}

/// When conjugate gradients stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PcgOptions {
    /// η: they stop when rᵀM⁻¹r ≤ η² times what it was at the start; 0 runs all iterations.
    pub tolerance: f64,
    /// They stop after so many iterations.
    pub max_iterations: usize,
}

/// Preconditioned conjugate gradients.
#[derive(Clone, Debug, Default)]
pub struct Pcg {
    /// The blocks' Cholesky factors, row after row, block after block.
    factors: Vec<f64>,
    residual: Vec<f64>,
    preconditioned: Vec<f64>,
    direction: Vec<f64>,
    image: Vec<f64>,
    along: Vec<f64>,
}

impl Pcg {
    /// A solver; it takes its memory when it first solves.
    pub fn new() -> Pcg {
        Pcg::default()
    }

    /// Solves into `step`, from 0; says how many iterations that took.
    pub fn solve(
        &mut self,
        system: &System,
        blocks: &Blocks,
        options: PcgOptions,
        step: &mut [f64],
    ) -> Result<usize, Trouble> {
        let n = system.jacobian.cols;
        step.fill(0.0);
        self.factorise_blocks(system, blocks);
        for vector in [&mut self.residual, &mut self.preconditioned, &mut self.image] {
            vector.clear();
            vector.resize(n, 0.0);
        }
        self.along.clear();
        self.along.resize(system.jacobian.rows(), 0.0);
        system.right_side(&mut self.residual);
        self.precondition(blocks);
        self.direction.clone_from(&self.preconditioned);
        let mut size = dot(&self.residual, &self.preconditioned);
        let enough = options.tolerance * options.tolerance * size;
        for iteration in 0..options.max_iterations {
            if size == 0.0 {
                return Ok(iteration);
            }
            // pᵀAp as a sum of squares: it is positive wherever p is not 0.
            system.jacobian.times(&self.direction, &mut self.along);
            let mut curvature = dot(&self.along, &self.along);
            for (p, damping) in self.direction.iter().zip(system.damping) {
                curvature += damping * p * p;
            }
            if !(curvature > 0.0 && curvature.is_finite() && size.is_finite()) {
                return Err(Trouble::NotPositiveDefinite);
            }
            self.image.fill(0.0);
            system.jacobian.add_transposed_times(&self.along, &mut self.image);
            let alpha = size / curvature;
            for (k, &p) in self.direction.iter().enumerate() {
                if !system.frozen[k] {
                    step[k] += alpha * p;
                    self.residual[k] -= alpha * (self.image[k] + system.damping[k] * p);
                }
            }
            self.precondition(blocks);
            let next = dot(&self.residual, &self.preconditioned);
            if next <= enough {
                return Ok(iteration + 1);
            }
            let beta = next / size;
            size = next;
            for (direction, z) in self.direction.iter_mut().zip(&self.preconditioned) {
                *direction = z + beta * *direction;
            }
        }
        Ok(options.max_iterations)
    }

    /// The Cholesky factors of the diagonal blocks; of a block that has none, the square roots of its diagonal, or 1.
    fn factorise_blocks(&mut self, system: &System, blocks: &Blocks) {
        let mut starts = Vec::with_capacity(blocks.ranges.len());
        let mut block_of = vec![u32::MAX; system.jacobian.cols];
        let mut total = 0;
        for (block, &(first, count)) in blocks.ranges.iter().enumerate() {
            starts.push(total);
            block_of[first..first + count].fill(block as u32);
            total += count * count;
        }
        self.factors.clear();
        self.factors.resize(total, 0.0);
        for row in 0..system.jacobian.rows() {
            for (i, a) in system.jacobian.row(row) {
                let block = block_of[i];
                if block == u32::MAX || system.frozen[i] {
                    continue;
                }
                let (first, count) = blocks.ranges[block as usize];
                let target = &mut self.factors[starts[block as usize]..];
                for (j, b) in system.jacobian.row(row) {
                    if block_of[j] == block && j <= i && !system.frozen[j] {
                        target[(i - first) * count + (j - first)] += a * b;
                    }
                }
            }
        }
        for (&start, &(first, count)) in starts.iter().zip(&blocks.ranges) {
            let block = &mut self.factors[start..start + count * count];
            for k in 0..count {
                block[k * count + k] += if system.frozen[first + k] { 1.0 } else { system.damping[first + k] };
            }
            let diagonal: Vec<f64> = (0..count).map(|k| block[k * count + k]).list();
            if !cholesky(block, count) {
                block.fill(0.0);
                for (k, &diagonal) in diagonal.iter().enumerate() {
                    block[k * count + k] = if diagonal > 0.0 { diagonal.sqrt() } else { 1.0 };
                }
            }
        }
    }

    /// z = M⁻¹ r.
    fn precondition(&mut self, blocks: &Blocks) {
        self.preconditioned.copy_from_slice(&self.residual);
        let mut rest = self.factors.as_slice();
        for &(first, count) in &blocks.ranges {
            let (factor, others) = rest.split_at(count * count);
            rest = others;
            let z = &mut self.preconditioned[first..first + count];
            for i in 0..count {
                let known = dot(&factor[i * count..i * count + i], &z[..i]);
                z[i] = (z[i] - known) / factor[i * count + i];
            }
            for i in (0..count).rev() {
                z[i] /= factor[i * count + i];
                let value = z[i];
                for (z, entry) in z[..i].iter_mut().zip(&factor[i * count..]) {
                    *z -= entry * value;
                }
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

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
