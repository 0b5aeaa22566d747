//! How far rounding moves the minimum, and which parameters the arithmetic cannot move.

use super::point::{Evaluated, SMALLEST_SQUARE};
use super::probe::Probe;
use crate::model::manifolds::Part;
use crate::model::{ArrayInfo, Manifold, Model};
use residua_base::list::Listed;
use residua_linalg::{DenseQr, SparseMatrix, System};

/// The shift is estimated for at most so many free parameters: the work grows with their square, and a sample of residuals that each
/// have parameters of their own determines none.
pub const MOST_SHIFTED: usize = 64;

/// How far rounding moves a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Its number.
    pub parameter: u32,
    /// The distance, relative to its scale: the largest of its magnitude, its standard error with the other parameters fixed, and its [`size`].
    pub relative: f64,
}

/// Rows of the linear least-squares problem J δ = −Δr, if there are few enough free parameters; otherwise what they say of suspects alone.
pub(super) struct Rows<'a> {
    x: &'a [f64],
    /// The free parameters; the suspects if there are too many.
    free: Vec<usize>,
    /// Whether the rows are kept.
    is_kept: bool,
    /// The largest derivative by each, in magnitude.
    largest: Vec<f64>,
    /// Of each free parameter, whether a residual of the rows depends on it, and whether one that is not 0 does.
    occurs: Vec<bool>,
    matters: Vec<bool>,
    values: Vec<f64>,
    differences: Vec<f64>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(point: &Evaluated<'a>, suspects: &[u32]) -> Rows<'a> {
        let mut free = (0..point.x.len()).filter(|&parameter| !point.constant[parameter]).take(MOST_SHIFTED + 1).list();
        let is_kept = free.len() <= MOST_SHIFTED;
        if !is_kept {
            free = suspects.iter().map(|&suspect| suspect as usize).list();
        }
        let (occurs, matters, largest) = (vec![false; free.len()], vec![false; free.len()], vec![0.0; free.len()]);
        Rows { x: point.x, free, is_kept, largest, occurs, matters, values: Vec::new(), differences: Vec::new() }
    }

    /// Adds the residuals of the last instance of a probe, each times a factor.
    pub(super) fn add(&mut self, probe: &Probe, factor: f64) {
        if self.free.is_empty() {
            return;
        }
        for output in probe.outputs() {
            if !self.is_kept {
                self.values.clear();
                self.differences.clear();
            }
            let first = self.values.len();
            self.values.resize(first + self.free.len(), 0.0);
            for (parameter, partial) in probe.partials_of(output) {
                if let Ok(column) = self.free.binary_search(&parameter) {
                    self.values[first + column] += factor * partial;
                    self.occurs[column] = true;
                    self.matters[column] |= factor * probe.residual(output) != 0.0;
                }
            }
            let row = self.largest.iter_mut().zip(&self.values[first..]);
            row.for_each(|(largest, value)| *largest = largest.max(value.abs()));
            self.differences.push(factor * probe.difference(output));
        }
    }

    /// Takes it that a parameter without any effect in these rows of another point never had one.
    pub(super) fn compare(&mut self, before: &Rows) {
        (0..self.free.len()).for_each(|column| self.matters[column] &= before.largest[column] > 0.0);
    }

    /// The first parameters on which residuals depend and of whose derivatives no square is in the range of single precision: one of which some are not
    /// 0 in f64; and of those whose derivatives are all 0 in f64 too, one on which a residual depends that is not 0, and one without.
    pub(super) fn immovable(&self) -> [Option<u32>; 3] {
        let mut found = [None; 3];
        for column in (0..self.free.len()).filter(|&column| self.occurs[column]) {
            let largest = self.largest[column];
            let kind = match self.matters[column] {
                _ if largest > 0.0 => 0,
                true => 1,
                false => 2,
            };
            if largest * largest < SMALLEST_SQUARE {
                found[kind].get_or_insert(self.free[column] as u32);
            }
        }
        found
    }

    /// Whether these are all of so many residuals, of a problem that is small enough.
    pub(super) fn are_all(&self, residuals: usize) -> bool {
        self.is_kept && !self.free.is_empty() && self.differences.len() == residuals
    }

    /// The parameter that moves furthest, in a problem with that cost in f64. None where the rows do not determine the parameters.
    pub(super) fn shift(&self, model: &Model, cost: f64) -> Option<Shift> {
        let (n, m) = (self.free.len(), self.differences.len());
        if n == 0 || m < n || !self.is_kept {
            return None;
        }
        let row_offsets = (0..=m).map(|row| (row * n) as u32).list();
        let col_indices = (0..m * n).map(|entry| (entry % n) as u32).list();
        let jacobian =
            SparseMatrix { cols: n, row_offsets: &row_offsets, col_indices: &col_indices, values: &self.values };
        let (damping, frozen) = (vec![0.0; n], vec![false; n]);
        let system = System { jacobian, residuals: &self.differences, damping: &damping, frozen: &frozen };
        let mut step = vec![0.0; n];
        let mut qr = DenseQr::new();
        if qr.solve(&system, &mut step).is_err() {
            return None;
        }
        let freedom = (model.num_residuals as usize).saturating_sub(n).max(1) as f64;
        let squared_differences = self.differences.iter().map(|difference| difference * difference).sum::<f64>();
        // Where the cost is less than rounding makes of it, the residuals vanish but for rounding, whose variance is all that there is.
        let vanish = squared_differences >= 2.0 * cost;
        let variance = squared_differences.max(2.0 * cost) / freedom;
        let moved = self.free.iter().zip(&step).enumerate().map(|(column, (&parameter, step))| {
            let length = self.values.iter().skip(column).step_by(n).map(|value| value * value).sum::<f64>();
            let scale =
                self.x[parameter].abs().max((variance / length).sqrt()).max(size(model, self.x, parameter, vanish));
            // A parameter that does not move, or that no sampled residual determines, has no shift.
            let relative = if *step == 0.0 || length == 0.0 { 0.0 } else { step.abs() / scale };
            Shift { parameter: parameter as u32, relative }
        });
        moved.reduce(|worst, shift| if shift.relative > worst.relative { shift } else { worst })
    }
}

