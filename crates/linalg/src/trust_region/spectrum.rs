//! Symmetric matrices in their eigenvectors, and the steps of a trust region in them. Eigenvectors come from rotations of columns, so that small singular
//! values keep their digits.

use crate::loops::dot;
use residua_base::list::Listed;

/// A singular value, relative to the largest, that rounding of unit columns does not tell from 0.
pub(super) const RANK: f64 = 1e-13;
/// The length of a step on the surface, relative to the radius, is exact to this: more digits of λ do not make a better step (Moré 1978, section 5).
pub(super) const SURFACE: f64 = 0.1;
/// An eigenvalue of an indefinite matrix, relative to the largest, that is 0.
pub(super) const FLAT: f64 = 1e-14;
/// Iterations for λ; bisection halves its interval in each.
const MOST_ITERATIONS: usize = 100;
/// Sweeps of rotations; some six suffice.
const MOST_SWEEPS: usize = 40;

/// A symmetric matrix in its eigenvectors.
pub(super) struct Spectrum {
    /// Eigenvalues. Those that errors do not tell from 0 are 0, and take no part.
    pub(super) values: Vec<f64>,
    /// The eigenvectors, one after the other.
    pub(super) vectors: Vec<f64>,
    /// The products of the eigenvectors with minus the gradient.
    pub(super) slopes: Vec<f64>,
    /// The smallest eigenvalue that is not 0.
    least: f64,
}

impl Spectrum {
    /// Of RᵀR, with the slopes Rᵀ`right`. `errors`: how long the error of each column may be, where the largest singular value is 1.
    pub(super) fn of_columns(mut columns: Vec<f64>, right: &[f64], errors: &[f64]) -> Spectrum {
        let count = right.len();
        let vectors = rotate_apart(&mut columns, count);
        let of = |k: usize| &columns[k * count..][..count];
        let mut values: Vec<f64> = (0..count).map(|k| dot(of(k), of(k))).list();
        let slopes = (0..count).map(|k| dot(of(k), right)).list();
        let largest = values.iter().copied().fold(0.0, f64::max);
        for (value, vector) in values.iter_mut().zip(vectors.chunks_exact(count.max(1))) {
            // Errors of columns are independent of each other.
            let square: f64 = vector.iter().zip(errors).map(|(entry, error)| (entry * error).powi(2)).sum();
            if *value < (square * largest).max(f64::MIN_POSITIVE) {
                *value = 0.0;
            }
        }
        Spectrum { values, vectors, slopes, least: f64::MIN_POSITIVE }
    }

    /// Of a symmetric matrix.
    pub(super) fn of_symmetric(mut matrix: Vec<f64>, slopes: &[f64]) -> Spectrum {
        let count = slopes.len();
        // No eigenvalue is larger than a sum of magnitudes of a column, so that none of the shifted matrix is negative, and its singular values are its
        // eigenvalues.
        let of_column = |column: &[f64]| column.iter().map(|entry| entry.abs()).sum::<f64>();
        let shift = matrix.chunks_exact(count.max(1)).map(of_column).fold(0.0, f64::max);
        (0..count).for_each(|k| matrix[k * (count + 1)] += shift);
        let vectors = rotate_apart(&mut matrix, count);
        let columns = matrix.chunks_exact(count.max(1));
        let mut values: Vec<f64> = columns.map(|column| dot(column, column).sqrt() - shift).list();
        let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let least = (FLAT * largest).max(f64::MIN_POSITIVE);
        values.iter_mut().filter(|value| value.abs() < least).for_each(|value| *value = 0.0);
        let slopes = vectors.chunks_exact(count.max(1)).map(|vector| dot(vector, slopes)).list();
        Spectrum { values, vectors, slopes, least }
    }

    /// Σ s/(w + λ) v over the eigenvectors, of the products s of a vector with them.
    fn combine(&self, slopes: impl Fn(usize) -> f64, lambda: f64) -> Vec<f64> {
        let count = self.values.len();
        let mut sum = vec![0.0; count];
        for k in (0..count).filter(|&k| self.values[k] != 0.0) {
            let share = slopes(k) / (self.values[k] + lambda);
            for (sum, entry) in sum.iter_mut().zip(&self.vectors[k * count..][..count]) {
                *sum += share * entry;
            }
        }
        sum
    }

    pub(super) fn divided(&self, vector: &[f64], lambda: f64) -> Vec<f64> {
        let count = self.values.len();
        self.combine(|k| dot(&self.vectors[k * count..][..count], vector), lambda)
    }

