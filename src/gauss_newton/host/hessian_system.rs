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

use super::blocks;

mod refinement;

pub use refinement::Refinement;

/// So many multiplications of a factorisation before the caller is asked whether to go on: some milliseconds.
const SLICE: f64 = 5e6;
/// Multiplications of eigenvalues between two looks at the clock, about.
const WORK_AT_A_TIME: usize = 20_000;
/// By how much the damping grows where the matrix is not positive definite in this arithmetic, or its step is of no use, and how far.
const DAMPING_GROWTH: f64 = 1e3;
const MOST_DAMPING: f64 = 10.0;

/// Dampings of the sum of matrices as they are, relative to its diagonal.
const DAMPINGS_AS_IS: [f64; 3] = [1e-11, 1e-8, 1e-5];
/// No place.
const ABOVE: u32 = u32::MAX;

/// How the damping, which is relative to the diagonal, grows and falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Damping {
    /// The least one.
    pub least: f64,
}

impl Damping {
    /// That of a factorisation: pivots that are 0, as of a shape that may be moved about, become far larger than what rounding makes of them, or the shape
    /// would move by that.
    pub const OF_FACTORISATION: Damping = Damping { least: 1e-11 };
    /// That of conjugate gradients in single precision: a rounding of the diagonal.
    #[cfg(target_arch = "wasm32")]
    pub const IN_SINGLE_PRECISION: Damping = Damping { least: 1e-7 };

    /// The next damping above one, if there is any.
    pub fn raised(self, damping: f64) -> Option<f64> {
        Some(damping * DAMPING_GROWTH).filter(|damping| *damping <= 2.0 * MOST_DAMPING)
    }

