//! The Gauss-Newton model at a point, as a step is computed from it.

use residua_linalg::loops::all_finite;

/// The model ½‖r̃ + J̃δ‖² at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct LeastSquares {
    /// ½ Σ weight·ρ(‖r‖²).
    pub cost: f64,
    /// The same by the influence of residuals: [`super::HostModel::influence`]. The cost where no loss is robust.
    pub influence: f64,
    /// r̃: one number for each residual, 0 where the block takes no part.
    pub residuals: Vec<f64>,
    /// J̃, in the order of the pattern of [`super::HostModel::pattern`]; 0 in the columns of constant parameters.
    pub entries: Vec<f64>,
    /// The error of each column of J̃ that differences leave, relative to its length; none where all derivatives are exact but for rounding.
    pub accuracy: Vec<f64>,
    /// Σ e² of the errors e of the residuals in r̃, where plain functions round their results or are noisy.
    pub noise: f64,
    /// The model without its matrix; residuals and entries are empty then.
    pub normal: Option<Normal>,
}

/// The model as the gradient and the diagonal blocks of J̃ᵀJ̃.
#[derive(Clone, Debug, PartialEq)]
pub struct Normal {
    /// How many residuals there are.
    pub residuals: usize,
    /// J̃ᵀr̃.
    pub gradient: Vec<f64>,
    /// The diagonal blocks of J̃ᵀJ̃, in the order of [`residua_linalg::NormalProducts`].
    pub jtj_blocks: Vec<f64>,
}

impl LeastSquares {
    /// Before any point.
    pub fn nothing() -> LeastSquares {
        let (residuals, entries, accuracy) = (Vec::new(), Vec::new(), Vec::new());
        LeastSquares { cost: f64::NAN, influence: f64::NAN, residuals, entries, accuracy, noise: 0.0, normal: None }
    }

    /// Whether all of it is finite. Without a matrix the sums over it decide.
    pub fn is_finite(&self) -> bool {
        let numbers = match &self.normal {
            Some(normal) => [&normal.gradient, &normal.jtj_blocks],
            None => [&self.residuals, &self.entries],
        };
        self.cost.is_finite() && numbers.into_iter().all(|numbers| all_finite(numbers))
    }
}
