//! The linear system of a step, solved in slices, so that the page stays responsive and limits of time are kept: an iteration of conjugate
//! gradients at a time where the model has no matrix, else some iterations, or some part of a factorisation. A model of sums in one block has its system at
//! hand.

use super::exact::quadratic_form;
use crate::gauss_newton::host::LeastSquares;
use crate::solve::levenberg_marquardt::point::MOST_COORDINATES;
use crate::solve::vector::dot;
use residua_base::error::Result;
use residua_linalg::loops::diagonals;
use residua_linalg::system::finite;
use residua_linalg::{
    CoordinateBlocks, DenseQr, JtjOperator, LinearSolver, NormalProducts, Pcg, PcgOptions, Solved, SparseMatrix,
    System, Trouble, TrustRegionModel,
    normal_equations::{self, products},
};

/// So many multiplications of a factorisation before the caller is asked whether to go on: some milliseconds.
const SLICE: f64 = 5e6;

/// Multiplications of a factorisation that reviews what another solver has found, at most: some milliseconds.
const MOST_WORK_OF_REVIEW: usize = 3_000_000;

/// From so many columns on, sums of products of rows take less time than reflections, and are tried first.
const LEAST_COLUMNS_OF_SUMS: usize = 16;

/// The tolerance of systems of a trial, at most.
const LOOSE: f64 = 0.03;
/// The same where the gradient has decreased little since the system before. With the looser one ill-conditioned problems take many short steps, and
/// meet a tolerance before they have converged.
const TIGHT: f64 = 1e-2;
/// It has decreased little if rᵀM⁻¹r, the square of its norm, is more than this part of the one before: if the norm is more than half.
const SLOW: f64 = 0.25;

/// A step whose length grows by more than this share while its iterations double is not the one of the system, whatever its residual: directions along which
/// residuals are small, as the long waves of a graph, are most of it. Where conjugate gradients pay, in bundle adjustments, it grows by 0.03; in graphs by 0.07
/// to 0.4.
const MOST_GROWTH: f64 = 0.05;

/// Conjugate gradients in the place of a factorisation. A system may take as many iterations as take the time of a factorisation, and those that the
/// systems before have left of theirs, up to the same number again. The first system, which has that number, takes twice the iterations that its tolerance
/// asks for, which shows whether the step is settled.
pub struct Trial {
    worth: usize,
    left: usize,
    /// rᵀM⁻¹r at the start of the system before.
    size: f64,
    settling: Option<Settling>,
}

/// How the step of the first system settles.
enum Settling {
    /// Until rᵀM⁻¹r has fallen to this.
    Until(f64),
    /// Until so many iterations, from a step of that length.
    From(usize, f64),
}

impl Trial {
    /// A trial in which a factorisation takes the time of so many iterations.
    pub(super) fn of(worth: usize) -> Trial {
        Trial { worth, left: worth, size: f64::INFINITY, settling: Some(Settling::Until(0.0)) }
    }

    /// The tolerance of a system that begins with such an rᵀM⁻¹r.
    fn begin(&mut self, size: f64) -> f64 {
        self.left = (self.left + self.worth).min(2 * self.worth);
        let is_slow = size > SLOW * std::mem::replace(&mut self.size, size);
        if is_slow { TIGHT } else { LOOSE }
    }

    /// Whether the first system is solved after an iteration, or is not for conjugate gradients. `length`: that of the step.
    fn settle(&mut self, pcg: &Pcg, length: impl FnOnce() -> f64) -> Option<Solved> {
        match self.settling {
            Some(Settling::Until(size)) if pcg.size() <= size => {
                self.settling = Some(Settling::From(2 * pcg.iterations(), length()));
                None
            }
            Some(Settling::From(iterations, before)) if pcg.iterations() >= iterations => {
                self.settling = None;
                let has_settled = length() <= (1.0 + MOST_GROWTH) * before;
                Some(if has_settled { Ok(iterations) } else { Err(Trouble::TooSlow) })
            }
            _ => None,
        }
    }
}

