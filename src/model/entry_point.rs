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

    /// As generated code names it.
    pub fn name(self) -> &'static str {
        match self {
            Entry::Values => "values",
            Entry::SumGradient => "sumGradient",
            Entry::CostGradient => "costGradient",
            Entry::SeededGradient => "seededGradient",
            Entry::Jacobian => "jacobian",
            Entry::Linearise => "linearise",
            Entry::LineariseRows => "lineariseRows",
            Entry::Product => "product",
            Entry::Jvp => "jvp",
            Entry::Trial => "trial",
            Entry::Normal => "normal",
            Entry::SquaredSums => "squaredSums",
            Entry::RobustSums => "robustSums",
            Entry::SecondDirectional => "secondDirectional",
            Entry::SeededTangent => "seededTangent",
            Entry::SecondOrder => "secondOrder",
            Entry::Hessian(..) => "hessian",
            Entry::HessianProduct(_) => "hessianProduct",
            Entry::MatrixProduct => "matrixProduct",
            Entry::MatrixColumn(_) => "matrixColumn",
            Entry::MatrixMagnitudes => "matrixMagnitudes",
            Entry::SumDescent => "sumDescent",
            Entry::CostDescent => "costDescent",
            Entry::SumLine => "sumLine",
            Entry::CostLine => "costLine",
        }
    }

    /// As the head of a generated text has it.
    pub(super) fn description(self) -> &'static str {
        match self {
            Entry::Values => "Residuals",
            Entry::SumGradient | Entry::SumDescent => "Weighted sum of the residuals and its gradient",
            Entry::CostGradient | Entry::CostDescent => "Least-squares cost and its gradient",
            Entry::SumLine => "Weighted sum of the residuals and its slope along a direction",
            Entry::CostLine => "Least-squares cost and its slope along a direction",
            Entry::SeededGradient => "Sum of the residuals, each times its seed, and its gradient",
            Entry::Jacobian => "Residuals and their partial derivatives",
            Entry::Linearise => "Least-squares cost and its Gauss-Newton model",
            Entry::LineariseRows => "Least-squares cost and the rows of its Gauss-Newton model",
            Entry::Product => "Product with the matrix of the Gauss-Newton model",
            Entry::Jvp => "Product with the Jacobian of the Gauss-Newton model",
            Entry::Trial => "Reduction of the least-squares cost",
            Entry::Normal => "Gradient and JᵀJ of the Gauss-Newton model",
            Entry::SquaredSums | Entry::RobustSums => "Sums of the Gauss-Newton model",
            Entry::SecondDirectional => "Second derivatives of the residuals along a direction",
            Entry::SeededTangent => "First derivatives of the sum of the residuals, each times its seed",
            Entry::SecondOrder => "Second derivatives of the sum of the residuals, each times its seed",
            Entry::Hessian(..) => "Hessian of the objective",
            Entry::HessianProduct(_) => "Product with the Hessian of the objective",
            Entry::MatrixProduct => "Product with the matrices of instances",
            Entry::MatrixColumn(_) => "A column of the diagonal blocks of instances' matrices",
            Entry::MatrixMagnitudes => "Magnitudes on the diagonals of instances' matrices",
        }
    }

    /// In how many numbers its kernels hold points, residuals, gradients and totals, where functions are computed in numbers of this width.
    pub fn width(self, of_functions: Width) -> Width {
        match self {
            Entry::Values
            | Entry::SumGradient
            | Entry::CostGradient
            | Entry::SeededGradient
            | Entry::Jacobian
            | Entry::Linearise
            | Entry::LineariseRows
            | Entry::Trial => of_functions,
            Entry::Product
            | Entry::Jvp
            | Entry::Normal
            | Entry::SquaredSums
            | Entry::RobustSums
            | Entry::SecondDirectional
            | Entry::SeededTangent
            | Entry::SecondOrder
            | Entry::Hessian(..)
            | Entry::HessianProduct(_)
            | Entry::MatrixProduct
            | Entry::MatrixColumn(_)
            | Entry::MatrixMagnitudes
            | Entry::SumDescent
            | Entry::CostDescent
            | Entry::SumLine
            | Entry::CostLine => Width::Single,
        }
    }

    /// Whether its kernels compute robust losses.
    pub fn has_losses(self) -> bool {
        match self {
            Entry::CostGradient
            | Entry::CostDescent
            | Entry::CostLine
            | Entry::Linearise
            | Entry::LineariseRows
            | Entry::Trial
            | Entry::RobustSums
            | Entry::Hessian(Energy::Cost, _)
            | Entry::HessianProduct(Energy::Cost) => true,
            Entry::Values
            | Entry::SumGradient
            | Entry::SumDescent
            | Entry::SumLine
            | Entry::SeededGradient
            | Entry::Jacobian
            | Entry::Product
            | Entry::Jvp
            | Entry::Normal
            | Entry::SquaredSums
            | Entry::SecondDirectional
            | Entry::SeededTangent
            | Entry::SecondOrder
            | Entry::Hessian(..)
            | Entry::HessianProduct(_)
            | Entry::MatrixProduct
            | Entry::MatrixColumn(_)
            | Entry::MatrixMagnitudes => false,
        }
    }

    /// Whether the device itself decides if its kernels run.
    pub(super) fn is_gated(self) -> bool {
        match self {
            Entry::Values
            | Entry::SumGradient
            | Entry::CostGradient
            | Entry::SeededGradient
            | Entry::Jacobian
            | Entry::Normal
            | Entry::SquaredSums
            | Entry::RobustSums
            | Entry::SecondDirectional
            | Entry::SeededTangent
            | Entry::SecondOrder
            | Entry::Hessian(..)
            | Entry::HessianProduct(_)
            | Entry::MatrixColumn(_)
            | Entry::MatrixMagnitudes => false,
            Entry::MatrixProduct
            | Entry::Linearise
            | Entry::LineariseRows
            | Entry::Product
            | Entry::Jvp
            | Entry::Trial
            | Entry::SumDescent
            | Entry::CostDescent
            | Entry::SumLine
            | Entry::CostLine => true,
        }
    }
}
