//! The kernels that a class can have, by what they give: names and descriptions for generated texts, and which of them the device
//! itself lets run.

use residua_codegen::Width;

use super::energy::{Coordinates, Energy};

/// Which kernel of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// Residuals.
    Values,
    /// The weighted sum and its gradient.
    SumGradient,
    /// The least-squares cost and its gradient.
    CostGradient,
    /// The sum, weighted by a number for each residual, and its gradient.
    SeededGradient,
    /// Residuals and local partial derivatives.
    Jacobian,
    /// The least-squares cost and its Gauss-Newton model.
    Linearise,
    /// The same, with only r̃ and J̃ written, for instances with one residual each. GPU alone.
    LineariseRows,
    /// A product with the model's matrix. GPU alone.
    Product,
    /// A product with the model's Jacobian. GPU alone.
    Jvp,
    /// By how much the least-squares cost falls from the linearised point to another.
    Trial,
    /// Gradient and JᵀJ of the model. CPU alone.
    Normal,
    /// The least-squares cost, its fall, and all sums of the model of instances that share their blocks, for the squared loss. CPU alone.
    SquaredSums,
    /// The same for any loss. CPU alone.
    RobustSums,
    /// Second derivatives of residuals along a direction. CPU alone.
    SecondDirectional,
    /// The sum of residuals, each times its seed, differentiated by tangent coordinates. CPU alone.
    SeededTangent,
    /// The same twice. CPU alone.
    SecondOrder,
    /// The Hessian of each instance, see [`super::hessian`].
    Hessian(Energy, Coordinates),
    /// Matrices of instances times a vector, see [`super::instance_matrices`]. GPU alone, as those that follow.
    MatrixProduct,
    /// A column of the diagonal blocks of such matrices.
    MatrixColumn(u32),
    /// The magnitudes on their diagonals.
    MatrixMagnitudes,
    /// A product with the Hessian of all instances. CPU alone.
    HessianProduct(Energy),
    /// [`Entry::SumGradient`] with a gate. GPU alone, as those that follow.
    SumDescent,
    /// [`Entry::CostGradient`] with a gate.
    CostDescent,
    /// The weighted sum and its slope at several steps along a direction.
    SumLine,
    /// The least-squares cost and its slope there.
    CostLine,
}

/// Flags of entries: kernels hold points, residuals, gradients and totals in the width of functions; compute robust losses; the device decides whether
/// they run.
const WIDE: u8 = 1;
const ROBUST: u8 = 2;
const GATED: u8 = 4;

impl Entry {
    /// All that evaluations and least squares on the GPU have: every one but [`Entry::Normal`], the sums of a model and what belongs to second derivatives.
    pub const ALL: [Entry; 14] = [
        Entry::Values,
        Entry::SumGradient,
        Entry::CostGradient,
        Entry::SeededGradient,
        Entry::Jacobian,
        Entry::Linearise,
        Entry::LineariseRows,
        Entry::Product,
        Entry::Jvp,
        Entry::Trial,
        Entry::SumDescent,
        Entry::CostDescent,
        Entry::SumLine,
        Entry::CostLine,
    ];

    /// Its name in generated code, what the head of a generated text says, and its flags.
    #[inline(never)]
    fn properties(self) -> (&'static str, &'static str, u8) {
        let robust_if = |energy| if energy == Energy::Cost { ROBUST } else { 0 };
        match self {
            Entry::Values => ("values", "Residuals", WIDE),
            Entry::SumGradient => ("sumGradient", "Weighted sum of the residuals and its gradient", WIDE),
            Entry::CostGradient => ("costGradient", "Least-squares cost and its gradient", WIDE | ROBUST),
            Entry::SeededGradient => {
                ("seededGradient", "Sum of the residuals, each times its seed, and its gradient", WIDE)
            }
            Entry::Jacobian => ("jacobian", "Residuals and their partial derivatives", WIDE),
            Entry::Linearise => ("linearise", "Least-squares cost and its Gauss-Newton model", WIDE | ROBUST | GATED),
            Entry::LineariseRows => {
                ("lineariseRows", "Least-squares cost and the rows of its Gauss-Newton model", WIDE | ROBUST | GATED)
            }
            Entry::Product => ("product", "Product with the matrix of the Gauss-Newton model", GATED),
            Entry::Jvp => ("jvp", "Product with the Jacobian of the Gauss-Newton model", GATED),
            Entry::Trial => ("trial", "Reduction of the least-squares cost", WIDE | ROBUST | GATED),
            Entry::Normal => ("normal", "Gradient and JᵀJ of the Gauss-Newton model", 0),
            Entry::SquaredSums => ("squaredSums", "Sums of the Gauss-Newton model", 0),
            Entry::RobustSums => ("robustSums", "Sums of the Gauss-Newton model", ROBUST),
            Entry::SecondDirectional => {
                ("secondDirectional", "Second derivatives of the residuals along a direction", 0)
            }
            Entry::SeededTangent => {
                ("seededTangent", "First derivatives of the sum of the residuals, each times its seed", 0)
            }
            Entry::SecondOrder => {
                ("secondOrder", "Second derivatives of the sum of the residuals, each times its seed", 0)
            }
            Entry::Hessian(energy, _) => ("hessian", "Hessian of the objective", robust_if(energy)),
            Entry::HessianProduct(energy) => {
                ("hessianProduct", "Product with the Hessian of the objective", robust_if(energy))
            }
            Entry::MatrixProduct => ("matrixProduct", "Product with the matrices of instances", GATED),
            Entry::MatrixColumn(_) => ("matrixColumn", "A column of the diagonal blocks of instances' matrices", 0),
            Entry::MatrixMagnitudes => ("matrixMagnitudes", "Magnitudes on the diagonals of instances' matrices", 0),
            Entry::SumDescent => ("sumDescent", "Weighted sum of the residuals and its gradient", GATED),
            Entry::CostDescent => ("costDescent", "Least-squares cost and its gradient", ROBUST | GATED),
            Entry::SumLine => ("sumLine", "Weighted sum of the residuals and its slope along a direction", GATED),
            Entry::CostLine => ("costLine", "Least-squares cost and its slope along a direction", ROBUST | GATED),
        }
    }

    /// As generated code names it.
    pub fn name(self) -> &'static str {
        self.properties().0
    }

    /// As the head of a generated text has it.
    pub(super) fn description(self) -> &'static str {
        self.properties().1
    }

    fn has(self, flag: u8) -> bool {
        self.properties().2 & flag != 0
    }

    /// In how many numbers its kernels hold points, residuals, gradients and totals, where functions are computed in numbers of this width.
    pub fn width(self, of_functions: Width) -> Width {
        if self.has(WIDE) { of_functions } else { Width::Single }
    }

    /// Whether its kernels compute robust losses.
    pub fn has_losses(self) -> bool {
        self.has(ROBUST)
    }

    /// Whether the device itself decides if its kernels run.
    pub(super) fn is_gated(self) -> bool {
        self.has(GATED)
    }
}