/// The size of a parameter by what it is a number of: the radius of its sphere, or a radian of an angle. Numbers of a Euclidean block may have different units,
/// so that the largest of the block counts only where the residuals vanish, and nothing else says what a shift of a number of 0 is to be compared with.
fn size(model: &Model, x: &[f64], parameter: usize, vanish: bool) -> f64 {
    let holds = |array: &&ArrayInfo| {
        let first = array.offset as usize;
        (first..first + array.count as usize * array.dim as usize).contains(&parameter)
    };
    let Some(array) = model.arrays.iter().find(holds) else { return 0.0 };
    let dim = array.dim as usize;
    let mut first = parameter - (parameter - array.offset as usize) % dim;
    let whole = [Part { manifold: array.manifold, dim: array.dim }];
    let parts = match array.manifold {
        Manifold::Product(product) => product.parts,
        Manifold::Euclidean | Manifold::UnitQuaternion | Manifold::UnitVector | Manifold::Angle => &whole,
    };
    for part in parts {
        let numbers = first..first + part.dim as usize;
        first = numbers.end;
        if numbers.contains(&parameter) {
            return match part.manifold {
                Manifold::UnitQuaternion | Manifold::UnitVector | Manifold::Angle => 1.0,
                Manifold::Euclidean | Manifold::Product(_) if vanish => {
                    x[numbers].iter().fold(0.0, |size, x| size.max(x.abs()))
                }
                Manifold::Euclidean | Manifold::Product(_) => 0.0,
            };
        }
    }
    0.0
}
