//! Problems on their way in: recorded expressions, tables, names.
//!
//! What is large stays where JavaScript has it until it is compiled, and is then read a piece at a time, so that the page can draw
//! meanwhile.

use js_sys::{Array, Float64Array, Function, Uint8Array, Uint32Array};
use residua_base::list::Listed;
use wasm_bindgen::prelude::*;

use crate::model::plain::{PlainFunction, Wanted};
use crate::model::{CompileInput, Expression, InstanceList, Room, TableSource, Tape, TapeSource};
use residua_base::cooperative::Slices;
use residua_base::error::{Error, Result};

use super::error::{from_js, to_js};

/// What is to be compiled.
#[wasm_bindgen]
pub struct RawProblem(CompileInput);

impl RawProblem {
    pub(super) fn into_input(self) -> CompileInput {
        self.0
    }
}

/// A tape in pieces.
struct Pieces {
    /// Codes and operands of some entries: `[ops, a, b, c]`, where `c` is null if none has a third operand.
    entries: Array,
    constants: Array,
    outputs: Uint32Array,
}

/// Tables that JavaScript reads.
struct Tables {
    instances: Option<Uint32Array>,
    rows: Option<Uint32Array>,
    read_indices: Function,
    read_data: Function,
}

fn item<T: JsCast>(of: &Array, position: usize) -> T {
    of.get(position as u32).unchecked_into()
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

impl Pieces {
    fn piece(&self, piece: usize) -> Array {
        item(&self.entries, piece)
    }

    fn is_ternary(&self, piece: usize) -> bool {
        !self.piece(piece).get(3).is_null()
    }
}

impl TapeSource for Pieces {
    fn entry_pieces(&self) -> Vec<(usize, bool)> {
        let length = |piece| item::<Uint8Array>(&self.piece(piece), 0).length() as usize;
        (0..self.entries.length() as usize).map(|piece| (length(piece), self.is_ternary(piece))).list()
    }

    fn read_entries(&self, piece: usize, room: Room<'_>) {
        let columns = self.piece(piece);
        item::<Uint8Array>(&columns, 0).copy_to(room.ops);
        let operands = if self.is_ternary(piece) { 3 } else { 2 };
        for (column, into) in room.operands.into_iter().enumerate().take(operands) {
            item::<Uint32Array>(&columns, column + 1).copy_to(into);
        }
    }

    fn constant_pieces(&self) -> Vec<usize> {
        let length = |piece| item::<Float64Array>(&self.constants, piece).length() as usize;
        (0..self.constants.length() as usize).map(length).list()
    }

    fn read_constants(&self, piece: usize, into: &mut [f64]) {
        item::<Float64Array>(&self.constants, piece).copy_to(into);
    }

    fn outputs(&self) -> usize {
        self.outputs.length() as usize
    }

    fn read_outputs(&self, first: usize, into: &mut [u32]) {
        self.outputs.subarray(first as u32, (first + into.len()) as u32).copy_to(into);
    }
}

/// A function of the page, `evaluate(x, wanted)`, which gives columns for 0 (residuals), 1 (J, too) and 2 (J by differences), and for 3 how exact J was.
struct PageFunction(Function);

impl PageFunction {
    fn ask(&self, x: &[f64], wanted: u32) -> Result<Float64Array> {
        let given = self.0.call2(&JsValue::NULL, &Float64Array::from(x), &wanted.into());
        Ok(given.map_err(|thrown| from_js(&thrown))?.unchecked_into())
    }

    fn call(&self, x: &[f64], wanted: u32, columns: &mut [f64]) -> Result<()> {
        let given = self.ask(x, wanted)?;
        check_length(given.length().min(columns.len() as u32), columns.len())?;
        given.subarray(0, columns.len() as u32).copy_to(columns);
        Ok(())
    }
}

impl PlainFunction for PageFunction {
    fn evaluate(&self, x: &[f64], wanted: Wanted, columns: &mut [f64]) -> Result<()> {
        self.call(x, wanted as u32, columns)
    }

    fn differences(&self, x: &[f64], columns: &mut [f64]) -> Result<()> {
        self.call(x, 2, columns)
    }

    fn accuracy(&self) -> Result<Vec<f64>> {
        Ok(self.ask(&[], 3)?.to_vec())
    }
}

/// Calls `read(column, first, count)`.
fn read_piece(read: &Function, column: u32, first: usize, count: usize) -> Result<JsValue> {
    let [column, first, count] = [column, first as u32, count as u32].map(JsValue::from);
    read.call3(&JsValue::NULL, &column, &first, &count).map_err(|_| Error::internal("a table could not be read"))
}

fn check_length(length: u32, expected: usize) -> Result<()> {
    if length as usize == expected { Ok(()) } else { Err(Error::internal("a table is not as long as it should be")) }
}

impl Tables {
    fn list(&self, list: InstanceList) -> Option<&Uint32Array> {
        match list {
            InstanceList::Instances => self.instances.as_ref(),
            InstanceList::Rows => self.rows.as_ref(),
        }
    }
}

impl TableSource for Tables {
    fn read_indices(&self, slot: u32, first: usize, into: &mut [u32]) -> Result<()> {
        let piece: Uint32Array = read_piece(&self.read_indices, slot, first, into.len())?.unchecked_into();
        check_length(piece.length(), into.len())?;
        piece.copy_to(into);
        Ok(())
    }

    fn read_data(&self, column: u32, first: usize, into: &mut [f64]) -> Result<()> {
        let piece: Float64Array = read_piece(&self.read_data, column, first, into.len())?.unchecked_into();
        check_length(piece.length(), into.len())?;
        piece.copy_to(into);
        Ok(())
    }

    fn length(&self, list: InstanceList) -> Option<usize> {
        self.list(list).map(|words| words.length() as usize)
    }

    fn read_list(&self, list: InstanceList, first: usize, into: &mut [u32]) -> Result<()> {
        let Some(words) = self.list(list) else { return check_length(0, into.len()) };
        let words = words.subarray(first as u32, (first + into.len()) as u32);
        check_length(words.length(), into.len())?;
        words.copy_to(into);
        Ok(())
    }
}

#[wasm_bindgen]
impl RawProblem {
    /// An empty problem.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> RawProblem {
        RawProblem(CompileInput::problem())
    }

    /// The params form: `paramCount` scalar parameters, and the tape's outputs as residuals. `entries` are pieces `[ops, a, b, c]`
    /// of the tape, `c` null where no entry has a third operand; `constants` are pieces too. All are read when the problem is
    /// compiled.
    #[wasm_bindgen(js_name = fromTape)]
    pub fn from_tape(param_count: u32, entries: Array, constants: Array, outputs: Uint32Array) -> RawProblem {
        RawProblem(CompileInput::params(param_count, Box::new(Pieces { entries, constants, outputs })))
    }

    /// Adds a parameter array and gives its number.
    #[wasm_bindgen(js_name = addArray)]
    pub fn add_array(&mut self, name: &str, dim: u32, count: u32, manifold: &str) -> Result<u32, JsValue> {
        self.0.add_array(name, dim, count, manifold).map_err(to_js)
    }

    /// Puts an array's blocks into a group: a Schur complement eliminates those of the lowest.
    #[wasm_bindgen(js_name = setElimination)]
    pub fn set_elimination(&mut self, array: u32, group: u32) -> Result<(), JsValue> {
        self.0.set_elimination(array, group).map_err(to_js)
    }

    /// Sets the numbers of all tables that expressions read.
    #[wasm_bindgen(js_name = setTables)]
    pub fn set_tables(&mut self, numbers: Vec<f64>) {
        self.0.set_tables(numbers);
    }

    /// Adds a residual block and gives its number.
    #[wasm_bindgen(js_name = addBlock)]
    pub fn add_block(&mut self, name: &str, instances: u32, first_row: u32, rows: u32) -> u32 {
        self.0.add_block(name, instances, first_row, rows)
    }

    /// Adds an expression with `count` instances to a residual block and gives its number. `rows` says for each
    /// instance where its residuals begin, counted from the block's first, undefined if they follow one another; `instances` which of
    /// the block's they are, undefined for 0, 1, 2, … . The tables are read when the problem is compiled:
    /// `readIndices(slot, first, count)` gives block indices of some instances, `readData(column, first, count)` data.
    #[wasm_bindgen(js_name = addTemplate)]
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
        let make = || {
            let parameters = self.0.parameter_count(&slots)?;
            let tape = Tape::new(ops, [a, b, c], constants, outputs, parameters, data_columns)?;
            let expression = Expression { slots, data_columns, tape, weight: None };
            let tables = Tables { instances, rows, read_indices, read_data };
            self.0.add_template(block, count, expression, Box::new(tables))
        };
        make().map_err(to_js)
    }

    /// Says which data column of a template is the weight of its instances.
    #[wasm_bindgen(js_name = setInstanceWeights)]
    pub fn set_instance_weights(&mut self, template: u32, column: u32) -> Result<(), JsValue> {
        self.0.set_instance_weights(template, column).map_err(to_js)
    }

    /// Says that `evaluate(x, wanted)` computes the residuals of a template, whose expression is affine, and whose first data column is the weight, if there is
    /// one. It returns the others column after column: at least those of the residuals where `wanted` is 0, all where it is 1, and all with derivatives by
    /// differences where it is 2. Other tables are not read.
    #[wasm_bindgen(js_name = setPlain)]
    pub fn set_plain(&mut self, template: u32, evaluate: Function) -> Result<(), JsValue> {
        self.0.set_plain(template, Box::new(PageFunction(evaluate))).map_err(to_js)
    }
}
