//! Steps of small problems: the minimum of the model in the ball, with what the Gauss-Newton model leaves out.
//!
//! - Second derivatives along the step bend it (geodesic acceleration: M. K. Transtrum and J. P. Sethna, "Improvements to the Levenberg-Marquardt algorithm for
//!   nonlinear least-squares minimization", 2012). r̃″ is that of x ⊞ tδ, a = −(J̃ᵀJ̃ + λD²)⁻¹J̃ᵀr̃″, and the bent step is δ + ½a. A step whose a would be
//!   longer than itself is shortened until it is not.
//! - Second derivatives of all residuals make the model exact to the second order. After each step the model, with them or without, whose prediction was nearer
//!   to the actual reduction makes the next one (as NL2SOL: J. E. Dennis, D. M. Gay and R. E. Welsch, 1981).

use residua_linalg::loops::{dot, norm};
use residua_linalg::{DenseQr, TrustRegionModel};

/// Coordinates of a problem whose second derivatives are computed at each point; with more they are where the model without them has missed.
const MOST_OF_SECOND_ORDER: usize = 32;
/// A model misses where it is off by more than this share of what it predicts.
const MISS: f64 = 0.25;

/// What steps of a small problem are made of.
#[derive(Default)]
pub(super) struct Exact {
    /// The model at the point.
    pub(super) region: Option<TrustRegionModel>,
    /// S, once it is known at the point.
    curvature: Option<Vec<f64>>,
    /// Whether second derivatives cannot be had.
    has_no_curvature: bool,
    /// Whether there are too many coordinates for second derivatives at each point, or their code is too long.
    is_large: bool,
    /// Whether S is in the model of the next step.
    is_second_order: bool,
    /// λ of the last step, and whether it ends inside the ball.
    pub(super) lambda: f64,
    /// Factorises J̃ of a small problem where the solver of the systems does not, once a run has met a tolerance.
    pub(super) qr: Option<DenseQr>,
    /// The step without its bend.
    pub(super) unbent: Option<Vec<f64>>,
}

impl Exact {
    /// Takes the model at a new point.
    pub(super) fn enter_point(&mut self, region: TrustRegionModel) {
        self.region = Some(region);
        self.curvature = None;
        self.unbent = None;
    }

    /// Whether S is to be computed before a step.
    pub(super) fn wants_curvature(&self) -> bool {
        !self.has_no_curvature && self.curvature.is_none() && (!self.is_large || self.is_second_order)
    }

    /// Takes S at the point, if it can be had.
    pub(super) fn take_curvature(&mut self, curvature: Option<Vec<f64>>) {
        self.has_no_curvature |= curvature.is_none();
        self.curvature = curvature;
    }

    /// Goes without second derivatives where there are many coordinates, or their code is long, and the model predicts steps well.
    pub(super) fn limit(&mut self, coordinates: usize, is_long: bool) {
        self.is_large = coordinates > MOST_OF_SECOND_ORDER || is_long;
    }

    /// Whether the cost falls at the second order where it does not at the first.
    pub(super) fn bends_down(&self) -> bool {
        match (&self.region, &self.curvature) {
            (Some(region), Some(curvature)) => region.bends_down(curvature),
            _ => false,
        }
    }

    /// The next steps have S in their model.
    pub(super) fn take_second_order(&mut self) {
        self.is_second_order = true;
    }

    /// Makes the step within a radius; gives ‖Dδ‖.
    pub(super) fn step(&mut self, radius: f64, step: &mut [f64]) -> f64 {
        let Some(region) = &mut self.region else { return 0.0 };
        self.unbent = None;
        // Without a radius an indefinite model has no minimum.
        let curvature = self.curvature.as_ref().filter(|_| self.is_second_order && radius.is_finite());
        let bounded = match curvature {
            Some(curvature) => region.second_order_step(curvature, radius, step),
            None => region.step(radius, step),
        };
        self.lambda = bounded.lambda;
        bounded.length
    }

