//! The plans of a model's kernels on the GPU, made when an entry is first needed, one for all batches that share a kernel.

use crate::batch::Model;
use crate::batch::plan::{Entry, Plan};
use crate::error::{Error, Result};
use crate::table::Table;

use super::record::Kernels;
use super::texts::anonymous_kernel;

/// The plans of those kernels that were needed so far.
pub struct Plans {
    /// For each batch the number of its kernel.
    numbers: Vec<usize>,
    /// For each kernel a batch that has it.
    representatives: Vec<usize>,
    made: Table<(usize, Entry), Plan>,
}

impl Plans {
    /// No plans yet, for batches with these kernels out of `count`.
    pub fn new(numbers: Vec<usize>, count: usize) -> Plans {
        let mut representatives = vec![0; count];
        for (batch, &number) in numbers.iter().enumerate().rev() {
            representatives[number] = batch;
        }
        Plans { numbers, representatives, made: Table::default() }
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
}
