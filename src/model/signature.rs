//! Topology signatures: when are two recorded expressions equal up to which parameters and constants stand at their leaves?
//!
//! [`Tracer::trace`] traverses an expression in a canonical order and writes it as a sequence of tokens: ops in
//! preorder, parameters by the order of their first visit, each occurrence of a constant as a slot of its own, and a
//! reference back where a node is met again. Two expressions share a kernel exactly when their tokens are equal. Operands of
//! commutative ops are visited in the order of structural hashes that ignore what stands at the leaves, so that the order
//! in which the user wrote them does not matter.
//!
//! This happens on the tape as it was recorded, before any simplification that depends on values: a datum that happens to be
//! 0 or 1 must not make a new kernel. Only subexpressions without any parameter are folded first, whatever their value.

use residua_base::error::{Error, Result};
use residua_ir::graph::{Graph, InputId, NodeId, Op, evaluate, leaf};

use super::tape::{Leaf, Tape, TapeNode, arity};

const TOKEN_LITERAL: u32 = 0;
const TOKEN_CONSTANT: u32 = 1;
const TOKEN_PARAMETER: u32 = 2;
const TOKEN_DATA: u32 = 3;
const TOKEN_AGAIN: u32 = 4;
/// The expression is multiplied by a constant that stands before all others.
const TOKEN_SCALED: u32 = 5;

/// Whether the operands of an op, given by its code, may change places.
fn is_commutative(code: u8) -> bool {
    const COMMUTATIVE: [Op; 6] = [Op::Add, Op::Mul, Op::Min, Op::Max, Op::Eq, Op::Ne];
    COMMUTATIVE.iter().any(|&op| op as u8 == code)
}

/// Codes from here on are operations, those below leaves.
const FIRST_OPERATION: u8 = Op::Neg as u8;

/// Replaces every operation whose operands are all numbers by its value: a literal if they are all literals, else a constant.
pub(super) fn fold_numbers(tape: &mut Tape) {
    for position in 0..tape.len() as u32 {
        fold(tape, position);
    }
}

fn fold(tape: &mut Tape, position: u32) {
    let TapeNode::Apply(op, operands) = tape.node(position) else { return };
    if op == Op::Lookup {
        return;
    }
    let mut numbers = [0.0; 3];
    let mut leaf = Leaf::Literal;
    let all_numbers = operands[..op.arity()].iter().zip(&mut numbers).all(|(&operand, number)| {
        match tape.node(operand) {
            TapeNode::Literal(value) => *number = value,
            TapeNode::Constant(value) => {
                *number = value;
                leaf = Leaf::Constant;
            }
            TapeNode::Parameter(_) | TapeNode::Data(_) | TapeNode::Apply(..) => return false,
            TapeNode::Counter(_) | TapeNode::State(..) | TapeNode::Result(..) => return false,
            TapeNode::Link(..) | TapeNode::Loop(..) => return false,
        }
        true
    });
    if all_numbers {
        tape.replace_by_number(position, leaf, evaluate(op, &numbers[..op.arity()]));
    }
}

#[inline(always)]
fn mix(hash: u32, value: u32) -> u32 {
    let mixed = (hash.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9);
    // The low bits must depend on everything above them.
    mixed ^ (mixed >> 15)
}

/// What is found out about each entry of a tape before expressions are traced.
#[derive(Default)]
pub(super) struct TapeAnalysis {
    /// Hashes of structure: equal for expressions that differ in leaves alone. They order operands and decide nothing, so that
    /// two structures of one hash do no harm.
    hashes: Vec<u32>,
    /// How often each entry is used, counting up to 2: an inner sum that is used twice is computed once, not expanded.
    uses: Vec<u8>,
    /// For each entry the last traversal that reached it, and its number there; kept where it is used more than once.
    met: Vec<(u32, u32)>,
    parameter_met: Vec<(u32, u32)>,
    walk: u32,
}

impl TapeAnalysis {
    /// Room for a tape of so many entries.
    pub fn with_capacity(entries: usize) -> TapeAnalysis {
        TapeAnalysis {
            hashes: Vec::with_capacity(entries),
            uses: Vec::with_capacity(entries),
            met: Vec::with_capacity(entries),
            parameter_met: Vec::new(),
            walk: 0,
        }
    }

