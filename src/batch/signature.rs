//! Topology signatures: when are two recorded expressions equal up to which parameters and constants stand at their leaves?
//!
//! [`Tracer::trace`] walks an expression in a canonical order and writes what it meets as a sequence of tokens: ops in
//! preorder, parameters by the order of their first visit, each occurrence of a constant as a slot of its own, and a
//! reference back where a node is met again. Two expressions share a kernel exactly when their tokens are equal. Operands of
//! commutative ops are visited in the order of structural hashes that ignore what stands at the leaves, so that the order
//! in which the user wrote them does not matter.
//!
//! This happens on the tape as it was recorded, before any simplification that depends on values: a datum that happens to be
//! 0 or 1 must not make a new kernel. Only subexpressions without any parameter are folded first, whatever their value.

use crate::error::{Error, Result};
use crate::graph::{Graph, InputId, NodeId, Op, evaluate};

use super::tape::{Leaf, Tape, TapeNode};

const TOKEN_LITERAL: u32 = 0;
const TOKEN_CONSTANT: u32 = 1;
const TOKEN_PARAMETER: u32 = 2;
const TOKEN_DATA: u32 = 3;
const TOKEN_AGAIN: u32 = 4;
/// The expression is multiplied by a constant that stands before all others.
const TOKEN_SCALED: u32 = 5;

/// Whether the operands of an op may change places.
pub(super) fn is_commutative(op: Op) -> bool {
    matches!(op, Op::Add | Op::Mul | Op::Min | Op::Max | Op::Eq | Op::Ne)
}

/// Replaces every operation whose operands are all numbers by its value: a literal if they are all literals, else a constant.
pub(super) fn fold_numbers(tape: &mut Tape) {
    for position in 0..tape.len() as u32 {
        let TapeNode::Apply(op, operands) = tape.node(position) else { continue };
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
            }
            true
        });
        if all_numbers {
            tape.replace_by_number(position, leaf, evaluate(op, &numbers[..op.arity()]));
        }
    }
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// For each entry of the tape a hash of its structure: equal for expressions that differ in leaves alone.
fn structural_hashes(tape: &Tape) -> Vec<u64> {
    let mut hashes: Vec<u64> = Vec::with_capacity(tape.len());
    for position in 0..tape.len() as u32 {
        let hash = match tape.node(position) {
            TapeNode::Literal(value) => mix(1, value.to_bits()),
            TapeNode::Constant(_) => 2,
            TapeNode::Parameter(_) => 3,
            TapeNode::Data(number) => mix(4, number.into()),
            TapeNode::Apply(op, operands) => {
                let mut parts = operands.map(|operand| hashes.get(operand as usize).copied().unwrap_or(0));
                if is_commutative(op) && parts[0] > parts[1] {
                    parts.swap(0, 1);
                }
                parts[..op.arity()].iter().fold(mix(5, op as u64), |hash, &part| mix(hash, part))
            }
        };
        // The low bits order operands, so they must depend on everything above them.
        hashes.push(hash ^ (hash >> 29));
    }
    hashes
}

/// Walks expressions of one tape; its working memory serves one expression after another.
pub(super) struct Tracer<'a> {
    tape: &'a Tape,
    hashes: Vec<u64>,
    /// For each entry the walk that met it last, and its number there.
    met: Vec<(u32, u32)>,
    parameter_met: Vec<(u32, u32)>,
    walk: u32,
    stack: Vec<u32>,
    /// The signature.
    pub tokens: Vec<u32>,
    /// The parameters at the leaves, by first visit.
    pub parameters: Vec<u32>,
    /// The constants at the leaves, one an occurrence.
    pub constants: Vec<f64>,
}

impl<'a> Tracer<'a> {
    pub fn new(tape: &'a Tape, parameters: u32) -> Tracer<'a> {
        Tracer {
            tape,
            hashes: structural_hashes(tape),
            met: vec![(0, 0); tape.len()],
            parameter_met: vec![(0, 0); parameters as usize],
            walk: 0,
            stack: Vec::new(),
            tokens: Vec::new(),
            parameters: Vec::new(),
            constants: Vec::new(),
        }
    }

    /// Whether of two operands that may change places `a` is visited after `b`: by structure; and of two parameters first the
    /// one that was met first, a new one last.
    fn goes_second(&self, a: u32, b: u32) -> bool {
        let by_structure = self.hashes[a as usize].cmp(&self.hashes[b as usize]);
        let order = |position: u32| match self.tape.node(position) {
            TapeNode::Parameter(parameter) => {
                let (walk, slot) = self.parameter_met[parameter as usize];
                if walk == self.walk { slot } else { u32::MAX }
            }
            TapeNode::Literal(_) | TapeNode::Constant(_) | TapeNode::Data(_) | TapeNode::Apply(..) => u32::MAX,
        };
        by_structure.then_with(|| order(a).cmp(&order(b))).is_gt()
    }

    /// Traces the expression at `root`, times `scale` if there is one, into `tokens`, `parameters` and `constants`.
    pub fn trace(&mut self, root: u32, scale: Option<f64>) {
        self.walk += 1;
        self.tokens.clear();
        self.parameters.clear();
        self.constants.clear();
        if let Some(scale) = scale {
            self.tokens.push(TOKEN_SCALED);
            self.constants.push(scale);
        }
        let mut operations = 0;
        self.stack.push(root);
        while let Some(position) = self.stack.pop() {
            match self.tape.node(position) {
                TapeNode::Literal(value) => {
                    let bits = value.to_bits();
                    self.tokens.extend([TOKEN_LITERAL, bits as u32, (bits >> 32) as u32]);
                }
                TapeNode::Constant(value) => {
                    self.tokens.push(TOKEN_CONSTANT);
                    self.constants.push(value);
                }
                TapeNode::Parameter(parameter) => {
                    let met = &mut self.parameter_met[parameter as usize];
                    if met.0 != self.walk {
                        *met = (self.walk, self.parameters.len() as u32);
                        self.parameters.push(parameter);
                    }
                    self.tokens.extend([TOKEN_PARAMETER, met.1]);
                }
                TapeNode::Data(number) => self.tokens.extend([TOKEN_DATA, number]),
                TapeNode::Apply(op, operands) => {
                    let met = &mut self.met[position as usize];
                    if met.0 == self.walk {
                        self.tokens.extend([TOKEN_AGAIN, met.1]);
                        continue;
                    }
                    *met = (self.walk, operations);
                    operations += 1;
                    self.tokens.push(op as u32);
                    let [a, b, c] = operands;
                    match op.arity() {
                        1 => self.stack.push(a),
                        2 if is_commutative(op) && self.goes_second(a, b) => self.stack.extend([a, b]),
                        2 => self.stack.extend([b, a]),
                        _ => self.stack.extend([c, b, a]),
                    }
                }
            }
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
