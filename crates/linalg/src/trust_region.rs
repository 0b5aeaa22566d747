//! Steps of few unknowns within a ball: the δ that minimises ½‖r̃ + J̃δ‖² where ‖Dδ‖ ≤ Δ, exactly (J. J. Moré, "The Levenberg-Marquardt algorithm:
//! implementation and theory", 1978; J. J. Moré and D. C. Sorensen, "Computing a trust region step", 1983).
//!
//! All of it is in units of D: p = Dδ, and J̃D⁻¹ = QR. Inside the ball the step is R⁻¹Qᵀ(−r̃). On its surface it is that of a λ > 0, which is found by the
//! singular values of R, so that columns that nearly depend on each other keep their digits. With the second derivatives S of the residuals the matrix is
//! RᵀR + D⁻¹SD⁻¹, which may be indefinite; its eigenvalues then take the place of squares of singular values.

mod spectrum;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

use crate::loops::dot;
use crate::normal_equations::ScaledCholesky;
use crate::{DenseQr, Trouble};
use residua_base::list::{Listed, PushAll};
use spectrum::{FLAT, RANK, Spectrum};
use std::cell::OnceCell;

/// A negative eigenvalue of J̃ᵀJ̃ + S, relative to that of J̃ᵀJ̃, that is no rounding error.
const RIDGE: f64 = 1e-3;
/// Singular values of more columns take longer than some steps along a path.
const MOST_OF_SPECTRUM: usize = 64;
/// The least pivot of a triangle of unit columns whose inverse is applied without singular values.
const SAFE_PIVOT: f64 = 1e-5;

/// The model at a point, ready for steps within balls of any radius.
#[derive(Default)]
pub struct TrustRegionModel {
    /// Coordinates that steps move, and D of each.
    free: Vec<usize>,
    scale: Vec<f64>,
    /// The error of each column, relative to its length; none where all are exact but for rounding.
    accuracy: Vec<f64>,
    /// R of J̃D⁻¹, column after column, and Qᵀ(−r̃).
    triangle: Vec<f64>,
    right: Vec<f64>,
    /// The singular values, and those of columns of unit length, once they are needed.
    spectrum: OnceCell<Spectrum>,
    of_unit_columns: OnceCell<Spectrum>,
    /// Memory of a factorisation of sums, and of a step in units of D.
    factor: ScaledCholesky,
    p: Vec<f64>,
}

/// A step within a ball.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// λ; 0 inside the ball.
    pub lambda: f64,
    /// ‖Dδ‖
    pub length: f64,
}

impl TrustRegionModel {
    /// From a finished factorisation without damping. `scale`: D, 0 where a coordinate has had no effect so far.
    pub fn of_rows(qr: &DenseQr, scale: &[f64], frozen: &[bool]) -> TrustRegionModel {
        let inverse_lengths = qr.inverse_lengths();
        let mut region = TrustRegionModel::over(scale, |k| frozen[k]);
        for (column, &k) in region.free.iter().enumerate() {
            // Of a column of zeros the factor has zeros.
            let unit = if inverse_lengths[k] > 0.0 { 1.0 / (inverse_lengths[k] * region.scale[column]) } else { 0.0 };
            region.triangle.push_all(region.free.iter().map(|&row| unit * qr.entry(row, k)));
        }
        region.right = region.free.iter().map(|&k| qr.right(k)).list();
        region
    }

    /// From the lower half of J̃ᵀJ̃, row after row, and J̃ᵀr̃, which are sums over so many rows.
    ///
    /// # Errors
    /// [`Trouble::IllConditioned`] where the sums have not the digits of a good step.
    pub fn of_sums(
        jtj: &[f64],
        gradient: &[f64],
        rows: usize,
        scale: &[f64],
        frozen: &[bool],
    ) -> Result<TrustRegionModel, Trouble> {
        let mut region = TrustRegionModel::default();
        region.take_sums(jtj, gradient, rows, scale, frozen)?;
        Ok(region)
    }

    /// [`Self::of_sums`] in the memory of a model.
    ///
    /// # Errors
    /// The same; the model is then none.
    pub fn take_sums(
        &mut self,
        jtj: &[f64],
        gradient: &[f64],
        rows: usize,
        scale: &[f64],
        frozen: &[bool],
    ) -> Result<(), Trouble> {
        let n = scale.len();
        let is_left_out = |k: usize| frozen[k] || jtj[k * n + k] == 0.0;
        self.clear(scale, is_left_out);
        if !self.factor.take_sums(n, jtj, rows, is_left_out) {
            return Err(Trouble::IllConditioned);
        }
        let TrustRegionModel { free, scale, triangle, right, factor, .. } = self;
        for (&k, scale) in free.iter().zip(scale.iter()) {
            triangle.push_all(free.iter().map(|&row| if row > k { 0.0 } else { factor.upper(row, k) / scale }));
        }
        right.push_all(free.iter().zip(scale.iter()).map(|(&k, scale)| -gradient[k] / scale));
        solve_transposed(triangle, right);
        Ok(())
    }