/// The linear systems of a run: the pattern of J̃ and what solves on it.
pub struct LinearSystems {
    /// Compressed rows of J̃.
    pub row_offsets: Vec<u32>,
    /// The column of each entry.
    pub col_indices: Vec<u32>,
    /// The blocks of parameters, for preconditioning.
    pub blocks: CoordinateBlocks,
    /// The solver.
    pub solver: LinearSolver,
    /// Conjugate gradients are on trial: a factorisation replaces them where they take longer.
    pub trial: Option<Trial>,
}

/// The damped system (J̃ᵀJ̃ + diag(λD)) δ = −J̃ᵀr̃ of a step; δ is 0 at frozen coordinates.
#[derive(Clone, Copy)]
pub(super) struct DampedSystem<'a> {
    pub(super) model: &'a LeastSquares,
    /// λD.
    pub(super) damping: &'a [f64],
    pub(super) frozen: &'a [bool],
}

impl LinearSystems {
    /// Computes one slice of the solution; gives the result when the system is solved or turns out to have no solution. `begins` at the
    /// first slice of a system. `products` multiply where the model has no matrix.
    pub(super) fn advance(
        &mut self,
        system: DampedSystem,
        options: PcgOptions,
        begins: bool,
        products: &mut dyn JtjOperator,
        step: &mut [f64],
    ) -> Result<Option<Solved>> {
        let LinearSystems { row_offsets, col_indices, blocks, solver, trial } = self;
        let DampedSystem { model, damping, frozen } = system;
        if let Some(model) = &model.normal {
            let normal = NormalProducts { gradient: &model.gradient, jtj_blocks: &model.jtj_blocks, damping, frozen };
            let LinearSolver::Pcg(pcg) = solver else {
                let solved = normal_equations::solve(&normal, model.residuals, step).map(|()| 1);
                return Ok(Some(finite(solved, step)));
            };
            if begins {
                pcg.begin(&normal, blocks, options, step);
                if let Some(trial) = trial {
                    let tolerance = options.tolerance.min(trial.begin(pcg.size()));
                    let is_first = trial.settling.is_some();
                    trial.settling = is_first.then_some(Settling::Until(tolerance * tolerance * pcg.size()));
                    pcg.set_tolerance(if is_first { 0.0 } else { tolerance });
                }
            }
            let most = options.max_iterations;
            let most = trial.as_ref().map_or(most, |trial| most.min(trial.left));
            let options = PcgOptions { max_iterations: most, ..options };
            let mut solved = pcg.iterate(&normal, blocks, options, products, step)?;
            if let Some(trial) = trial
                && solved.is_none()
            {
                solved = trial.settle(pcg, || length(&normal, blocks, step));
            }
            return Ok(solved.map(|solved| match (trial, solved) {
                (Some(_), Ok(iterations)) if iterations >= most => Err(Trouble::TooSlow),
                (trial, solved) => {
                    if let (Some(trial), Ok(iterations)) = (trial, solved) {
                        trial.left -= iterations;
                    }
                    finite(solved, step)
                }
            }));
        }
        let system = System {
            jacobian: jacobian(step.len(), row_offsets, col_indices, &model.entries),
            residuals: &model.residuals,
            damping,
            frozen,
        };
        let solved = match solver {
            LinearSolver::IterativeSchur(schur) => {
                if begins {
                    schur.begin();
                }
                schur.advance(&system, options, SLICE, step)?
            }
            LinearSolver::Pcg(pcg) => {
                if begins {
                    pcg.begin_rows(step.len(), blocks);
                }
                pcg.advance_rows(&system, blocks, options, SLICE, step)
            }
            LinearSolver::DenseQr(qr) => {
                if begins {
                    if normal_equations::solve_rows(&system, step) {
                        return Ok(Some(finite(Ok(1), step)));
                    }
                    qr.begin(&system);
                }
                qr.advance(&system, SLICE).then(|| qr.substitute(step.len(), step).map(|()| 1))
            }
            LinearSolver::SparseCholesky(cholesky) => {
                if begins {
                    cholesky.begin(damping, frozen);
                }
                cholesky.advance(&system.jacobian, SLICE).map(|factorised| {
                    factorised.map(|()| {
                        system.right_side(step);
                        cholesky.factorisation().solve(step);
                        1
                    })
                })
            }
        };
        Ok(solved.map(|solved| finite(solved, step)))
    }
}

