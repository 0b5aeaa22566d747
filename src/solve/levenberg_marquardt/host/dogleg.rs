//! Powell's dogleg: the trust region is a ball ‖√D δ‖ ≤ Δ, and steps lie on a path of two lines, from the point over the minimum along the
//! steepest descent, the Cauchy point, to the Gauss-Newton step (M. J. D. Powell, "A hybrid method for nonlinear equations", in: Numerical
//! Methods for Nonlinear Algebraic Equations, 1970; J. Nocedal and S. J. Wright, *Numerical Optimization*, 2nd ed., section 4.1). Descent and
//! lengths are in units of the columns of J̃.
//!
//! A rejected step makes the ball smaller. The next one lies on the same path, which needs no linear system.
//!
//! The first Δ is a multiple of the longer of ‖√D x‖ and the first Cauchy step. MINPACK's is one of ‖√D x‖ alone, which says nothing where the
//! parameter that matters is 0 and the columns of the others nearly vanish: no step within such a ball changes the cost by more than its rounding.
//! The Cauchy step is of the order of the residuals, also where J̃ is nearly singular and the Gauss-Newton step is not. ‖√D δ‖ has the unit of the
//! residuals for every δ, so that neither length depends on the units of parameters.
//!
//! Where a column nearly vanishes, the path may be all but one of its coordinate, and the ball shrinks until it excludes the others as well. Before
//! the run ends so, once, √D is raised to that with which a step as long as the coordinate itself counts as much as the rounding of the residuals,
//! and the path begins anew. It is no rule for every start: a coordinate that is nearly 0 by rounding would be held there.
//!
//! A step that loses a column of J̃ is rejected ([`super::strategy`]). D is raised at its coordinate, and the path begins anew: a smaller ball would
//! hold the other coordinates as much.

use crate::solve::rules::{Gain, MAX_DAMPING, Rules};
use crate::solve::summary::Termination;
use residua_base::list::PushAll;

use super::phase::Trial;

/// The first Δ, relative to the point and the first Cauchy step: MINPACK's factor for the point. Steps that are longer by as much are not cut, so
/// that Δ need not grow first.
const FIRST_RADIUS: f64 = 100.0;

/// The radius, and the path at the present point.
pub(super) struct Dogleg {
    /// Δ; infinite before the first path.
    radius: f64,
    /// ‖√D x‖
    size: f64,
    /// The Gauss-Newton step; empty where the path is not known.
    gauss_newton: Vec<f64>,
    /// How many iterations of the linear solver it took.
    linear_iterations: u32,
    /// −D⁻¹g, and the multiple of it that is the Cauchy point.
    gradient_step: Vec<f64>,
    cauchy: f64,
    /// √D-lengths of both, and their product.
    gradient_length: f64,
    gauss_newton_length: f64,
    product: f64,
    /// The share of the Gauss-Newton step in the last step.
    of_gauss_newton: f64,
    is_first: bool,
    is_rescaled: bool,
}

impl Dogleg {
    /// Without a path.
    pub(super) fn new() -> Dogleg {
        Dogleg {
            radius: f64::INFINITY,
            size: 0.0,
            gauss_newton: Vec::new(),
            linear_iterations: 0,
            gradient_step: Vec::new(),
            cauchy: 0.0,
            gradient_length: 0.0,
            gauss_newton_length: 0.0,
            product: 0.0,
            of_gauss_newton: 0.0,
            is_first: true,
            is_rescaled: false,
        }
    }

    /// Forgets the path, which was that of another point. `size`: ‖√D x‖ of the new one.
    pub(super) fn enter_point(&mut self, size: f64) {
        self.forget_path();
        self.size = size;
    }

    /// Forgets the path, which was that of another D.
    pub(super) fn forget_path(&mut self) {
        self.gauss_newton.clear();
    }

    /// The share of the gradient that the last step leaves by the model, at most: none after the Gauss-Newton step.
    pub(super) fn left_of_gradient(&self) -> f64 {
        1.0 - self.of_gauss_newton
    }

