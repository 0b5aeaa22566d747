//! The buffers of the GPU engine, made when a recording first declares them, and kept as the model has them.

use residua_base::list::Listed;
use std::ops::Range;

use crate::model::Model;
use residua_base::cooperative::Slices;
use residua_base::error::{Error, Result};
use residua_gpu::{Buffer, BufferRequest};

use super::super::layout::lists::ListMemory;
use super::super::layout::{Content, Memory};
use super::super::pairs::{low_parts, to_f32};
use super::GpuEngine;

impl GpuEngine {
    /// The buffer that recordings declare as `memory`.
    pub async fn buffer(&mut self, model: &Model, memory: Memory) -> Result<Buffer> {
        self.table(model, memory).await
    }

    /// Makes those buffers that are not there yet, with what stands in them from the start.
    pub(super) async fn allocate(&mut self, model: &Model, memory: &[Memory], slices: &Slices<'_>) -> Result<()> {
        self.allocate_with(model, memory, Vec::new(), slices).await?;
        Ok(())
    }

    /// The same together with buffers of the caller's, which it gives: all or none, so that work for which the device has no room
    /// leaves nothing behind.
    pub async fn allocate_for_solver(
        &mut self,
        model: &Model,
        memory: &[Memory],
        requests: Vec<BufferRequest>,
    ) -> Result<Vec<Buffer>> {
        self.allocate_with(model, memory, requests, &Slices::without_progress()).await
    }

    async fn allocate_with(
        &mut self,
        model: &Model,
        memory: &[Memory],
        mut requests: Vec<BufferRequest>,
        slices: &Slices<'_>,
    ) -> Result<Vec<Buffer>> {
        let own = requests.len();
        let mut new: Vec<Memory> = Vec::new();
        for &memory in memory {
            if self.buffers.get(&memory).is_some() || new.contains(&memory) {
                continue;
            }
            new.push(memory);
            let (name, bytes) = (memory.name(), self.layout.bytes(memory).max(16));
            requests.push(match memory {
                Memory::Uniforms => BufferRequest::uniform(name, bytes),
                Memory::Lists(ListMemory::Left) => BufferRequest::storage(name, bytes).exported(),
                _ => BufferRequest::storage(name, bytes).zeroed(),
            });
        }
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let mut buffers = self.context.allocate(&requests).await?;
        let theirs = buffers.split_off(own);
        for (&memory, buffer) in new.iter().zip(&theirs) {
            self.layout.make_content(model, memory, slices).await?;
            if let Some(content) = self.layout.content(model, memory) {
                self.write_in_slices(buffer, &content, slices).await?;
                self.layout.forget_content(memory);
            }
        }
        for (memory, buffer) in new.into_iter().zip(theirs) {
            self.buffers.insert(memory, buffer);
        }
        Ok(buffers)
    }

    /// Writes a buffer of a solver's own from its start.
    pub async fn write_content(&self, buffer: &Buffer, content: &Content<'_>) -> Result<()> {
        self.write_in_slices(buffer, content, &Slices::without_progress()).await
    }

    /// Writes a buffer from its start.
    pub(super) async fn write_in_slices(
        &self,
        buffer: &Buffer,
        content: &Content<'_>,
        slices: &Slices<'_>,
    ) -> Result<()> {
        let mut offset = 0;
        let mut write = |bytes: &[u8]| {
            self.context.write(buffer, offset, bytes)?;
            offset += bytes.len() as u64;
            Ok(())
        };
        match content {
            Content::Words(parts) => {
                for words in parts {
                    slices.for_each(words.len(), 1, &mut |range| write(bytemuck::cast_slice(&words[range]))).await?;
                }
            }
            Content::Numbers(parts) | Content::Pairs(parts) => {
                for numbers in parts {
                    let mut convert = |range: Range<usize>| write(bytemuck::cast_slice(&to_f32(numbers[range].iter())));
                    slices.for_each(numbers.len(), 1, &mut convert).await?;
                }
            }
        }
        if let Content::Pairs(parts) = content {
            for numbers in parts {
                let mut convert = |range: Range<usize>| write(bytemuck::cast_slice(&low_parts(numbers[range].iter())));
                slices.for_each(numbers.len(), 1, &mut convert).await?;
            }
        }
        Ok(())
    }

    /// A buffer, which is made if it is not there yet.
    pub(super) async fn table(&mut self, model: &Model, memory: Memory) -> Result<Buffer> {
        self.allocate(model, &[memory], &Slices::without_progress()).await?;
        self.buffers.get(&memory).cloned().ok_or_else(|| Error::internal("a buffer was made and is not there"))
    }

    pub(super) async fn upload_stale_data(&mut self, model: &Model) -> Result<()> {
        if std::mem::replace(&mut self.tables_are_stale, false)
            && let Some(buffer) = self.buffers.get(&Memory::Tables)
            && let Some(content) = self.layout.content(model, Memory::Tables)
        {
            self.write_content(buffer, &content).await?;
        }
        for (number, chunk) in self.layout.chunks.iter().enumerate() {
            if !self.stale_data[chunk.batch] {
                continue;
            }
            if let Some(buffer) = self.buffers.get(&Memory::Data(number)) {
                self.context.write(buffer, 0, bytemuck::cast_slice(&self.layout.data_table(model, number)))?;
            }
        }
        self.stale_data.fill(false);
        Ok(())
    }

    /// The constants of all batches as the model has them.
    pub(super) async fn upload_batch_constants(&mut self, model: &Model) -> Result<()> {
        let tables = self.layout.batch_constants(model);
        if self.batch_constants.as_ref() != Some(&tables) {
            let buffer = self.table(model, Memory::BatchConstants).await?;
            self.context.write(&buffer, 0, bytemuck::cast_slice(&tables))?;
            self.batch_constants = Some(tables);
        }
        Ok(())
    }

    /// Uploads which parameters are constant, if that has changed since the last upload.
    pub(super) async fn upload_fixed_mask(&mut self, model: &Model, constant: &[bool]) -> Result<()> {
        if std::mem::replace(&mut self.fixed_mask_is_stale, false) {
            let buffer = self.table(model, Memory::Lists(ListMemory::FixedMask)).await?;
            let fixed: Vec<u32> = constant.iter().map(|&fixed| u32::from(fixed)).list();
            self.context.write(&buffer, 0, bytemuck::cast_slice(&fixed))?;
        }
        Ok(())
    }
}
