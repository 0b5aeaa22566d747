//! Records expressions for small models, as the facade does.
// Not every test file needs every leaf.
#![allow(dead_code, clippy::unwrap_used)]

use residua::batch::{Leaf, Tape};
use residua::graph::Op;

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

    /// The tape with these outputs, over so many parameters and data.
    pub fn tape(self, outputs: Vec<u32>, parameters: u32, data: u32) -> Tape {
        Tape::new(self.ops, self.operands, self.constants, outputs, parameters, data).unwrap()
    }
}
