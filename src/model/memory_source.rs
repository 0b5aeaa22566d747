//! Tapes and tables in memory as sources of a compile, for callers other than the page.

use residua_base::error::{Error, Result};

use super::compile_input::{CompileInput, InstanceList, TableSource, TapeSource};
use super::residual_template::Expression;
use super::tape::{Room, Tape};

/// The tables of a residual template in memory, column after column.
#[derive(Clone, Debug, Default)]
pub struct MemoryTables {
    /// Number of instances.
    pub count: usize,
    /// For each slot a column of block indices.
    pub indices: Vec<u32>,
    /// Data columns.
    pub data: Vec<f64>,
    /// See [`InstanceList::Instances`].
    pub instances: Option<Vec<u32>>,
    /// See [`InstanceList::Rows`].
    pub rows: Option<Vec<u32>>,
}

impl MemoryTables {
    fn list(&self, list: InstanceList) -> Option<&[u32]> {
        match list {
            InstanceList::Instances => self.instances.as_deref(),
            InstanceList::Rows => self.rows.as_deref(),
        }
    }
}

/// Copies the part of `all` that begins at `start`.
fn copy_part<T: Copy>(all: &[T], start: usize, into: &mut [T]) -> Result<()> {
    let part = all.get(start..start + into.len());
    into.copy_from_slice(part.ok_or_else(|| Error::internal("a table is shorter than its instances need"))?);
    Ok(())
}

impl TableSource for MemoryTables {
    fn read_indices(&self, slot: u32, first: usize, into: &mut [u32]) -> Result<()> {
        copy_part(&self.indices, slot as usize * self.count + first, into)
    }

    fn read_data(&self, column: u32, first: usize, into: &mut [f64]) -> Result<()> {
        copy_part(&self.data, column as usize * self.count + first, into)
    }

    fn length(&self, list: InstanceList) -> Option<usize> {
        self.list(list).map(<[u32]>::len)
    }

    fn read_list(&self, list: InstanceList, first: usize, into: &mut [u32]) -> Result<()> {
        copy_part(self.list(list).unwrap_or_default(), first, into)
    }
}

/// A tape that is read as one piece.
impl TapeSource for Tape {
    fn entry_pieces(&self) -> Vec<(usize, bool)> {
        vec![(self.len(), true)]
    }

    fn read_entries(&self, _: usize, room: Room<'_>) {
        let (ops, operands) = self.columns();
        room.ops.copy_from_slice(ops);
        for (column, into) in operands.into_iter().zip(room.operands) {
            // Third operands end after the last entry that has one.
            into[..column.len()].copy_from_slice(column);
        }
    }

    fn constant_pieces(&self) -> Vec<usize> {
        vec![self.numbers().len()]
    }

    fn read_constants(&self, _: usize, into: &mut [f64]) {
        into.copy_from_slice(self.numbers());
    }

    fn outputs(&self) -> usize {
        Tape::outputs(self).len()
    }

    fn read_outputs(&self, first: usize, into: &mut [u32]) {
        into.copy_from_slice(&Tape::outputs(self)[first..first + into.len()]);
    }
}

impl CompileInput {
    /// Adds a residual block of one expression, whose residuals follow those of the blocks before. `slots` are arrays; `indices` has a column
    /// of block indices for each slot, `data` columns of numbers. Returns the block's number.
    ///
    /// # Errors
    /// Those of [`CompileInput::add_template`].
    pub fn add_residuals(
        &mut self,
        name: &str,
        slots: Vec<u32>,
        indices: Vec<u32>,
        data: Vec<f64>,
        tape: Tape,
    ) -> Result<u32> {
        let count = indices.len() / slots.len().max(1);
        let rows = (count * tape.outputs().len()) as u32;
        let block = self.add_block(name, count as u32, self.num_residuals(), rows);
        let expression = Expression { slots, data_columns: (data.len() / count.max(1)) as u32, tape, weight: None };
        let tables = MemoryTables { count, indices, data, instances: None, rows: None };
        self.add_template(block, count as u32, expression, Box::new(tables))?;
        Ok(block)
    }
}
