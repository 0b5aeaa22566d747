//! What is compiled, as it was recorded, and the one way from it to a [`Model`].
//!
//! Large tables and long tapes stay where the application has them until [`CompileInput::into_model`] reads them, a piece at a time, so
//! that the page can draw meanwhile. [`TapeSource`] and [`TableSource`] read them: from JavaScript in `js`, from memory in
//! [`super::memory_source`].

use std::ops::Range;

use crate::model::losses::LossParameters;
use residua_base::cooperative::Slices;
use residua_base::error::{Error, ErrorCode, Result};

use super::batch::{ArrayInfo, Batch, BlockInfo, Manifold, Model, Rows};
use super::elimination;
use super::group::group_tape;
use super::plain::{Plain, PlainFunction};
use super::residual_template::{Expression, Tables};
use super::tape::{Room, Tape};

/// What is compiled.
pub struct CompileInput {
    arrays: Vec<ArrayInfo>,
    blocks: Vec<BlockInfo>,
    form: Form,
    num_params: u32,
    /// The numbers of all tables.
    tables: Vec<f64>,
    /// Arrays with their elimination groups, each array once.
    groups: Vec<(u32, u32)>,
}

enum Form {
    /// One tape, one expression for each residual.
    Params(Box<dyn TapeSource>),
    /// One expression for each combination of star lengths of each residual block.
    Problem(Vec<PendingTemplate>),
}

/// A residual template whose tables have not been read.
struct PendingTemplate {
    block: u32,
    count: u32,
    expression: Expression,
    tables: Box<dyn TableSource>,
    /// What computes its residuals, if the expression is that of a plain function.
    plain: Option<Box<dyn PlainFunction>>,
}

/// A tape in pieces.
pub trait TapeSource {
    /// For each piece of entries their number, and whether any of them has a third operand.
    fn entry_pieces(&self) -> Vec<(usize, bool)>;
    /// Writes the entries of a piece.
    fn read_entries(&self, piece: usize, room: Room<'_>);
    /// For each piece of constants their number.
    fn constant_pieces(&self) -> Vec<usize>;
    /// Writes the constants of a piece.
    fn read_constants(&self, piece: usize, into: &mut [f64]);
    /// Number of outputs.
    fn outputs(&self) -> usize;
    /// Writes outputs from `first` on.
    fn read_outputs(&self, first: usize, into: &mut [u32]);
}

/// An optional list of a template with one word for each instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceList {
    /// The instances' numbers within the block; absent if they are 0, 1, 2, ….
    Instances,
    /// The first residual of each, counted from the block's first; absent if they are consecutive.
    Rows,
}

/// The tables of a residual template.
pub trait TableSource {
    /// Writes the block indices of a slot, of instances from `first` on.
    fn read_indices(&self, slot: u32, first: usize, into: &mut [u32]) -> Result<()>;
    /// Writes a data column, of instances from `first` on.
    fn read_data(&self, column: u32, first: usize, into: &mut [f64]) -> Result<()>;
    /// Length of a list; none if it is absent.
    fn length(&self, list: InstanceList) -> Option<usize>;
    /// Writes a list that is present, of instances from `first` on.
    fn read_list(&self, list: InstanceList, first: usize, into: &mut [u32]) -> Result<()>;
}

impl CompileInput {
    /// The params form: scalar parameters, and the tape's outputs as residuals.
    pub fn params(num_params: u32, tape: Box<dyn TapeSource>) -> CompileInput {
        let rows = tape.outputs() as u32;
        let array =
            ArrayInfo { name: String::new(), dim: 1, count: num_params, offset: 0, manifold: Manifold::Euclidean };
        let blocks = vec![block_info(String::new(), rows, 0, rows)];
        let form = Form::Params(tape);
        CompileInput { arrays: vec![array], blocks, form, num_params, tables: Vec::new(), groups: Vec::new() }
    }