impl LinearSystems {
    /// Whether steps of so many coordinates are exact: all of J̃ᵀJ̃ or of J̃ is at hand, and is small.
    pub(super) fn are_exact(&self, coordinates: usize) -> bool {
        coordinates <= MOST_COORDINATES && matches!(self.solver, LinearSolver::DenseQr(_))
    }

    /// Whether the steps of so many coordinates can be exact where another solver was asked for.
    pub(super) fn can_be_exact(&self, coordinates: usize, rows: usize) -> bool {
        coordinates <= MOST_COORDINATES && coordinates * coordinates * (coordinates + rows) <= MOST_WORK_OF_REVIEW
    }

    /// How many iterations of conjugate gradients without a matrix the last system has taken.
    pub(super) fn iterations(&self) -> u32 {
        match &self.solver {
            LinearSolver::Pcg(pcg) => pcg.iterations() as u32,
            _ => 0,
        }
    }

    /// One slice of the model for exact steps; gives it when it is there. `reviewer`: what factorises where the solver of the systems does not. `scale`: D.
    pub(super) fn advance_exact(
        &mut self,
        reviewer: &mut Option<DenseQr>,
        model: &LeastSquares,
        gradient: &[f64],
        (scale, frozen): (&[f64], &[bool]),
        begins: bool,
    ) -> Option<std::result::Result<TrustRegionModel, Trouble>> {
        let LinearSystems { row_offsets, col_indices, solver, .. } = self;
        let qr = match (reviewer, solver) {
            (Some(_), _) if model.normal.is_some() => return Some(Err(Trouble::IllConditioned)),
            (Some(qr), _) | (None, LinearSolver::DenseQr(qr)) => qr,
            _ => return Some(Err(Trouble::IllConditioned)),
        };
        if let Some(normal) = &model.normal {
            return Some(TrustRegionModel::of_sums(&normal.jtj_blocks, gradient, normal.residuals, scale, frozen));
        }
        let jacobian = jacobian(scale.len(), row_offsets, col_indices, &model.entries);
        if begins && scale.len() >= LEAST_COLUMNS_OF_SUMS {
            let sums = products(&jacobian);
            if let Ok(region) = TrustRegionModel::of_sums(&sums, gradient, jacobian.rows(), scale, frozen) {
                return Some(Ok(region));
            }
        }
        let damping = vec![0.0; scale.len()];
        let system = System { jacobian, residuals: &model.residuals, damping: &damping, frozen };
        if begins {
            qr.begin(&system);
        }
        qr.advance(&system, SLICE).then(|| Ok(TrustRegionModel::of_rows(qr, scale, frozen)))
    }

    /// ‖J̃v‖² of a vector; `None` where the model has no matrix, and products give it.
    pub(super) fn squared_jvp(&self, model: &LeastSquares, vector: &[f64]) -> Option<f64> {
        match &model.normal {
            Some(_) if matches!(self.solver, LinearSolver::Pcg(_)) => None,
            Some(normal) => Some(quadratic_form(&normal.jtj_blocks, vector)),
            None => {
                let jacobian = jacobian(vector.len(), &self.row_offsets, &self.col_indices, &model.entries);
                let mut jvp = vec![0.0; jacobian.rows()];
                jacobian.times(vector, &mut jvp);
                Some(dot(&jvp, &jvp))
            }
        }
    }
}