    /// The step within a radius, and its λ.
    pub(super) fn step(&self, radius: f64) -> (f64, Vec<f64>) {
        let taken = (0..self.values.len()).filter(|&k| self.values[k] != 0.0).list();
        let Some(&lowest) = taken.iter().min_by(|&&a, &&b| self.values[a].total_cmp(&self.values[b])) else {
            return (0.0, vec![0.0; self.values.len()]);
        };
        let smallest = self.values[lowest];
        let length = |lambda: f64| {
            let square = |&k: &usize| (self.slopes[k] / (self.values[k] + lambda)).powi(2);
            taken.iter().map(square).sum::<f64>().sqrt()
        };
        let step = |lambda: f64| self.combine(|k| self.slopes[k], lambda);
        if smallest > 0.0 && length(0.0) <= radius {
            return (0.0, step(0.0));
        }
        let edge = (-smallest).max(0.0);
        let margin = if smallest > 0.0 { 0.0 } else { self.least + f64::EPSILON * edge };
        let inner = edge + margin;
        if length(inner) < radius {
            // The hard case: what is left of the radius is along the direction of the most negative curvature.
            let mut p = step(inner);
            let rest = (radius * radius - dot(&p, &p)).max(0.0).sqrt();
            let along = &self.vectors[lowest * self.values.len()..][..self.values.len()];
            let rest = if self.slopes[lowest] < 0.0 { -rest } else { rest };
            p.iter_mut().zip(along).for_each(|(p, entry)| *p += rest * entry);
            return (inner, p);
        }
        let steepest = taken.iter().map(|&k| self.slopes[k].powi(2)).sum::<f64>().sqrt();
        let (mut low, mut high) = (inner, inner + steepest / radius);
        let mut lambda = inner + 1e-3 * (high - inner);
        for _ in 0..MOST_ITERATIONS {
            let now = length(lambda);
            if (now - radius).abs() <= SURFACE * radius {
                break;
            }
            (low, high) = if now > radius { (lambda, high) } else { (low, lambda) };
            let falls = |&k: &usize| self.slopes[k].powi(2) / (self.values[k] + lambda).powi(3);
            let fall = taken.iter().map(falls).sum::<f64>() / now;
            // Newton's method for 1/Δ − 1/‖p‖, which is nearly linear in λ.
            let next = lambda + (now - radius) / radius * (now / fall);
            lambda = if low < next && next < high { next } else { low + 0.1 * (high - low) };
        }
        (lambda, step(lambda))
    }
}

/// Rotates columns until they are orthogonal to each other (one-sided Jacobi: G. H. Golub and C. F. Van Loan, *Matrix Computations*, 4th ed., section
/// 8.6.3), so that their lengths are the singular values; gives the product of the rotations, column after column. Small singular values have as many digits as
/// the columns allow (J. Demmel and K. Veselić, 1992).
fn rotate_apart(columns: &mut [f64], count: usize) -> Vec<f64> {
    let mut vectors = vec![0.0; count * count];
    (0..count).for_each(|k| vectors[k * (count + 1)] = 1.0);
    let tolerance = f64::EPSILON * count as f64;
    for _ in 0..MOST_SWEEPS {
        let mut is_rotated = false;
        for p in 0..count {
            for q in p + 1..count {
                let (a, b) = pair(columns, count, p, q);
                let [alpha, beta, gamma] = [dot(a, a), dot(b, b), dot(a, b)];
                let orthogonal = gamma.abs() <= tolerance * alpha.sqrt() * beta.sqrt();
                if orthogonal || !gamma.is_finite() || gamma == 0.0 {
                    continue;
                }
                is_rotated = true;
                let zeta = (beta - alpha) / (2.0 * gamma);
                let tangent = 1.0_f64.copysign(zeta) / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
                let sine = cosine * tangent;
                for list in [&mut *columns, &mut vectors] {
                    let (a, b) = pair(list, count, p, q);
                    for (a, b) in a.iter_mut().zip(b) {
                        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
                    }
                }
            }
        }
        if !is_rotated {
            break;
        }
    }
    vectors
}

fn pair(list: &mut [f64], count: usize, p: usize, q: usize) -> (&mut [f64], &mut [f64]) {
    let (before, after) = list.split_at_mut(q * count);
    (&mut before[p * count..][..count], &mut after[..count])
}