    /// The problem form, without arrays and blocks yet.
    pub fn problem() -> CompileInput {
        let form = Form::Problem(Vec::new());
        CompileInput {
            arrays: Vec::new(),
            blocks: Vec::new(),
            form,
            num_params: 0,
            tables: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Adds a parameter array and returns its number.
    ///
    /// # Errors
    /// `invalid-argument` for an unknown manifold or one of another dimension, `limit-exceeded` for more than 2³² − 1 parameters.
    pub fn add_array(&mut self, name: &str, dim: u32, count: u32, manifold: &str) -> Result<u32> {
        let known = Manifold::from_name(manifold).filter(|manifold| manifold.takes(dim));
        let Some(manifold) = known else {
            return Err(Error::invalid_argument(format!(
                "parameter array '{name}' has blocks of {dim} and manifold '{manifold}'; it takes 'euclidean', \
                 'unit-quaternion', 'unit-vector', 'angle' or a product of these, of the dimension of the blocks"
            )));
        };
        let offset = self.num_params;
        let end = count.checked_mul(dim).and_then(|numbers| numbers.checked_add(offset));
        self.num_params = end.ok_or_else(|| {
            Error::new(
                ErrorCode::LimitExceeded,
                format!("with parameter array '{name}' the problem has more than {} parameters", u32::MAX),
            )
        })?;
        self.arrays.push(ArrayInfo { name: name.to_owned(), dim, count, offset, manifold });
        Ok(self.arrays.len() as u32 - 1)
    }

    /// Puts an array's blocks into a group: a Schur complement eliminates those of the lowest.
    ///
    /// # Errors
    /// `internal` for an array that does not exist.
    pub fn set_elimination(&mut self, array: u32, group: u32) -> Result<()> {
        if array as usize >= self.arrays.len() {
            return Err(Error::internal(format!("an elimination group for array {array} of {}", self.arrays.len())));
        }
        self.groups.retain(|(other, _)| *other != array);
        self.groups.push((array, group));
        Ok(())
    }

    /// Sets the numbers of all tables that expressions read, one table after another.
    pub fn set_tables(&mut self, numbers: Vec<f64>) {
        self.tables = numbers;
    }

    /// Number of residuals so far.
    pub fn num_residuals(&self) -> u32 {
        self.blocks.iter().map(|block| block.rows).sum()
    }

    /// Adds a residual block and returns its number.
    pub fn add_block(&mut self, name: &str, instances: u32, first_row: u32, rows: u32) -> u32 {
        self.blocks.push(block_info(name.to_owned(), instances, first_row, rows));
        self.blocks.len() as u32 - 1
    }

    /// The number of local parameters of an expression whose slots take blocks of these arrays.
    ///
    /// # Errors
    /// `invalid-argument` for an array that does not exist and for more than 2³² − 1 parameters.
    pub fn parameter_count(&self, slots: &[u32]) -> Result<u32> {
        slots.iter().try_fold(0u32, |sum, &slot| {
            let array = self.arrays.get(slot as usize).ok_or_else(|| {
                Error::invalid_argument(format!("a block slot names parameter array {slot} of {}", self.arrays.len()))
            })?;
            sum.checked_add(array.dim)
                .ok_or_else(|| Error::invalid_argument("the block slots have more than 2³² parameters"))
        })
    }

    /// Adds an expression with `count` instances to a residual block and returns its number.
    ///
    /// # Errors
    /// `internal` for a block that does not exist, and in the params form.
    pub fn add_template(
        &mut self,
        block: u32,
        count: u32,
        expression: Expression,
        tables: Box<dyn TableSource>,
    ) -> Result<u32> {
        if block as usize >= self.blocks.len() {
            let blocks = self.blocks.len();
            return Err(Error::internal(format!("a residual template for residual block {block} of {blocks}")));
        }
        match &mut self.form {
            Form::Problem(templates) => {
                templates.push(PendingTemplate { block, count, expression, tables, plain: None });
                Ok(templates.len() as u32 - 1)
            }
            Form::Params(_) => Err(Error::internal("a residual template was added to a problem in the params form")),
        }
    }

    /// Says which data column of a residual template is the weight of its instances.
    ///
    /// # Errors
    /// `internal` for a template or a column that does not exist.
    pub fn set_instance_weights(&mut self, template: u32, column: u32) -> Result<()> {
        let expression = self.template(template).map(|template| &mut template.expression);
        let expression = expression.filter(|expression| column < expression.data_columns);
        let missing = || Error::internal("weights in a column that no residual template has");
        expression.ok_or_else(missing)?.weight = Some(column);
        Ok(())
    }

    /// Says what computes the residuals of a residual template, whose expression is that of [`super::plain`].
    ///
    /// # Errors
    /// `internal` for a template that does not exist.
    pub fn set_plain(&mut self, template: u32, function: Box<dyn PlainFunction>) -> Result<()> {
        let missing = || Error::internal("a plain function of no residual template");
        self.template(template).ok_or_else(missing)?.plain = Some(function);
        Ok(())
    }

    fn template(&mut self, template: u32) -> Option<&mut PendingTemplate> {
        match &mut self.form {
            Form::Problem(templates) => templates.get_mut(template as usize),
            Form::Params(_) => None,
        }
    }

    /// Reads and groups what was recorded.
    ///
    /// # Errors
    /// `invalid-graph` for an unsound tape; `invalid-argument` for a block index past the end of its array and for a lowest elimination group
    /// of blocks that share residuals; `internal` for tables that do
    /// not fit their template; what the progress listener of `slices` returns.
    pub async fn into_model(self, slices: &Slices<'_>) -> Result<Model> {
        self.into_model_after(None, slices).await
    }

    /// The same where `before` is a model of the same arrays and residual blocks with fewer instances. Classes and settings of blocks are taken over, so
    /// that no expression is read again, and data of the instances that were there, which may be newer than the recorded ones.
    ///
    /// # Errors
    /// Those of [`CompileInput::into_model`].
    pub async fn into_model_after(self, before: Option<&Model>, slices: &Slices<'_>) -> Result<Model> {
        let num_residuals = self.num_residuals();
        let CompileInput { arrays, mut blocks, form, num_params, tables, groups } = self;
        for (block, before) in blocks.iter_mut().zip(before.into_iter().flat_map(|before| &before.blocks)) {
            (block.weight, block.loss, block.enabled) = (before.weight, before.loss, before.enabled);
        }
        let batches = match form {
            Form::Params(source) => {
                let tape = read_tape(source.as_ref(), num_params, slices).await?;
                drop(source);
                group_tape(tape, num_params, slices).await?
            }
            Form::Problem(templates) => {
                let count = templates.len() as f64;
                let mut batches = Vec::new();
                for (number, template) in templates.into_iter().enumerate() {
                    slices.set_part(number as f64 / count, (number + 1) as f64 / count);
                    let of_block = |batch: &&Batch| batch.block == template.block;
                    let position = batches.iter().filter(of_block).count();
                    let known = before.and_then(|before| before.batches.iter().filter(of_block).nth(position));
                    let block = &blocks[template.block as usize];
                    batches.push(template.into_batch(&arrays, block, tables.len() as u32, known, slices).await?);
                }
                batches
            }
        };
        let eliminated = elimination::lowest_group(&groups);
        let model = Model { arrays, blocks, batches, tables, num_params, num_residuals, eliminated };
        elimination::check(&model)?;
        Ok(model)
    }
}

fn block_info(name: String, instances: u32, first_row: u32, rows: u32) -> BlockInfo {
    BlockInfo { name, instances, first_row, rows, weight: 1.0, loss: LossParameters::squared(), enabled: true }
}

async fn read_tape(source: &dyn TapeSource, parameters: u32, slices: &Slices<'_>) -> Result<Tape> {
    let (entries, constants) = (source.entry_pieces(), source.constant_pieces());
    let entry_count = entries.iter().map(|&(count, _)| count).sum();
    let mut tape = Tape::over(parameters, [entry_count, constants.iter().sum()]);
    slices.set_part(0.0, 0.2);
    for (piece, &count) in constants.iter().enumerate() {
        tape.append_constants(count, &mut |room| source.read_constants(piece, room));
        slices.checkpoint(0.0).await?;
    }
    for (piece, &(count, ternary)) in entries.iter().enumerate() {
        tape.append(count, ternary, &mut |room| source.read_entries(piece, room))?;
        slices.checkpoint((piece + 1) as f64 / entries.len() as f64).await?;
    }
    slices
        .for_each(source.outputs(), 1, &mut |range| {
            tape.append_outputs(range.len(), &mut |room| source.read_outputs(range.start, room))
        })
        .await?;
    Ok(tape)
}

/// Rows of data that are read together: with tens of columns they fit a processor's second-level cache.
const ROWS_AT_ONCE: usize = 1024;

impl PendingTemplate {
    /// Appends a list with one word for each instance to `words`. Each word is below `limit`, and `plus` is added to it.
    async fn read_list(
        &self,
        list: InstanceList,
        (plus, limit): (u32, u32),
        words: &mut Vec<u32>,
        slices: &Slices<'_>,
    ) -> Result<()> {
        if self.tables.length(list) != Some(self.count as usize) {
            return Err(Error::internal("a residual template has other numbers of rows or instances than it says"));
        }
        let start = words.len();
        slices
            .for_each(self.count as usize, 1, &mut |range| {
                words.resize(start + range.end, 0);
                let new = &mut words[start + range.start..];
                self.tables.read_list(list, range.start, new)?;
                for word in new {
                    if *word >= limit {
                        return Err(Error::internal("a residual template has rows or instances beyond its block's"));
                    }
                    *word += plus;
                }
                Ok(())
            })
            .await
    }

    /// A plain function computes all columns but that of the weights, which is the first.
    fn columns_to_read(&self) -> u32 {
        match self.plain {
            Some(_) => u32::from(self.expression.weight.is_some()),
            None => self.expression.data_columns,
        }
    }

    /// Reads the data, column after column. The caller's numbers stand row after row: reading all columns of some rows, then those of the
    /// next, takes half the time of reading one column after another.
    async fn read_data(&self, slices: &Slices<'_>) -> Result<Vec<f64>> {
        let (columns, count) = (self.columns_to_read() as usize, self.count as usize);
        let mut data = Vec::with_capacity(columns * count);
        let zeros = &mut |range: Range<usize>| {
            data.resize(range.end, 0.0);
            Ok(())
        };
        slices.for_each(columns * count, 1, zeros).await?;
        slices
            .for_each(count.div_ceil(ROWS_AT_ONCE), 2 * columns * ROWS_AT_ONCE, &mut |pieces| {
                for piece in pieces {
                    let rows = piece * ROWS_AT_ONCE..count.min((piece + 1) * ROWS_AT_ONCE);
                    for column in 0..columns {
                        let place = column * count + rows.start..column * count + rows.end;
                        self.tables.read_data(column as u32, rows.start, &mut data[place])?;
                    }
                }
                Ok(())
            })
            .await?;
        Ok(data)
    }

    /// Reads the tables. `known` is the batch of fewer instances.
    async fn into_batch(
        self,
        arrays: &[ArrayInfo],
        block: &BlockInfo,
        numbers_of_tables: u32,
        known: Option<&Batch>,
        slices: &Slices<'_>,
    ) -> Result<Batch> {
        let outputs = self.expression.tape.outputs().len() as u32;
        let (slots, count) = (&self.expression.slots, self.count as usize);
        let has_rows = self.tables.length(InstanceList::Rows).is_some();
        let mut indices: Vec<u32> = Vec::with_capacity((slots.len() + usize::from(has_rows)) * count);
        for (slot, &array) in (0..).zip(slots) {
            let start = indices.len();
            slices
                .for_each(count, 2, &mut |range| {
                    indices.resize(start + range.end, 0);
                    let new = &mut indices[start + range.start..];
                    self.tables.read_indices(slot, range.start, new)?;
                    arrays[array as usize].to_addresses(range.start, new)
                })
                .await?;
        }
        let mut data = self.read_data(slices).await?;
        if let Some(known) = known.filter(|known| known.count > 0 && count > 0) {
            let earlier = known.data.chunks_exact(known.count as usize);
            data.chunks_exact_mut(count)
                .zip(earlier)
                .for_each(|(all, earlier)| all[..earlier.len()].copy_from_slice(earlier));
        }
        let rows = if has_rows {
            let limit = (block.rows + 1).saturating_sub(outputs);
            self.read_list(InstanceList::Rows, (block.first_row, limit), &mut indices, slices).await?;
            Rows::Column(slots.len() as u32)
        } else if u64::from(self.count) * u64::from(outputs) > u64::from(block.rows) {
            return Err(Error::internal("a residual template has more residuals than its block"));
        } else {
            Rows::From(block.first_row)
        };
        let instances = match self.tables.length(InstanceList::Instances) {
            None => None,
            Some(length) => {
                let mut list = Vec::with_capacity(length);
                self.read_list(InstanceList::Instances, (0, block.instances), &mut list, slices).await?;
                Some(list)
            }
        };
        let plain = self.plain.map(|function| {
            let all = self.expression.data_columns as usize * count;
            let plain = Plain::new(function, [data.len(), outputs as usize * count, all]);
            plain.change(&data);
            plain
        });
        let (block, count) = (self.block, self.count);
        if let Some(Batch { class, batch_constants, .. }) = known {
            let (class, batch_constants) = (class.clone(), batch_constants.clone());
            return Ok(Batch { class, count, block, indices, data, batch_constants, rows, instances, plain });
        }
        let tables = Tables { block, count, indices, data, rows, instances };
        Ok(Batch { plain, ..self.expression.batch_of(tables, arrays, numbers_of_tables)? })
    }
}
