//! Data that the application writes on the device: a buffer of its own in the order in which the application gave the numbers,
//! from which every call copies into the tables that kernels read.

use residua_base::list::Listed;
use std::ops::Range;

use wasm_bindgen::JsValue;

use crate::eval::shaders::{Shader, SpreadUniforms};
use crate::model::Model;
use crate::model::chunks::slice_columns;
use residua_base::error::{Error, Result};
use residua_gpu::submission::binding_size;
use residua_gpu::{Allocation, Buffer, BufferRequest, CommandList, Context, PipelineRequest, Prepared, Submission};

use super::super::layout::{ALIGNMENT, Memory, to_f32};
use super::GpuEngine;

/// Columns of a batch's data table that come from the application's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPart {
    /// Position of the batch.
    pub batch: usize,
    /// The first of the columns.
    pub first_column: u32,
    /// For each number of the columns, column after column, where in the buffer it comes from.
    pub sources: Vec<u32>,
}

/// A buffer that the application writes.
pub(super) struct SharedData {
    length: usize,
    parts: Vec<DataPart>,
    buffer: Buffer,
    prepared: Prepared,
}

impl SharedData {
    /// Takes a buffer of `length` numbers that already holds them.
    async fn new(
        engine: &mut GpuEngine,
        model: &Model,
        buffer: Buffer,
        length: usize,
        parts: Vec<DataPart>,
    ) -> Result<SharedData> {
        let context = engine.context.clone();
        let (entry, layout) = (Shader::SpreadData.entry(), Shader::SpreadData.layout());
        let request =
            PipelineRequest { wgsl: Shader::SpreadData.wgsl(), entry: entry.to_owned(), layout: layout.clone() };
        let pipeline = single(context.pipelines(&[request], &mut |_, _| Ok(())).await?.pop())?;

        let mut list = CommandList::new();
        let kernel = list.pipeline(entry, &layout);
        let numbers = list.buffer("data of the application's", 4 * length as u64);
        let mut buffers = vec![buffer.clone()];
        for part in &parts {
            let count = model.batches[part.batch].count as usize;
            for number in 0..engine.layout.chunks.len() {
                let chunk = &engine.layout.chunks[number];
                if chunk.batch != part.batch {
                    continue;
                }
                let range = chunk.range.clone();
                let spread_first = part.first_column * range.len() as u32;
                let sources = slice_columns(&part.sources, count, range);
                let spread = SpreadUniforms { count: sources.len() as u32, first: spread_first };
                let (table, bytes) = (Memory::Data(number), engine.layout.bytes(Memory::Data(number)));
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
                buffers.extend([of_sources, engine.table(model, table).await?, uniform]);
            }
        }
        let prepared = context.prepare(&list, &buffers, &[pipeline]).await?;
        Ok(SharedData { length, parts, buffer, prepared })
    }

    /// Whether these columns of a batch come from here.
    fn covers(&self, batch: usize, columns: &Range<u32>) -> bool {
        self.parts.iter().any(|part| part.batch == batch && columns.contains(&part.first_column))
    }

    /// Fills the buffer with the numbers that the model has.
    fn write(&self, context: &Context, model: &Model) -> Result<()> {
        let mut numbers = vec![0.0f32; self.length];
        for part in &self.parts {
            let batch = &model.batches[part.batch];
            let start = part.first_column as usize * batch.count as usize;
            for (&source, &number) in part.sources.iter().zip(&batch.data[start..]) {
                numbers[source as usize] = number as f32;
            }
        }
        context.write(&self.buffer, 0, bytemuck::cast_slice(&numbers))
    }

    /// Brings the application's numbers into the model.
    async fn read(&self, context: &Context, model: &mut Model) -> Result<()> {
        let bytes = 4 * self.length as u64;
        let mut list = CommandList::new();
        let numbers = list.buffer("data of the application's", bytes);
        let download = list.download(list.whole(numbers));
        let prepared = context.prepare(&list, std::slice::from_ref(&self.buffer), &[]).await?;
        let results = prepared.run(&[]).await?;
        let numbers = results.reals(download);
        for part in &self.parts {
            let batch = &mut model.batches[part.batch];
            let start = part.first_column as usize * batch.count as usize;
            for (&source, number) in part.sources.iter().zip(&mut batch.data[start..]) {
                *number = f64::from(numbers[source as usize]);
            }
        }
        Ok(())
    }
}

