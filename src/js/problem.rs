//! Problems on their way in: recorded expressions, tables, names.
//!
//! What is large stays where JavaScript has it until it is compiled, and is then read a piece at a time, so that the page lives
//! meanwhile.

use js_sys::{Array, Float64Array, Function, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;

use crate::model::losses::LossParameters;
use crate::model::{
    ArrayInfo, Batch, BlockInfo, Expression, Losses, Manifold, Model, ResidualTemplate, Rows, Tables, Tape,
    group_tape_in_slices,
};
use residua_base::cooperative::Slices;
use residua_base::error::{Error, ErrorCode, Result};

use super::error::to_js;

/// What is to be compiled.
#[wasm_bindgen]
pub struct RawProblem {
    arrays: Vec<ArrayInfo>,
    blocks: Vec<BlockInfo>,
    form: Form,
    num_params: u32,
}

enum Form {
    /// One tape, one expression a residual.
    Params(Pieces),
    /// One expression for each combination of star lengths of each residual block.
    Problem(Vec<PendingTemplate>),
}

/// A tape in pieces.
struct Pieces {
    /// Codes and operands of some entries: `[ops, a, b, c]`, where `c` is null if none has a third operand.
    entries: Array,
    constants: Array,
    outputs: Uint32Array,
}

/// A residual template of which the tables have not been read.
struct PendingTemplate {
    block: u32,
    count: u32,
    instances: Option<Uint32Array>,
    rows: Option<Uint32Array>,
    expression: Expression,
    read_indices: Function,
    read_data: Function,
}

fn item<T: JsCast>(of: &Array, position: u32) -> T {
    of.get(position).unchecked_into()
}

/// Numbers from JavaScript, read in slices; `fill(first, count)` is called before some of them are read.
pub(super) async fn read_numbers(numbers: &Float64Array, fill: &Function, slices: &Slices<'_>) -> Result<Vec<f64>> {
    let mut list = Vec::with_capacity(numbers.length() as usize);
    slices
        .for_each(numbers.length() as usize, 2, &mut |range| {
            list.resize(range.end, 0.0);
            fill.call2(&JsValue::NULL, &(range.start as u32).into(), &(range.len() as u32).into())
                .map_err(|_| Error::internal("the parameters could not be read"))?;
            numbers.subarray(range.start as u32, range.end as u32).copy_to(&mut list[range]);
            Ok(())
        })
        .await?;
    Ok(list)
}

/// Appends words from JavaScript to a list.
fn append(list: &mut Vec<u32>, words: &Uint32Array) {
    let start = list.len();
    list.resize(start + words.length() as usize, 0);
    words.copy_to(&mut list[start..]);
}

impl Pieces {
    async fn read(self, parameters: u32, slices: &Slices<'_>) -> Result<Tape> {
        let Pieces { entries, constants, outputs } = self;
        let numbers = |piece: u32| item::<Float64Array>(&constants, piece);
        let of_entries = |piece: u32| item::<Array>(&entries, piece);
        let ops = |piece: u32| item::<Uint8Array>(&of_entries(piece), 0);
        let entry_count = (0..entries.length()).map(|piece| ops(piece).length() as usize).sum();
        let constant_count = (0..constants.length()).map(|piece| numbers(piece).length() as usize).sum();
        let mut tape = Tape::over(parameters, [entry_count, constant_count]);
        slices.set_part(0.0, 0.2);
        for piece in 0..constants.length() {
            let numbers = numbers(piece);
            tape.append_constants(numbers.length() as usize, &mut |room| numbers.copy_to(room));
            slices.checkpoint(0.0).await?;
        }
        for piece in 0..entries.length() {
            let (ops, columns) = (ops(piece), of_entries(piece));
            let ternary = !columns.get(3).is_null();
            tape.append(ops.length() as usize, ternary, &mut |room| {
                ops.copy_to(room.ops);
                for (column, place) in room.operands.into_iter().enumerate() {
                    if column < 2 || ternary {
                        item::<Uint32Array>(&columns, column as u32 + 1).copy_to(place);
                    }
                }
            })?;
            slices.checkpoint(f64::from(piece + 1) / f64::from(entries.length())).await?;
        }
        slices
            .for_each(outputs.length() as usize, 1, &mut |range| {
                let part = outputs.subarray(range.start as u32, range.end as u32);
                tape.append_outputs(range.len(), &mut |room| part.copy_to(room))
            })
            .await?;
        Ok(tape)
    }
}

impl PendingTemplate {
    /// The columns of a table that `read(column, first, count)` gives piece by piece; `take` takes a piece of a column, which
    /// begins at an instance.
    async fn read(
        &self,
        read: &Function,
        columns: u32,
        slices: &Slices<'_>,
        take: &mut dyn FnMut(u32, usize, JsValue) -> Result<()>,
    ) -> Result<()> {
        for column in 0..columns {
            slices
                .for_each(self.count as usize, 2, &mut |range| {
                    let arguments = [column, range.start as u32, range.len() as u32].map(JsValue::from);
                    let [column_value, first, count] = &arguments;
                    let piece = read
                        .call3(&JsValue::NULL, column_value, first, count)
                        .map_err(|_| Error::internal("a table could not be read"))?;
                    take(column, range.start, piece)
                })
                .await?;
        }
        Ok(())
    }

    /// Appends a list that JavaScript has, of as many words as there are instances, each below `limit`, plus a number each.
    async fn read_words(
        &self,
        words: &Uint32Array,
        (plus, limit): (u32, u32),
        list: &mut Vec<u32>,
        slices: &Slices<'_>,
    ) -> Result<()> {
        if words.length() != self.count {
            return Err(Error::internal("a residual template has other numbers of rows or instances than it says"));
        }
        slices
            .for_each(words.length() as usize, 1, &mut |range| {
                let start = list.len();
                append(list, &words.subarray(range.start as u32, range.end as u32));
                for word in &mut list[start..] {
                    if *word >= limit {
                        return Err(Error::internal("a residual template has rows or instances beyond its block's"));
                    }
                    *word += plus;
                }
                Ok(())
            })
            .await
    }

    async fn into_batch(self, arrays: &[ArrayInfo], block: &BlockInfo, slices: &Slices<'_>) -> Result<Batch> {
        let outputs = self.expression.tape.outputs().len() as u32;
        let (slots, count) = (&self.expression.slots, self.count as usize);
        let columns = slots.len() + usize::from(self.rows.is_some());
        let mut indices: Vec<u32> = Vec::with_capacity(columns * count);
        self.read(&self.read_indices, slots.len() as u32, slices, &mut |column, first, piece| {
            let start = indices.len();
            append(&mut indices, piece.unchecked_ref());
            arrays[slots[column as usize] as usize].to_addresses(first, &mut indices[start..])
        })
        .await?;
        let data_columns = self.expression.data_columns;
        let mut data = Vec::with_capacity(data_columns as usize * count);
        self.read(&self.read_data, data_columns, slices, &mut |_, _, piece| {
            let (start, piece) = (data.len(), piece.unchecked_into::<Float64Array>());
            data.resize(start + piece.length() as usize, 0.0);
            piece.copy_to(&mut data[start..]);
            Ok(())
        })
        .await?;
        if indices.len() != slots.len() * count || data.len() != data_columns as usize * count {
            return Err(Error::internal("a table is not as long as it should be"));
        }
        let rows = match &self.rows {
            None if u64::from(self.count) * u64::from(outputs) > u64::from(block.rows) => {
                return Err(Error::internal("a residual template has more residuals than its block"));
            }
            None => Rows::From(block.first_row),
            Some(rows) => {
                let limit = (block.rows + 1).saturating_sub(outputs);
                self.read_words(rows, (block.first_row, limit), &mut indices, slices).await?;
                Rows::Column(slots.len() as u32)
            }
        };
        let instances = match &self.instances {
            None => None,
            Some(instances) => {
                let mut list = Vec::with_capacity(count);
                self.read_words(instances, (0, block.instances), &mut list, slices).await?;
                Some(list)
            }
        };
        let tables = Tables { block: self.block, count: self.count, indices, data, rows, instances };
        self.expression.batch_of(tables, arrays)
    }
}

impl RawProblem {
    /// Reads and groups what was recorded.
    pub(super) async fn into_model(self, slices: &Slices<'_>) -> Result<Model> {
        let RawProblem { arrays, blocks, form, num_params } = self;
        let num_residuals = blocks.iter().map(|block| block.rows).sum();
        let batches = match form {
            Form::Params(pieces) => {
                let tape = pieces.read(num_params, slices).await?;
                group_tape_in_slices(tape, num_params, 0, 0, Losses::Squared, slices).await?
            }
            Form::Problem(sources) => {
                let count = sources.len() as f64;
                let mut batches = Vec::new();
                for (number, source) in sources.into_iter().enumerate() {
                    slices.set_part(number as f64 / count, (number + 1) as f64 / count);
                    let block = &blocks[source.block as usize];
                    batches.push(source.into_batch(&arrays, block, slices).await?);
                }
                batches
            }
        };
        Ok(Model { arrays, blocks, batches, num_params, num_residuals })
    }
}

fn block_info(name: String, instances: u32, first_row: u32, rows: u32) -> BlockInfo {
    BlockInfo { name, instances, first_row, rows, weight: 1.0, loss: LossParameters::squared(), enabled: true }
}

#[wasm_bindgen]
impl RawProblem {
    /// An empty problem.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> RawProblem {
        RawProblem { arrays: Vec::new(), blocks: Vec::new(), form: Form::Problem(Vec::new()), num_params: 0 }
    }

    /// The params form: `paramCount` scalar parameters, and the tape's outputs as residuals. `entries` are pieces `[ops, a, b, c]`
    /// of the tape, `c` null where no entry has a third operand; `constants` are pieces too. All are read when the problem is
    /// compiled.
    #[wasm_bindgen(js_name = fromTape)]
    pub fn from_tape(param_count: u32, entries: Array, constants: Array, outputs: Uint32Array) -> RawProblem {
        let rows = outputs.length();
        RawProblem {
            arrays: vec![ArrayInfo {
                name: String::new(),
                dim: 1,
                count: param_count,
                offset: 0,
                manifold: Manifold::Euclidean,
            }],
            blocks: vec![block_info(String::new(), rows, 0, rows)],
            form: Form::Params(Pieces { entries, constants, outputs }),
            num_params: param_count,
        }
    }

    /// Adds a parameter array and gives its number.
    #[wasm_bindgen(js_name = addArray)]
    pub fn add_array(&mut self, name: String, dim: u32, count: u32, manifold: &str) -> Result<u32, JsValue> {
        let Some(manifold) = Manifold::from_name(manifold) else {
            return Err(to_js(Error::invalid_argument(format!(
                "parameter array '{name}' has manifold '{manifold}'; it takes 'euclidean', 'unit-quaternion', \
                 'unit-vector' or 'angle'"
            ))));
        };
        let offset = self.num_params;
        let end = count.checked_mul(dim).and_then(|numbers| numbers.checked_add(offset));
        self.num_params = end.ok_or_else(|| {
            to_js(Error::new(
                ErrorCode::LimitExceeded,
                format!("with parameter array '{name}' the problem has more than {} parameters", u32::MAX),
            ))
        })?;
        self.arrays.push(ArrayInfo { name, dim, count, offset, manifold });
        Ok(self.arrays.len() as u32 - 1)
    }

    /// Adds a residual block and gives its number.
    #[wasm_bindgen(js_name = addBlock)]
    pub fn add_block(&mut self, name: String, instances: u32, first_row: u32, rows: u32) -> u32 {
        self.blocks.push(block_info(name, instances, first_row, rows));
        self.blocks.len() as u32 - 1
    }

    /// Adds an expression with `count` instances to a residual block and gives its number. `rows` says for each
    /// instance where its residuals begin, counted from the block's first, undefined if they follow one another; `instances` which of
    /// the block's they are, undefined for 0, 1, 2, … . The tables are read when the problem is compiled:
    /// `readIndices(slot, first, count)` gives block indices of some instances, `readData(column, first, count)` data.
    #[wasm_bindgen(js_name = addRecipe)]
    #[allow(clippy::too_many_arguments)]
    pub fn add_template(
        &mut self,
        block: u32,
        count: u32,
        instances: Option<Uint32Array>,
        rows: Option<Uint32Array>,
        slots: Vec<u32>,
        read_indices: Function,
        data_columns: u32,
        read_data: Function,
        ops: Vec<u8>,
        a: Vec<u32>,
        b: Vec<u32>,
        c: Vec<u32>,
        constants: Vec<f64>,
        outputs: Vec<u32>,
    ) -> Result<u32, JsValue> {
        self.push_template(block, |arrays| {
            let parameters = ResidualTemplate::parameter_count(&slots, arrays)?;
            let tape = Tape::new(ops, [a, b, c], constants, outputs, parameters, data_columns)?;
            let expression = Expression { slots, data_columns, tape };
            Ok(PendingTemplate { block, count, instances, rows, expression, read_indices, read_data })
        })
        .map_err(to_js)
    }
}

impl RawProblem {
    fn push_template(&mut self, block: u32, make: impl FnOnce(&[ArrayInfo]) -> Result<PendingTemplate>) -> Result<u32> {
        if block as usize >= self.blocks.len() {
            return Err(Error::internal(format!(
                "a residual template for residual block {block} of {}",
                self.blocks.len()
            )));
        }
        let template = make(&self.arrays)?;
        match &mut self.form {
            Form::Problem(templates) => {
                templates.push(template);
                Ok(templates.len() as u32 - 1)
            }
            Form::Params(_) => Err(Error::internal("a residual template was added to a problem in the params form")),
        }
    }
}
