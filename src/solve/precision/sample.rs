//! Which instances of a batch the precision guard evaluates: the same ones every time.

use super::point::Evaluated;
use super::probe::{Found, Probe};
use crate::model::losses::LossParameters;
use crate::model::{Batch, Model};
use residua_base::error::Result;
use residua_base::list::{Listed, PushAll};
use residua_base::sort::ascending;

/// Instances of a residual block that are sampled at equal distances, at least, if it has so many.
const INSTANCES: u32 = 256;

/// Instances of a batch that are sampled at equal distances, at least, however small its part of the block is.
const LEAST: u32 = 8;

/// Instances of a batch that are evaluated for each parameter that is asked for, at most.
const FOR_EACH: u32 = 16;

/// Evaluates the sampled instances of all blocks that take part, or of those that touch some parameters, if there are any, which ascend, and calls a function
/// with each and the number of instances that it stands for. Batches whose residuals are long sums or plain functions are left out. Returns the number of
/// evaluated instances.
///
/// # Errors
/// `internal` if the derivatives of a residual are not a sound graph.
pub(super) fn each(
    model: &Model,
    point: &Evaluated,
    parameters: &[u32],
    evaluated: &mut dyn FnMut(&LossParameters, &Probe, Found, f64),
) -> Result<usize> {
    let mut instances = 0;
    for batch in &model.batches {
        let block = &model.blocks[batch.block as usize];
        if !block.enabled || batch.has_addends() || batch.plain.is_some() || batch.count == 0 {
            continue;
        }
        let mut probe = Probe::new(batch, &model.tables, point)?;
        let sample = match parameters {
            [] => Sample::of(batch, block.instances, point.x),
            _ => Sample::at(batch, parameters),
        };
        for (instance, represented) in sample.instances {
            let found = probe.evaluate(instance, block.weight);
            evaluated(&block.loss, &probe, found, represented);
            instances += 1;
        }
    }
    Ok(instances)
}

/// Instances of a batch, each with the number of instances that it stands for.
pub(super) struct Sample {
    pub instances: Vec<(usize, f64)>,
}

impl Sample {
    /// A sample of a batch, whose block has so many instances: some at equal distances, and for each data column and each block of
    /// parameters the instance where its magnitude is largest.
    pub(super) fn of(batch: &Batch, of_block: u32, x: &[f64]) -> Sample {
        let count = batch.count;
        let share = u64::from(INSTANCES) * u64::from(count) / u64::from(of_block.max(1));
        let regular = u64::from(LEAST).max(share + 1).min(u64::from(count));
        let represented = f64::from(count) / regular as f64;
        let mut instances =
            (0..regular).map(|number| ((number * u64::from(count) / regular) as usize, represented)).list();
        if regular < u64::from(count) {
            let mut extremes = extremes(batch, x);
            ascending(&mut extremes);
            extremes.dedup();
            extremes.retain(|extreme| instances.binary_search_by_key(extreme, |&(instance, _)| instance).is_err());
            instances.push_all(extremes.into_iter().map(|instance| (instance, 1.0)));
        }
        Sample { instances }
    }

    /// Instances that touch each of these parameters, which ascend: of each some at equal distances.
    pub(super) fn at(batch: &Batch, parameters: &[u32]) -> Sample {
        let (mut counts, mut distances) = (vec![0_u32; parameters.len()], vec![u32::MAX; parameters.len()]);
        let mut instances = Vec::new();
        // The first time they are counted.
        for _ in 0..2 {
            for instance in 0..batch.count as usize {
                let mut is_wanted = false;
                for local in &batch.class.locals {
                    let parameter = batch.column(local.column)[instance] + local.component;
                    if let Ok(number) = parameters.binary_search(&parameter) {
                        counts[number] += 1;
                        is_wanted |= counts[number].is_multiple_of(distances[number]);
                    }
                }
                if is_wanted {
                    instances.push((instance, 1.0));
                }
            }
            distances = counts.iter().map(|count| count.div_ceil(FOR_EACH)).list();
            counts.fill(0);
        }
        Sample { instances }
    }
}

/// The instances with the number of largest magnitude in each data column and in each block of parameters.
fn extremes(batch: &Batch, x: &[f64]) -> Vec<usize> {
    let data = batch.data.chunks_exact(batch.count as usize);
    let of_data = data.map(|column| largest(column.iter().map(|number| number.abs())));
    let of_parameters = batch.class.block_dims.iter().enumerate().map(|(column, &dim)| {
        let magnitude = |&first: &u32| {
            let block = &x[first as usize..(first + dim) as usize];
            block.iter().fold(0.0, |largest: f64, number| largest.max(number.abs()))
        };
        largest(batch.column(column as u32).iter().map(magnitude))
    });
    of_data.chain(of_parameters).list()
}

/// The position of the largest number, the first of equal ones.
fn largest(numbers: impl Iterator<Item = f64>) -> usize {
    let first = (0, f64::NEG_INFINITY);
    numbers.enumerate().fold(first, |best, number| if number.1 > best.1 { number } else { best }).0
}
