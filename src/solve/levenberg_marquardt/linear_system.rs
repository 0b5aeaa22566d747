//! The linear system of a step, solved in slices, so that a page lives meanwhile: an iteration of conjugate gradients at a time where the
//! model has no matrix, and some part of a sparse factorisation. A model of sums in one block has its system at hand.

#[cfg(doc)]
use super::Step;
use super::{Answer, LevenbergMarquardt, Phase};
use crate::clock::now_ms;
use crate::error::Result;
use crate::linear::system::finite;
use crate::linear::{
    Blocks, LinearSolver, Normal, PcgOptions, Products, Solved, SparseMatrix, System, Trouble, normal_equations,
};

/// So many multiplications of a factorisation before the caller is asked whether to go on: some milliseconds.
const SLICE: f64 = 5e6;

/// Conjugate gradients in place of a factorisation are solved to this tolerance at least, so that steps are as good as its own for what a run
/// makes of them: with the tolerance of those that stand alone, stiff problems creep, and end where they seem to have converged.
const TRIAL_TOLERANCE: f64 = 1e-3;

/// The linear systems of a run: the pattern of J̃ and what solves on it.
pub struct LinearSystems {
    /// Compressed rows of J̃.
    pub row_offsets: Vec<u32>,
    /// The column of each entry.
    pub col_indices: Vec<u32>,
    /// The blocks of parameters, for preconditioning.
    pub blocks: Blocks,
    /// The solver.
    pub solver: LinearSolver,
    /// Conjugate gradients that take so many iterations are to make way for a factorisation.
    pub trial: Option<usize>,
}

impl LevenbergMarquardt {
    /// Goes on with the linear system of [`Step::Solve`]; gives the answer when that is solved or turns out to have no solution. Where the
    /// model has no matrix, `products` multiply.
    pub fn solve(&mut self, products: &mut dyn Products) -> Result<Option<Answer>> {
        let began = now_ms();
        let solved = self.solve_on(products);
        self.linear_ms += now_ms() - began;
        Ok(solved?.map(|solved| match solved {
            Err(Trouble::IllConditioned | Trouble::TooSlow) => Answer::RowsNeeded,
            solved => Answer::Solved(solved.ok().map(|iterations| iterations as u32)),
        }))
    }

    fn solve_on(&mut self, products: &mut dyn Products) -> Result<Option<Solved>> {
        let LinearSystems { row_offsets, col_indices, blocks, solver, trial } = &mut self.systems;
        let most = self.options.max_linear_iterations as usize;
        let options = match *trial {
            Some(iterations) => {
                PcgOptions { tolerance: self.forcing.min(TRIAL_TOLERANCE), max_iterations: most.min(iterations) }
            }
            None => PcgOptions { tolerance: self.forcing, max_iterations: most },
        };
        let (damping, frozen) = (self.scaled.as_slice(), self.frozen.as_slice());
        let begins = matches!(std::mem::replace(&mut self.phase, Phase::Solving(true)), Phase::Solving(false));
        if let Some(model) = &self.model.normal {
            let normal = Normal { gradient: &model.gradient, curvature: &model.curvature, damping, frozen };
            let LinearSolver::Pcg(pcg) = solver else {
                let solved = normal_equations::solve(&normal, model.residuals, &mut self.step).map(|()| 1);
                return Ok(Some(finite(solved, &self.step)));
            };
            if begins {
                pcg.begin(&normal, blocks, options, &mut self.step);
            }
            let solved = pcg.iterate(&normal, blocks, options, products, &mut self.step)?;
            return Ok(solved.map(|solved| match solved {
                Ok(iterations) if trial.is_some() && iterations >= options.max_iterations => Err(Trouble::TooSlow),
                solved => finite(solved, &self.step),
            }));
        }
        let system = System {
            jacobian: jacobian(self.point.len(), row_offsets, col_indices, &self.model.entries),
            residuals: &self.model.residuals,
            damping,
            frozen,
        };
        let LinearSolver::SparseCholesky(cholesky) = solver else {
            return Ok(Some(solver.solve(&system, blocks, options, &mut self.step)));
        };
        if begins {
            cholesky.begin(&system.jacobian, damping, frozen);
        }
        let Some(factorised) = cholesky.advance(SLICE) else { return Ok(None) };
        Ok(Some(factorised.and_then(|()| {
            system.right_side(&mut self.step);
            cholesky.factorisation().solve(&mut self.step);
            finite(Ok(1), &self.step)
        })))
    }
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
