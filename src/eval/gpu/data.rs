//! Data that the application writes on the device, as the engine takes it over and reads it back.

use std::ops::Range;

use crate::model::Model;
use crate::model::chunks::slice_columns;
use residua_base::error::Result;
use residua_base::list::{Listed, PushAll};
use residua_codegen::Width;
use residua_gpu::{Buffer, BufferRequest, CommandList, PipelineRequest, Submission};

use super::super::layout::{ALIGNMENT, Chunk, Memory};
use super::super::shaders::{PairSpreadUniforms, Shader};
use super::GpuEngine;
use super::shared_data::{DataPart, NewSharedData, SharedData, check_parts, single};

impl GpuEngine {
    /// From now on takes data from this buffer.
    pub(in crate::eval) async fn share_data(&mut self, model: &Model, new: NewSharedData) -> Result<()> {
        let NewSharedData { allocation, numbers, parts } = new;
        let length = numbers.len();
        check_parts(model, length, &parts)?;
        let buffer = allocation.confirm(&self.context).await?;
        let shared = self.spreading(model, buffer, length, parts).await?;
        self.shared_data.push(shared);
        Ok(())
    }

    /// Shared data whose buffer of `length` numbers already holds them.
    async fn spreading(
        &mut self,
        model: &Model,
        buffer: Buffer,
        length: usize,
        parts: Vec<DataPart>,
    ) -> Result<SharedData> {
        let context = self.context.clone();
        let shader = Shader::SpreadData { pairs: self.layout.width == Width::Pair };
        let (entry, layout) = (shader.entry(), shader.layout());
        let request = PipelineRequest { wgsl: shader.wgsl(), entry: entry.to_owned(), layout: layout.clone() };
        let pipeline = single(context.pipelines(&[request], &mut |_, _| Ok(())).await?.pop())?;

        let mut list = CommandList::new();
        let kernel = list.pipeline(entry, &layout);
        let numbers = list.buffer("data of the application's", 4 * length as u64);
        let mut buffers = vec![buffer.clone()];
        for part in &parts {
            for (table, sources, first, low) in self.targets(model, part) {
                let spread = PairSpreadUniforms { count: sources.len() as u32, first, low };
                let bytes = self.layout.bytes(table);
                let requests = [
                    BufferRequest::storage("sources of data", 4 * sources.len() as u64),
                    BufferRequest::uniform("uniforms of a spread", ALIGNMENT),
                ];
                let mut made = context.allocate(&requests).await?.into_iter();
                let (of_sources, uniform) = (single(made.next())?, single(made.next())?);
                context.write(&of_sources, 0, bytemuck::cast_slice(&sources))?;
                context.write(&uniform, 0, bytemuck::cast_slice(&spread.words()))?;
                let ids = [
                    list.buffer("sources of data", 4 * sources.len() as u64),
                    list.buffer("data", bytes),
                    list.buffer("uniforms of a spread", ALIGNMENT),
                ];
                let bindings = [list.whole(ids[0]), list.whole(numbers), list.whole(ids[1]), list.whole(ids[2])];
                let groups = (sources.len() as u64).div_ceil(64);
                list.dispatch(kernel, &bindings, context.limits().split_workgroups(groups)?);
                buffers.push_all([of_sources, self.table(model, table).await?, uniform]);
            }
        }
        let prepared = context.prepare(&list, &buffers, &[pipeline]).await?;
        Ok(SharedData { length, parts, buffer, prepared })
    }

    /// The buffers with numbers of a part: for each the sources, the place of the first there, and the distance to low parts.
    fn targets(&self, model: &Model, part: &DataPart) -> Vec<(Memory, Vec<u32>, u32, u32)> {
        let Some(batch) = part.batch else {
            return vec![(Memory::Tables, part.sources.clone(), part.first, model.tables.len() as u32)];
        };
        let of_batch = &model.batches[batch];
        let chunks = self.layout.chunks.iter().enumerate().filter(|(_, chunk)| chunk.batch == batch);
        let target = |(number, chunk): (usize, &Chunk)| {
            let instances = chunk.range.len() as u32;
            let sources = slice_columns(&part.sources, of_batch.count as usize, chunk.range.clone());
            (Memory::Data(number), sources, part.first * instances, of_batch.class.data * instances)
        };
        chunks.map(target).list()
    }

    /// Copies what the application may have written into the tables.
    pub(super) fn spread_shared_data(&self) -> Result<Vec<Submission>> {
        self.shared_data.iter().map(|shared| shared.prepared.submit(&[])).list_or_error()
    }

    /// The host has new numbers for these columns, or for the tables: the application's buffer takes them.
    pub(super) fn overwrite_shared_data(
        &self,
        model: &Model,
        batch: Option<usize>,
        columns: &Range<u32>,
    ) -> Result<()> {
        for shared in self.shared_data.iter().filter(|shared| shared.covers(batch, columns)) {
            shared.write(&self.context, model)?;
        }
        Ok(())
    }

    /// Brings what the application has written into the model's tables; whether it may have written anything.
    pub(in crate::eval) async fn read_shared_data(&self, model: &mut Model) -> Result<bool> {
        for shared in &self.shared_data {
            shared.read(&self.context, model).await?;
        }
        Ok(!self.shared_data.is_empty())
    }
}
