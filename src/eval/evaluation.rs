//! What is evaluated, and the results.

/// Which scalar of the residuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Objective {
    /// Σ weight·f.
    Sum,
    /// ½ Σ weight·ρ(‖r‖²).
    LeastSquares,
}

/// A scalar and its gradient with respect to all parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The scalar: what a solver calls the cost.
    pub cost: f64,
    /// One number for each parameter.
    pub gradient: Vec<f64>,
}

/// Residuals and the values of the Jacobian, in the order of its [`Pattern`](crate::model::pattern::Pattern).
#[derive(Clone, Debug, PartialEq)]
pub struct Linearisation {
    /// One number for each residual.
    pub residuals: Vec<f64>,
    /// One number for each entry of the pattern.
    pub entries: Vec<f64>,
}
