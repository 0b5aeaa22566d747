//! What lies where on the device: what differs from problem to problem as a structure of arrays, neighbouring problems beside
//! each other, and what is the same for all in a table of its own.

use std::ops::Range;

use crate::eval::pairs::split;
use residua_codegen::Width;

use super::batch::{Batch, source_of};
use super::template::{Group, SharedProblem};

/// Where a data column of a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Number `k` of an instance among those that differ from problem to problem.
    Varying(u32),
    /// Number `k` of an instance among those that do not.
    Shared(u32),
}

/// The tables of a group. An instance's numbers stand together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLayout {
    /// For each data column of the class, where it is.
    pub columns: Vec<Column>,
    /// First of its numbers among a problem's own, and how many an instance has.
    pub varying: (u32, u32),
    /// First of its numbers in the shared table, and how many an instance has.
    pub shared: (u32, u32),
    /// Where in the shared table the class's batch constants begin.
    pub batch_constants: u32,
    /// Where in the shared table weight × factor and the loss's scales stand.
    pub settings: u32,
}

/// The tables of a template with a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// By group.
    pub groups: Vec<GroupLayout>,
    /// Numbers that a problem has of its own.
    pub varying: u32,
    /// Which of them is its number of samples, where problems can differ in that.
    pub samples: Option<u32>,
    /// Where in the shared table the bounds of the free coordinates begin, lower and upper of each.
    pub bounds: u32,
    /// Where in the shared table the model's tables begin.
    pub tables: u32,
    /// Numbers in the shared table.
    pub shared: u32,
}

impl Layout {
    /// Lays a template out for a batch.
    pub fn new(template: &SharedProblem, batch: &Batch) -> Layout {
        let (mut varying, mut shared) = (0, 0);
        let mut groups = Vec::with_capacity(template.groups.len());
        for group in &template.groups {
            let class = &template.model.batches[group.batch].class;
            let count = group.instances.len() as u32;
            let (mut own, mut common) = (0, 0);
            let mut columns = Vec::with_capacity(class.data as usize);
            for column in 0..class.data {
                if source_of(template, batch, group, column).is_some() {
                    columns.push(Column::Varying(own));
                    own += 1;
                } else {
                    columns.push(Column::Shared(common));
                    common += 1;
                }
            }
            let batch_constants = shared + common * count;
            let settings = batch_constants + class.batch_constants;
            groups.push(GroupLayout {
                columns,
                varying: (varying, own),
                shared: (shared, common),
                batch_constants,
                settings,
            });
            varying += own * count;
            shared = settings + 3;
        }
        let samples = batch.samples_vary(template).then_some(varying);
        varying += u32::from(samples.is_some());
        let tables = shared + 2 * template.free.len() as u32;
        let end = tables + template.model.tables.len() as u32;
        Layout { groups, varying, samples, bounds: shared, tables, shared: end }
    }

    /// The shared table.
    pub fn shared_table(&self, template: &SharedProblem) -> Vec<f64> {
        let mut table = vec![0.0; self.shared as usize];
        for (group, layout) in template.groups.iter().zip(&self.groups) {
            let batch = &template.model.batches[group.batch];
            for (column, place) in layout.columns.iter().enumerate() {
                let Column::Shared(k) = *place else { continue };
                for (i, &instance) in group.instances.iter().enumerate() {
                    let (first, width) = layout.shared;
                    table[(first + i as u32 * width + k) as usize] =
                        batch.data[column * batch.count as usize + instance as usize];
                }
            }
            table[layout.batch_constants as usize..][..batch.batch_constants.len()]
                .copy_from_slice(&batch.batch_constants);
            table[layout.settings as usize..][..3].copy_from_slice(&settings(template, group));
        }
        table[self.bounds as usize..self.tables as usize].copy_from_slice(&template.bounds());
        table[self.tables as usize..].copy_from_slice(&template.model.tables);
        table
    }

    /// What some problems have of their own, in columns of `stride`, problem after problem.
    /// In pairs the columns of the low parts follow.
    pub fn varying_table(
        &self,
        template: &SharedProblem,
        batch: &Batch,
        problems: Range<u32>,
        stride: u32,
        width: Width,
    ) -> Vec<f32> {
        let count = problems.len();
        let numbers = batch.read_data(problems);
        let low = self.varying as usize * stride as usize;
        let mut table = vec![0.0; if width == Width::Pair { 2 * low } else { low }];
        for (group, layout) in template.groups.iter().zip(&self.groups) {
            for (column, place) in (0..).zip(&layout.columns) {
                let (Column::Varying(k), Some((entry, sources))) = (*place, source_of(template, batch, group, column))
                else {
                    continue;
                };
                let length = batch.data[entry].length;
                for (i, &instance) in group.instances.iter().enumerate() {
                    let source = sources[instance as usize] as usize;
                    let row = (layout.varying.0 + i as u32 * layout.varying.1 + k) as usize * stride as usize;
                    let of_problems = numbers[entry].iter().skip(source).step_by(length);
                    for (place, number) in (row..row + stride as usize).zip(of_problems) {
                        let [high, error] = split(*number);
                        table[place] = high;
                        if width == Width::Pair {
                            table[low + place] = error;
                        }
                    }
                }
            }
        }
        if let Some(samples) = self.samples {
            let counts = batch.sample_counts(template, &numbers, count);
            let row = &mut table[samples as usize * stride as usize..];
            row.iter_mut().zip(counts).for_each(|(number, count)| *number = count as f32);
        }
        table
    }
}

/// Weight × factor, and the loss's scales.
pub fn settings(template: &SharedProblem, group: &Group) -> [f64; 3] {
    let block = &template.model.blocks[template.model.batches[group.batch].block as usize];
    [block.weight * block.loss.factor, block.loss.a, block.loss.b]
}