    /// Continues with the next `count` entries, whose numbers it folds.
    pub fn extend(&mut self, tape: &mut Tape, count: usize) {
        let start = self.hashes.len();
        let end = start + count;
        self.hashes.resize(end, 0);
        self.uses.resize(end, 0);
        self.met.resize(end, (0, 0));
        let (hashes, uses) = (self.hashes.as_mut_slice(), self.uses.as_mut_slice());
        for position in start..end {
            let (ops, [a, b, c]) = tape.columns();
            let mut code = ops[position];
            let mut operands = [a[position] as usize, 0, 0];
            if code >= FIRST_OPERATION {
                let arity = arity(code);
                // Operands that are not there repeat the first.
                operands[1] = if arity > 1 { b[position] as usize } else { operands[0] };
                operands[2] = if arity > 2 { c.get(position).map_or(0, |&c| c as usize) } else { operands[0] };
                let is_number = |operand: usize| ops[operand] <= leaf::CONSTANT;
                if is_number(operands[0]) && is_number(operands[1]) && is_number(operands[2]) {
                    fold(tape, position as u32);
                    code = tape.columns().0[position];
                }
            }
            hashes[position] = if code >= FIRST_OPERATION {
                let arity = arity(code);
                let mut parts = operands.map(|operand| hashes[operand]);
                if parts[0] > parts[1] && is_commutative(code) {
                    parts.swap(0, 1);
                }
                let mut hash = mix(5, code.into());
                for place in 0..arity {
                    hash = mix(hash, parts[place]);
                    let uses = &mut uses[operands[place]];
                    *uses = (*uses + 1).min(2);
                }
                // Leaves and what has one operand come first: they settle which parameter is which for those that follow.
                hash >> 2 | (arity as u32) << 30
            } else {
                let (_, [a, _, _]) = tape.columns();
                match code {
                    leaf::LITERAL => {
                        let bits = tape.numbers()[a[position] as usize].to_bits();
                        mix(mix(1, bits as u32), (bits >> 32) as u32) >> 2
                    }
                    leaf::DATA => mix(4, a[position]) >> 2,
                    _ => code.into(),
                }
            };
        }
    }

    /// A requested expression uses its entry.
    pub fn ask_for(&mut self, output: u32) {
        let uses = &mut self.uses[output as usize];
        *uses = (*uses + 1).min(2);
    }

    /// Room for `count` more parameters.
    pub fn extend_parameters(&mut self, count: usize) {
        let end = self.parameter_met.len() + count;
        self.parameter_met.resize(end, (0, 0));
    }
}

/// Walks expressions of one tape; its working memory serves one expression after another.
pub(super) struct Tracer<'a> {
    ops: &'a [u8],
    operands: [&'a [u32]; 3],
    numbers: &'a [f64],
    hashes: &'a [u32],
    uses: &'a [u8],
    met: &'a mut [(u32, u32)],
    parameter_met: &'a mut [(u32, u32)],
    walk: &'a mut u32,
    stack: Vec<u32>,
    /// Its first `length` words are the signature.
    tokens: Vec<u32>,
    length: usize,
    /// Equal signatures have equal hashes.
    pub hash: u64,
    /// The parameters at the leaves, by first visit.
    pub parameters: Vec<u32>,
    /// The constants at the leaves, one an occurrence.
    pub constants: Vec<f64>,
}

