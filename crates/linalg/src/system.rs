//! The system that every solver here takes, and the solver as one type.

use super::{CoordinateBlocks, DenseQr, IterativeSchur, Kind, Pcg, PcgOptions, Solved, SparseCholesky, SparseMatrix};

/// Minimise ‖J̃δ + r̃‖² + Σ dⱼδⱼ² over the coordinates that are not frozen.
#[derive(Clone, Copy, Debug)]
pub struct System<'a> {
    /// J̃.
    pub jacobian: SparseMatrix<'a>,
    /// r̃, one number a row.
    pub residuals: &'a [f64],
    /// d, one number a column, none negative. A column of zeros with a damping of 0 is as good as frozen.
    pub damping: &'a [f64],
    /// Where δ is 0 whatever the residuals say, one flag a column.
    pub frozen: &'a [bool],
}

impl System<'_> {
    /// −J̃ᵀr̃, and 0 at frozen coordinates.
    pub fn right_side(&self, target: &mut [f64]) {
        target.fill(0.0);
        self.jacobian.add_transposed_times(self.residuals, target);
        for (target, &frozen) in target.iter_mut().zip(self.frozen) {
            *target = if frozen { 0.0 } else { -*target };
        }
    }
}

/// Why there is no step: numerical trouble, that more damping can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A pivot, or the curvature along a direction, is not positive: the matrix is singular in this arithmetic, or holds a NaN.
    NotPositiveDefinite,
    /// The step holds a NaN or an infinity.
    NonFinite,
    /// [`super::normal_equations`] would lose too many digits: rows have to do the work.
    IllConditioned,
    /// Conjugate gradients on trial took all their iterations: a factorisation has to do the work.
    TooSlow,
}

impl Trouble {
    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Trouble::NotPositiveDefinite => "the linear system is not positive definite",
            Trouble::NonFinite => "the step of the linear system is not finite",
            Trouble::IllConditioned => "the normal equations are ill-conditioned",
            Trouble::TooSlow => "conjugate gradients take longer than a factorisation",
        }
    }
}

/// A solver, made for one pattern of J̃.
pub enum LinearSolver {
    /// [`DenseQr`].
    DenseQr(DenseQr),
    /// [`SparseCholesky`].
    SparseCholesky(Box<SparseCholesky>),
    /// [`IterativeSchur`].
    IterativeSchur(Box<IterativeSchur>),
    /// [`Pcg`].
    Pcg(Pcg),
}

impl LinearSolver {
    /// Which one it is.
    pub fn kind(&self) -> Kind {
        match self {
            LinearSolver::DenseQr(_) => Kind::DenseQr,
            LinearSolver::SparseCholesky(_) => Kind::SparseCholesky,
            LinearSolver::IterativeSchur(_) => Kind::IterativeSchur,
            LinearSolver::Pcg(_) => Kind::Pcg,
        }
    }

    /// Whether it solves up to a tolerance.
    pub fn is_iterative(&self) -> bool {
        matches!(self, LinearSolver::IterativeSchur(_) | LinearSolver::Pcg(_))
    }

    /// Solves into `step`; says how many iterations that took, 1 for a direct solver. `options` are for iterative ones, `blocks` for [`Pcg`].
    pub fn solve(
        &mut self,
        system: &System,
        blocks: &CoordinateBlocks,
        options: PcgOptions,
        step: &mut [f64],
    ) -> Result<usize, Trouble> {
        let iterations = match self {
            LinearSolver::DenseQr(solver) => solver.solve(system, step).map(|()| 1),
            LinearSolver::SparseCholesky(solver) => solver.solve(system, step).map(|()| 1),
            LinearSolver::IterativeSchur(solver) => solver.solve(system, options, step),
            LinearSolver::Pcg(solver) => solver.solve(system, blocks, options, step),
        }?;
        finite(Ok(iterations), step)
    }
}

/// What solving gave, if the step is finite.
pub fn finite(solved: Solved, step: &[f64]) -> Solved {
    if solved.is_err() || step.iter().all(|step| step.is_finite()) { solved } else { Err(Trouble::NonFinite) }
}
