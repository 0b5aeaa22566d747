//! Titles of kernels: whose residuals they compute, in the user's words.

use crate::model::access_plan::Entry;
use crate::model::{Batch, Model};

/// The title of a batch: the residual block's name, which is empty in the params form.
pub fn title(model: &Model, batch: &Batch) -> String {
    let name = &model.blocks[batch.block as usize].name;
    let name = if name.is_empty() { "residuals of one topology" } else { name };
    if batch.has_addends() { format!("{name}, addends of longer sums") } else { name.to_owned() }
}

/// What a batch's kernel is called where its times are reported: as among the texts of the kernels.
pub fn kernel_name(model: &Model, batch: usize, entry: Entry) -> String {
    format!("{} {}", title(model, &model.batches[batch]), entry.name())
}
