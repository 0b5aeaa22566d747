//! The linear system of a step of Newton's method: the sum of the instances' Hessians, each made positive semi-definite, factorised sparsely.
//!
//! Each instance's matrix is RᵀR, and the rows of all R stand below each other as a Jacobian does, so that the factorisation is that of Gauss-Newton.
//! Long sums of a least-squares cost add a row each ([`crate::eval`]).

use residua_base::cooperative::Yielder;
use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::{Listed, PushAll};
use residua_linalg::cholesky::{Analysis, Complement};
use residua_linalg::loops::semidefinite::{Negative, Scratch, semidefinite_rows};
use residua_linalg::{SparseCholesky, SparseMatrix};

use crate::eval::hessian::{InstanceEntries, LongSum, energy, hessians_of_instances};
use crate::eval::{Functions, Objective, OnHost};
use crate::model::access_plan::Entry;
use crate::model::energy::Coordinates;
use crate::solve::levenberg_marquardt::host::blocks;
use crate::solve::vector::dot;

/// So many multiplications of a factorisation before the caller is asked whether to go on: some milliseconds.
const SLICE: f64 = 5e6;
/// Multiplications of eigenvalues between two looks at the clock, about.
const WORK_AT_A_TIME: usize = 20_000;
/// By how much the damping grows where the matrix is not positive definite in this arithmetic, or its step is of no use, and how far.
const DAMPING_GROWTH: f64 = 1e3;
const MOST_DAMPING: f64 = 10.0;

/// How the damping, which is relative to the diagonal, grows and falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Damping {
    /// The least one.
    pub(super) least: f64,
}

impl Damping {
    /// That of a factorisation: pivots that are 0, as of a shape that may be moved about, become far larger than what rounding makes of them, or the shape
    /// would move by that.
    pub(super) const OF_FACTORISATION: Damping = Damping { least: 1e-11 };
    /// That of conjugate gradients in single precision: a rounding of the diagonal.
    #[cfg(target_arch = "wasm32")]
    pub(super) const IN_SINGLE_PRECISION: Damping = Damping { least: 1e-7 };

    /// The next damping above one, if there is any.
    pub(super) fn raised(self, damping: f64) -> Option<f64> {
        Some(damping * DAMPING_GROWTH).filter(|damping| *damping <= 2.0 * MOST_DAMPING)
    }

    /// The next damping below one.
    pub(super) fn lowered(self, damping: f64) -> f64 {
        (damping / DAMPING_GROWTH).max(self.least)
    }
}

/// The rows of an instance.
struct Instance {
    /// Where its columns begin in the pattern's first row, and how many it has.
    first: usize,
    width: usize,
}

/// The system of a model, whose pattern is the same for every point.
pub(super) struct NewtonSystem {
    row_offsets: Vec<u32>,
    col_indices: Vec<u32>,
    values: Vec<f64>,
    /// Of each instance of each batch.
    instances: Vec<Vec<Instance>>,
    /// Where the rows of long sums begin.
    first_of_sums: usize,
    cholesky: SparseCholesky,
    /// Diagonal of the sum.
    pub(super) diagonal: Vec<f64>,
    /// How many instances had negative eigenvalues.
    pub(super) indefinite: usize,
    /// Which: where an instance's columns begin, and how many it has.
    replaced: Vec<(usize, usize)>,
    /// Their matrices as they were, one after another.
    originals: Vec<f64>,
    /// Whether the last step is that of a matrix in which eigenvalues are replaced.
    pub(super) is_replaced: bool,
    /// The damping of the factor, NaN if it is not that of the values, and the frozen coordinates.
    factorised: f64,
    held: Vec<bool>,
    /// Of each coordinate the first one of the same unit: that of the same number in the first block of its array.
    units: Vec<u32>,
}

