//! Conjugate gradients on (J̃ᵀJ̃ + diag(d)) δ = −J̃ᵀr̃ without ever forming J̃ᵀJ̃, preconditioned by the inverses of its diagonal blocks
//! (Golub and Van Loan, Matrix Computations, 4th ed., algorithm 11.5.1).

use crate::loops::{advance, dot, inverse_len, invert_threes, normal_product, redirect, subtract};

use super::{SparseMatrix, System, Trouble};
use residua_base::error::Result;

/// The blocks of coordinates, of which the preconditioner has the diagonal blocks: ranges, ascending, that do not overlap. Coordinates of no
/// block are left as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoordinateBlocks {
    /// First coordinate and number of coordinates of each block.
    pub ranges: Vec<(usize, usize)>,
    /// The coordinates of those that were named for elimination by a Schur complement, in the same way; none to find them.
    pub named: Vec<(usize, usize)>,
}

impl CoordinateBlocks {
    /// Blocks of which none was named.
    pub fn of(ranges: Vec<(usize, usize)>) -> CoordinateBlocks {
        CoordinateBlocks { ranges, named: Vec::new() }
    }
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
pub trait JtjOperator {
    /// Adds J̃ᵀJ̃p to `product`; gives ‖J̃p‖².
    fn product(&mut self, p: &[f64], product: &mut [f64]) -> Result<f64>;
}

impl JtjOperator for SparseMatrix<'_> {
    fn product(&mut self, p: &[f64], product: &mut [f64]) -> Result<f64> {
        Ok(normal_product(self.row_offsets, self.col_indices, self.values, p, product))
    }
}

/// A system of which J̃ is known by its products alone.
#[derive(Clone, Copy, Debug)]
pub struct NormalProducts<'a> {
    /// J̃ᵀr̃.
    pub gradient: &'a [f64],
    /// The diagonal blocks of J̃ᵀJ̃, one after another, row after row, of which the lower halves count.
    pub jtj_blocks: &'a [f64],
    /// See [`System`].
    pub damping: &'a [f64],
    /// See [`System`].
    pub frozen: &'a [bool],
}

/// Preconditioned conjugate gradients.
#[derive(Clone, Debug, Default)]
pub struct Pcg {
    /// The inverses of the blocks, block after block, as [`advance`] takes them.
    inverses: Vec<f64>,
    residual: Vec<f64>,
    direction: Vec<f64>,
    /// (A + diag(d)) p, and between a step and the next direction M⁻¹r.
    product: Vec<f64>,
    /// rᵀM⁻¹r, and when that is small enough.
    size: f64,
    enough: f64,
    iterations: usize,
    /// Σ dⱼpⱼ² of the direction.
    damped_square: f64,
    some_frozen: bool,
    /// What a system begins with, while it is made of rows.
    sums: Option<Sums>,
}

