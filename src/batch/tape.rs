//! The tape: expressions as they were recorded, in flat arrays, operands before users.

use crate::error::{Error, Result};
use crate::graph::{Op, leaf};

/// Codes of the leaves on the tape; operations have the codes of the op table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Leaf {
    /// A number that belongs to the formula and stays in the kernel.
    Literal = leaf::LITERAL,
    /// A number of the user's: a slot of its own, whatever its value.
    Constant = leaf::CONSTANT,
    /// A parameter, by its number.
    Parameter = leaf::PARAMETER,
    /// A per-instance number, by its number.
    Data = leaf::DATA,
}

/// An entry of a tape, decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TapeNode {
    /// The number itself.
    Literal(f64),
    /// The number itself.
    Constant(f64),
    /// Which parameter.
    Parameter(u32),
    /// Which data scalar.
    Data(u32),
    /// An operation on earlier entries; operands beyond its arity are without meaning.
    Apply(Op, [u32; 3]),
}

/// Recorded expressions.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    ops: Vec<u8>,
    operands: [Vec<u32>; 3],
    constants: Vec<f64>,
    outputs: Vec<u32>,
}

impl Tape {
    /// Takes the arrays of a recording over, once they are found sound: equally long, operands before users, and parameters
    /// and data below the given counts.
    pub fn new(
        ops: Vec<u8>,
        operands: [Vec<u32>; 3],
        constants: Vec<f64>,
        outputs: Vec<u32>,
        parameters: u32,
        data: u32,
    ) -> Result<Tape> {
        if operands.iter().any(|operand| operand.len() != ops.len()) {
            return Err(Error::invalid_graph(format!(
                "the tape's arrays differ in length: {} ops, operands of {}, {} and {}",
                ops.len(),
                operands[0].len(),
                operands[1].len(),
                operands[2].len()
            )));
        }
        let tape = Tape { ops, operands, constants, outputs };
        for position in 0..tape.ops.len() {
            tape.check_entry(position, parameters, data)?;
        }
        match tape.outputs.iter().position(|&output| output as usize >= tape.ops.len()) {
            Some(output) => Err(Error::invalid_graph(format!(
                "output {output} is entry {} of a tape with {}",
                tape.outputs[output],
                tape.ops.len()
            ))),
            None => Ok(tape),
        }
    }

    fn check_entry(&self, position: usize, parameters: u32, data: u32) -> Result<()> {
        let code = self.ops[position];
        let first = self.operands[0][position];
        let below = |limit: usize, what: &str| {
            if (first as usize) < limit {
                Ok(())
            } else {
                Err(Error::invalid_graph(format!("entry {position} of the tape is {what} {first} of {limit}")))
            }
        };
        match code {
            leaf::LITERAL | leaf::CONSTANT => below(self.constants.len(), "constant"),
            leaf::PARAMETER => below(parameters as usize, "parameter"),
            leaf::DATA => below(data as usize, "data scalar"),
            _ => {
                let op = Op::from_code(code).ok_or_else(|| {
                    Error::invalid_graph(format!("entry {position} of the tape has unknown op {code}"))
                })?;
                match self.operands[..op.arity()].iter().find(|operand| operand[position] as usize >= position) {
                    Some(operand) => Err(Error::invalid_graph(format!(
                        "entry {position} of the tape ({}) takes entry {}, which does not stand before it",
                        op.name(),
                        operand[position]
                    ))),
                    None => Ok(()),
                }
            }
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Positions of the expressions that were asked for.
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// The entry at a position.
    #[inline]
    pub fn node(&self, position: u32) -> TapeNode {
        let at = position as usize;
        let a = self.operands[0][at];
        match self.ops[at] {
            leaf::LITERAL => TapeNode::Literal(self.constants[a as usize]),
            leaf::CONSTANT => TapeNode::Constant(self.constants[a as usize]),
            leaf::PARAMETER => TapeNode::Parameter(a),
            leaf::DATA => TapeNode::Data(a),
            code => {
                let op = Op::from_code(code).expect("codes were checked when the tape was made");
                TapeNode::Apply(op, [a, self.operands[1][at], self.operands[2][at]])
            }
        }
    }

    /// Puts a number in the place of an entry.
    pub(super) fn replace_by_number(&mut self, position: u32, leaf: Leaf, value: f64) {
        self.ops[position as usize] = leaf as u8;
        self.operands[0][position as usize] = self.constants.len() as u32;
        self.constants.push(value);
    }
}