impl NewtonSystem {
    /// The system of an objective whose kernels have been compiled.
    pub(super) fn new(functions: &mut Functions, objective: Objective) -> Result<NewtonSystem> {
        let sums = functions.rows_of_long_sums(objective)?;
        let OnHost { model, engine, .. } = functions.on_host();
        let n = model.num_params as usize;
        let (mut row_offsets, mut col_indices, mut instances) = (vec![0u32], Vec::new(), Vec::new());
        let too_large =
            || Error::new(ErrorCode::LimitExceeded, "the Hessians of all instances have more than 2³² entries");
        for (number, batch) in model.batches.iter().enumerate() {
            let entry = Entry::Hessian(energy(batch, objective), Coordinates::Tangent);
            let entries = InstanceEntries::new(batch, engine.partials_of(entry, number));
            let mut of_batch = Vec::with_capacity(batch.count as usize);
            let mut columns = Vec::new();
            for instance in 0..batch.count as usize {
                entries.columns(instance, &mut columns);
                of_batch.push(Instance { first: col_indices.len(), width: columns.len() });
                for _ in 0..columns.len() {
                    col_indices.extend_from_slice(&columns);
                    row_offsets.push(u32::try_from(col_indices.len()).map_err(|_| too_large())?);
                }
            }
            instances.push(of_batch);
        }
        let first_of_sums = col_indices.len();
        for row in sums {
            col_indices.push_all(row);
            row_offsets.push(u32::try_from(col_indices.len()).map_err(|_| too_large())?);
        }
        let analysis = Analysis::new(n, &row_offsets, &col_indices, &blocks(model), Complement::None)?;
        let values = vec![0.0; col_indices.len()];
        let cholesky = SparseCholesky::new(analysis)?;
        let diagonal = vec![0.0; n];
        let mut units = (0..model.num_params).list();
        for array in &model.arrays {
            let of_array = &mut units[array.offset as usize..][..(array.count * array.dim) as usize];
            of_array.iter_mut().enumerate().for_each(|(k, unit)| *unit = array.offset + k as u32 % array.dim);
        }
        Ok(NewtonSystem {
            row_offsets,
            col_indices,
            values,
            instances,
            first_of_sums,
            cholesky,
            diagonal,
            indefinite: 0,
            replaced: Vec::new(),
            originals: Vec::new(),
            is_replaced: false,
            factorised: f64::NAN,
            held: vec![false; n],
            units,
        })
    }

    /// For the report.
    pub(super) fn description(&self) -> String {
        format!("sparse-cholesky of the projected Hessian, {} numbers in the factor", self.cholesky.stored_len())
    }

    /// The matrix at a point.
    pub(super) async fn linearise(
        &mut self,
        functions: &mut Functions,
        objective: Objective,
        x: &[f64],
        negative: Negative,
        yielder: &mut Yielder,
    ) -> Result<()> {
        let (seeds, sums) = functions.long_sums(objective, x).await?;
        self.factorised = f64::NAN;
        let NewtonSystem { values, instances, col_indices, .. } = self;
        let OnHost { model, engine, constant, .. } = functions.on_host();
        values.fill(0.0);
        for (number, batch) in model.batches.iter().enumerate() {
            if !model.blocks[batch.block as usize].enabled {
                continue;
            }
            let entry = Entry::Hessian(energy(batch, objective), Coordinates::Tangent);
            let places = engine.partials_of(entry, number);
            if places.is_empty() {
                continue;
            }
            let entries = InstanceEntries::new(batch, places);
            let mut add = |of_piece: std::ops::Range<u32>, numbers: &[f64]| {
                for (instance, numbers) in of_piece.zip(numbers.chunks_exact(places.len())) {
                    let Instance { first, width } = instances[number][instance as usize];
                    let columns = &col_indices[first..first + width];
                    let matrix = &mut values[first..first + width * width];
                    entries.fill(instance as usize, numbers, columns, matrix);
                    let is_constant = |k: &usize| constant.is_some_and(|constant| constant[columns[*k] as usize]);
                    for k in (0..width).filter(is_constant) {
                        (0..width).for_each(|j| (matrix[k * width + j], matrix[j * width + k]) = (0.0, 0.0));
                    }
                }
            };
            hessians_of_instances(engine, model, (number, entry), (x, &seeds), yielder, &mut add).await?;
        }
        self.replace_negative(negative, yielder).await;
        if !sums.is_empty() {
            let entries = functions.jacobian_on_host(x).await?;
            let offsets = &functions.differentiate()?.row_offsets;
            let mut place = self.first_of_sums;
            for LongSum { row, factor } in sums {
                let of_row = &entries[offsets[row as usize] as usize..offsets[row as usize + 1] as usize];
                let root = factor.max(0.0).sqrt();
                self.indefinite += usize::from(factor < 0.0);
                for (value, entry) in self.values[place..].iter_mut().zip(of_row) {
                    *value = root * entry;
                }
                place += of_row.len();
            }
        }
        self.diagonal.fill(0.0);
        for (&column, value) in self.col_indices.iter().zip(&self.values) {
            self.diagonal[column as usize] += value * value;
        }
        Ok(())
    }