    /// The next damping below one.
    pub fn lowered(self, damping: f64) -> f64 {
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
pub struct HessianSystem {
    row_offsets: Vec<u32>,
    col_indices: Vec<u32>,
    values: Vec<f64>,
    /// Of each instance of each batch.
    instances: Vec<Vec<Instance>>,
    /// Where the rows of long sums begin.
    first_of_sums: usize,
    cholesky: SparseCholesky,
    /// Diagonal of the sum.
    pub diagonal: Vec<f64>,
    /// How many instances had negative eigenvalues.
    pub indefinite: usize,
    /// Which: where an instance's columns begin, and how many it has.
    replaced: Vec<(usize, usize)>,
    /// Their matrices as they were, one after another.
    originals: Vec<f64>,
    /// Where the entries of the instances' matrices stand in the sum's, once that is made of them as they are; [`ABOVE`] for those that it has by symmetry.
    places: Vec<u32>,
    /// Whether the rows are those of the instances' matrices as they are.
    is_as_is: bool,
    /// Which of [`DAMPINGS_AS_IS`] sufficed last.
    damping_as_is: usize,
    /// Long sums whose factor is negative.
    negative_sums: usize,
    /// Whether the last step is that of a matrix in which eigenvalues are replaced.
    is_replaced: bool,
    /// The damping of the factor, NaN if it is not that of the values, and the frozen coordinates.
    factorised: f64,
    held: Vec<bool>,
    /// Of each coordinate the first one of the same unit: that of the same number in the first block of its array.
    units: Vec<u32>,
}

impl HessianSystem {
    /// The system of an objective whose kernels have been compiled.
    pub fn new(functions: &mut Functions, objective: Objective) -> Result<HessianSystem> {
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
        Ok(HessianSystem {
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
            places: Vec::new(),
            is_as_is: false,
            damping_as_is: 0,
            negative_sums: 0,
            is_replaced: false,
            factorised: f64::NAN,
            held: vec![false; n],
            units,
        })
    }

    /// For the report.
    pub fn description(&self) -> String {
        format!("sparse-cholesky of the projected Hessian, {} numbers in the factor", self.cholesky.stored_len())
    }

    /// The matrix at a point, without negative eigenvalues.
    pub async fn linearise(
        &mut self,
        functions: &mut Functions,
        objective: Objective,
        x: &[f64],
        negative: Negative,
        yielder: &mut Yielder,
    ) -> Result<()> {
        self.evaluate(functions, objective, x, yielder).await?;
        self.replace_negative(negative, yielder).await;
        Ok(())
    }

    /// The instances' matrices at a point, as they are.
    pub async fn evaluate(
        &mut self,
        functions: &mut Functions,
        objective: Objective,
        x: &[f64],
        yielder: &mut Yielder,
    ) -> Result<()> {
        let (seeds, sums) = functions.long_sums(objective, x).await?;
        self.factorised = f64::NAN;
        let HessianSystem { values, instances, col_indices, .. } = self;
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
        (self.is_as_is, self.negative_sums) = (true, 0);
        if !sums.is_empty() {
            let entries = functions.jacobian_on_host(x).await?;
            let offsets = &functions.differentiate()?.row_offsets;
            let mut place = self.first_of_sums;
            for LongSum { row, factor } in sums {
                let of_row = &entries[offsets[row as usize] as usize..offsets[row as usize + 1] as usize];
                let root = factor.max(0.0).sqrt();
                self.negative_sums += usize::from(factor < 0.0);
                for (value, entry) in self.values[place..].iter_mut().zip(of_row) {
                    *value = root * entry;
                }
                place += of_row.len();
            }
        }
        Ok(())
    }

    /// Makes rows of the instances' matrices, in their places, without negative eigenvalues. These are of coordinates that are scaled by powers of two, so that
    /// they do not depend on units. Coordinates of one unit have one scale: a scale of each would depend on what few instances have, as triangles that are
    /// nearly turned over.
    pub async fn replace_negative(&mut self, negative: Negative, yielder: &mut Yielder) {
        let HessianSystem { values, instances, col_indices, indefinite, replaced, originals, diagonal, units, .. } =
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
        *indefinite = self.negative_sums;
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
        (self.is_as_is, self.factorised) = (false, f64::NAN);
        self.diagonal.fill(0.0);
        for (&column, value) in self.col_indices.iter().zip(&self.values) {
            self.diagonal[column as usize] += value * value;
        }
    }

    /// Solves for −gradient with the instances' matrices as [`HessianSystem::evaluate`] has them. [`Outcome::Singular`] where their sum is not positive
    /// definite, and needs more than a small damping.
    pub async fn solve_as_is(
        &mut self,
        (gradient, frozen): (&[f64], &[bool]),
        step: &mut [f64],
        yielder: &mut Yielder,
        stops: &mut dyn FnMut() -> bool,
    ) -> Outcome {
        if self.first_of_sums < self.col_indices.len() {
            return Outcome::Singular;
        }
        self.find_places();
        self.factorised = f64::NAN;
        let HessianSystem {
            row_offsets,
            col_indices,
            values,
            cholesky,
            diagonal,
            instances,
            places,
            damping_as_is,
            ..
        } = self;
        let all = || instances.iter().flatten();
        diagonal.fill(0.0);
        for &Instance { first, width } in all() {
            (0..width).for_each(|k| diagonal[col_indices[first + k] as usize] += values[first + k * (width + 1)].abs());
        }
        if diagonal.iter().any(|entry| !entry.is_finite()) {
            return Outcome::NotFinite;
        }
        let jacobian = SparseMatrix { cols: step.len(), row_offsets, col_indices, values };
        let first = damping_as_is.saturating_sub(1);
        for (number, damping) in DAMPINGS_AS_IS.iter().enumerate().skip(first) {
            let damping = diagonal.iter().map(|entry| damping * entry).list();
            cholesky.begin_with(&damping, frozen, |sums| {
                for (entry, &place) in places.iter().enumerate().filter(|(_, place)| **place != ABOVE) {
                    sums[place as usize] += values[entry];
                }
                clear_frozen(all(), frozen, (col_indices, places), sums);
            });
            let factorised = loop {
                if let Some(factorised) = cholesky.advance(&jacobian, SLICE) {
                    break factorised;
                }
                if yielder.yield_if_due().await && stops() {
                    return Outcome::Stopped;
                }
            };
            if factorised.is_ok() {
                *damping_as_is = number;
                solve_factorised(cholesky, gradient, frozen, step);
                if step.iter().all(|entry| entry.is_finite()) {
                    return Outcome::Solved;
                }
            }
        }
        Outcome::Singular
    }

    /// Whether the last step of [`HessianSystem::solve`] is that of a matrix in which eigenvalues are replaced, and was not refined.
    pub fn is_replaced(&self) -> bool {
        self.is_replaced
    }

    fn find_places(&mut self) {
        if !self.places.is_empty() {
            return;
        }
        let matrix = self.cholesky.matrix();
        for &Instance { first, width } in self.instances.iter().flatten() {
            let columns = &self.col_indices[first..first + width];
            for &row in columns {
                let place =
                    |&column: &u32| matrix.place(row as usize, column as usize).map_or(ABOVE, |place| place as u32);
                self.places.push_all(columns.iter().map(place));
            }
        }
    }

    /// Solves for −gradient over the coordinates that are not frozen, with that damping at least, relative to the diagonal.
    pub async fn solve(
        &mut self,
        (gradient, frozen): (&[f64], &[bool]),
        relative: &mut f64,
        step: &mut [f64],
        yielder: &mut Yielder,
        stops: &mut dyn FnMut() -> bool,
    ) -> Outcome {
        self.is_replaced = self.indefinite > 0;
        let HessianSystem { row_offsets, col_indices, values, cholesky, diagonal, factorised, held, .. } = self;
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
                solve_factorised(cholesky, gradient, frozen, step);
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

/// Solves for −gradient by a factor.
fn solve_factorised(cholesky: &SparseCholesky, gradient: &[f64], frozen: &[bool], step: &mut [f64]) {
    for ((step, gradient), frozen) in step.iter_mut().zip(gradient).zip(frozen) {
        *step = if *frozen { 0.0 } else { -gradient };
    }
    cholesky.factorisation().solve(step);
    step.iter_mut().zip(frozen).filter(|(_, frozen)| **frozen).for_each(|(step, _)| *step = 0.0);
}

/// Clears rows and columns of frozen coordinates.
fn clear_frozen<'a>(
    instances: impl Iterator<Item = &'a Instance>,
    frozen: &[bool],
    (col_indices, places): (&[u32], &[u32]),
    sums: &mut [f64],
) {
    if !frozen.contains(&true) {
        return;
    }
    for &Instance { first, width } in instances {
        let columns = &col_indices[first..first + width];
        for (entry, &place) in
            places[first..first + width * width].iter().enumerate().filter(|(_, place)| **place != ABOVE)
        {
            if frozen[columns[entry / width] as usize] || frozen[columns[entry % width] as usize] {
                sums[place as usize] = 0.0;
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

/// What became of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has a solution.
    Solved,
    /// The caller stopped it.
    Stopped,
    /// A second derivative is NaN or infinite.
    NotFinite,
    /// It has no solution, whatever the damping.
    Singular,
}
