//! What a fit is worth: the covariance of its parameters, to first order.
//!
//! It is (J̃ᵀJ̃)⁻¹ for residuals of variance 1, with losses and weights in J̃ as the solvers have them, and no factor of the cost: as Ceres
//! scales it (*Covariance Estimation*). Of a block on a manifold it is lifted to the block's own numbers, B Cov Bᵀ, and so has
//! the rank of the tangent space.

use crate::decimal;
use crate::error::{Error, ErrorCode, Result};
use crate::functions::Functions;
use crate::linear::NullSpace;
use crate::linear::null_space::TOLERANCE;
use crate::list::Listed;
use crate::text::join;
use crate::turn::Turns;

use super::rank::analyse;
use super::tangent::{ParameterBlock, TangentBases, lift};

/// A covariance may have so many rows: 4,000² numbers are 128 MB.
const MOST_ROWS: usize = 4_000;
/// An error names so many of the parameters that are free.
const NAMED: usize = 3;

/// The covariance of blocks at the current parameters, each named by its first parameter; of all blocks if that is `None`. A square
/// matrix, row after row, with a row for each number of the blocks, in their order; constant numbers have zeros.
///
/// 'invalid-argument' where the covariance does not exist, naming what is free; 'limit-exceeded' for more than 4,000 rows.
pub async fn covariance(functions: &mut Functions, blocks: Option<&[u32]>) -> Result<Vec<f64>> {
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
                .collect::<Result<_>>()?,
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
    let (space, inverse) = analyse(functions, &x, TOLERANCE).await?;
    let Some(inverse) = inverse else {
        return Err(does_not_exist(functions, &space));
    };
    let bases = TangentBases::of(functions.model())?;
    let of_chosen: Vec<Option<Vec<f64>>> = chosen.iter().map(|&block| bases.basis(block, &x)).list();
    let mut result = vec![0.0; size * size];
    let mut turns = Turns::new();
    let mut column = vec![0.0; x.len()];
    let mut first_column = 0;
    for (block, basis) in chosen.iter().zip(&of_chosen) {
        for tangent in 0..block.tangent {
            turns.take().await;
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
    // The two halves come from different solves; rounding apart they are equal.
    for row in 0..size {
        for column in 0..row {
            let mean = 0.5 * (result[row * size + column] + result[column * size + row]);
            result[row * size + column] = mean;
            result[column * size + row] = mean;
        }
    }
    Ok(result)
}

/// Says why, and what would have to be held.
fn does_not_exist(functions: &Functions, space: &NullSpace) -> Error {
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
        "the covariance does not exist: the Jacobian has rank {} of {}, and the residuals leave free ways to move {}{more}; \
         rank() gives them, setConstant() holds them (a column counts as dependent within {} of its length)",
        space.rank,
        space.columns,
        join(&names, ", "),
        decimal::shortest(TOLERANCE),
    ))
}