    /// Begins anew with a D, where it is not 0, of which each coordinate of the point has at least this √D-length; `false` if that is not another
    /// D, or was done before.
    pub(super) fn begin_anew(&mut self, point: &[f64], least: f64, scale: &mut [f64]) -> bool {
        if std::mem::replace(&mut self.is_rescaled, true) {
            return false;
        }
        let (mut is_other, mut square) = (false, 0.0);
        for (scale, &x) in scale.iter_mut().zip(point).filter(|(scale, _)| **scale > 0.0) {
            let raised = (least / x).powi(2);
            if raised.is_finite() && raised > *scale {
                *scale = raised;
                is_other = true;
            }
            square += *scale * x * x;
        }
        if is_other {
            self.enter_point(square.sqrt());
            self.is_first = true;
        }
        is_other
    }

    /// Whether the path is that of the present point.
    pub(super) fn has_path(&self) -> bool {
        !self.gauss_newton.is_empty()
    }

    /// The iterations of the linear solver on the path of the present point.
    pub(super) fn linear_iterations(&self) -> Option<u32> {
        self.has_path().then_some(self.linear_iterations)
    }

    /// Takes the Gauss-Newton step, after so many iterations of the linear solver, the gradient without frozen coordinates, and D.
    pub(super) fn begin_path(&mut self, gauss_newton: &[f64], linear_iterations: u32, gradient: &[f64], scale: &[f64]) {
        self.linear_iterations = linear_iterations;
        self.gauss_newton.clear();
        self.gauss_newton.extend_from_slice(gauss_newton);
        // A coordinate with D = 0 has a gradient of 0.
        let steepest = |(&slope, &scale): (&f64, &f64)| if scale > 0.0 { -slope / scale } else { 0.0 };
        self.gradient_step.clear();
        self.gradient_step.push_all(gradient.iter().zip(scale).map(steepest));
        let product =
            |a: &[f64], b: &[f64]| a.iter().zip(b).zip(scale).map(|((a, b), scale)| scale * a * b).sum::<f64>();
        self.gradient_length = product(&self.gradient_step, &self.gradient_step).sqrt();
        self.gauss_newton_length = product(gauss_newton, gauss_newton).sqrt();
        self.product = product(&self.gradient_step, gauss_newton);
    }

    /// −D⁻¹g
    pub(super) fn gradient_step(&self) -> &[f64] {
        &self.gradient_step
    }

    /// Takes ‖J̃D⁻¹g‖². The first Cauchy step decides the first Δ.
    pub(super) fn bend_path(&mut self, square: f64) {
        let cauchy = self.gradient_length * self.gradient_length / square;
        self.cauchy = if cauchy.is_finite() { cauchy } else { 0.0 };
        // The larger of a number and NaN is the number.
        let length = self.size.max(self.cauchy * self.gradient_length);
        if std::mem::take(&mut self.is_first) && length > 0.0 {
            self.radius = FIRST_RADIUS * length;
        }
    }

    /// The end of the path, or where it leaves the ball.
    pub(super) fn step(&mut self, rules: &Rules, step: &mut [f64]) {
        let cauchy_length = self.cauchy * self.gradient_length;
        let product = self.cauchy * self.product;
        let [of_cauchy, of_gauss_newton] = rules.dogleg(self.radius, cauchy_length, self.gauss_newton_length, product);
        self.of_gauss_newton = of_gauss_newton;
        let of_gradient = of_cauchy * self.cauchy;
        for ((step, gradient), gauss_newton) in step.iter_mut().zip(&self.gradient_step).zip(&self.gauss_newton) {
            *step = of_gradient * gradient + of_gauss_newton * gauss_newton;
        }
    }

    /// The damping with which a step along the gradient is as long as the radius.
    pub(super) fn damping(&self) -> f64 {
        self.gradient_length / self.radius
    }

    /// Applies a verdict to the radius; gives the end if the trust region has collapsed.
    pub(super) fn update(&mut self, rules: &Rules, gain: Gain, trial: &Trial) -> Option<Termination> {
        let length = self.radius.min(self.gauss_newton_length);
        self.radius = rules.radius(self.radius, length, trial.descent, trial.change, gain);
        // As with damping; false where the path is one of NaN.
        (self.damping() > MAX_DAMPING).then_some(Termination::TrustRegionCollapsed)
    }
}
