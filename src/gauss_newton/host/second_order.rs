//! What the Gauss-Newton model leaves out: second derivatives of the residuals, exact, for small problems.
//!
//! With weight w, that of the block times that of the instance, loss ρ and an instance's residuals r, s = ‖r‖², J and the second derivatives by tangent
//! coordinates, the cost ½ Σ w ρ(s) has the second derivative
//!
//! ```text
//! Σ w (ρ′ JᵀJ + 2 ρ″ (Jᵀr)(Jᵀr)ᵀ)  +  S,   S = Σ w ρ′ Σᵢ rᵢ ∂²rᵢ/∂δ²
//! ```
//!
//! J̃ᵀJ̃ is the first sum, with max(ρ″, 0) for ρ″ ([`crate::model::least_squares`]). S has no ρ″. So where ρ″ is negative, J̃ᵀJ̃ + S lacks its share, which
//! would make it smaller.
//!
//! Of plain functions S is not known, and their second derivatives along a direction are differences. Of functions with large loops S is not computed.
//!
//! r̃″ is r″ scaled by the matrix that scales J to J̃, w½(ρ′I + 2 max(ρ″, 0) rrᵀ)½, so that ‖J̃a + r̃″‖ measures as the model does. Rows of J̃ that the
//! correction for ρ″ would fill too much are an exception: r̃″ has the correction then, too.

use residua_base::deadline::Deadline;
use residua_base::error::Result;

use crate::eval::cpu::{CpuEngine, Memory};
use crate::eval::{Functions, Objective, OnHost};
use crate::model::access_plan::Entry;
use crate::model::energy::Coordinates;
use crate::model::hessian::MOST_NUMBERS;
use crate::model::losses::{self, LossKind};
use crate::model::second_order::Pairs;
use crate::model::{Batch, BlockInfo, Class, Model};

use super::plain;

/// Parameters of a problem at most: the matrix is dense, and its kernel has an instruction for each entry at least.
pub const MOST_PARAMETERS: u32 = 128;

/// Numbers of a loop with second derivatives at most: two states with three parameters have 32. A kernel of 98 took ten times as long to compile as all
/// others of a fit.
const MOST_NUMBERS_OF_LOOPS: usize = 32;

/// Operations of a class times its local parameters, above which its kernels of second derivatives are long. Those of 48,000 took 5.8 of the 6.3 seconds of a
/// solve, those of 4,000 take half a second.
const MOST_OPERATIONS: usize = 4_000;

/// Entries of all instances' Hessians, at most: a hundred megabytes with their columns.
const MOST_ENTRIES: usize = 8_000_000;

/// Whether a class has long kernels of second derivatives.
pub(super) fn is_long(model: &Model) -> bool {
    let operations = |batch: &Batch| batch.class.graph.graph().len() * batch.class.locals.len();
    taking_part(model).any(|number| operations(&model.batches[number]) > MOST_OPERATIONS)
}

/// Compiles the kernels of r̃″; whether they are there at the deadline.
pub(super) async fn prepare_directional(functions: &mut Functions, end: Deadline) -> Result<bool> {
    let OnHost { model, engine, .. } = functions.on_host();
    let is_ready = !needs_residuals(model) || engine.prepare_until(model, Entry::Values, end).await?;
    Ok(is_ready && engine.prepare_until(model, Entry::SecondDirectional, end).await?)
}

/// The numbers that a step of the longest loop of a class computes with second derivatives by all local parameters.
fn numbers_of_loops(class: &Class) -> usize {
    let states = class.graph.graph().loops().iter().map(|of| of.body().states()).max();
    states.unwrap_or_default() * (1 + class.locals.len()).pow(2)
}

/// Compiles what a system of all Hessians takes; `false` where there are none, or too many numbers of them, or the deadline passes before.
pub(super) async fn prepare_system(functions: &mut Functions, end: Deadline) -> Result<bool> {
    let model = functions.model();
    let is_left_out = |batch: &Batch| {
        let numbers = batch.class.locals.len();
        batch.plain.is_some() || numbers > MOST_NUMBERS || numbers_of_loops(&batch.class) > MOST_NUMBERS_OF_LOOPS
    };
    let entries = |batch: &Batch| batch.count as usize * batch.class.locals.len().pow(2);
    let is_large = model.batches.iter().map(entries).sum::<usize>() > MOST_ENTRIES;
    if is_large || is_long(model) || model.batches.iter().any(is_left_out) {
        return Ok(false);
    }
    functions.prepare_hessian(Objective::LeastSquares, Coordinates::Tangent, end).await
}

/// Compiles the kernels of S.
pub(super) async fn prepare(functions: &mut Functions, end: Deadline) -> Result<Option<bool>> {
    let OnHost { model, engine, .. } = functions.on_host();
    let is_left_out = |batch: &Batch| batch.plain.is_some() || numbers_of_loops(&batch.class) > MOST_NUMBERS_OF_LOOPS;
    if model.num_params > MOST_PARAMETERS || model.batches.iter().any(is_left_out) {
        return Ok(Some(false));
    }
    for entry in [Entry::Values, Entry::SecondOrder] {
        if !engine.prepare_until(model, entry, end).await? {
            return Ok(None);
        }
    }
    Ok(Some(true))
}

/// r̃″.
pub(super) async fn directional(functions: &mut Functions, x: &[f64], direction: &[f64]) -> Result<Vec<f64>> {
    prepare_directional(functions, Deadline::NEVER).await?;
    second_derivatives(functions, x, direction, Scale::Root)
}

