//! The plans of a model's kernels on the GPU, made when an entry is first needed, one for all batches that share a kernel.

use crate::batch::Model;
use crate::batch::lists::{ListPlan, plan_lists, slots_by_dim};
use crate::batch::plan::{Entry, Plan};
use crate::error::{Error, Result};
use crate::table::Table;

use super::layout::Layout;
use super::record::Kernels;
use super::texts::anonymous_kernel;

/// The plans of those kernels that were needed so far.
pub struct Plans {
    /// For each batch the number of its kernel.
    numbers: Vec<usize>,
    /// For each kernel a batch that has it.
    representatives: Vec<usize>,
    made: Table<(usize, Entry), Plan>,
    lists: Table<(usize, Entry), Vec<ListPlan>>,
}

impl Plans {
    /// No plans yet, for batches with these kernels out of `count`.
    pub fn new(numbers: Vec<usize>, count: usize) -> Plans {
        let mut representatives = vec![0; count];
        for (batch, &number) in numbers.iter().enumerate().rev() {
            representatives[number] = batch;
        }
        Plans { numbers, representatives, made: Table::default(), lists: Table::default() }
    }

    /// Makes the plans of an entry that are not there yet.
    pub fn make(&mut self, model: &Model, entry: Entry) -> Result<()> {
        for (number, &batch) in self.representatives.iter().enumerate() {
            if !self.made.contains_key(&(number, entry)) {
                self.made.insert((number, entry), anonymous_kernel(&model.batches[batch], entry)?);
            }
        }
        Ok(())
    }

    /// Makes the sums over lists of an entry that are not there yet, of those kernels that run over lists.
    pub fn make_lists(&mut self, model: &Model, layout: &Layout, entry: Entry) -> Result<()> {
        for (chunk, lists) in layout.chunks.iter().zip(&layout.lists.of_chunks) {
            let number = self.numbers[chunk.batch];
            if lists.is_none() || self.lists.contains_key(&(number, entry)) {
                continue;
            }
            let class = &model.batches[chunk.batch].class;
            let mut plans = Vec::new();
            for slots in slots_by_dim(class) {
                let mut plan = plan_lists(class, entry, &slots, "")?;
                plan.sum.header.clear();
                plans.push(plan);
            }
            self.lists.insert((number, entry), plans);
        }
        Ok(())
    }

    /// The sum over lists of a kernel by its number.
    pub fn lists_of_kernel(&self, number: usize, entry: Entry, size: usize) -> Result<&ListPlan> {
        let plan = self.lists.get(&(number, entry)).and_then(|plans| plans.get(size));
        plan.ok_or_else(|| Error::internal("a sum over lists is recorded before its plan is made"))
    }

    /// The plan of a kernel by its number.
    pub fn of_kernel(&self, number: usize, entry: Entry) -> Result<&Plan> {
        self.made.get(&(number, entry)).ok_or_else(|| Error::internal("a kernel is recorded before its plan is made"))
    }
}

impl Kernels for Plans {
    fn number(&self, batch: usize) -> usize {
        self.numbers[batch]
    }

    fn plan(&self, batch: usize, entry: Entry) -> Result<&Plan> {
        self.of_kernel(self.numbers[batch], entry)
    }

    fn lists(&self, batch: usize, entry: Entry, size: usize) -> Result<&ListPlan> {
        self.lists_of_kernel(self.numbers[batch], entry, size)
    }
}