/// ‖Dδ‖, with D² the diagonal of J̃ᵀJ̃.
fn length(normal: &NormalProducts, blocks: &CoordinateBlocks, step: &[f64]) -> f64 {
    let mut diagonal = vec![0.0; step.len()];
    diagonals(&blocks.ranges, normal.jtj_blocks, &mut diagonal);
    step.iter().zip(&diagonal).map(|(step, diagonal)| diagonal * step * step).sum::<f64>().sqrt()
}

/// J̃ of such a pattern with these entries.
pub(super) fn jacobian<'a>(
    cols: usize,
    row_offsets: &'a [u32],
    col_indices: &'a [u32],
    values: &'a [f64],
) -> SparseMatrix<'a> {
    SparseMatrix { cols, row_offsets, col_indices, values }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_keeps_what_systems_leave_and_tightens_where_the_gradient_falls_little() {
        let mut trial = Trial::of(50);
        // Each system's rᵀM⁻¹r, the iterations it takes, and what is expected: its tolerance, and how many it may take.
        for (size, takes, tolerance, most) in [
            (100.0, 10, LOOSE, 100),
            (30.0, 80, TIGHT, 100),
            (7.0, 40, LOOSE, 70),
            (1.0, 1, LOOSE, 80),
            (0.9, 0, TIGHT, 100),
        ] {
            assert_eq!((trial.begin(size), trial.left), (tolerance, most), "{size}");
            trial.left -= takes;
        }
    }

    /// The first system of a chain of `steps` with a residual between neighbours and one for each place, of that weight, as a trial solves it.
    fn first_system(steps: usize, weight: f64) -> Solved {
        let (mut row_offsets, mut col_indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for k in 0..steps as u32 {
            let next = (k + 1) % steps as u32;
            let mut pair = [(k, -1.0), (next, 1.0)];
            pair.sort_by_key(|(column, _)| *column);
            for row in [&pair[..], &[(k, weight)]] {
                row.iter().for_each(|&(column, value)| {
                    col_indices.push(column);
                    values.push(value);
                });
                row_offsets.push(col_indices.len() as u32);
            }
        }
        let mut matrix = jacobian(steps, &row_offsets, &col_indices, &values);
        // Waves of all lengths.
        let gradient = (0..steps).map(|k| (k * k * 7919 % 101) as f64 / 101.0 - 0.5).collect();
        let normal = crate::gauss_newton::host::Normal {
            residuals: 2 * steps,
            gradient,
            jtj_blocks: vec![2.0 + weight * weight; steps],
        };
        let model = LeastSquares { cost: 1.0, influence: 1.0, normal: Some(normal), ..LeastSquares::nothing() };
        let blocks = CoordinateBlocks::of((0..steps).map(|k| (k, 1)).collect());
        let mut systems = LinearSystems {
            row_offsets: Vec::new(),
            col_indices: Vec::new(),
            blocks,
            solver: LinearSolver::Pcg(Pcg::new()),
            trial: Some(Trial::of(steps)),
        };
        let (damping, frozen) = (vec![0.0; steps], vec![false; steps]);
        let system = DampedSystem { model: &model, damping: &damping, frozen: &frozen };
        let options = PcgOptions { tolerance: 0.1, max_iterations: steps };
        let mut step = vec![0.0; steps];
        (0..=steps)
            .find_map(|k| systems.advance(system, options, k == 0, &mut matrix, &mut step).unwrap())
            .expect("conjugate gradients end within as many iterations as there are coordinates")
    }

    #[test]
    fn a_trial_ends_at_the_first_system_whose_step_has_not_settled() {
        // Heavy places settle at once; of light ones the long wave comes last.
        assert!(matches!(first_system(400, 1.0), Ok(2..40)), "{:?}", first_system(400, 1.0));
        assert!(matches!(first_system(400, 1e-3), Err(Trouble::TooSlow)), "{:?}", first_system(400, 1e-3));
    }
}
