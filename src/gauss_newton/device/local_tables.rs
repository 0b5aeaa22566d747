//! Where the local tables of a model's chunks stand on a device: in one buffer, if one binding covers them all. Before them stand zeros, to which
//! the lists of residuals that take no part lead.

use residua_base::list::Listed;

use super::buffers::ModelBuffer;
use crate::eval::layout::{ALIGNMENT, Layout, starts_of_tables};
use crate::model::Model;
use crate::model::least_squares::LocalTable;

/// Where the local tables stand.
#[derive(Clone, Debug)]
pub struct LocalTables {
    /// Numbers of each.
    lengths: Vec<u64>,
    /// Where each starts among all, in numbers, and the end of the last, if they are in one buffer.
    starts: Option<Vec<u64>>,
}

impl LocalTables {
    /// The local tables of a model's chunks.
    pub fn new(model: &Model, evaluation: &Layout) -> LocalTables {
        let lengths: Vec<u64> = evaluation
            .chunks
            .iter()
            .map(|chunk| {
                let columns = LocalTable::of(&model.batches[chunk.batch].class).columns_on_device(evaluation.width);
                u64::from(columns) * chunk.range.len() as u64
            })
            .list();
        let starts = starts_of_tables(ALIGNMENT / 4, &lengths, evaluation.most_bound);
        LocalTables { lengths, starts }
    }

    /// Numbers of a chunk's table.
    pub fn len(&self, chunk: usize) -> u64 {
        self.lengths[chunk]
    }

    /// Numbers of all tables, if they are in one buffer.
    pub fn total(&self) -> u64 {
        self.starts.as_ref().and_then(|starts| starts.last().copied()).unwrap_or_default()
    }

    /// Where a chunk's table starts among all, in numbers, if they are in one buffer.
    pub fn start(&self, chunk: usize) -> Option<u64> {
        Some(self.starts.as_ref()?[chunk])
    }

    /// The buffer in which a chunk's table stands, and where in it, in bytes.
    pub fn home(&self, chunk: usize) -> (ModelBuffer, u64) {
        match self.start(chunk) {
            Some(start) => (ModelBuffer::AllLocal, 4 * start),
            None => (ModelBuffer::Local(chunk), 0),
        }
    }
}