    /// Takes the errors of columns, as shares of their lengths, of all coordinates; none where they are exact but for rounding. What they explain of a
    /// direction's effect determines nothing.
    pub fn set_accuracy(&mut self, accuracy: &[f64]) {
        self.accuracy.clear();
        if !accuracy.is_empty() {
            self.accuracy.push_all(self.free.iter().map(|&k| accuracy[k]));
        }
    }

    fn over(scale: &[f64], is_left_out: impl Fn(usize) -> bool) -> TrustRegionModel {
        let mut region = TrustRegionModel::default();
        region.clear(scale, is_left_out);
        region
    }

    /// Makes it a model of nothing over the coordinates that count.
    fn clear(&mut self, scale: &[f64], is_left_out: impl Fn(usize) -> bool) {
        let TrustRegionModel { free, scale: of_free, accuracy, triangle, right, spectrum, of_unit_columns, .. } = self;
        accuracy.clear();
        free.clear();
        free.push_all((0..scale.len()).filter(|&k| scale[k] > 0.0 && !is_left_out(k)));
        of_free.clear();
        of_free.push_all(free.iter().map(|&k| scale[k]));
        triangle.clear();
        right.clear();
        spectrum.take();
        of_unit_columns.take();
    }

    /// What the step without a ball takes from ½‖r̃‖², by the model: the promise. Directions that rounding does not tell from those without effect take no
    /// part. D plays none: columns count with unit length.
    pub fn promise(&self) -> f64 {
        if self.is_safe() {
            return 0.5 * dot(&self.right, &self.right);
        }
        let Spectrum { values, slopes, .. } = self.of_unit_columns();
        let terms = values.iter().zip(slopes.iter()).filter(|(value, _)| **value > 0.0);
        0.5 * terms.map(|(value, slope)| slope * slope / value).sum::<f64>()
    }

    /// How many directions errors do not tell from those without effect. Columns of zeros are such directions.
    pub fn deficiency(&self) -> usize {
        if self.is_safe() {
            return 0;
        }
        self.of_unit_columns().values.iter().filter(|value| **value == 0.0).count()
    }

    /// The same with errors of columns that are so many times as large.
    pub fn deficiency_with(&mut self, errors: f64) -> usize {
        // Columns without errors have the same spectrum, which is kept.
        if self.accuracy.is_empty() {
            return self.deficiency();
        }
        let known = self.accuracy.clone();
        self.accuracy.iter_mut().for_each(|error| *error *= errors);
        self.of_unit_columns.take();
        let deficiency = self.deficiency();
        self.of_unit_columns.take();
        self.accuracy = known;
        deficiency
    }

    fn of_unit_columns(&self) -> &Spectrum {
        self.of_unit_columns.get_or_init(|| self.spectrum_of_unit_columns())
    }

    fn spectrum_of_unit_columns(&self) -> Spectrum {
        let mut columns = self.triangle.clone();
        for column in columns.chunks_exact_mut(self.right.len().max(1)) {
            let length = dot(column, column).sqrt();
            // Of a column that has all but vanished since D was its length, no direction counts.
            let unit = if length > RANK { length } else { 1.0 };
            column.iter_mut().for_each(|entry| *entry /= unit);
        }
        self.spectrum_of(columns)
    }

    /// The spectrum of columns with their errors.
    fn spectrum_of(&self, columns: Vec<f64>) -> Spectrum {
        let mut errors = vec![RANK; self.right.len()];
        for ((error, accuracy), column) in
            errors.iter_mut().zip(&self.accuracy).zip(columns.chunks_exact(self.right.len().max(1)))
        {
            *error = error.max(accuracy * dot(column, column).sqrt());
        }
        Spectrum::of_columns(columns, &self.right, &errors)
    }

    /// The step of the model within a radius.
    pub fn step(&mut self, radius: f64, step: &mut [f64]) -> Bounded {
        if self.is_safe() {
            self.p.clone_from(&self.right);
            solve(&self.triangle, &mut self.p);
            let length = dot(&self.p, &self.p).sqrt();
            if length <= radius {
                self.spread(&self.p, step);
                return Bounded { lambda: 0.0, length };
            }
        }
        let (lambda, p) = match self.right.len() > MOST_OF_SPECTRUM && self.is_safe() {
            true => self.dogleg(radius),
            false => self.spectrum().step(radius),
        };
        self.spread(&p, step);
        Bounded { lambda, length: dot(&p, &p).sqrt() }
    }

