//! Powell's dogleg: steps lie on a path of two lines, from the point over the minimum along the steepest descent, the Cauchy point, to the Gauss-Newton step,
//! where it leaves the ball (M. J. D. Powell, "A hybrid method for nonlinear equations", in: Numerical Methods for Nonlinear Algebraic Equations, 1970;
//! J. Nocedal and S. J. Wright, *Numerical Optimization*, 2nd ed., section 4.1). Descent and lengths are in units of D.
//!
//! A rejected step makes the ball smaller. The next one lies on the same path, which needs no linear system. The Gauss-Newton step may be one of conjugate
//! gradients that leave a part of their residual.

use crate::solve::rules::Rules;
use residua_base::list::PushAll;

/// The path at the present point.
#[derive(Default)]
pub(super) struct Dogleg {
    /// The Gauss-Newton step; empty where the path is not known.
    gauss_newton: Vec<f64>,
    /// How many iterations of the linear solver it took.
    linear_iterations: u32,
    /// −D⁻²g, and the multiple of it that is the Cauchy point.
    gradient_step: Vec<f64>,
    cauchy: f64,
    /// D-lengths of both, and their product.
    gradient_length: f64,
    gauss_newton_length: f64,
    product: f64,
    /// Whether the last step is the Gauss-Newton step.
    is_whole: bool,
}

impl Dogleg {
    /// Forgets the path, which was that of another point.
    pub(super) fn forget_path(&mut self) {
        self.gauss_newton.clear();
        self.is_whole = false;
    }

    /// Whether the path is that of the present point.
    pub(super) fn has_path(&self) -> bool {
        !self.gauss_newton.is_empty()
    }

    /// Whether the last step is the Gauss-Newton step.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The iterations of the linear solver on the path of the present point.
    pub(super) fn linear_iterations(&self) -> Option<u32> {
        self.has_path().then_some(self.linear_iterations)
    }

    /// Takes the Gauss-Newton step, after so many iterations of the linear solver, the gradient without frozen coordinates, and D². Gives −D⁻²g.
    pub(super) fn begin_path(
        &mut self,
        gauss_newton: &[f64],
        linear_iterations: u32,
        gradient: &[f64],
        scale: &[f64],
    ) -> &[f64] {
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
        &self.gradient_step
    }

    /// −D⁻²g
    pub(super) fn descent(&self) -> &[f64] {
        &self.gradient_step
    }

    /// Takes ‖J̃D⁻²g‖².
    pub(super) fn bend_path(&mut self, square: f64) {
        let cauchy = self.gradient_length * self.gradient_length / square;
        self.cauchy = if cauchy.is_finite() { cauchy } else { 0.0 };
    }

    /// The end of the path, or where it leaves the ball; gives its D-length.
    pub(super) fn step(&mut self, rules: &Rules, radius: f64, step: &mut [f64]) -> f64 {
        let cauchy_length = self.cauchy * self.gradient_length;
        let product = self.cauchy * self.product;
        let [of_cauchy, of_gauss_newton] = rules.dogleg(radius, cauchy_length, self.gauss_newton_length, product);
        self.is_whole = of_gauss_newton == 1.0;
        let of_gradient = of_cauchy * self.cauchy;
        for ((step, gradient), gauss_newton) in step.iter_mut().zip(&self.gradient_step).zip(&self.gauss_newton) {
            *step = of_gradient * gradient + of_gauss_newton * gauss_newton;
        }
        radius.min(self.gauss_newton_length)
    }

    /// The damping with which a step along the gradient is as long as the radius.
    pub(super) fn damping(&self, radius: f64) -> f64 {
        self.gradient_length / radius
    }
}
