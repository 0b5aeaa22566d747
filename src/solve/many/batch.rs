//! In what the problems differ, and the reading of it: a range of problems at a time, from wherever the numbers are.

use std::ops::Range;

use residua_base::error::{Error, Result};
use residua_base::list::Listed;

use super::template::{Group, SharedProblem};
use crate::model::SampleCounter;

/// Numbers that are read a piece at a time: fills the slice with those from the given position on.
pub type Numbers<'a> = Box<dyn Fn(usize, &mut [f64]) + 'a>;

/// Data that each problem has of its own, for some columns of a batch of instances.
pub struct Varying<'a> {
    /// Position of the batch of instances in the model.
    pub batch: usize,
    /// The first of the columns.
    pub first_column: u32,
    /// Where among a problem's numbers those of the columns stand: column after column, a number an instance.
    pub sources: Vec<u32>,
    /// Numbers that a problem has.
    pub length: usize,
    /// They themselves, problem after problem.
    pub numbers: Numbers<'a>,
}

/// The problems.
#[derive(Default)]
pub struct Batch<'a> {
    /// How many there are.
    pub count: u32,
    /// Starts: first parameter, how many numbers, and they themselves, problem after problem.
    pub parameters: Vec<(u32, usize, Numbers<'a>)>,
    /// Data.
    pub data: Vec<Varying<'a>>,
}

impl Varying<'_> {
    /// How many columns it gives, for so many instances.
    pub fn columns(&self, instances: u32) -> u32 {
        (self.sources.len() / (instances as usize).max(1)) as u32
    }
}

impl Batch<'_> {
    /// Checks that the batch names only what the template has.
    pub fn check(&self, template: &SharedProblem) -> Result<()> {
        let model = &template.model;
        for (first, length, _) in &self.parameters {
            if *first as usize + length > model.num_params as usize {
                return Err(Error::internal("a batch brings parameters beyond the template's"));
            }
        }
        for varying in &self.data {
            let fits = model.batches.get(varying.batch).is_some_and(|batch| {
                batch.count > 0
                    && varying.sources.len().is_multiple_of(batch.count as usize)
                    && varying.first_column + varying.columns(batch.count) <= batch.class.data
            });
            if !fits || varying.sources.iter().any(|&source| source as usize >= varying.length) {
                return Err(Error::internal("a batch brings data that the template does not take"));
            }
        }
        Ok(())
    }

    /// The starts of some problems: all parameters, problem after problem.
    pub fn starts(&self, template: &SharedProblem, problems: Range<u32>) -> Vec<f64> {
        let numbers = template.values.len();
        let count = problems.len();
        let mut starts = Vec::with_capacity(count * numbers);
        for _ in problems.clone() {
            starts.extend_from_slice(&template.values);
        }
        let mut piece = Vec::new();
        for (first, length, read) in &self.parameters {
            piece.resize(count * length, 0.0);
            read(problems.start as usize * length, &mut piece);
            for (problem, own) in piece.chunks_exact(*length).enumerate() {
                starts[problem * numbers + *first as usize..][..*length].copy_from_slice(own);
            }
        }
        starts
    }

    /// A batch of some of the problems, which start at their own starts, or where these points of all are.
    pub(super) fn extract(&self, template: &SharedProblem, problems: &[u32], points: Option<&[f64]>) -> Batch<'static> {
        let numbers = template.values.len();
        let start = |&problem: &u32| match points {
            Some(points) => points[problem as usize * numbers..(problem as usize + 1) * numbers].to_vec(),
            None => self.starts(template, problem..problem + 1),
        };
        let of_varying = |varying: &Varying| {
            let mut own = vec![0.0; problems.len() * varying.length];
            for (&problem, own) in problems.iter().zip(own.chunks_exact_mut(varying.length)) {
                (varying.numbers)(problem as usize * varying.length, own);
            }
            let Varying { batch, first_column, length, .. } = *varying;
            Varying { batch, first_column, sources: varying.sources.clone(), length, numbers: kept(own) }
        };
        Batch {
            count: problems.len() as u32,
            parameters: vec![(0, numbers, kept(problems.iter().flat_map(start).list()))],
            data: self.data.iter().map(of_varying).list(),
        }
    }

    /// Whether problems can have different numbers of samples.
    pub fn samples_vary(&self, template: &SharedProblem) -> bool {
        template.groups.iter().any(|group| {
            let class = &template.model.batches[group.batch].class;
            let is_own = |column| source_of(template, self, group, column).is_some();
            (0..class.data).any(is_own) && SampleCounter::of(class).is_some()
        })
    }

    /// The number of samples of each of some problems, as [`crate::model::Model::sample_count`] counts them; `own` is what [`Batch::read_data`] has
    /// read of them.
    pub fn sample_counts(&self, template: &SharedProblem, own: &[Vec<f64>], problems: usize) -> Vec<usize> {
        if !self.samples_vary(template) {
            return vec![template.model.sample_count(); problems];
        }
        let mut counts = vec![0; problems];
        for group in &template.groups {
            let batch = &template.model.batches[group.batch];
            if !template.model.blocks[batch.block as usize].takes_part() {
                continue;
            }
            let mut counter = SampleCounter::of(&batch.class);
            let sources = (0..batch.class.data).map(|column| source_of(template, self, group, column)).list();
            for (problem, count) in counts.iter_mut().enumerate() {
                for &instance in &group.instances {
                    let datum = |column: u32| match sources[column as usize] {
                        Some((entry, places)) => {
                            own[entry][problem * self.data[entry].length + places[instance as usize] as usize]
                        }
                        None => batch.datum(column, instance as usize),
                    };
                    *count += match &mut counter {
                        Some(counter) => counter.count(&datum, &batch.batch_constants),
                        None => batch.class.outputs.len(),
                    };
                }
            }
        }
        counts
    }

    /// The numbers of each [`Varying`] for some problems.
    pub fn read_data(&self, problems: Range<u32>) -> Vec<Vec<f64>> {
        let mut data = Vec::with_capacity(self.data.len());
        for varying in &self.data {
            let mut numbers = vec![0.0; problems.len() * varying.length];
            (varying.numbers)(problems.start as usize * varying.length, &mut numbers);
            data.push(numbers);
        }
        data
    }
}

/// Numbers that are in memory.
fn kept(numbers: Vec<f64>) -> Numbers<'static> {
    Box::new(move |first, into| into.copy_from_slice(&numbers[first..first + into.len()]))
}

/// Brings a problem's start onto its manifolds and between its bounds. False if that, or the start itself, is not finite.
pub fn make_feasible(template: &SharedProblem, x: &mut [f64]) -> bool {
    let mut finite = x.iter().all(|number| number.is_finite());
    for block in &template.blocks {
        let numbers = &mut x[block.first as usize..(block.first + block.dim) as usize];
        finite &= block.manifold.normalise(numbers).is_some();
    }
    template.project(x);
    finite
}

/// Which entry of [`Batch::data`] gives a column of a group's instances, the latest if several do, and where in it they stand, by
/// instance.
pub fn source_of<'a>(
    template: &SharedProblem,
    batch: &'a Batch,
    group: &Group,
    column: u32,
) -> Option<(usize, &'a [u32])> {
    let count = template.model.batches[group.batch].count;
    let mut found = None;
    for (entry, varying) in batch.data.iter().enumerate() {
        let columns = varying.first_column..varying.first_column + varying.columns(count);
        if varying.batch == group.batch && columns.contains(&column) {
            let first = ((column - columns.start) * count) as usize;
            found = Some((entry, &varying.sources[first..first + count as usize]));
        }
    }
    found
}
