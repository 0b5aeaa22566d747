//! One problem after the other as functions of their own, for what needs the rows of J̃.

use super::ManyListener;
use super::batch::Batch;
use super::template::SharedProblem;
use crate::eval::cpu::CpuEngine;
use crate::eval::{Arithmetic, Engine, Functions};
use crate::gauss_newton::host::HostModel;
use crate::model::Manifold;
use crate::solve::levenberg_marquardt::host::deficiency::promise;
use residua_base::cooperative::Yielder;
use residua_base::error::{ErrorCode, Result};
use residua_base::list::Listed;

/// Functions on the host, of which the data and the parameters are those of a problem once [`set_problem`] has brought them.
pub(super) fn functions(template: SharedProblem) -> Result<Functions> {
    let constant = constant(&template);
    let mut functions = Functions::new(template.model, Engine::Cpu(CpuEngine::new()), template.values)?;
    functions.set_constant(constant)?;
    Ok(functions)
}

/// Brings a problem's data, from what was read of some problems, and a point.
pub(super) fn set_problem(
    functions: &mut Functions,
    batch: &Batch<'_>,
    read: &[Vec<f64>],
    place: usize,
    x: &[f64],
) -> Result<()> {
    for (varying, own) in batch.data.iter().zip(read) {
        let own = &own[place * varying.length..][..varying.length];
        let columns: Vec<f64> = varying.sources.iter().map(|&source| own[source as usize]).list();
        functions.set_data(varying.batch, varying.first_column, &columns)?;
    }
    functions.set_values(x.to_vec())
}

/// What the derivatives of some problems promise at `x`, the parameters of each problem, in f64 and in units of σ²; NaN where they are not finite or too many, and
/// of all problems after the listener has aborted.
pub(super) async fn promises(
    template: &SharedProblem,
    batch: &Batch<'_>,
    problems: &[u32],
    x: &[f64],
    audience: &mut dyn ManyListener,
) -> Result<Vec<f64>> {
    let mut promises = vec![f64::NAN; problems.len()];
    if problems.is_empty() {
        return Ok(promises);
    }
    let numbers = template.values.len();
    let mut functions = functions(template.clone())?;
    set_bounds(&mut functions, template)?;
    let mut host = HostModel::default();
    let mut yielder = Yielder::new();
    for (&problem, found) in problems.iter().zip(&mut promises) {
        yielder.yield_if_due().await;
        if audience.aborted() {
            break;
        }
        let own = batch.read_data(problem..problem + 1);
        set_problem(&mut functions, batch, &own, 0, &x[problem as usize * numbers..][..numbers])?;
        match promise(&mut functions, &mut host, Arithmetic::F64, None).await {
            Ok(promise) => *found = promise.unwrap_or(f64::NAN),
            Err(error) if error.code == ErrorCode::NonFinite => {}
            Err(error) => return Err(error),
        }
    }
    Ok(promises)
}

/// Sets the bounds of a template.
pub(super) fn set_bounds(functions: &mut Functions, template: &SharedProblem) -> Result<()> {
    let numbers = template.values.len();
    let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; numbers], vec![f64::INFINITY; numbers]);
    for coordinate in &template.free {
        if let Some(bounds) = coordinate.bounds {
            let parameter = coordinate.parameter as usize;
            (lower[parameter], upper[parameter]) = bounds;
        }
    }
    functions.set_bounds(lower, upper)
}

/// Which parameters no problem moves.
fn constant(template: &SharedProblem) -> Vec<bool> {
    let mut constant = vec![true; template.values.len()];
    for block in &template.blocks {
        for parameter in block.first..block.first + block.dim {
            let moves = block.manifold != Manifold::Euclidean || template.free_position(parameter).is_some();
            constant[parameter as usize] = !moves;
        }
    }
    constant
}