    /// Where the path from the steepest descent to the step without a ball leaves the ball, and a damping that makes steps along the gradient as long.
    fn dogleg(&self, radius: f64) -> (f64, Vec<f64>) {
        let count = self.right.len();
        let descent = self.slopes();
        let mut whole = self.right.clone();
        solve(&self.triangle, &mut whole);
        let mut product = vec![0.0; count];
        for (column, share) in descent.iter().enumerate() {
            let entries = &self.triangle[column * count..][..=column];
            product.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += share * entry);
        }
        let slope = dot(&descent, &descent);
        let cauchy = slope / dot(&product, &product);
        let lambda = slope.sqrt() / radius;
        let to_radius = |p: Vec<f64>| {
            let share = radius / dot(&p, &p).sqrt();
            p.iter().map(|p| share * p).list()
        };
        if cauchy * slope.sqrt() >= radius {
            return (lambda, to_radius(descent));
        }
        let first = descent.iter().map(|entry| cauchy * entry).list();
        let way = whole.iter().zip(&first).map(|(whole, first)| whole - first).list();
        // ‖first + t way‖ = Δ
        let [square, along] = [dot(&way, &way), dot(&first, &way)];
        let room = radius * radius - dot(&first, &first);
        let t = room / (along + (along * along + square * room).sqrt());
        (lambda, first.iter().zip(&way).map(|(first, way)| first + t * way).list())
    }

    /// The step of J̃ᵀJ̃ + S within a radius. `curvature`: the lower half of S, row after row.
    pub fn second_order_step(&self, curvature: &[f64], radius: f64, step: &mut [f64]) -> Bounded {
        let count = self.free.len();
        let mut matrix = self.with_curvature(curvature, step.len());
        let slopes = self.slopes();
        let mut factor = matrix.clone();
        if cholesky(&mut factor, count) {
            let mut p = slopes.clone();
            solve_transposed(&factor, &mut p);
            solve(&factor, &mut p);
            let length = dot(&p, &p).sqrt();
            if length <= radius {
                self.spread(&p, step);
                return Bounded { lambda: 0.0, length };
            }
        }
        mirror(&mut matrix, count);
        let (lambda, p) = Spectrum::of_symmetric(matrix, &slopes).step(radius);
        self.spread(&p, step);
        Bounded { lambda, length: dot(&p, &p).sqrt() }
    }

    /// What the step of J̃ᵀJ̃ + S without a ball takes from the cost, by that model, and ‖Dδ‖ of it; `None` where the model has no single minimum.
    pub fn second_order_promise(&self, curvature: &[f64]) -> Option<(f64, f64)> {
        let mut factor = self.with_curvature(curvature, self.dimension(curvature));
        let mut p = self.slopes();
        if !cholesky(&mut factor, p.len()) {
            return None;
        }
        solve_transposed(&factor, &mut p);
        let promise = 0.5 * dot(&p, &p);
        solve(&factor, &mut p);
        Some((promise, dot(&p, &p).sqrt()))
    }

    /// Whether J̃ᵀJ̃ + S has a direction along which the cost falls at the second order. Each direction is measured by its own singular value, so that a ridge
    /// counts however flat it is.
    pub fn bends_down(&self, curvature: &[f64]) -> bool {
        let (n, count) = (self.dimension(curvature), self.free.len());
        let Spectrum { values, vectors, .. } = self.spectrum();
        let largest = values.iter().copied().fold(0.0, f64::max);
        // (J̃ᵀJ̃ + S) in the basis of v/σ, where it is 1 + s. A direction without effect is measured by the largest singular value.
        let is_determined = |k: usize| values[k] > 0.0;
        let mut matrix = vec![0.0; count * count];
        let bent: Vec<Vec<f64>> =
            (0..count).map(|k| self.times_curvature(curvature, n, &vectors[k * count..][..count])).list();
        for (column, product) in bent.iter().enumerate() {
            for row in 0..count {
                let size = |k: usize| if is_determined(k) { values[k] } else { largest }.sqrt();
                matrix[column * count + row] =
                    dot(product, &vectors[row * count..][..count]) / (size(row) * size(column));
            }
            matrix[column * (count + 1)] += if is_determined(column) { 1.0 } else { 0.0 };
        }
        let slopes = vec![0.0; count];
        matrix.iter().all(|entry| entry.is_finite())
            && Spectrum::of_symmetric(matrix, &slopes).values.iter().any(|&value| value < -RIDGE)
    }

    /// D⁻¹SD⁻¹p
    fn times_curvature(&self, curvature: &[f64], n: usize, p: &[f64]) -> Vec<f64> {
        let entry = |row: usize, column: usize| {
            let (i, j) = (self.free[row], self.free[column]);
            curvature[i.max(j) * n + i.min(j)] / (self.scale[row] * self.scale[column])
        };
        (0..p.len()).map(|row| (0..p.len()).map(|column| entry(row, column) * p[column]).sum()).list()
    }

    /// −(J̃ᵀJ̃ + λD²)⁻¹ applied to a vector, such as J̃ᵀr̃″.
    pub fn correction(&self, lambda: f64, vector: &[f64], correction: &mut [f64]) {
        let mut p = self.free.iter().zip(&self.scale).map(|(&k, scale)| -vector[k] / scale).list();
        if lambda == 0.0 && self.is_safe() {
            solve_transposed(&self.triangle, &mut p);
            solve(&self.triangle, &mut p);
        } else {
            p = self.spectrum().divided(&p, lambda);
        }
        self.spread(&p, correction);
    }

    /// ‖J̃δ‖²
    pub fn squared_jvp(&self, step: &[f64]) -> f64 {
        let count = self.free.len();
        let mut product = vec![0.0; count];
        for (column, (&k, scale)) in self.free.iter().zip(&self.scale).enumerate() {
            let p = step[k] * scale;
            for (sum, entry) in product.iter_mut().zip(&self.triangle[column * count..][..=column]) {
                *sum += p * entry;
            }
        }
        dot(&product, &product)
    }

    fn dimension(&self, matrix: &[f64]) -> usize {
        (matrix.len() as f64).sqrt() as usize
    }

    /// The upper half of RᵀR + D⁻¹SD⁻¹, column after column.
    fn with_curvature(&self, curvature: &[f64], n: usize) -> Vec<f64> {
        let count = self.free.len();
        let mut matrix = vec![0.0; count * count];
        for column in 0..count {
            for row in 0..=column {
                let own = dot(&self.triangle[column * count..][..=row], &self.triangle[row * count..][..=row]);
                let bend = curvature[self.free[column] * n + self.free[row]] / (self.scale[row] * self.scale[column]);
                matrix[column * count + row] = own + bend;
            }
        }
        matrix
    }

    /// Rᵀ Qᵀ(−r̃), minus the gradient.
    fn slopes(&self) -> Vec<f64> {
        let count = self.free.len();
        (0..count).map(|k| dot(&self.triangle[k * count..][..=k], &self.right[..=k])).list()
    }

    fn spread(&self, p: &[f64], step: &mut [f64]) {
        step.fill(0.0);
        for ((&k, scale), p) in self.free.iter().zip(&self.scale).zip(p) {
            step[k] = p / scale;
        }
    }

    /// Whether no column nearly depends on those before it.
    fn is_safe(&self) -> bool {
        let count = self.free.len();
        let least = self.accuracy.iter().copied().fold(SAFE_PIVOT, f64::max);
        (0..count).all(|k| {
            let column = &self.triangle[k * count..][..=k];
            let length = dot(column, column).sqrt();
            length > RANK && column[k].abs() >= least * length
        })
    }

    fn spectrum(&self) -> &Spectrum {
        self.spectrum.get_or_init(|| self.spectrum_of(self.triangle.clone()))
    }
}

