//! The tape: expressions as they were recorded, in flat arrays, operands before users.

use residua_base::error::{Error, Result};
use residua_ir::graph::{Op, leaf};

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
    /// The counter of a loop, by the number of its body.
    Counter(u32),
    /// A number of the state of a body during a step.
    State(u32, u32),
    /// The last entry of a list, and the list before it.
    Link(u32, Option<u32>),
    /// A body, the list of start, count and initial state, and the list of the next state.
    Loop(u32, [u32; 2]),
    /// A number of the final state of a loop.
    Result(u32, u32),
}

/// Recorded expressions.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    ops: Vec<u8>,
    /// Third operands stop after the last entry that has one.
    operands: [Vec<u32>; 3],
    constants: Vec<f64>,
    outputs: Vec<u32>,
    /// How many parameters and data scalars there are.
    leaves: [u32; 2],
    /// Whether it may have loops.
    takes_loops: bool,
}

/// Room for entries at the end of a tape.
pub struct Room<'a> {
    /// Codes.
    pub ops: &'a mut [u8],
    /// Operands; third ones are zeros if they are not filled in.
    pub operands: [&'a mut [u32]; 3],
}

/// How many operands an operation takes, from its code: unary ones stand below 64, binary ones below 112.
pub(super) fn arity(code: u8) -> usize {
    if code < Op::Add as u8 {
        1
    } else if code < Op::Select as u8 {
        2
    } else {
        3
    }
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
        let tape = Tape { ops, operands, constants, outputs, leaves: [parameters, data], takes_loops: true };
        tape.check_entries(0)?;
        tape.check_outputs(0)?;
        Ok(tape)
    }

    /// An empty tape over so many parameters, to be filled by [`Tape::append_constants`], [`Tape::append`] and
    /// [`Tape::append_outputs`], in this order and piece after piece. `capacity` is how many entries and constants will come.
    pub fn over(parameters: u32, capacity: [usize; 2]) -> Tape {
        let [entries, constants] = capacity;
        Tape {
            ops: Vec::with_capacity(entries),
            operands: [Vec::with_capacity(entries), Vec::with_capacity(entries), Vec::new()],
            constants: Vec::with_capacity(constants),
            outputs: Vec::new(),
            leaves: [parameters, 0],
            takes_loops: false,
        }
    }

    /// Appends numbers that `fill` writes.
    pub fn append_constants(&mut self, count: usize, fill: &mut dyn FnMut(&mut [f64])) {
        let start = self.constants.len();
        self.constants.resize(start + count, 0.0);
        fill(&mut self.constants[start..]);
    }

    /// Appends entries that `fill` writes, once they are found sound. `ternary` says whether any has a third operand.
    pub fn append(&mut self, count: usize, ternary: bool, fill: &mut dyn FnMut(Room<'_>)) -> Result<()> {
        let start = self.ops.len();
        let end = start + count;
        self.ops.resize(end, 0);
        let [a, b, c] = &mut self.operands;
        a.resize(end, 0);
        b.resize(end, 0);
        if ternary {
            c.resize(end, 0);
        }
        let third = c.get_mut(start..).unwrap_or_default();
        fill(Room { ops: &mut self.ops[start..], operands: [&mut a[start..], &mut b[start..], third] });
        self.check_entries(start)
    }

    /// Appends positions of requested expressions, which `fill` writes.
    pub fn append_outputs(&mut self, count: usize, fill: &mut dyn FnMut(&mut [u32])) -> Result<()> {
        let start = self.outputs.len();
        self.outputs.resize(start + count, 0);
        fill(&mut self.outputs[start..]);
        self.check_outputs(start)
    }

    fn check_outputs(&self, start: usize) -> Result<()> {
        match (start..self.outputs.len()).find(|&output| self.outputs[output] as usize >= self.ops.len()) {
            Some(output) => Err(Error::invalid_graph(format!(
                "output {output} is entry {} of a tape with {}",
                self.outputs[output],
                self.ops.len()
            ))),
            None => Ok(()),
        }
    }

    /// Checks the entries from `start` on.
    fn check_entries(&self, start: usize) -> Result<()> {
        let ops = self.ops.as_slice();
        let [a, b, c] = [0, 1, 2].map(|place: usize| self.operands[place].as_slice());
        let constants = self.constants.len();
        let [parameters, data] = self.leaves.map(|count| count as usize);
        for position in start..ops.len() {
            let (code, first) = (ops[position], a[position] as usize);
            let sound = match code {
                leaf::LITERAL | leaf::CONSTANT => first < constants,
                leaf::PARAMETER => first < parameters,
                leaf::DATA => first < data,
                leaf::COUNTER..=leaf::RESULT => self.takes_loops && self.is_sound_of_loop(position),
                _ => {
                    let arity = arity(code);
                    Op::from_code(code).is_some()
                        && first < position
                        && (arity < 2 || (b[position] as usize) < position)
                        && (arity < 3 || c.get(position).is_none_or(|&third| (third as usize) < position))
                }
            };
            if !sound {
                return Err(self.unsound(position));
            }
        }
        Ok(())
    }

    /// Whether an entry that loops are made of is sound by itself.
    fn is_sound_of_loop(&self, position: usize) -> bool {
        let [first, second, third] =
            [0, 1, 2].map(|place: usize| self.operands[place].get(position).copied().unwrap_or(0));
        let is_list = |list: u32| list > 0 && list as usize <= position && self.ops[list as usize - 1] == leaf::LINK;
        match self.ops[position] {
            leaf::COUNTER | leaf::STATE => true,
            leaf::LINK => (first as usize) < position && (second == 0 || is_list(second)),
            leaf::LOOP => is_list(second) && is_list(third),
            _ => (first as usize) < position && self.ops[first as usize] == leaf::LOOP,
        }
    }

    /// What is wrong with an entry.
    #[cold]
    fn unsound(&self, position: usize) -> Error {
        let (code, first) = (self.ops[position], self.operands[0][position]);
        let beyond = |what: &str, limit: usize| {
            Error::invalid_graph(format!("entry {position} of the tape is {what} {first} of {limit}"))
        };
        match code {
            leaf::LITERAL | leaf::CONSTANT => beyond("constant", self.constants.len()),
            leaf::PARAMETER => beyond("parameter", self.leaves[0] as usize),
            leaf::DATA => beyond("data scalar", self.leaves[1] as usize),
            leaf::COUNTER..=leaf::RESULT if !self.takes_loops => Error::invalid_graph(format!(
                "entry {position} of the tape is of a loop, which residual functions alone have"
            )),
            leaf::COUNTER..=leaf::RESULT => Error::invalid_graph(format!(
                "entry {position} of the tape, of a loop, takes what does not stand before it"
            )),
            _ => match Op::from_code(code) {
                None => Error::invalid_graph(format!("entry {position} of the tape has unknown op {code}")),
                Some(op) => {
                    let operand = self.operands[..op.arity()]
                        .iter()
                        .map(|operand| operand.get(position).copied().unwrap_or(0))
                        .find(|&operand| operand as usize >= position);
                    Error::invalid_graph(format!(
                        "entry {position} of the tape ({}) takes entry {}, which does not stand before it",
                        op.name(),
                        operand.unwrap_or(0)
                    ))
                }
            },
        }
    }

    /// Codes, and first, second and third operands.
    pub(super) fn columns(&self) -> (&[u8], [&[u32]; 3]) {
        (&self.ops, [&self.operands[0], &self.operands[1], &self.operands[2]])
    }

    /// The numbers of literals and constants.
    pub(super) fn numbers(&self) -> &[f64] {
        &self.constants
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Positions of the requested expressions.
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
            leaf::COUNTER => TapeNode::Counter(a),
            leaf::STATE => TapeNode::State(a, self.operands[1][at]),
            leaf::LINK => TapeNode::Link(a, self.operands[1][at].checked_sub(1)),
            leaf::LOOP => {
                let list = |place: usize| self.operands[place].get(at).map_or(0, |list| list.saturating_sub(1));
                TapeNode::Loop(a, [list(1), list(2)])
            }
            leaf::RESULT => TapeNode::Result(a, self.operands[1][at]),
            code => {
                let op = Op::from_code(code).expect("codes were checked when the tape was made");
                TapeNode::Apply(op, [a, self.operands[1][at], self.operands[2].get(at).copied().unwrap_or(0)])
            }
        }
    }

    /// Visits the entries that an entry takes.
    pub(super) fn visit_operands(&self, position: u32, visit: &mut dyn FnMut(u32)) {
        match self.node(position) {
            TapeNode::Literal(_) | TapeNode::Constant(_) | TapeNode::Parameter(_) | TapeNode::Data(_) => {}
            TapeNode::Counter(_) | TapeNode::State(..) => {}
            TapeNode::Apply(op, operands) => operands[..op.arity()].iter().copied().for_each(visit),
            TapeNode::Link(item, before) => [Some(item), before].into_iter().flatten().for_each(visit),
            TapeNode::Loop(_, lists) => lists.into_iter().for_each(visit),
            TapeNode::Result(of, _) => visit(of),
        }
    }

    /// The entries of a list, in order.
    pub(super) fn list(&self, list: u32) -> Vec<u32> {
        let mut items = Vec::new();
        let mut next = Some(list);
        while let Some(position) = next {
            let TapeNode::Link(item, before) = self.node(position) else { break };
            items.push(item);
            next = before;
        }
        items.reverse();
        items
    }

    /// Puts a number in the place of an entry.
    pub(super) fn replace_by_number(&mut self, position: u32, leaf: Leaf, value: f64) {
        self.ops[position as usize] = leaf as u8;
        self.operands[0][position as usize] = self.constants.len() as u32;
        self.constants.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::{Tape, arity};
    use residua_ir::graph::{Op, leaf};

    #[test]
    fn a_code_tells_the_number_of_operands() {
        for op in Op::ALL {
            assert_eq!(arity(*op as u8), op.arity(), "{op:?}");
        }
    }

    #[test]
    fn a_tape_in_pieces_is_the_tape_in_one_piece() {
        // select(x > 1, x, y + 1), where the pieces have three, one and one entries, and only the last a third operand.
        let (gt, add, select) = (Op::Gt as u8, Op::Add as u8, Op::Select as u8);
        let ops = vec![leaf::PARAMETER, leaf::PARAMETER, leaf::CONSTANT, gt, add, select];
        let operands = [vec![0, 1, 0, 0, 1, 3], vec![0, 0, 0, 2, 2, 0], vec![0, 0, 0, 0, 0, 4]];
        let whole = Tape::new(ops.clone(), operands.clone(), vec![1.0], vec![5], 2, 0).unwrap();
        let mut tape = Tape::over(2, [6, 1]);
        tape.append_constants(1, &mut |numbers| numbers.copy_from_slice(&[1.0]));
        for range in [0..3, 3..4, 4..6] {
            let ternary = range.end == 6;
            tape.append(range.len(), ternary, &mut |room| {
                room.ops.copy_from_slice(&ops[range.clone()]);
                for (place, operands) in room.operands.into_iter().zip(&operands).take(if ternary { 3 } else { 2 }) {
                    place.copy_from_slice(&operands[range.clone()]);
                }
            })
            .unwrap();
        }
        tape.append_outputs(1, &mut |outputs| outputs[0] = 5).unwrap();
        for position in 0..6 {
            assert_eq!(tape.node(position), whole.node(position), "entry {position}");
        }
        assert_eq!(tape.outputs(), whole.outputs());
    }

    #[test]
    fn what_is_unsound_is_refused_in_whichever_piece() {
        for (code, operand, words) in [
            (leaf::CONSTANT, 1, "constant 1 of 1"),
            (leaf::PARAMETER, 2, "parameter 2 of 2"),
            (leaf::DATA, 0, "data scalar 0 of 0"),
            (leaf::STATE, 0, "of a loop, which residual functions alone have"),
            (9, 0, "unknown op 9"),
            (Op::Sin as u8, 1, "takes entry 1, which does not stand before it"),
        ] {
            let mut tape = Tape::over(2, [2, 1]);
            tape.append_constants(1, &mut |numbers| numbers[0] = 1.0);
            tape.append(1, false, &mut |room| room.ops[0] = leaf::PARAMETER).unwrap();
            let refused = tape.append(1, false, &mut |room| {
                room.ops[0] = code;
                room.operands[0][0] = operand;
            });
            assert!(refused.unwrap_err().to_string().contains(words), "{words}");
        }
        let mut tape = Tape::over(0, [0, 0]);
        assert!(tape.append_outputs(1, &mut |_| {}).is_err());
    }
}
