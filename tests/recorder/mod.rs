//! Records expressions for small models, as the facade does.
// Not every test file needs every leaf.
#![allow(dead_code, clippy::unwrap_used)]

use residua::model::losses::LossParameters;
use residua::model::{ArrayInfo, BlockInfo, Leaf, Manifold, Model, ResidualTemplate, Tape};
use residua_ir::graph::Op;

/// A tape under construction: operands are positions of earlier entries.
#[derive(Default)]
pub struct Recorder {
    ops: Vec<u8>,
    operands: [Vec<u32>; 3],
    constants: Vec<f64>,
}

impl Recorder {
    fn entry(&mut self, code: u8, operands: &[u32]) -> u32 {
        self.ops.push(code);
        for (position, column) in self.operands.iter_mut().enumerate() {
            column.push(operands.get(position).copied().unwrap_or(0));
        }
        self.ops.len() as u32 - 1
    }

    /// A parameter by its number.
    pub fn parameter(&mut self, number: u32) -> u32 {
        self.entry(Leaf::Parameter as u8, &[number])
    }

    /// A number of an instance.
    pub fn data(&mut self, number: u32) -> u32 {
        self.entry(Leaf::Data as u8, &[number])
    }

    /// A number of the user's.
    pub fn constant(&mut self, value: f64) -> u32 {
        self.constants.push(value);
        self.entry(Leaf::Constant as u8, &[self.constants.len() as u32 - 1])
    }

    /// An operation.
    pub fn apply(&mut self, op: Op, operands: &[u32]) -> u32 {
        self.entry(op as u8, operands)
    }

    /// The square of the distance between two points, parameters 0 to 2 and 3 to 5.
    pub fn squared_distance(&mut self) -> u32 {
        let ends: Vec<u32> = (0..6).map(|number| self.parameter(number)).collect();
        let squares: Vec<u32> = (0..3)
            .map(|k| {
                let difference = self.apply(Op::Sub, &[ends[k], ends[k + 3]]);
                self.apply(Op::Mul, &[difference, difference])
            })
            .collect();
        let sum = self.apply(Op::Add, &[squares[0], squares[1]]);
        self.apply(Op::Add, &[sum, squares[2]])
    }

    /// The tape with these outputs, over so many parameters and data.
    pub fn tape(self, outputs: Vec<u32>, parameters: u32, data: u32) -> Tape {
        Tape::new(self.ops, self.operands, self.constants, outputs, parameters, data).unwrap()
    }
}

/// A model of one array and one kind of residual: which array each slot takes a block of, and the blocks' indices, slot after slot.
pub fn model(
    dim: u32,
    count: u32,
    manifold: Manifold,
    slots: Vec<u32>,
    indices: Vec<u32>,
    data: Vec<f64>,
    tape: Tape,
) -> Model {
    let array = ArrayInfo { name: "x".to_owned(), dim, count, offset: 0, manifold };
    let instances = (indices.len() / slots.len()) as u32;
    let outputs = tape.outputs().len() as u32;
    let rows = instances * outputs;
    let template = ResidualTemplate {
        block: 0,
        instances: (0..instances).collect(),
        rows: (0..instances).map(|instance| instance * outputs).collect(),
        slots,
        indices,
        data_columns: data.len() as u32 / instances,
        data,
        tape,
    };
    let batches = vec![template.into_batch(std::slice::from_ref(&array)).unwrap()];
    let loss = LossParameters::squared();
    let block = BlockInfo { name: "r".to_owned(), instances, first_row: 0, rows, weight: 1.0, loss, enabled: true };
    Model { arrays: vec![array], blocks: vec![block], batches, num_params: dim * count, num_residuals: rows }
}
