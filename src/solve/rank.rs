//! What the residuals determine: the numerical rank of the Jacobian that the solvers see, and a basis of what is left free.

use crate::error::Result;
use crate::functions::Functions;
use crate::linear::{Inverse, NullSpace, SparseMatrix, null_space};
use crate::list::Listed;

use super::tangent::{TangentBases, lift};

/// Numbers below this part of a direction's largest are left out of it: rounding makes them.
const NEGLIGIBLE: f64 = 1e-9;

/// The rank of the Jacobian at the current parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// Degrees of freedom: tangent coordinates that are not constant.
    pub columns: usize,
    /// How many of them the residuals determine.
    pub rank: usize,
    /// A basis of the directions in which no residual changes: parameters and numbers, the largest number of each direction about 1.
    pub free: Vec<Vec<(u32, f64)>>,
}

/// The rank of J̃ at the current parameters, bounds apart. A column depends on others if its distance from their span is at most
/// `tolerance` times its length. Fails where a residual is not finite.
pub async fn rank(functions: &mut Functions, tolerance: f64) -> Result<Rank> {
    let x = functions.values().to_vec();
    let (NullSpace { columns, rank, basis }, _) = analyse(functions, &x, tolerance).await?;
    let bases = TangentBases::of(functions.model())?;
    let lifted = |vector: &Vec<f64>| {
        let mut direction: Vec<(u32, f64)> = Vec::new();
        for block in bases.blocks() {
            let tangent = &vector[block.first..block.first + block.tangent];
            if tangent.iter().any(|t| t.abs() > NEGLIGIBLE) {
                let numbers = lift(bases.basis(block, &x).as_deref(), tangent);
                let places = numbers.into_iter().enumerate().map(|(k, value)| ((block.first + k) as u32, value));
                direction.extend(places.filter(|(_, value)| value.abs() > NEGLIGIBLE));
            }
        }
        direction
    };
    let free = basis.iter().map(lifted).list();
    Ok(Rank { columns, rank, free })
}

/// The null space of J̃ at `x`, and the inverse of J̃ᵀJ̃ where there is one.
pub(super) async fn analyse(
    functions: &mut Functions,
    x: &[f64],
    tolerance: f64,
) -> Result<(NullSpace, Option<Inverse>)> {
    let model = functions.linearise(x).await?;
    if !model.residuals.iter().chain(&model.entries).all(|value| value.is_finite()) {
        return Err(functions.non_finite_error(x).await?);
    }
    let mut frozen = functions.constant().to_vec();
    for block in TangentBases::of(functions.model())?.blocks() {
        frozen[block.first + block.tangent..block.first + block.dim].fill(true);
    }
    let pattern = functions.tangent_pattern()?;
    let (row_offsets, col_indices) = (&pattern.row_offsets, &pattern.col_indices);
    let matrix = SparseMatrix { cols: x.len(), row_offsets, col_indices, values: &model.entries };
    null_space(&matrix, &frozen, tolerance)
}
