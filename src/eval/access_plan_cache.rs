//! The plans of a model's kernels on the GPU, made when an entry is first needed, one for all batches that share a kernel.

use std::rc::Rc;

use crate::model::access_plan::{AccessPlan, Entry};
use crate::model::recompute::{RecomputePlan, slots_by_dim};
use crate::model::{Class, Losses, Model};
use residua_base::cooperative::Slices;
use residua_base::error::{Error, Result};
use residua_codegen::Width;
use vecmap::VecMap;

use super::layout::Layout;
use super::record::Kernels;
use super::texts::{anonymous_kernel, classes_of_kernels, representatives};

/// The plans of those kernels that were needed so far.
pub struct AccessPlanCache {
    /// For each batch the number of its kernel.
    numbers: Vec<usize>,
    /// In how many numbers the functions are computed.
    width: Width,
    /// For each kernel a batch that has it.
    representatives: Vec<usize>,
    /// For each kernel its class, with the losses that it is compiled with.
    classes: Vec<Rc<Class>>,
    made: VecMap<(usize, Entry), AccessPlan>,
    lists: VecMap<(usize, Entry), Vec<RecomputePlan>>,
}

impl AccessPlanCache {
    /// No plans yet, for a model of which the batches have these kernels out of `count`, computed in numbers of this width.
    pub fn new(model: &Model, numbers: Vec<usize>, count: usize, width: Width) -> AccessPlanCache {
        let representatives = representatives(&numbers, count);
        let classes = classes_of_kernels(model, &numbers, count, width);
        let (made, lists) = (VecMap::default(), VecMap::default());
        AccessPlanCache { numbers, width, representatives, classes, made, lists }
    }

    /// Follows a change of a block's loss. Releases the plans of kernels that compute losses and were made without the one that is wanted
    /// now, and gives their numbers. A kernel that was made with all losses keeps them.
    pub fn loss_changed(&mut self, model: &Model) -> Vec<usize> {
        let wanted = classes_of_kernels(model, &self.numbers, self.classes.len(), self.width);
        let mut changed = Vec::new();
        for (number, wanted) in wanted.into_iter().enumerate() {
            if (self.classes[number].losses, wanted.losses) == (Losses::Squared, Losses::Any) {
                self.classes[number] = wanted;
                changed.push(number);
            }
        }
        let is_current = |&(number, entry): &(usize, Entry)| !(entry.has_losses() && changed.contains(&number));
        self.made.retain(|key, _| is_current(key));
        self.lists.retain(|key, _| is_current(key));
        changed
    }

    /// Makes the plans of an entry that are not there yet.
    pub fn make(&mut self, model: &Model, entry: Entry) -> Result<()> {
        (0..self.representatives.len()).try_for_each(|number| self.make_one(model, number, entry))
    }

    /// The same for several entries, in slices: differentiating a long kernel takes some milliseconds.
    pub async fn make_in_slices(&mut self, model: &Model, entries: &[Entry], slices: &Slices<'_>) -> Result<()> {
        for &entry in entries {
            for number in 0..self.representatives.len() {
                self.make_one(model, number, entry)?;
                slices.checkpoint(0.0).await?;
            }
        }
        Ok(())
    }

    fn make_one(&mut self, model: &Model, number: usize, entry: Entry) -> Result<()> {
        if !self.made.contains_key(&(number, entry)) {
            let batch = &model.batches[self.representatives[number]];
            let plan = anonymous_kernel(&self.classes[number], batch.rows, entry, self.width)?;
            self.made.insert((number, entry), plan);
        }
        Ok(())
    }

    /// Makes the sums over lists of an entry that are not there yet, of those kernels that run over lists.
    pub fn make_lists(&mut self, layout: &Layout, entry: Entry) -> Result<()> {
        for (chunk, lists) in layout.chunks.iter().zip(&layout.lists.of_chunks) {
            let number = self.numbers[chunk.batch];
            if lists.is_none() || self.lists.contains_key(&(number, entry)) {
                continue;
            }
            let class = &self.classes[number];
            let mut plans = Vec::new();
            for slots in slots_by_dim(class) {
                let mut plan = RecomputePlan::in_width(class, entry, self.width, &slots, "")?;
                plan.kernel.clear_header();
                plans.push(plan);
            }
            self.lists.insert((number, entry), plans);
        }
        Ok(())
    }

    /// The sum over lists of a kernel by its number.
    pub fn lists_of_kernel(&self, number: usize, entry: Entry, size: usize) -> Result<&RecomputePlan> {
        let plan = self.lists.get(&(number, entry)).and_then(|plans| plans.get(size));
        plan.ok_or_else(|| Error::internal("a sum over lists is recorded before its plan is made"))
    }

    /// The plan of a kernel by its number.
    pub fn of_kernel(&self, number: usize, entry: Entry) -> Result<&AccessPlan> {
        self.made.get(&(number, entry)).ok_or_else(|| Error::internal("a kernel is recorded before its plan is made"))
    }
}

impl Kernels for AccessPlanCache {
    fn number(&self, batch: usize) -> usize {
        self.numbers[batch]
    }

    fn plan(&self, batch: usize, entry: Entry) -> Result<&AccessPlan> {
        self.of_kernel(self.numbers[batch], entry)
    }

    fn losses(&self, batch: usize) -> Losses {
        self.classes[self.numbers[batch]].losses
    }

    fn lists(&self, batch: usize, entry: Entry, size: usize) -> Result<&RecomputePlan> {
        self.lists_of_kernel(self.numbers[batch], entry, size)
    }
}
