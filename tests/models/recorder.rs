//! Records expressions for small models, as the facade does.
// Not every test file needs every leaf.
#![allow(dead_code, clippy::unwrap_used)]

use std::rc::Rc;

use residua::model::{Class, CompileInput, Leaf, Losses, Model, Tape};
use residua_base::cooperative::{Slices, run_synchronously};
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

    /// A number of the formula's.
    pub fn literal(&mut self, value: f64) -> u32 {
        self.constants.push(value);
        self.entry(Leaf::Literal as u8, &[self.constants.len() as u32 - 1])
    }

    /// An operation.
    pub fn apply(&mut self, op: Op, operands: &[u32]) -> u32 {
        self.entry(op as u8, operands)
    }

    pub fn add(&mut self, a: u32, b: u32) -> u32 {
        self.apply(Op::Add, &[a, b])
    }

    pub fn sub(&mut self, a: u32, b: u32) -> u32 {
        self.apply(Op::Sub, &[a, b])
    }

    pub fn mul(&mut self, a: u32, b: u32) -> u32 {
        self.apply(Op::Mul, &[a, b])
    }

    pub fn div(&mut self, a: u32, b: u32) -> u32 {
        self.apply(Op::Div, &[a, b])
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
    manifold: &str,
    slots: Vec<u32>,
    indices: Vec<u32>,
    data: Vec<f64>,
    tape: Tape,
) -> Model {
    let mut input = problem(&[("x", dim, count, manifold)]);
    input.add_residuals("r", slots, indices, data, tape).unwrap();
    compiled(input)
}

/// A problem of these parameter arrays, each with its name, dimension, count and manifold.
pub fn problem(arrays: &[(&str, u32, u32, &str)]) -> CompileInput {
    let mut input = CompileInput::problem();
    for &(name, dim, count, manifold) in arrays {
        input.add_array(name, dim, count, manifold).unwrap();
    }
    input
}

/// The model of an input, read in one slice.
pub fn compiled(input: CompileInput) -> Model {
    run_synchronously(input.into_model(&Slices::unlimited())).unwrap()
}

/// The model with kernels for any loss. Production has such kernels in the problem form alone, which has no long sums.
pub fn with_any_loss(mut model: Model) -> Model {
    for batch in &mut model.batches {
        batch.class = Rc::new(Class { losses: Losses::Any, ..Class::clone(&batch.class) });
    }
    model
}

/// The model of the params form.
pub fn params_model(tape: Tape, params: u32) -> Model {
    compiled(CompileInput::params(params, Box::new(tape)))
}
