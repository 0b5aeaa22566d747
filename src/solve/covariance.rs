//! The covariance of the parameters, to first order: (J̃ᵀJ̃)⁻¹.
//!
//! It holds for residuals of variance 1. J̃ contains losses and weights as in the solvers ([`crate::model::least_squares`]), and there is no
//! factor of the cost: the scaling of Ceres Solver (*Covariance Estimation*). For a block on a manifold with the tangent basis B it is
//! B Cov Bᵀ in the block's own numbers, which has the rank of the tangent space.

use crate::eval::Functions;
use crate::gauss_newton::host::HostModel;
use residua_base::cooperative::Yielder;
use residua_base::decimal;
use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::Listed;
use residua_linalg::NullSpace;
use residua_linalg::null_space::TOLERANCE;

use super::rank::analyse;
use super::tangent::{ParameterBlock, TangentBases, lift};

/// Rows of a covariance at most: 4,000² numbers are 128 MB.
const MOST_ROWS: usize = 4_000;
/// Undetermined parameters that an error names at most.
const NAMED: usize = 3;

/// The covariance of blocks at the current parameters, each block given by its first parameter; of all blocks for `None`. The result is a
/// square matrix, row after row, with one row for each number of the blocks in their order. Rows and columns of constant numbers are 0.
///
/// # Errors
/// `invalid-argument` if the covariance does not exist, naming undetermined parameters, or for a parameter that is not the first of a
/// block; `limit-exceeded` for more than 4,000 rows; `non-finite` if a residual or derivative is not finite.
pub async fn covariance(functions: &mut Functions, model: &mut HostModel, blocks: Option<&[u32]>) -> Result<Vec<f64>> {
    let chosen: Vec<ParameterBlock> = {
        let bases = TangentBases::of(functions.model())?;
        match blocks {
            None => bases.blocks().list(),
            Some(firsts) => firsts
                .iter()
                .map(|&first| {
                    bases.block_of(first as usize).filter(|block| block.first == first as usize).ok_or_else(|| {
                        Error::invalid_argument(format!("blocks: parameter {first} is not the first of a block"))
                    })
                })
                .list_or_error()?,
        }
    };
    let size: usize = chosen.iter().map(|block| block.dim).sum();
    if size > MOST_ROWS {
        return Err(Error::new(
            ErrorCode::LimitExceeded,
            format!(
                "the covariance of these blocks has {size} rows, and at most {MOST_ROWS} are computed; name fewer blocks"
            ),
        ));
    }
    let x = functions.values().to_vec();
    let (space, inverse) = analyse(functions, model, &x, TOLERANCE).await?;
    let Some(inverse) = inverse else {
        return Err(singular(functions, &space));
    };
    let bases = TangentBases::of(functions.model())?;
    let of_chosen: Vec<Option<Vec<f64>>> = chosen.iter().map(|&block| bases.basis(block, &x)).list();
    let mut result = vec![0.0; size * size];
    let mut yielder = Yielder::new();
    let mut column = vec![0.0; x.len()];
    let mut first_column = 0;
    for (block, basis) in chosen.iter().zip(&of_chosen) {
        for tangent in 0..block.tangent {
            yielder.yield_if_due().await;
            column.fill(0.0);
            column[block.first + tangent] = 1.0;
            inverse.apply(&mut column);
            let numbers = chosen.iter().zip(&of_chosen).flat_map(|(row_block, basis)| {
                lift(basis.as_deref(), &column[row_block.first..row_block.first + row_block.tangent])
            });
            for (row, value) in numbers.enumerate() {
                for k in 0..block.dim {
                    let share = match basis {
                        Some(basis) => basis[k * block.tangent + tangent],
                        None => f64::from(u8::from(k == tangent)),
                    };
                    result[row * size + first_column + k] += share * value;
                }
            }
        }
        first_column += block.dim;
    }
    // Both triangles come from different linear solves, so they differ by rounding errors.
    for row in 0..size {
        for column in 0..row {
            let mean = 0.5 * (result[row * size + column] + result[column * size + row]);
            result[row * size + column] = mean;
            result[column * size + row] = mean;
        }
    }
    Ok(result)
}

/// The error for a singular J̃ᵀJ̃, which names undetermined parameters.
fn singular(functions: &Functions, space: &NullSpace) -> Error {
    if space.basis.is_empty() {
        return Error::invalid_argument(
            "the covariance cannot be computed: the Jacobian has full rank, but JᵀJ is singular in double precision",
        );
    }
    let mut names: Vec<String> = Vec::new();
    for vector in &space.basis {
        let largest =
            vector.iter().enumerate().fold(0, |best, (k, v)| if v.abs() > vector[best].abs() { k } else { best });
        let name = functions.model().parameter_name(largest as u32);
        if names.len() < NAMED && !names.contains(&name) {
            names.push(name);
        }
    }
    let more = if space.basis.len() > names.len() { ", …" } else { "" };
    Error::invalid_argument(format!(
        "the covariance does not exist: the Jacobian has rank {} of {}, and the residuals do not determine {}{more}; \
         rank() returns the undetermined directions, setConstant() fixes parameters (a column counts as dependent within {} of its length)",
        space.rank,
        space.columns,
        names.join(", "),
        decimal::shortest(TOLERANCE),
    ))
}
