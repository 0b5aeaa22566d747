//! The generated shaders of a model, for the reader.

use residua_base::list::Listed;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use rustc_hash::FxHasher;

use crate::model::access_plan::{AccessPlan, Entry};
use crate::model::losses::LossKind;
use crate::model::recompute::{RecomputePlan, pays, slots_by_dim};
use crate::model::{Class, Losses, Model, Rows};
use residua_base::error::Result;
use residua_codegen::Width;
use residua_codegen::wgsl::{self, PairForm};

use super::titles::title;

/// The shaders of one kernel.
pub struct KernelText {
    /// Whose residuals it computes.
    pub name: String,
    /// Instances that share it.
    pub instances: u32,
    /// For each entry point its name and text.
    pub entries: Vec<(String, String)>,
}

/// The kernel of a class on the GPU without its header, so that its text depends on nothing but what it computes, and
/// equal kernels are compiled once.
pub fn anonymous_kernel(class: &Class, rows: Rows, entry: Entry, width: Width) -> Result<AccessPlan> {
    let mut plan = AccessPlan::in_width(class, rows, entry, width, "")?;
    plan.kernel.clear_header();
    Ok(plan)
}

/// For each batch the number of its kernel, and how many kernels there are. Batches share one when their classes are equal in
/// everything that any entry's text depends on.
pub fn kernel_numbers(model: &Model) -> (Vec<usize>, usize) {
    let mut hashes: Vec<u64> = Vec::new();
    let mut numbers: Vec<usize> = Vec::with_capacity(model.batches.len());
    let mut representatives: Vec<usize> = Vec::new();
    for (position, batch) in model.batches.iter().enumerate() {
        let mut hasher = FxHasher::default();
        (batch.class.graph.graph().nodes(), &batch.class.outputs).hash(&mut hasher);
        let hash = hasher.finish();
        let same = |&number: &usize| {
            let other = &model.batches[representatives[number]];
            hashes[number] == hash && other.class.has_kernels_of(&batch.class) && same_rows(other.rows, batch.rows)
        };
        let number = match (0..hashes.len()).find(same) {
            Some(number) => number,
            None => {
                hashes.push(hash);
                representatives.push(position);
                representatives.len() - 1
            }
        };
        numbers.push(number);
    }
    (numbers, representatives.len())
}

/// For each kernel its class, from a batch that has it. Kernels in pairs have no losses while all their blocks have the squared one: a driver
/// takes longer to compile the losses in pairs than the residuals of most problems.
pub fn classes_of_kernels(model: &Model, numbers: &[usize], count: usize, width: Width) -> Vec<Rc<Class>> {
    let all_squared = |number: usize| {
        let mut batches = model.batches.iter().zip(numbers).filter(|&(_, &other)| other == number);
        batches.all(|(batch, _)| model.blocks[batch.block as usize].loss.kind == LossKind::Squared)
    };
    let class_of = |(number, &batch): (usize, &usize)| {
        let losses = match width {
            Width::Pair if all_squared(number) => Losses::Squared,
            Width::Pair | Width::Single => Losses::Any,
        };
        model.batches[batch].class.limited_to(losses)
    };
    representatives(numbers, count).iter().enumerate().map(class_of).list()
}

/// For each kernel a batch that has it.
pub fn representatives(numbers: &[usize], count: usize) -> Vec<usize> {
    let mut representatives = vec![0; count];
    for (batch, &number) in numbers.iter().enumerate().rev() {
        representatives[number] = batch;
    }
    representatives
}

/// Whether kernels address rows in the same way. Where they start is no matter of their text.
fn same_rows(a: Rows, b: Rows) -> bool {
    match (a, b) {
        (Rows::From(_), Rows::From(_)) => true,
        (Rows::Column(a), Rows::Column(b)) | (Rows::Addends(a), Rows::Addends(b)) => a == b,
        (Rows::From(_) | Rows::Column(_) | Rows::Addends(_), _) => false,
    }
}

/// What the text of a kernel needs: plain data that no call changes.
pub struct KernelSource {
    class: Rc<Class>,
    rows: Rows,
    width: Width,
    form: PairForm,
    name: String,
    instances: u32,
}

/// The kernels of a model that is computed in numbers of this width, of which pairs have products of this form.
pub fn kernel_sources(model: &Model, width: Width, form: PairForm) -> Vec<KernelSource> {
    let (numbers, count) = kernel_numbers(model);
    let classes = classes_of_kernels(model, &numbers, count, width);
    let mut sources: Vec<Option<KernelSource>> = (0..count).map(|_| None).list();
    // A plain function has no text.
    let written = model.batches.iter().zip(numbers).filter(|(batch, _)| batch.plain.is_none());
    for (batch, number) in written {
        match &mut sources[number] {
            Some(source) => source.instances += batch.count,
            none => {
                *none = Some(KernelSource {
                    class: classes[number].clone(),
                    rows: batch.rows,
                    width,
                    form,
                    name: title(model, batch),
                    instances: batch.count,
                });
            }
        }
    }
    sources.into_iter().flatten().list()
}

impl KernelSource {
    /// Its shaders, one per entry point.
    pub fn texts(&self) -> Result<KernelText> {
        let mut entries = Vec::new();
        for entry in Entry::ALL {
            let kernel = AccessPlan::in_width(&self.class, self.rows, entry, self.width, &self.name)?.kernel;
            entries.push((kernel.name.clone(), wgsl::write(&kernel, self.form)?));
        }
        if pays(&self.class, self.width)? {
            for entry in [Entry::SumGradient, Entry::CostGradient] {
                for slots in slots_by_dim(&self.class) {
                    let kernel = RecomputePlan::in_width(&self.class, entry, self.width, &slots, &self.name)?.kernel;
                    entries.push((kernel.name().to_owned(), wgsl::write_recompute(&kernel, self.form)));
                }
            }
        }
        Ok(KernelText { name: self.name.clone(), instances: self.instances, entries })
    }
}