    /// Whether the step that was made is to be bent.
    pub(super) fn wants_bend(&self) -> bool {
        let is_in_model = self.is_second_order && self.curvature.is_some();
        !self.has_no_curvature && !self.is_large && !is_in_model
    }

    /// Bends the step, given J̃ᵀr̃″ along it; gives by what its length changes, without its bend.
    pub(super) fn bend(&mut self, gradient: &[f64], scale: &[f64], step: &mut [f64]) -> f64 {
        let Some(region) = &mut self.region else { return 1.0 };
        let mut bend = vec![0.0; step.len()];
        region.correction(self.lambda, gradient, &mut bend);
        let length = |vector: &[f64]| {
            let scaled: Vec<f64> = vector.iter().zip(scale).map(|(entry, scale)| entry * scale.sqrt()).collect();
            norm(&scaled)
        };
        let ratio = length(&bend) / length(step);
        if !ratio.is_finite() {
            return 1.0;
        }
        let share = if ratio > 1.0 { 1.0 / ratio } else { 1.0 };
        step.iter_mut().for_each(|step| *step *= share);
        self.unbent = Some(step.to_vec());
        step.iter_mut().zip(&bend).for_each(|(step, bend)| *step += 0.5 * share * share * bend);
        share
    }

    /// Puts the step without its bend in the place of the step.
    pub(super) fn straighten(&mut self, step: &mut [f64]) {
        if let Some(unbent) = self.unbent.take() {
            step.copy_from_slice(&unbent);
        }
    }

    /// How many directions the residuals leave free at the point.
    pub(super) fn deficiency(&self) -> usize {
        self.region.as_ref().map_or(0, TrustRegionModel::deficiency)
    }

    /// The same with errors of derivatives that are so many times as large.
    pub(super) fn deficiency_with(&mut self, errors: f64) -> usize {
        self.region.as_mut().map_or(0, |region| region.deficiency_with(errors))
    }

    /// ‖J̃δ‖²
    pub(super) fn squared_jvp(&self, step: &[f64]) -> f64 {
        self.region.as_ref().map_or(f64::NAN, |region| region.squared_jvp(step))
    }

    /// δᵀSδ, if S is in the model that made the step.
    pub(super) fn bend_of_model(&self, step: &[f64], is_exact: bool) -> f64 {
        match &self.curvature {
            Some(curvature) if is_exact && self.is_second_order => quadratic_form(curvature, step),
            _ => 0.0,
        }
    }

    /// What the model with S promises without a ball, and ‖Dδ‖ of its step; `None` where it has no minimum, or S is not known.
    pub(super) fn second_order_promise(&self) -> Option<(f64, f64)> {
        self.region.as_ref()?.second_order_promise(self.curvature.as_ref()?)
    }

    /// Forgets the point and the models that were chosen.
    pub(super) fn forget(&mut self) {
        *self = Exact { has_no_curvature: self.has_no_curvature, qr: self.qr.take(), ..Exact::default() };
    }

    /// Chooses the model of the next step: `predicted` by J̃ alone and `change` are those of this step.
    pub(super) fn choose_model(&mut self, step: &[f64], predicted: f64, change: f64) {
        let miss = (predicted - change).abs();
        if !change.is_finite() {
            return;
        }
        self.is_second_order = match &self.curvature {
            Some(curvature) => (predicted - 0.5 * quadratic_form(curvature, step) - change).abs() < miss,
            None => self.is_large && miss > MISS * predicted.abs(),
        };
    }
}

/// xᵀAx of a symmetric matrix, of which the lower half counts.
pub(super) fn quadratic_form(a: &[f64], x: &[f64]) -> f64 {
    let mut form = 0.0;
    for (i, row) in a.chunks_exact(x.len().max(1)).enumerate() {
        form += x[i] * (2.0 * dot(&row[..i], &x[..i]) + row[i] * x[i]);
    }
    form
}
