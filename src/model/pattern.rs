//! The sparsity of the Jacobian: compressed sparse rows, and for each local partial its place among them.

use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::Listed;

use super::batch::Model;
use super::class::Local;

/// Compressed sparse rows and the way into them. The same for every point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Row `i` has the entries `row_offsets[i]..row_offsets[i + 1]`.
    pub row_offsets: Vec<u32>,
    /// Columns, ascending within a row, each once.
    pub col_indices: Vec<u32>,
    /// For each batch: where its partials go, partial after partial and within it instance after instance. Several may go
    /// to one place, and add up there.
    pub places: Vec<Vec<u32>>,
}

impl Pattern {
    /// A copy of the compressed rows alone.
    pub fn without_places(&self) -> Pattern {
        let (row_offsets, col_indices) = (self.row_offsets.clone(), self.col_indices.clone());
        Pattern { row_offsets, col_indices, places: Vec::new() }
    }
}

/// The pattern of a model of which batch `b` has the local partials `partials[b]`: pairs of an output and what it is
/// differentiated by.
pub fn pattern(model: &Model, partials: &[Vec<(u32, Local)>]) -> Result<Pattern> {
    let each = |give: Give| {
        for (batch, partials) in model.batches.iter().zip(partials) {
            for &(output, local) in partials {
                for (instance, address) in batch.column(local.column).iter().enumerate() {
                    give(batch.row(instance) + output, address + local.component);
                }
            }
        }
    };
    let Compressed { row_offsets, col_indices, places } = compress("Jacobian", model.num_residuals as usize, &each)?;
    let mut rest = places.as_slice();
    let places = model
        .batches
        .iter()
        .zip(partials)
        .map(|(batch, partials)| {
            let (own, others) = rest.split_at(partials.len() * batch.count as usize);
            rest = others;
            own.to_vec()
        })
        .list();
    Ok(Pattern { row_offsets, col_indices, places })
}

/// Takes row and column of an entry.
pub(crate) type Give<'a> = &'a mut dyn FnMut(u32, u32);

/// Compressed sparse rows.
pub(crate) struct Compressed {
    pub(crate) row_offsets: Vec<u32>,
    /// Ascending within a row, each once.
    pub(crate) col_indices: Vec<u32>,
    /// Where each of the entries stands.
    pub(crate) places: Vec<u32>,
}

/// So many zeros, if there is memory for them.
fn zeros<T: Clone + Default>(what: &str, count: u64) -> Result<Vec<T>> {
    let mut zeros = Vec::new();
    let no_memory =
        |_| Error::new(ErrorCode::OutOfMemory, format!("there is no memory for {count} entries of the {what}"));
    zeros.try_reserve_exact(count as usize).map_err(no_memory)?;
    zeros.resize(count as usize, T::default());
    Ok(zeros)
}

/// The compressed rows of the entries that `each` gives, always the same ones; several may stand at one place.
pub(crate) fn compress(what: &str, rows: usize, each: &dyn Fn(Give)) -> Result<Compressed> {
    let mut row_starts = vec![0u64; rows + 1];
    each(&mut |row, _| row_starts[row as usize + 1] += 1);
    for row in 0..rows {
        row_starts[row + 1] += row_starts[row];
    }
    let total = row_starts[rows];
    if total > u64::from(u32::MAX) {
        return Err(Error::new(
            ErrorCode::LimitExceeded,
            format!("the {what} has {total} entries; a sparse matrix of this package holds at most {}", u32::MAX),
        ));
    }

    // All pairs of column and source by row, sorted within the row; sources are numbered in their order.
    let mut pairs: Vec<u64> = zeros(what, total)?;
    let mut next = row_starts.clone();
    let mut source = 0u32;
    each(&mut |row, column| {
        let slot = &mut next[row as usize];
        pairs[*slot as usize] = u64::from(column) << 32 | u64::from(source);
        *slot += 1;
        source += 1;
    });
    let mut places: Vec<u32> = zeros(what, total)?;
    let mut col_indices = Vec::new();
    let mut row_offsets = Vec::with_capacity(rows + 1);
    row_offsets.push(0);
    for row in 0..rows {
        let of_row = &mut pairs[row_starts[row] as usize..row_starts[row + 1] as usize];
        of_row.sort_unstable();
        let mut last = None;
        for &mut pair in of_row {
            let (column, source) = ((pair >> 32) as u32, pair as u32);
            if last != Some(column) {
                col_indices.push(column);
                last = Some(column);
            }
            places[source as usize] = col_indices.len() as u32 - 1;
        }
        row_offsets.push(col_indices.len() as u32);
    }
    Ok(Compressed { row_offsets, col_indices, places })
}
