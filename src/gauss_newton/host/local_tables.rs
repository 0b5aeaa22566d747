//! The local tables of all batches: what each instance has of r, J̃ and r̃ at the linearised point, in the columns of
//! [`crate::model::least_squares::LocalTable`].

use crate::model::{Class, Model};

/// The local table of each batch.
#[derive(Default)]
pub(super) struct LocalTables(Vec<Vec<f64>>);

impl LocalTables {
    /// The tables of the batches that take part, by the batch's number. `columns` gives how many a class needs; new ones hold zeros, and
    /// entries that are zero at every point are never written.
    pub(super) fn with_columns<'a>(
        &'a mut self,
        model: &'a Model,
        columns: impl Fn(&Class) -> u32 + 'a,
    ) -> impl Iterator<Item = (usize, &'a mut Vec<f64>)> + 'a {
        self.0.resize(model.batches.len(), Vec::new());
        self.of_enabled(model).map(move |(number, table)| {
            let batch = &model.batches[number];
            table.resize(columns(&batch.class) as usize * batch.count as usize, 0.0);
            (number, table)
        })
    }

    /// The tables of the batches that take part, as the last linearisation left them.
    pub(super) fn of_enabled<'a>(
        &'a mut self,
        model: &'a Model,
    ) -> impl Iterator<Item = (usize, &'a mut Vec<f64>)> + 'a {
        let takes_part = |number: &usize| model.blocks[model.batches[*number].block as usize].enabled;
        self.0.iter_mut().enumerate().filter(move |(number, _)| takes_part(number))
    }
}
