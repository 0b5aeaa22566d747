//! The generated shaders of a model, for the reader.

use crate::batch::plan::{Entry, Target, plan};
use crate::batch::{Batch, Model};
use crate::codegen::{Kernel, wgsl};
use crate::error::Result;

use super::titles::title;

/// The shaders of one kernel.
pub struct KernelText {
    /// Whose residuals it computes.
    pub name: String,
    /// Instances that share it.
    pub instances: u32,
    /// For each entry point its name and text.
    pub entries: Vec<(&'static str, String)>,
}

/// The kernel of a batch on the GPU without its header, so that its text depends on nothing but what it computes, and
/// equal kernels are compiled once.
pub fn anonymous_kernel(batch: &Batch, entry: Entry) -> Result<crate::batch::plan::Plan> {
    let mut plan = plan(&batch.class, batch.rows, entry, Target::Gpu, "")?;
    plan.kernel.header.clear();
    Ok(plan)
}

/// For each batch the number of its kernel, and how many kernels there are: batches whose residuals have the same text
/// share one.
pub fn kernel_numbers(model: &Model) -> Result<(Vec<usize>, usize)> {
    let mut texts: Vec<String> = Vec::new();
    let mut numbers = Vec::new();
    for batch in &model.batches {
        let text = wgsl::write(&anonymous_kernel(batch, Entry::Values)?.kernel)?;
        let known = texts.iter().position(|known| *known == text);
        numbers.push(known.unwrap_or(texts.len()));
        if known.is_none() {
            texts.push(text);
        }
    }
    Ok((numbers, texts.len()))
}

/// All shaders of a model, one per kernel and entry point.
pub fn kernel_texts(model: &Model) -> Result<Vec<KernelText>> {
    let (numbers, count) = kernel_numbers(model)?;
    let mut kernels: Vec<Option<KernelText>> = (0..count).map(|_| None).collect();
    for (batch, number) in model.batches.iter().zip(numbers) {
        if let Some(kernel) = &mut kernels[number] {
            kernel.instances += batch.count;
            continue;
        }
        let name = title(model, batch);
        let mut entries = Vec::new();
        for entry in Entry::ALL {
            let kernel: Kernel = plan(&batch.class, batch.rows, entry, Target::Gpu, &name)?.kernel;
            entries.push((entry.name(), wgsl::write(&kernel)?));
        }
        kernels[number] = Some(KernelText { name, instances: batch.count, entries });
    }
    Ok(kernels.into_iter().flatten().collect())
}