/// J̃ᵀr̃ and the diagonal blocks of J̃ᵀJ̃, as [`NormalProducts`] has them, of the rows before `row`.
#[derive(Clone, Debug)]
struct Sums {
    gradient: Vec<f64>,
    jtj_blocks: Vec<f64>,
    /// The block of each coordinate, and where the numbers of each begin.
    block_of: Vec<u32>,
    starts: Vec<usize>,
    row: usize,
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
        blocks: &CoordinateBlocks,
        options: PcgOptions,
        step: &mut [f64],
    ) -> Solved {
        self.begin_rows(system.jacobian.cols, blocks);
        self.advance_rows(system, blocks, options, f64::INFINITY, step).unwrap_or(Err(Trouble::NonFinite))
    }

    /// Begins a system whose matrix is there, of so many columns, for [`Pcg::advance_rows`].
    pub fn begin_rows(&mut self, cols: usize, blocks: &CoordinateBlocks) {
        self.sums = Some(Sums::new(cols, blocks));
    }

    /// Goes on for about so many multiplications; says when it is over.
    pub fn advance_rows(
        &mut self,
        system: &System,
        blocks: &CoordinateBlocks,
        options: PcgOptions,
        multiplications: f64,
        step: &mut [f64],
    ) -> Option<Solved> {
        let System { mut jacobian, damping, frozen, .. } = *system;
        // Iterations take nothing of the gradient and the blocks but what [`Pcg::begin`] has made of them.
        let normal = NormalProducts { gradient: &[], jtj_blocks: &[], damping, frozen };
        let each = (2 * jacobian.values.len() + jacobian.cols) as f64;
        let mut work = 0.0;
        if let Some(mut sums) = self.sums.take() {
            work += sums.add_rows(system, blocks, multiplications);
            if sums.row < jacobian.rows() {
                self.sums = Some(sums);
                return None;
            }
            let Sums { gradient, jtj_blocks, .. } = &sums;
            self.begin(&NormalProducts { gradient, jtj_blocks, ..normal }, blocks, options, step);
        }
        while work < multiplications {
            // Products with a matrix that is there do not fail.
            match self.iterate(&normal, blocks, options, &mut jacobian, step) {
                Ok(None) => work += each,
                Ok(over) => return over,
                Err(_) => return Some(Err(Trouble::NonFinite)),
            }
        }
        None
    }

    /// Begins a system.
    pub fn begin(&mut self, normal: &NormalProducts, blocks: &CoordinateBlocks, options: PcgOptions, step: &mut [f64]) {
        let n = normal.gradient.len();
        step.fill(0.0);
        self.some_frozen = normal.frozen.contains(&true);
        self.invert_blocks(normal, blocks);
        for vector in [&mut self.residual, &mut self.product, &mut self.direction] {
            vector.clear();
            vector.resize(n, 0.0);
        }
        subtract(1.0, normal.gradient, &mut self.residual);
        if self.some_frozen {
            zero_frozen(&mut self.residual, normal.frozen);
        }
        self.size = advance(0.0, &blocks.ranges, &self.inverses, &mut self.product, &mut self.residual);
        self.damped_square = redirect(0.0, 0.0, normal.damping, &mut self.product, &mut self.direction, step);
        self.enough = options.tolerance * options.tolerance * self.size;
        self.iterations = 0;
    }

    /// rᵀM⁻¹r.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// How many iterations the system has taken.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Changes the tolerance of a system that has begun.
    pub fn set_tolerance(&mut self, tolerance: f64) {
        self.enough = tolerance * tolerance * self.size;
    }

    /// One iteration. When it is over it says how many there were, or what the trouble is.
    pub fn iterate(
        &mut self,
        normal: &NormalProducts,
        blocks: &CoordinateBlocks,
        options: PcgOptions,
        products: &mut dyn JtjOperator,
        step: &mut [f64],
    ) -> Result<Option<Solved>> {
        if self.size == 0.0 || self.iterations >= options.max_iterations {
            return Ok(Some(Ok(self.iterations)));
        }
        // pᵀAp as a sum of squares: it is positive wherever p is not 0. Of the product, the damping's part is there.
        let curvature = products.product(&self.direction, &mut self.product)? + self.damped_square;
        if curvature == 0.0 && self.iterations > 0 {
            // What is left of the residual is so little that its square vanishes: there is nothing to be gained any more.
            return Ok(Some(Ok(self.iterations)));
        }
        if !(curvature > 0.0 && curvature.is_finite() && self.size.is_finite()) {
            return Ok(Some(Err(Trouble::NotPositiveDefinite)));
        }
        // Where δ is 0 the direction is, too, and the residual is to stay so.
        if self.some_frozen {
            zero_frozen(&mut self.product, normal.frozen);
        }
        let alpha = self.size / curvature;
        let next = advance(alpha, &blocks.ranges, &self.inverses, &mut self.product, &mut self.residual);
        self.iterations += 1;
        if next <= self.enough || self.iterations >= options.max_iterations {
            subtract(-alpha, &self.direction, step);
            return Ok(Some(Ok(self.iterations)));
        }
        let beta = next / self.size;
        self.damped_square = redirect(alpha, beta, normal.damping, &mut self.product, &mut self.direction, step);
        self.size = next;
        Ok(None)
    }

    /// The inverses of the damped diagonal blocks; of a block that is not positive definite, those of its diagonal, or 1.
    fn invert_blocks(&mut self, normal: &NormalProducts, blocks: &CoordinateBlocks) {
        let ranges = blocks.ranges.as_slice();
        self.inverses.clear();
        self.inverses.resize(ranges.iter().map(|(_, count)| inverse_len(*count)).sum(), 0.0);
        let (mut number, mut from, mut to) = (0, 0, 0);
        let (mut block, mut inverse) = (Vec::new(), Vec::new());
        loop {
            if !self.some_frozen {
                let (jtj_blocks, inverses) = (&normal.jtj_blocks[from..], &mut self.inverses[to..]);
                let done = invert_threes(&ranges[number..], jtj_blocks, normal.damping, inverses);
                (number, from, to) = (number + done, from + 9 * done, to + 6 * done);
            }
            let Some(&(first, count)) = ranges.get(number) else { return };
            let (next_from, next_to) = (from + count * count, to + inverse_len(count));
            block.clear();
            block.extend_from_slice(&normal.jtj_blocks[from..next_from]);
            let frozen = |k: usize| normal.frozen[first + k];
            for i in 0..count {
                for j in 0..i {
                    if frozen(i) || frozen(j) {
                        block[i * count + j] = 0.0;
                    }
                }
                let diagonal = &mut block[i * count + i];
                *diagonal = if frozen(i) { 1.0 } else { *diagonal + normal.damping[first + i] };
            }
            inverse.clear();
            inverse.resize(count * count, 0.0);
            for k in 0..count {
                let diagonal = block[k * count + k];
                inverse[k * count + k] = if diagonal > 0.0 { 1.0 / diagonal } else { 1.0 };
            }
            if cholesky(&mut block, count) {
                invert(&block, count, &mut inverse);
            }
            let is_half = inverse_len(count) < count * count;
            let kept = (0..count).flat_map(|i| (0..if is_half { i + 1 } else { count }).map(move |j| i * count + j));
            for (entry, place) in self.inverses[to..next_to].iter_mut().zip(kept) {
                *entry = inverse[place];
            }
            (number, from, to) = (number + 1, next_from, next_to);
        }
    }
}