/// A buffer for the application to write, until an engine takes it over.
pub struct NewSharedData {
    allocation: Allocation,
    numbers: Vec<f32>,
    parts: Vec<DataPart>,
}

impl NewSharedData {
    /// A buffer with these numbers, from which calls will take the parts named.
    pub fn new(context: &Context, numbers: &[f64], parts: Vec<DataPart>) -> Result<NewSharedData> {
        let bytes = binding_size(4 * numbers.len() as u64);
        let allocation =
            context.allocate_now(&BufferRequest::storage("data of the application's", bytes).exported())?;
        let numbers = to_f32(numbers.iter());
        context.write(allocation.buffer(), 0, bytemuck::cast_slice(&numbers))?;
        Ok(NewSharedData { allocation, numbers, parts })
    }

    /// The host has new numbers for these columns of a batch: the application's buffer takes them.
    pub fn overwrite(&mut self, context: &Context, batch: usize, first_column: u32, columns: &[f64]) -> Result<()> {
        let is_same = |part: &&DataPart| part.batch == batch && part.first_column == first_column;
        let Some(part) = self.parts.iter().find(is_same) else { return Ok(()) };
        for (&source, &number) in part.sources.iter().zip(columns) {
            if let Some(place) = self.numbers.get_mut(source as usize) {
                *place = number as f32;
            }
        }
        context.write(self.allocation.buffer(), 0, bytemuck::cast_slice(&self.numbers))
    }

    /// The `GPUBuffer`.
    pub fn raw_buffer(&self) -> JsValue {
        self.allocation.buffer().raw_buffer()
    }
}

impl GpuEngine {
    /// From now on takes data from this buffer.
    pub(in crate::eval) async fn share_data(&mut self, model: &Model, new: NewSharedData) -> Result<()> {
        let NewSharedData { allocation, numbers, parts } = new;
        let length = numbers.len();
        check_parts(model, length, &parts)?;
        let buffer = allocation.confirm(&self.context).await?;
        let shared = SharedData::new(self, model, buffer, length, parts).await?;
        self.shared_data.push(shared);
        Ok(())
    }

    /// Copies what the application may have written into the tables.
    pub(super) fn spread_shared_data(&self) -> Result<Vec<Submission>> {
        self.shared_data.iter().map(|shared| shared.prepared.submit(&[])).list_or_error()
    }

    /// The host has new numbers for these columns: the application's buffer takes them.
    pub(super) fn overwrite_shared_data(&self, model: &Model, batch: usize, columns: &Range<u32>) -> Result<()> {
        for shared in self.shared_data.iter().filter(|shared| shared.covers(batch, columns)) {
            shared.write(&self.context, model)?;
        }
        Ok(())
    }

    /// Brings what the application has written into the model's tables.
    pub(in crate::eval) async fn read_shared_data(&self, model: &mut Model) -> Result<()> {
        for shared in &self.shared_data {
            shared.read(&self.context, model).await?;
        }
        Ok(())
    }
}

fn check_parts(model: &Model, length: usize, parts: &[DataPart]) -> Result<()> {
    for part in parts {
        let table = model.batches.get(part.batch).map(|batch| (batch.data.len(), batch.count as usize));
        let fits = table.is_some_and(|(numbers, count)| {
            part.first_column as usize * count + part.sources.len() <= numbers
                && part.sources.len().is_multiple_of(count.max(1))
        });
        if !fits || part.sources.iter().any(|&source| source as usize >= length) {
            return Err(Error::internal(format!("a part of shared data does not fit batch {}", part.batch)));
        }
    }
    Ok(())
}

pub(super) fn single<T>(made: Option<T>) -> Result<T> {
    made.ok_or_else(|| Error::internal("the device made fewer things than were asked for"))
}
