//! The numerical rank of J̃, the Jacobian of the solvers, and a basis of its null space in the numbers of the parameters.

use crate::eval::{Arithmetic, Functions};
use crate::gauss_newton::host::{HostModel, LeastSquares};
use crate::model::pattern::Pattern;
use residua_base::error::Result;
use residua_base::list::{Listed, PushAll};
use residua_linalg::{Inverse, NullSpace, SparseMatrix, null_space};

use super::start::on_manifolds;
use super::tangent::{TangentBases, lift};

/// Entries of a direction below this share of its largest one are rounding errors and left out.
const NEGLIGIBLE: f64 = 1e-9;

/// The rank of the Jacobian at the current parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// Degrees of freedom: tangent coordinates that are not constant.
    pub columns: usize,
    /// Number of them that the residuals determine.
    pub rank: usize,
    /// A basis of the directions in which no residual changes. Each is a list of parameters and numbers; the largest number is about 1.
    pub free: Vec<Vec<(u32, f64)>>,
}

/// The rank of J̃ at the current parameters, normalised on their manifolds, without regard to bounds. A column counts as dependent if its distance
/// from the span of others is at most `tolerance` times its length, or what the error of its differences explains.
///
/// # Errors
/// `non-finite` if a residual or derivative is not finite; `invalid-argument` as [`on_manifolds`].
pub async fn rank(functions: &mut Functions, model: &mut HostModel, tolerance: f64) -> Result<Rank> {
    let x = on_manifolds(functions)?;
    let Analysed { space: NullSpace { columns, rank, basis }, .. } = analyse(functions, model, &x, tolerance).await?;
    let bases = TangentBases::of(functions.model())?;
    let lifted = |vector: &Vec<f64>| {
        let mut direction: Vec<(u32, f64)> = Vec::new();
        for block in bases.blocks() {
            let tangent = &vector[block.first..block.first + block.tangent];
            if tangent.iter().any(|t| t.abs() > NEGLIGIBLE) {
                let numbers = lift(bases.basis(block, &x).as_deref(), tangent);
                let places = numbers.into_iter().enumerate().map(|(k, value)| ((block.first + k) as u32, value));
                direction.push_all(places.filter(|(_, value)| value.abs() > NEGLIGIBLE));
            }
        }
        direction
    };
    let free = basis.iter().map(lifted).list();
    Ok(Rank { columns, rank, free })
}

/// What J̃ at a point says.
pub(super) struct Analysed {
    pub space: NullSpace,
    /// The inverse of J̃ᵀJ̃, if it exists.
    pub inverse: Option<Inverse>,
    /// r̃, J̃ and the cost.
    pub linearised: LeastSquares,
}

/// Analyses J̃ at `x`.
pub(super) async fn analyse(
    functions: &mut Functions,
    model: &mut HostModel,
    x: &[f64],
    tolerance: f64,
) -> Result<Analysed> {
    functions.bring_shared_data().await?;
    let linearised = model.linearise(functions, x).await?;
    if !linearised.residuals.iter().chain(&linearised.entries).all(|value| value.is_finite()) {
        return Err(functions.non_finite_error(x, Arithmetic::F64).await?);
    }
    let mut frozen = functions.constant().to_vec();
    for block in TangentBases::of(functions.model())?.blocks() {
        frozen[block.first + block.tangent..block.first + block.dim].fill(true);
    }
    let matrix = jacobian(model.pattern(functions)?, x.len(), &linearised.entries);
    let (space, inverse) = null_space(&matrix, &frozen, tolerance, &linearised.accuracy)?;
    Ok(Analysed { space, inverse, linearised })
}

/// J̃ with these entries.
pub(super) fn jacobian<'a>(pattern: &'a Pattern, cols: usize, values: &'a [f64]) -> SparseMatrix<'a> {
    let Pattern { row_offsets, col_indices, .. } = pattern;
    SparseMatrix { cols, row_offsets, col_indices, values }
}
