//! Data that the application writes on the device: a buffer of its own in the order in which the application gave the numbers,
//! from which every call copies into the tables that kernels read.

use std::ops::Range;

use wasm_bindgen::JsValue;

use crate::eval::pairs::to_f32;
use crate::model::Model;
use residua_base::error::{Error, Result};
use residua_gpu::submission::binding_size;
use residua_gpu::{Allocation, Buffer, BufferRequest, Context, PreparedList};

/// Columns of a batch's data table, or numbers of the model's tables, that come from the application's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPart {
    /// Position of the batch; none for the model's tables.
    pub batch: Option<usize>,
    /// The first of the columns, or of the tables' numbers.
    pub first: u32,
    /// For each number of the columns, column after column, or of the tables, where in the buffer it comes from.
    pub sources: Vec<u32>,
}

impl DataPart {
    /// Its numbers in the model.
    fn numbers<'m>(&self, model: &'m Model) -> &'m [f64] {
        let (table, start) = match self.batch {
            None => (&model.tables, self.first as usize),
            Some(batch) => (&model.batches[batch].data, self.first as usize * model.batches[batch].count as usize),
        };
        &table[start..][..self.sources.len()]
    }

    /// The same, to be written.
    fn numbers_mut<'m>(&self, model: &'m mut Model) -> &'m mut [f64] {
        let (table, start) = match self.batch {
            None => (&mut model.tables, self.first as usize),
            Some(batch) => {
                let count = model.batches[batch].count as usize;
                (&mut model.batches[batch].data, self.first as usize * count)
            }
        };
        &mut table[start..][..self.sources.len()]
    }
}

/// A buffer that the application writes.
pub(super) struct SharedData {
    pub(super) length: usize,
    pub(super) parts: Vec<DataPart>,
    pub(super) buffer: Buffer,
    pub(super) prepared: PreparedList,
}

impl SharedData {
    /// Whether these columns of a batch, or numbers of the tables, come from here.
    pub(super) fn covers(&self, batch: Option<usize>, columns: &Range<u32>) -> bool {
        self.parts.iter().any(|part| part.batch == batch && columns.contains(&part.first))
    }

    /// Fills the buffer with the numbers that the model has.
    pub(super) fn write(&self, context: &Context, model: &Model) -> Result<()> {
        let mut numbers = vec![0.0f32; self.length];
        for part in &self.parts {
            for (&source, &number) in part.sources.iter().zip(part.numbers(model)) {
                numbers[source as usize] = number as f32;
            }
        }
        context.write(&self.buffer, 0, bytemuck::cast_slice(&numbers))
    }

    /// Brings the application's numbers into the model.
    pub(super) async fn read(&self, context: &Context, model: &mut Model) -> Result<()> {
        let bytes = 4 * self.length as u64;
        let (results, numbers) = context.read(&self.buffer, bytes).await?;
        let numbers = results.reals(numbers);
        for part in &self.parts {
            for (&source, number) in part.sources.iter().zip(part.numbers_mut(model)) {
                *number = f64::from(numbers[source as usize]);
            }
        }
        Ok(())
    }
}

/// A buffer for the application to write, until an engine takes it over.
pub struct NewSharedData {
    pub(super) allocation: Allocation,
    pub(super) numbers: Vec<f32>,
    pub(super) parts: Vec<DataPart>,
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

    /// The host has new numbers for these columns of a batch, or for the tables: the application's buffer takes them.
    pub fn overwrite(&mut self, context: &Context, batch: Option<usize>, first: u32, columns: &[f64]) -> Result<()> {
        let is_same = |part: &&DataPart| part.batch == batch && part.first == first;
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

pub(super) fn check_parts(model: &Model, length: usize, parts: &[DataPart]) -> Result<()> {
    for part in parts {
        let table = match part.batch {
            None => Some((model.tables.len(), 1)),
            Some(batch) => model.batches.get(batch).map(|batch| (batch.data.len(), batch.count as usize)),
        };
        let fits = table.is_some_and(|(numbers, count)| {
            part.first as usize * count + part.sources.len() <= numbers
                && part.sources.len().is_multiple_of(count.max(1))
        });
        if !fits || part.sources.iter().any(|&source| source as usize >= length) {
            return Err(Error::internal("a part of shared data does not fit its table"));
        }
    }
    Ok(())
}

pub(super) fn single<T>(made: Option<T>) -> Result<T> {
    made.ok_or_else(|| Error::internal("the device made fewer things than were asked for"))
}
