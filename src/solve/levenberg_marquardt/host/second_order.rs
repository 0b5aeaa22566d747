//! Steps of larger problems by the model that has the second derivatives of all residuals and losses, where it predicts better than the Gauss-Newton model:
//! a stretched spring is as stiff across its length as its tension says, of which J̃ᵀJ̃ knows nothing, and beyond the bend of a robust loss J̃ᵀJ̃ is too
//! large.
//!
//! The model is that of Newton's method, [`HessianSystem`]: the sum of the instances' Hessians, without their negative eigenvalues where it is not positive
//! definite, factorised sparsely. The Gauss-Newton model is much cheaper, so that the other one is tried after it has missed some steps, and again after twice
//! as many once it was the better one.
//!
//! Where steps have gained more than predicted they lead on without it. Then it is taken only where the sum of the Hessians as they are is positive definite,
//! and left with its first step that is rejected; the radius is that of before again.

use crate::eval::{Functions, Objective};
use crate::gauss_newton::host::HostModel;
use crate::gauss_newton::host::hessian_system::{Damping, HessianSystem, Outcome, Refinement};
use crate::solve::vector::dot;
use residua_base::cooperative::Yielder;
use residua_base::deadline::Deadline;
use residua_base::error::Result;
use residua_linalg::loops::semidefinite::Negative;

/// A model misses a step where it is off by more than this share of what it predicts.
const MISS: f64 = 0.25;
/// Steps that the Gauss-Newton model misses before the other one is tried; one that it meets counts against half of one.
const FIRST_PATIENCE: u32 = 2;
/// The share of its first residual that a system leaves where it is that of a step, and where it tells of a minimum.
const LEFT: [f64; 2] = [1e-4, 1e-8];

/// The choice between the models.
pub(super) struct SecondOrder {
    /// Whether second derivatives can be had.
    is_there: bool,
    /// Whether the next model has them.
    is_wanted: bool,
    /// Whether the model of the point has them.
    pub(super) is_active: bool,
    half_misses: u32,
    patience: u32,
    /// Whether negative eigenvalues of the instances' Hessians are replaced where their sum is not positive definite.
    replaces: bool,
    /// What the model of the point promises at least.
    pub(super) promise: f64,
    /// The radius to go back to if the next step is rejected.
    radius: Option<f64>,
}

/// What becomes of the model with second derivatives at a point.
#[derive(Clone, Debug)]
pub enum Curved {
    /// Its step, at most to the ball along a direction without curvature, and what the step without a ball promises at least.
    Step(Vec<f64>, f64),
    /// The sum of the Hessians is not positive definite.
    Indefinite,
    /// There are no second derivatives.
    Absent,
}

impl SecondOrder {
    /// `is_there`: whether second derivatives can be had, as far as is known.
    pub(super) fn new(is_there: bool) -> SecondOrder {
        SecondOrder {
            is_there,
            is_wanted: false,
            is_active: false,
            half_misses: 0,
            patience: FIRST_PATIENCE,
            replaces: true,
            promise: 0.0,
            radius: None,
        }
    }

    /// Whether the model of a new point is to have second derivatives.
    pub(super) fn is_wanted(&self) -> bool {
        self.is_there && self.is_wanted
    }

    /// Whether negative eigenvalues are replaced where the sum is not positive definite.
    pub(super) fn replaces(&self) -> bool {
        self.replaces
    }

    /// The next model is Gauss-Newton's.
    pub(super) fn leave(&mut self) {
        (self.is_wanted, self.half_misses, self.radius) = (false, 0, None);
        self.patience = self.patience.saturating_mul(2);
    }

    /// After a step: leaves the model that was on trial if the step was rejected, and gives the radius of before.
    pub(super) fn end_trial(&mut self, accepted: bool) -> Option<f64> {
        let radius = self.radius.take().filter(|_| self.is_active && !accepted)?;
        self.leave();
        Some(radius)
    }

    /// There are no second derivatives.
    pub(super) fn give_up(&mut self) {
        (self.is_there, self.is_active) = (false, false);
    }

    /// Chooses the next model: `predicted` by the model of the step, and by Gauss-Newton's if that is another and known, and `change` are those of this
    /// step. Whether the choice has changed.
    pub(super) fn choose(&mut self, predicted: f64, by_gauss_newton: Option<f64>, change: f64, radius: f64) -> bool {
        if !change.is_finite() {
            return false;
        }
        let was_wanted = self.is_wanted;
        let miss = (predicted - change).abs();
        if self.is_active {
            let other = by_gauss_newton.map_or(MISS * predicted.abs(), |predicted| (predicted - change).abs());
            self.is_wanted = miss <= other;
            if !self.is_wanted {
                self.leave();
            }
        } else {
            self.half_misses = match miss > MISS * predicted.abs() {
                true => self.half_misses + 2,
                false => self.half_misses.saturating_sub(1),
            };
            self.is_wanted = self.half_misses >= self.patience.saturating_mul(2);
            self.replaces = change < predicted;
            self.radius = (self.is_wanted && !self.replaces).then_some(radius);
        }
        self.is_there && self.is_wanted != was_wanted
    }
}

/// What a step with second derivatives is to be.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Where.
    pub point: &'a [f64],
    /// The gradient, with zeros at frozen coordinates.
    pub gradient: &'a [f64],
    /// Coordinates that stay.
    pub frozen: &'a [bool],
    /// D² and the radius of the ball that bounds steps.
    pub ball: (&'a [f64], f64),
    /// Whether the step tells of a minimum.
    pub ends: bool,
    /// Whether negative eigenvalues are replaced where the sum is not positive definite.
    pub replaces: bool,
}

/// The step of the model with second derivatives.
pub(super) async fn step(
    system: &mut Option<HessianSystem>,
    functions: &mut Functions,
    Question { point, gradient, frozen, ball, ends, replaces }: Question<'_>,
    end: Deadline,
    yielder: &mut Yielder,
    stops: &mut dyn FnMut() -> bool,
) -> Result<Curved> {
    let system = match system {
        Some(system) => system,
        None if HostModel::prepare_hessian_system(functions, end).await? => {
            system.insert(HessianSystem::new(functions, Objective::LeastSquares)?)
        }
        None => return Ok(Curved::Absent),
    };
    system.evaluate(functions, Objective::LeastSquares, point, yielder).await?;
    let (mut step, mut damping) = (vec![0.0; point.len()], Damping::OF_FACTORISATION.least);
    match system.solve_as_is((gradient, frozen), &mut step, yielder, stops).await {
        Outcome::Solved => return Ok(Curved::Step(step, 0.0)),
        Outcome::Singular if replaces => {}
        Outcome::Singular => return Ok(Curved::Indefinite),
        Outcome::Stopped | Outcome::NotFinite => return Ok(Curved::Absent),
    }
    system.replace_negative(Negative::Clamped, yielder).await;
    let outcome = system.solve((gradient, frozen), &mut damping, &mut step, yielder, stops).await;
    if outcome != Outcome::Solved {
        return Ok(Curved::Absent);
    }
    // A step that ends at the ball promises the less, the smaller that is.
    let promise = -0.5 * dot(gradient, &step);
    let refinement = Refinement { ratio: f64::INFINITY, left: LEFT[usize::from(ends)], ball: Some(ball) };
    system.refine((gradient, frozen), refinement, &mut step, yielder, stops).await;
    Ok(Curved::Step(step, promise))
}
