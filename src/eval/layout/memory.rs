//! The buffers of a model on a device, by what they hold.

use super::lists::ListMemory;

/// A buffer, by what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// All parameters.
    Parameters,
    /// The gradient of all parameters.
    Gradient,
    /// All residuals.
    Residuals,
    /// A number for each residual.
    Seeds,
    /// A chunk's index table.
    Indices(usize),
    /// A chunk's data table.
    Data(usize),
    /// All tables of the model.
    Tables,
    /// The values of a chunk's addends.
    Addends(usize),
    /// The constants of all batches, each from a multiple of [`super::ALIGNMENT`] on.
    BatchConstants,
    /// The uniforms of every dispatch, each from a multiple of [`super::ALIGNMENT`] on.
    Uniforms,
    /// The partial sums of all chunks, each chunk's from a multiple of [`super::ALIGNMENT`] on.
    PartialSums,
    /// Partial sums that are not used.
    IgnoredSums,
    /// The partial sums, summed to fewer.
    Sums,
    /// The local gradients of the chunk that runs.
    LocalGradient,
    /// Sums of segments.
    Scratch(u32),
    /// Local partials of the chunk that runs.
    Partials,
    /// The index tables of all chunks, see [`super::Layout::home`].
    AllIndices,
    /// Partial sums along a line, see [`super::Chunk::line_workgroups`].
    LineSums,
    /// Offsets of a gather pass: chunk, pass.
    GatherOffsets(usize, usize),
    /// Entries of a gather pass.
    GatherEntries(usize, usize),
    /// Targets of a gather pass.
    GatherTargets(usize, usize),
    /// A word that is zero in every run, for guards against rearranged sums.
    GuardZero,
    /// Of sums over lists, and of gradients that stay on the device.
    Lists(ListMemory),
}

impl Memory {
    /// Identifies a buffer. There are fewer than 2²⁹ chunks and passes of a chunk: each takes a byte of the device at least.
    pub fn key(self) -> u64 {
        let (kind, chunk, pass) = match self {
            Memory::Parameters => (0, 0, 0),
            Memory::Gradient => (1, 0, 0),
            Memory::Residuals => (2, 0, 0),
            Memory::Seeds => (3, 0, 0),
            Memory::Indices(chunk) => (4, chunk, 0),
            Memory::Data(chunk) => (5, chunk, 0),
            Memory::Addends(chunk) => (6, chunk, 0),
            Memory::BatchConstants => (7, 0, 0),
            Memory::Uniforms => (8, 0, 0),
            Memory::PartialSums => (9, 0, 0),
            Memory::IgnoredSums => (10, 0, 0),
            Memory::Sums => (11, 0, 0),
            Memory::LocalGradient => (12, 0, 0),
            Memory::Scratch(which) => (13, which as usize, 0),
            Memory::Partials => (14, 0, 0),
            Memory::GatherOffsets(chunk, pass) => (15, chunk, pass),
            Memory::GatherEntries(chunk, pass) => (16, chunk, pass),
            Memory::GatherTargets(chunk, pass) => (17, chunk, pass),
            Memory::LineSums => (26, 0, 0),
            Memory::AllIndices => (27, 0, 0),
            Memory::GuardZero => (33, 0, 0),
            Memory::Tables => (34, 0, 0),
            Memory::Lists(memory) => memory.key(),
        };
        kind << 58 | (chunk as u64) << 29 | pass as u64
    }

    /// As messages name it.
    pub fn name(self) -> String {
        let (words, chunk) = match self {
            Memory::Parameters => ("parameters", None),
            Memory::Gradient => ("gradient", None),
            Memory::Residuals => ("residuals", None),
            Memory::Seeds => ("seeds", None),
            Memory::Indices(chunk) => ("indices", Some(chunk)),
            Memory::Data(chunk) => ("data", Some(chunk)),
            Memory::Addends(chunk) => ("addends", Some(chunk)),
            Memory::BatchConstants => ("batch constants", None),
            Memory::Uniforms => ("uniforms of dispatches", None),
            Memory::PartialSums => ("partial sums", None),
            Memory::IgnoredSums => ("ignored sums", None),
            Memory::Sums => ("sums", None),
            Memory::LocalGradient => ("local gradients", None),
            Memory::Scratch(_) => ("sums of segments", None),
            Memory::Partials => ("local partials", None),
            Memory::GatherOffsets(chunk, _) => ("offsets of a gather", Some(chunk)),
            Memory::GatherEntries(chunk, _) => ("entries of a gather", Some(chunk)),
            Memory::GatherTargets(chunk, _) => ("targets of a gather", Some(chunk)),
            Memory::LineSums => ("sums along a line", None),
            Memory::AllIndices => ("index tables", None),
            Memory::GuardZero => ("zero of guards", None),
            Memory::Tables => ("tables", None),
            Memory::Lists(memory) => memory.name(),
        };
        match chunk {
            None => words.to_owned(),
            Some(chunk) => format!("{words} of chunk {chunk}"),
        }
    }
}