/// Copies the upper half of a matrix, column after column, to the lower one.
fn mirror(matrix: &mut [f64], count: usize) {
    for column in 0..count {
        for row in 0..column {
            matrix[row * count + column] = matrix[column * count + row];
        }
    }
}

/// The factor R of RᵀR in the place of a symmetric matrix, upper halves, column after column. `false` where it is not positive definite.
fn cholesky(a: &mut [f64], count: usize) -> bool {
    for column in 0..count {
        let (before, own) = a.split_at_mut(column * count);
        let own = &mut own[..count];
        let diagonal = own[column];
        for row in 0..column {
            let other = &before[row * count..][..count];
            own[row] = (own[row] - dot(&other[..row], &own[..row])) / other[row];
        }
        let pivot = own[column] - dot(&own[..column], &own[..column]);
        if !(pivot.is_finite() && pivot > FLAT * diagonal.abs()) {
            return false;
        }
        own[column] = pivot.sqrt();
        own[column + 1..].fill(0.0);
    }
    true
}

/// Replaces b by R⁻¹b.
fn solve(triangle: &[f64], b: &mut [f64]) {
    let count = b.len();
    for column in (0..count).rev() {
        let entries = &triangle[column * count..][..=column];
        let value = b[column] / entries[column];
        b[column] = value;
        b[..column].iter_mut().zip(entries).for_each(|(b, entry)| *b -= entry * value);
    }
}

/// Replaces b by R⁻ᵀb.
fn solve_transposed(triangle: &[f64], b: &mut [f64]) {
    let count = b.len();
    for column in 0..count {
        let entries = &triangle[column * count..][..=column];
        b[column] = (b[column] - dot(&entries[..column], &b[..column])) / entries[column];
    }
}
