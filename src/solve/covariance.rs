//! The covariance of the parameters, to first order, in one of three forms:
//!
//! | form | formula | assumes |
//! |---|---|---|
//! | absolute | (J̃ᵀJ̃)⁻¹ | residuals of variance 1: the scaling of Ceres Solver (*Covariance Estimation*) |
//! | scaled | 2·cost/(m − n) · (J̃ᵀJ̃)⁻¹ | residuals of one unknown variance: `curve_fit` of SciPy with its default `absolute_sigma=False` |
//! | sandwich | m/(m − n) · A⁻¹BA⁻¹ | independent instances ([`super::sandwich`]) |
//!
//! J̃ contains losses and weights as in the solvers ([`crate::model::least_squares`]). m is [`Functions::sample_count`], n the degrees of
//! freedom that are not constant. For a block on a manifold with the tangent basis B it is B Cov Bᵀ in the block's own numbers, which has the
//! rank of the tangent space.

use crate::eval::Functions;
use crate::gauss_newton::host::HostModel;
use crate::model::Model;
use crate::model::losses::LossKind;
use residua_base::cooperative::Yielder;
use residua_base::decimal;
use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::Listed;
use residua_linalg::null_space::TOLERANCE;
use residua_linalg::{Inverse, NullSpace};

use super::rank::{Analysed, analyse, jacobian};
use super::sandwich::{Sandwich, instances};
use super::start::on_manifolds;
use super::tangent::{ParameterBlock, TangentBases, lift};

/// What the covariance assumes of the residuals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CovarianceOptions {
    /// Whether residuals have variance 1. Otherwise their variance is estimated.
    pub absolute_sigma: bool,
    /// Whether the sandwich estimate is taken; by default where a block that takes part has a robust loss.
    pub robust: Option<bool>,
}

/// Rows of a covariance at most: 4,000² numbers are 128 MB.
const MOST_ROWS: usize = 4_000;
/// Undetermined parameters that an error names at most.
const NAMED: usize = 3;

/// The covariance of blocks at the current parameters, normalised on their manifolds; each block is given by its first parameter, all for `None`. The result is
/// a square matrix, row after row, with one row for each number of the blocks in their order. Rows and columns of constant numbers are 0.
///
/// # Errors
/// `invalid-argument` if the covariance does not exist, naming undetermined parameters, if an estimate needs more residuals than there are, or
/// for a parameter that is not the first of a block, or as [`on_manifolds`]; `limit-exceeded` for more than 4,000 rows; `non-finite` if a residual or
/// derivative is not finite, or its square.
pub async fn covariance(
    functions: &mut Functions,
    model: &mut HostModel,
    blocks: Option<&[u32]>,
    options: CovarianceOptions,
) -> Result<Vec<f64>> {
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
    let x = on_manifolds(functions)?;
    let Analysed { space, inverse, linearised } = analyse(functions, model, &x, TOLERANCE).await?;
    let Some(inverse) = inverse else {
        return Err(singular(functions, &space));
    };
    let robust = options.robust.unwrap_or_else(|| has_robust_loss(functions.model()));
    let estimate = if robust {
        let instances = instances(functions, &x).await?;
        let matrix = jacobian(model.pattern(functions)?, x.len(), &linearised.entries);
        let sandwich = Sandwich { matrix, residuals: &linearised.residuals, inverse: &inverse, instances };
        Estimate::Sandwich(sandwich, per_degree_of_freedom(functions, space.columns, true)?)
    } else if options.absolute_sigma {
        Estimate::Inverse(&inverse, 1.0)
    } else {
        let factor = per_degree_of_freedom(functions, space.columns, false)?;
        Estimate::Inverse(&inverse, 2.0 * linearised.cost * factor)
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
            estimate.apply(&mut column)?;
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
    if result.iter().any(|number| !number.is_finite()) {
        return Err(Error::new(
            ErrorCode::NonFinite,
            "the covariance is not finite in double precision: squares of residuals or derivatives are beyond its range; take another unit for them",
        ));
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

/// A covariance in tangent coordinates, as a product with a vector.
enum Estimate<'a> {
    Inverse(&'a Inverse, f64),
    Sandwich(Sandwich<'a>, f64),
}

impl Estimate<'_> {
    fn apply(&self, column: &mut [f64]) -> Result<()> {
        let factor = match self {
            Estimate::Inverse(inverse, factor) => {
                inverse.apply(column);
                factor
            }
            Estimate::Sandwich(sandwich, factor) => {
                sandwich.apply(column)?;
                factor
            }
        };
        column.iter_mut().for_each(|value| *value *= factor);
        Ok(())
    }
}

fn has_robust_loss(model: &Model) -> bool {
    model.blocks.iter().any(|block| block.takes_part() && block.loss.kind != LossKind::Squared)
}

/// 1/(m − n), or m/(m − n), for m samples and n degrees of freedom.
fn per_degree_of_freedom(functions: &Functions, columns: usize, times_residuals: bool) -> Result<f64> {
    let residuals = functions.sample_count();
    if residuals <= columns {
        return Err(Error::invalid_argument(format!(
            "the variance of the residuals cannot be estimated: {residuals} residuals for {columns} degrees of freedom leave none over; \
             absoluteSigma: true with robust: false assumes that the residuals have variance 1"
        )));
    }
    let count = if times_residuals { residuals as f64 } else { 1.0 };
    Ok(count / (residuals - columns) as f64)
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