/// J̃ᵀr̃″.
pub(super) async fn directional_gradient(functions: &mut Functions, x: &[f64], direction: &[f64]) -> Result<Vec<f64>> {
    prepare_directional(functions, Deadline::NEVER).await?;
    let seeds = second_derivatives(functions, x, direction, Scale::Whole)?;
    let OnHost { model, engine, constant, .. } = functions.on_host();
    engine.prepare_until(model, Entry::SeededTangent, Deadline::NEVER).await?;
    let mut gradient = vec![0.0; x.len()];
    for number in taking_part(model) {
        let memory = Memory { x, seeds: &seeds, gradient: &mut gradient, ..Memory::default() };
        engine.run_prepared(model, number, Entry::SeededTangent, memory)?;
    }
    let constants = gradient.iter_mut().zip(constant.unwrap_or_default()).filter(|(_, constant)| **constant);
    constants.for_each(|(entry, _)| *entry = 0.0);
    Ok(gradient)
}

/// S, row after row, of which the lower half counts.
pub(super) async fn matrix(functions: &mut Functions, x: &[f64]) -> Result<Vec<f64>> {
    prepare(functions, Deadline::NEVER).await?;
    functions.expect_parameters(x.len())?;
    let OnHost { model, engine, constant, .. } = functions.on_host();
    let n = x.len();
    let residuals = rows(engine, model, Entry::Values, x, &[])?;
    let seeds = scaled(model, &residuals, &residuals, Scale::Slope);
    let mut sums = vec![0.0; n * n];
    for number in taking_part(model) {
        let places = Pairs::places(&model.batches[number], n as u32);
        let memory = Memory { x, seeds: &seeds, places: &places, jtj_blocks: &mut sums, ..Memory::default() };
        engine.run_prepared(model, number, Entry::SecondOrder, memory)?;
    }
    let is_free = |parameter: &usize| !constant.is_some_and(|constant| constant[*parameter]);
    let mut matrix = vec![0.0; n * n];
    for row in (0..n).filter(is_free) {
        for column in (0..=row).filter(is_free) {
            matrix[row * n + column] = sums[row * n + column] + sums[column * n + row];
        }
    }
    Ok(matrix)
}

/// r″ along a direction, scaled.
fn second_derivatives(functions: &mut Functions, x: &[f64], direction: &[f64], scale: Scale) -> Result<Vec<f64>> {
    functions.expect_parameters(x.len())?;
    let OnHost { model, engine, bounds, .. } = functions.on_host();
    let mut seconds = rows(engine, model, Entry::SecondDirectional, x, direction)?;
    plain::add_differences(model, x, bounds, direction, &mut seconds)?;
    let residuals = if needs_residuals(model) { rows(engine, model, Entry::Values, x, &[])? } else { Vec::new() };
    Ok(scaled(model, &residuals, &seconds, scale))
}

/// The batches that take part.
fn taking_part(model: &Model) -> impl Iterator<Item = usize> + '_ {
    let takes_part = |number: &usize| model.blocks[model.batches[*number].block as usize].takes_part();
    (0..model.batches.len()).filter(takes_part)
}

/// Whether a loss makes the scale of an instance depend on its residuals.
fn needs_residuals(model: &Model) -> bool {
    model.blocks.iter().any(|block| block.takes_part() && block.loss.kind != LossKind::Squared)
}

/// What an entry gives for each residual, 0 where the block takes no part.
fn rows(engine: &CpuEngine, model: &Model, entry: Entry, x: &[f64], vector: &[f64]) -> Result<Vec<f64>> {
    let mut rows = vec![0.0; model.num_residuals as usize];
    for number in taking_part(model) {
        let memory = Memory { x, vector, residuals: &mut rows, ..Memory::default() };
        engine.run_prepared(model, number, entry, memory)?;
    }
    Ok(rows)
}

/// What multiplies an instance's numbers, where M = w(ρ′I + 2 max(ρ″, 0) rrᵀ).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// w ρ′
    Slope,
    /// M
    Whole,
    /// The root of M that scales J to J̃.
    Root,
}

/// Numbers of all residuals, scaled. The residuals are not read where no loss needs them.
fn scaled(model: &Model, residuals: &[f64], numbers: &[f64], scale: Scale) -> Vec<f64> {
    let mut scaled = vec![0.0; numbers.len()];
    for batch in taking_part(model).map(|number| &model.batches[number]) {
        let BlockInfo { weight, loss, .. } = &model.blocks[batch.block as usize];
        let of_loss = (loss.kind != LossKind::Squared).then(|| losses::derivatives(loss));
        for instance in 0..batch.count as usize {
            let first = batch.row(instance) as usize;
            let rows = first..first + batch.class.outputs.len();
            let r = residuals.get(rows.clone()).unwrap_or_default();
            let s: f64 = r.iter().map(|r| r * r).sum();
            let weight = weight * batch.instance_weight(instance);
            let [slope, bend] = of_loss.as_ref().map_or([loss.factor, 0.0], |of_loss| of_loss(s));
            let along: f64 = r.iter().zip(&numbers[rows.clone()]).map(|(r, number)| r * number).sum();
            // The number times a factor, and r times a share.
            let (factor, share) = match scale {
                Scale::Slope => (weight * slope, 0.0),
                Scale::Whole if bend > 0.0 => (weight * slope, 2.0 * weight * bend * along),
                Scale::Root if bend > 0.0 && s > 0.0 => {
                    let factor = (weight * slope).sqrt();
                    (factor, factor * ((1.0 + 2.0 * s * bend / slope).sqrt() - 1.0) / s * along)
                }
                Scale::Whole => (weight * slope, 0.0),
                Scale::Root => ((weight * slope).sqrt(), 0.0),
            };
            for row in rows {
                // Of an infinite residual, 0 times r would be none.
                let of_residual = if share == 0.0 { 0.0 } else { share * residuals[row] };
                scaled[row] = factor * numbers[row] + of_residual;
            }
        }
    }
    scaled
}
