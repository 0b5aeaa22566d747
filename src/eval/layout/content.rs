//! What stands in the buffers of a model from the start. Most of it is read where the model or the layout has it, so that nothing large
//! is copied in one go on its way to the device.

use crate::model::Model;
use crate::model::chunks::columns_of;
use residua_base::cooperative::Slices;
use residua_base::error::Result;
use residua_base::list::PushAll;
use residua_codegen::Width;

use super::lists::ListMemory;
use super::{ALIGNMENT, Layout, Memory};

/// What stands in a buffer from the start: parts that follow one another.
pub enum Content<'a> {
    /// Words as they are.
    Words(Vec<&'a [u32]>),
    /// Numbers that the device takes in single precision.
    Numbers(Vec<&'a [f64]>),
    /// Numbers that the device takes as pairs, the low parts after all others.
    Pairs(Vec<&'a [f64]>),
}

impl Layout {
    /// Makes what stands in a buffer from the start, where that is made at first use.
    pub async fn make_content(&mut self, model: &Model, memory: Memory, slices: &Slices<'_>) -> Result<()> {
        let Memory::Lists(memory) = memory else { return Ok(()) };
        let (ListMemory::Offsets(chunk, _) | ListMemory::Others(chunk, _)) = memory else { return Ok(()) };
        let (batch, range) = self.of_chunk(model, chunk);
        self.lists.make_content(batch, range, memory, slices).await
    }

    /// What stands in a buffer from the start, if anything does.
    pub fn content<'a>(&'a self, model: &'a Model, memory: Memory) -> Option<Content<'a>> {
        Some(match memory {
            Memory::AllIndices => {
                // Each table is padded to where the next one begins.
                let padding = &[0; ALIGNMENT as usize / 4];
                let mut parts = Vec::new();
                for number in 0..self.chunks.len() {
                    let (batch, range) = self.of_chunk(model, number);
                    parts.push_all(columns_of(&batch.indices, batch.count as usize, range));
                    let words = self.bytes(Memory::Indices(number)) as usize / 4;
                    parts.push(&padding[..words.next_multiple_of(padding.len()) - words]);
                }
                Content::Words(parts)
            }
            Memory::Indices(chunk) => {
                let (batch, range) = self.of_chunk(model, chunk);
                Content::Words(columns_of(&batch.indices, batch.count as usize, range))
            }
            Memory::Data(chunk) => {
                let (batch, range) = self.of_chunk(model, chunk);
                let columns = columns_of(&batch.data, batch.count as usize, range);
                match self.width {
                    Width::Single => Content::Numbers(columns),
                    Width::Pair => Content::Pairs(columns),
                }
            }
            Memory::Tables => match self.width {
                Width::Single => Content::Numbers(vec![&model.tables]),
                Width::Pair => Content::Pairs(vec![&model.tables]),
            },
            Memory::Uniforms => Content::Words(vec![&self.uniforms]),
            Memory::GatherOffsets(chunk, pass) => Content::Words(vec![&self.tables[chunk][pass].offsets]),
            Memory::GatherEntries(chunk, pass) => Content::Words(vec![&self.tables[chunk][pass].entries]),
            Memory::GatherTargets(chunk, pass) => Content::Words(vec![&self.tables[chunk][pass].targets]),
            Memory::Lists(memory) => Content::Words(vec![self.lists.content(memory)?]),
            Memory::Parameters
            | Memory::Gradient
            | Memory::Residuals
            | Memory::Seeds
            | Memory::Addends(_)
            | Memory::BatchConstants
            | Memory::PartialSums
            | Memory::IgnoredSums
            | Memory::Sums
            | Memory::LocalGradient
            | Memory::Scratch(_)
            | Memory::Partials
            | Memory::LineSums
            | Memory::GuardZero => return None,
        })
    }

    /// A buffer has its content: tables of gather passes, for which there is no second use, go.
    pub fn forget_content(&mut self, memory: Memory) {
        match memory {
            Memory::GatherOffsets(chunk, pass) => self.tables[chunk][pass].offsets = Vec::new(),
            Memory::GatherEntries(chunk, pass) => self.tables[chunk][pass].entries = Vec::new(),
            Memory::GatherTargets(chunk, pass) => self.tables[chunk][pass].targets = Vec::new(),
            Memory::Lists(memory) => self.lists.forget_content(memory),
            _ => {}
        }
    }
}
