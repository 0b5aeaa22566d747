//! The buffers of an engine, by what is in them.

use residua_gpu::Buffer;
use rustc_hash::FxHashMap;

use super::super::layout::Memory;
use super::super::layout::lists::ListMemory;

/// The buffers that were made so far.
#[derive(Default)]
pub(super) struct Buffers {
    all: Vec<Buffer>,
    /// Positions, by [`Memory::key`].
    positions: FxHashMap<u64, u32>,
}

impl Buffers {
    /// That of the parameters that the application can read, from which lists take their point.
    pub(super) fn with_point(published: Buffer) -> Buffers {
        let mut buffers = Buffers::default();
        buffers.insert(Memory::Lists(ListMemory::Point), published);
        buffers
    }

    pub(super) fn get(&self, memory: &Memory) -> Option<&Buffer> {
        self.positions.get(&memory.key()).map(|position| &self.all[*position as usize])
    }

    pub(super) fn insert(&mut self, memory: Memory, buffer: Buffer) {
        self.positions.insert(memory.key(), self.all.len() as u32);
        self.all.push(buffer);
    }
}
