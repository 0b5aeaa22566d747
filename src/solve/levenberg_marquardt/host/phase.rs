//! What a run of Levenberg-Marquardt waits for, and what it carries from one answer to the next.

use super::second_order::{Curved, Question};
use crate::gauss_newton::host::LeastSquares;
use crate::solve::rules::Gain;
use crate::solve::summary::{IterationSummary, SolveSummary, Termination};

/// What [`super::LevenbergMarquardt::next`] asks for or reports.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// The Gauss-Newton model at this point, as [`Answer::Model`].
    Linearise(&'a [f64]),
    /// The solution of a linear system: [`super::LevenbergMarquardt::solve`], until it gives the answer.
    Solve,
    /// The step by the model with second derivatives, as [`Answer::SecondOrder`].
    SecondOrder(Question<'a>),
    /// The quadratic form of that model of this vector, as [`Answer::SquaredJvp`]; whether of the Hessians without negative eigenvalues, or as they are.
    QuadraticForm(&'a [f64], bool),
    /// ‖J̃v‖² of this vector, as [`Answer::SquaredJvp`]. Asked for where the model has no matrix.
    SquaredJvp(&'a [f64]),
    /// S at this point, the second derivatives of the residuals that the model leaves out, as [`Answer::Curvature`].
    Curvature(&'a [f64]),
    /// J̃ᵀr̃″ at this point along this step, as [`Answer::Bend`].
    Bend(&'a [f64], &'a [f64]),
    /// The cost where the model was last made minus that at this point, as [`Answer::Reduction`].
    EvaluateTrial(&'a [f64]),
    /// The cost that rounding may leave at this point, as [`Answer::Rounding`].
    Rounding(&'a [f64]),
    /// Nothing: an iteration is done, and [`super::LevenbergMarquardt::point`] is where it ended.
    Iteration(IterationSummary),
    /// Nothing: the run is over, and [`super::LevenbergMarquardt::point`] is the best point.
    Finished(&'a SolveSummary),
}

/// The answer to a [`Request`].
#[derive(Clone, Debug)]
pub enum Answer {
    /// To [`Request::Linearise`].
    Model(LeastSquares),
    /// To [`Request::Solve`]: the iterations of the linear solver; `None` if there is no step.
    Solved(Option<u32>),
    /// To [`Request::Solve`]: the model's sums do not give a step that is good enough, or its products not soon enough. The model is asked
    /// for again, in rows, after [`super::LevenbergMarquardt::use_rows`].
    RowsNeeded,
    /// To [`Request::SecondOrder`].
    SecondOrder(Curved),
    /// To [`Request::SquaredJvp`] and [`Request::QuadraticForm`].
    SquaredJvp(f64),
    /// To [`Request::Curvature`]: the lower half, row after row; `None` where it cannot be had.
    Curvature(Option<Vec<f64>>),
    /// To [`Request::Bend`].
    Bend(Vec<f64>),
    /// To [`Request::EvaluateTrial`].
    Reduction(f64),
    /// To [`Request::Rounding`].
    Rounding(f64),
}

/// A step whose verdict is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// The predicted reduction; NaN where there is no step.
    pub(super) predicted: f64,
    /// The reduction.
    pub(super) change: f64,
    /// −δ̄ᵀg
    pub(super) descent: f64,
    /// ‖δ̄‖, and ‖√D δ̄‖ with D the diagonal of J̃ᵀJ̃.
    pub(super) step_norm: f64,
    pub(super) scaled_step: f64,
    /// ‖Dδ‖ of the step in the ball.
    pub(super) length: f64,
    /// The iterations of the linear solver; `None` where there is no step.
    pub(super) linear_iterations: Option<u32>,
}

impl Trial {
    /// No step, with this for its reduction.
    pub(super) fn without_step(change: f64) -> Trial {
        Trial {
            predicted: f64::NAN,
            change,
            descent: f64::NAN,
            step_norm: 0.0,
            scaled_step: f64::NAN,
            length: 0.0,
            linear_iterations: None,
        }
    }
}

/// What a run waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// The model at the start.
    Start,
    /// The next step.
    Ready,
    /// The solution of the linear system; whether it has begun.
    Solving(bool),
    /// The model at the point in rows, since its sums or products do not give a step.
    Refining,
    /// ‖J̃D⁻²g‖² for the Cauchy point of a path.
    Descending,
    /// S.
    Curving,
    /// J̃ᵀr̃″ along the step.
    Bending,
    /// ‖J̃δ̄‖²
    Predicting(Trial),
    /// The reduction at the trial point.
    EvaluatingTrial(Trial),
    /// The same without the bend of the step, which gave this.
    EvaluatingUnbent(Trial),
    /// The model at the trial point, which is to be accepted with this verdict.
    Accepting(Trial, Gain),
    /// The model at the point again: at the trial point it was not finite.
    Restoring(Trial),
    /// The model at the start again, for another attempt.
    Restarting,
    /// The cost that rounding may leave at the point, before the next step or the end.
    Doubting,
    Finished,
}

/// What a run asks for, before the request borrows from it.
pub(super) enum Pending {
    LineariseAtPoint,
    LineariseAtTrial,
    Solve,
    SquaredJvp,
    SquaredDescent,
    Curvature,
    Bend,
    EvaluateTrial,
    Rounding,
    Iteration(IterationSummary),
    Finished,
}

/// The attempts of a run.
#[derive(Default)]
pub(super) struct Attempts {
    /// Where each one begins.
    pub(super) start: Vec<f64>,
    /// How many came after the first one.
    pub(super) made: u32,
    /// The best end so far that is no minimum.
    pub(super) best: Option<End>,
}

/// Where and why an attempt ended.
pub(super) struct End {
    pub(super) point: Vec<f64>,
    pub(super) cost: f64,
    /// In units of σ².
    pub(super) promise: f64,
    pub(super) why: (Termination, String),
}