    /// Makes rows of the instances' matrices, in their places, without negative eigenvalues. These are of coordinates that are scaled by powers of two, so that
    /// they do not depend on units. Coordinates of one unit have one scale: a scale of each would depend on what few instances have, as triangles that are
    /// nearly turned over.
    async fn replace_negative(&mut self, negative: Negative, yielder: &mut Yielder) {
        let NewtonSystem { values, instances, col_indices, indefinite, replaced, originals, diagonal, units, .. } =
            self;
        // Constant functions have no columns.
        let all = || instances.iter().flatten().filter(|instance| instance.width > 0);
        diagonal.fill(0.0);
        for &Instance { first, width } in all() {
            for k in 0..width {
                diagonal[units[col_indices[first + k] as usize] as usize] += values[first + k * (width + 1)].abs();
            }
        }
        let scale = |&unit: &u32| Some(diagonal[unit as usize]).filter(|sum| *sum > 0.0).map_or(1.0, inverse_root);
        let scales = units.iter().map(scale).list();
        replaced.clear();
        originals.clear();
        *indefinite = 0;
        let (mut original, mut matrix, mut scratch, mut work) = (Vec::new(), Vec::new(), Scratch::default(), 0);
        for &Instance { first, width } in all() {
            work += width * width * width;
            if work > WORK_AT_A_TIME {
                yielder.yield_if_due().await;
                work = 0;
            }
            let columns = &col_indices[first..first + width];
            let rows = &mut values[first..first + width * width];
            original.clear();
            original.extend_from_slice(rows);
            matrix.clear();
            for (&row, entries) in columns.iter().zip(original.chunks_exact(width)) {
                let scaled = |(&column, entry): (&u32, &f64)| entry * scales[row as usize] * scales[column as usize];
                matrix.extend(columns.iter().zip(entries).map(scaled));
            }
            rows.fill(0.0);
            if semidefinite_rows(&mut matrix, width, negative, rows, &mut scratch) {
                *indefinite += 1;
                replaced.push((first, width));
                originals.extend_from_slice(&original);
            }
            for row in rows.chunks_exact_mut(width) {
                row.iter_mut().zip(columns).for_each(|(entry, &column)| *entry /= scales[column as usize]);
            }
        }
    }

    /// Solves for −gradient over the coordinates that are not frozen, with that damping at least, relative to the diagonal.
    pub(super) async fn solve(
        &mut self,
        (gradient, frozen): (&[f64], &[bool]),
        relative: &mut f64,
        step: &mut [f64],
        yielder: &mut Yielder,
        stops: &mut dyn FnMut() -> bool,
    ) -> Outcome {
        self.is_replaced = self.indefinite > 0;
        let NewtonSystem { row_offsets, col_indices, values, cholesky, diagonal, factorised, held, .. } = self;
        let jacobian = SparseMatrix { cols: step.len(), row_offsets, col_indices, values };
        if diagonal.iter().any(|entry| !entry.is_finite()) {
            return Outcome::NotFinite;
        }
        loop {
            if *factorised != *relative || held != frozen {
                *factorised = f64::NAN;
                let damping = diagonal.iter().map(|entry| *relative * entry).list();
                cholesky.begin(&damping, frozen);
                let result = loop {
                    if let Some(result) = cholesky.advance(&jacobian, SLICE) {
                        break result;
                    }
                    if yielder.yield_if_due().await && stops() {
                        return Outcome::Stopped;
                    }
                };
                if result.is_ok() {
                    *factorised = *relative;
                    held.clone_from_slice(frozen);
                }
            }
            if *factorised == *relative {
                for ((step, gradient), frozen) in step.iter_mut().zip(gradient).zip(frozen) {
                    *step = if *frozen { 0.0 } else { -gradient };
                }
                cholesky.factorisation().solve(step);
                step.iter_mut().zip(frozen).filter(|(_, frozen)| **frozen).for_each(|(step, _)| *step = 0.0);
                if step.iter().all(|entry| entry.is_finite()) {
                    return Outcome::Solved;
                }
            }
            match Damping::OF_FACTORISATION.raised(*relative) {
                Some(damping) => *relative = damping,
                None => return Outcome::Singular,
            }
        }
    }
}

/// Iterations that refine a step, at most, and the share of the first residual that they leave.
const MOST_REFINEMENTS: usize = 50;
const REFINED: f64 = 1e-8;

impl NewtonSystem {
    /// Turns the solution of the system into that of the Hessian itself, in which no eigenvalues are replaced, by conjugate gradients that the system
    /// preconditions. Leaves it as it is where that Hessian is not positive along a direction of theirs, or promises more than `ratio` times as much, and
    /// where the caller stops it.
    pub(super) async fn refine(
        &mut self,
        (gradient, frozen): (&[f64], &[bool]),
        ratio: f64,
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
        let (least, most) = (REFINED * slope, ratio * slope);
        for _ in 0..MOST_REFINEMENTS {
            if yielder.yield_if_due().await && stops() {
                return;
            }
            self.multiply(&direction, &mut product);
            free(&mut product);
            let curvature = dot(&direction, &product);
            if !(curvature > 0.0 && curvature.is_finite()) {
                return;
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

    /// The Hessian, without damping, times a vector.
    fn multiply(&self, vector: &[f64], product: &mut [f64]) {
        let NewtonSystem { row_offsets, col_indices, values, replaced, originals, .. } = self;
        product.fill(0.0);
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

/// The power of two nearest to 1/√x from below or above, from the exponent of a positive number.
fn inverse_root(x: f64) -> f64 {
    const BIAS: u64 = 1023;
    let half = ((x.to_bits() >> 52) + BIAS) / 2;
    f64::from_bits((2 * BIAS - half) << 52)
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

/// What became of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Solved,
    /// The caller stopped it.
    Stopped,
    /// A second derivative is NaN or infinite.
    NotFinite,
    /// It has no solution, whatever the damping.
    Singular,
}