/// Zeros at frozen coordinates.
fn zero_frozen(vector: &mut [f64], frozen: &[bool]) {
    vector.iter_mut().zip(frozen).filter(|(_, frozen)| **frozen).for_each(|(number, _)| *number = 0.0);
}

impl Sums {
    /// Of no rows.
    fn new(cols: usize, blocks: &CoordinateBlocks) -> Sums {
        let mut starts = Vec::with_capacity(blocks.ranges.len());
        let mut block_of = vec![u32::MAX; cols];
        let mut total = 0;
        for (block, &(first, count)) in blocks.ranges.iter().enumerate() {
            starts.push(total);
            block_of[first..first + count].fill(block as u32);
            total += count * count;
        }
        Sums { gradient: vec![0.0; cols], jtj_blocks: vec![0.0; total], block_of, starts, row: 0 }
    }

    /// Adds rows for about so many multiplications; gives how many there were.
    fn add_rows(&mut self, system: &System, blocks: &CoordinateBlocks, multiplications: f64) -> f64 {
        let Sums { gradient, jtj_blocks, block_of, starts, row } = self;
        let (jacobian, first_row) = (&system.jacobian, *row);
        let mut work = 0;
        while *row < jacobian.rows() && (work as f64) < multiplications {
            let range = jacobian.range(*row);
            let (columns, values) = (&jacobian.col_indices[range.clone()], &jacobian.values[range]);
            *row += 1;
            let mut entry = 0;
            // Columns ascend, so that those of a block follow each other.
            for run in columns.chunk_by(|&a, &b| block_of[a as usize] == block_of[b as usize]) {
                let values = &values[entry..entry + run.len()];
                entry += run.len();
                work += run.len() * run.len();
                let block = block_of[run[0] as usize];
                if block == u32::MAX {
                    continue;
                }
                let (first, count) = blocks.ranges[block as usize];
                let target = &mut jtj_blocks[starts[block as usize]..];
                for (&i, a) in run.iter().zip(values) {
                    for (&j, b) in run.iter().zip(values).filter(|(j, _)| **j <= i) {
                        target[(i as usize - first) * count + (j as usize - first)] += a * b;
                    }
                }
            }
        }
        let rows = SparseMatrix { row_offsets: &jacobian.row_offsets[first_row..=*row], ..*jacobian };
        rows.add_transposed_times(&system.residuals[first_row..*row], gradient);
        work as f64
    }
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
