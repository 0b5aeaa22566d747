//! One problem after the other as functions of their own, for what needs the rows of J̃.

use super::batch::Batch;
use super::template::Template;
use crate::eval::cpu::CpuEngine;
use crate::eval::{Engine, Functions};
use crate::model::Manifold;
use residua_base::error::Result;
use residua_base::list::Listed;

/// Functions on the host, of which the data and the parameters are those of a problem once [`set_problem`] has brought them.
pub(super) fn functions(template: Template) -> Result<Functions> {
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

/// Which parameters no problem moves.
fn constant(template: &Template) -> Vec<bool> {
    let mut constant = vec![true; template.values.len()];
    for block in &template.blocks {
        for parameter in block.first..block.first + block.dim {
            let moves = block.manifold != Manifold::Euclidean || template.free_position(parameter).is_some();
            constant[parameter as usize] = !moves;
        }
    }
    constant
}