impl<'a> Tracer<'a> {
    /// A tracer of a tape whose entries and parameters have all been analysed.
    pub fn new(tape: &'a Tape, analysis: &'a mut TapeAnalysis) -> Tracer<'a> {
        let (ops, operands) = tape.columns();
        Tracer {
            ops,
            operands,
            numbers: tape.numbers(),
            hashes: &analysis.hashes,
            uses: &analysis.uses,
            met: &mut analysis.met,
            parameter_met: &mut analysis.parameter_met,
            walk: &mut analysis.walk,
            stack: Vec::new(),
            tokens: vec![0; 64],
            length: 0,
            hash: 0,
            parameters: Vec::new(),
            constants: Vec::new(),
        }
    }

    /// How often each entry is used, counting up to 2.
    pub fn uses(&self) -> &'a [u8] {
        self.uses
    }

    /// The signature.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens[..self.length]
    }

    #[inline(always)]
    fn emit(&mut self, token: u32) {
        if self.length == self.tokens.len() {
            self.tokens.resize(2 * self.length, 0);
        }
        self.tokens.as_mut_slice()[self.length] = token;
        self.length += 1;
        self.hash = (self.hash.rotate_left(5) ^ u64::from(token)).wrapping_mul(0x517C_C1B7_2722_0A95);
    }

    /// Whether of two operands that may change places `a` is visited after `b`: by structure; and of two parameters first the
    /// one that was met first, a new one last.
    #[inline(always)]
    fn goes_second(&self, a: usize, b: usize) -> bool {
        let (of_a, of_b) = (self.hashes[a], self.hashes[b]);
        if of_a != of_b || self.ops[a] != leaf::PARAMETER {
            return of_a > of_b;
        }
        let order = |position: usize| {
            if self.ops[position] != leaf::PARAMETER {
                return u32::MAX;
            }
            let (walk, slot) = self.parameter_met[self.operands[0][position] as usize];
            if walk == *self.walk { slot } else { u32::MAX }
        };
        order(a) > order(b)
    }

    /// Traces the expression at `root`, times `scale` if there is one, into its signature, `parameters` and `constants`.
    pub fn trace(&mut self, root: u32, scale: Option<f64>) {
        *self.walk += 1;
        self.length = 0;
        self.hash = 0;
        self.parameters.clear();
        self.constants.clear();
        if let Some(scale) = scale {
            self.emit(TOKEN_SCALED);
            self.constants.push(scale);
        }
        let mut operations = 0;
        let mut next = Some(root);
        while let Some(entry) = next {
            let position = entry as usize;
            let (code, first) = (self.ops[position], self.operands[0][position]);
            next = match code {
                leaf::LITERAL => {
                    let bits = self.numbers[first as usize].to_bits();
                    self.emit(TOKEN_LITERAL);
                    self.emit(bits as u32);
                    self.emit((bits >> 32) as u32);
                    self.stack.pop()
                }
                leaf::CONSTANT => {
                    self.emit(TOKEN_CONSTANT);
                    self.constants.push(self.numbers[first as usize]);
                    self.stack.pop()
                }
                leaf::PARAMETER => {
                    let mut met = self.parameter_met[first as usize];
                    if met.0 != *self.walk {
                        met = (*self.walk, self.parameters.len() as u32);
                        self.parameter_met[first as usize] = met;
                        self.parameters.push(first);
                    }
                    self.emit(TOKEN_PARAMETER);
                    self.emit(met.1);
                    self.stack.pop()
                }
                leaf::DATA => {
                    self.emit(TOKEN_DATA);
                    self.emit(first);
                    self.stack.pop()
                }
                _ => {
                    let number = operations;
                    // What is used once is met once.
                    if self.uses[position] > 1 {
                        let met = self.met[position];
                        if met.0 == *self.walk {
                            self.emit(TOKEN_AGAIN);
                            self.emit(met.1);
                            next = self.stack.pop();
                            continue;
                        }
                        self.met[position] = (*self.walk, number);
                    }
                    operations += 1;
                    self.emit(code.into());
                    let arity = arity(code);
                    if arity == 1 {
                        Some(first)
                    } else {
                        let second = self.operands[1][position];
                        if arity == 3 {
                            let third = self.operands[2].get(position).copied().unwrap_or(0);
                            self.stack.push(third);
                            self.stack.push(second);
                            Some(first)
                        } else if is_commutative(code) && self.goes_second(first as usize, second as usize) {
                            self.stack.push(first);
                            Some(second)
                        } else {
                            self.stack.push(second);
                            Some(first)
                        }
                    }
                }
            };
        }
    }
}

/// The expression of a signature as a graph, simplified. `constant_inputs` says which input each constant is.
pub(super) fn build_graph(tokens: &[u32], constant_inputs: &[InputId]) -> Result<(Graph, NodeId)> {
    struct Pending {
        op: Op,
        number: usize,
        operands: [Option<NodeId>; 3],
    }
    let broken = || Error::internal("a signature does not decode");
    let mut graph = Graph::new();
    let mut constants = constant_inputs.iter();
    let mut pending: Vec<Pending> = Vec::new();
    let mut built: Vec<Option<NodeId>> = Vec::new();
    let mut root = None;
    let mut scale = None;
    let mut rest = tokens.iter().copied();
    while let Some(token) = rest.next() {
        let mut value = match token {
            TOKEN_LITERAL => {
                let (low, high) = (rest.next().ok_or_else(broken)?, rest.next().ok_or_else(broken)?);
                graph.literal(f64::from_bits(u64::from(high) << 32 | u64::from(low)))
            }
            TOKEN_CONSTANT => graph.input(*constants.next().ok_or_else(broken)?),
            TOKEN_PARAMETER => graph.input(InputId(rest.next().ok_or_else(broken)?)),
            TOKEN_AGAIN => {
                let number = rest.next().ok_or_else(broken)? as usize;
                built.get(number).copied().flatten().ok_or_else(broken)?
            }
            TOKEN_SCALED => {
                scale = Some(graph.input(*constants.next().ok_or_else(broken)?));
                continue;
            }
            code => {
                let op = u8::try_from(code).ok().and_then(Op::from_code).ok_or_else(broken)?;
                pending.push(Pending { op, number: built.len(), operands: [None; 3] });
                built.push(None);
                continue;
            }
        };
        // Hand the value to the operation that waits for it; that may complete it, and so on upwards.
        loop {
            let Some(top) = pending.last_mut() else {
                root = Some(value);
                break;
            };
            let slot = top.operands.iter_mut().find(|operand| operand.is_none()).ok_or_else(broken)?;
            *slot = Some(value);
            let arity = top.op.arity();
            if top.operands[..arity].iter().any(Option::is_none) {
                break;
            }
            let operands = top.operands.map(|operand| operand.unwrap_or(value));
            value = graph.apply(top.op, &operands[..arity]);
            built[top.number] = Some(value);
            pending.pop();
        }
    }
    let root = root.ok_or_else(broken)?;
    let root = match scale {
        Some(scale) => graph.apply(Op::Mul, &[scale, root]),
        None => root,
    };
    Ok((graph, root))
}
