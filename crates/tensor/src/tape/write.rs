//! Writes tapes, for tests: the facade has a writer of its own.

use std::rc::Rc;

use residua_base::list::Listed;
use residua_ir::graph::{Node, leaf};

use super::codes::{self, BORDERS, COMBINES, REDUCTIONS};
use super::{Recipe, VERSION};
use crate::expr::{FourierKind, Rule, Tensor, TensorOp};
use crate::size::Size;

/// The tape of a recipe.
pub fn write(recipe: &Recipe) -> Vec<f64> {
    let (mut sizes, mut rules, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
    for tensor in &recipe.expr.nodes {
        nodes.extend(write_tensor(tensor, &mut sizes, &mut rules));
    }
    let mut tape = vec![f64::from(VERSION), recipe.dims.len() as f64];
    tape.extend(recipe.dims.iter().map(|most| f64::from(*most)));
    tape.push(sizes.len() as f64);
    for size in &sizes {
        tape.push(size.terms().len() as f64);
        for (coefficient, dims) in size.terms() {
            tape.extend([coefficient as f64, dims.len() as f64]);
            tape.extend(dims.iter().map(|dim| f64::from(*dim)));
        }
    }
    tape.push(rules.len() as f64);
    for rule in &rules {
        write_rule(rule, &mut tape);
    }
    tape.push(recipe.expr.nodes.len() as f64);
    tape.extend(nodes);
    tape.push(recipe.results.len() as f64);
    tape.extend(recipe.results.iter().map(|id| f64::from(id.0)));
    tape.push(recipe.assignments.len() as f64);
    tape.extend(recipe.assignments.iter().flat_map(|(slot, id)| [f64::from(*slot), f64::from(id.0)]));
    tape
}

/// The position of a thing in a list, where it is added if it is new.
fn place<T: PartialEq + Clone>(list: &mut Vec<T>, thing: &T) -> f64 {
    let known = list.iter().position(|other| other == thing);
    known.unwrap_or_else(|| {
        list.push(thing.clone());
        list.len() - 1
    }) as f64
}

/// The code of one of a list.
fn code<T: PartialEq>(all: &[T], one: &T) -> f64 {
    all.iter().position(|other| other == one).expect("lists of codes are complete") as f64
}

fn write_rule(rule: &Rule, tape: &mut Vec<f64>) {
    tape.push(rule.identity.len() as f64);
    tape.extend(&rule.identity);
    let graph = rule.merge.graph();
    tape.push(graph.len() as f64);
    for node in graph.nodes() {
        match node {
            Node::Literal(bits) => tape.extend([f64::from(leaf::LITERAL), f64::from_bits(*bits)]),
            Node::Input(input) => tape.extend([f64::from(leaf::DATA), f64::from(input.0)]),
            Node::Result(..) => unreachable!("rules of tensors have no loops"),
            Node::Apply(op, operands) => {
                tape.push(f64::from(*op as u8));
                tape.extend(operands[..op.arity()].iter().map(|operand| operand.index() as f64));
            }
        }
    }
    tape.extend(rule.results.iter().map(|node| node.index() as f64));
}

fn write_tensor(tensor: &Tensor, sizes: &mut Vec<Size>, rules: &mut Vec<Rc<Rule>>) -> Vec<f64> {
    let numbers = |numbers: &[u32]| numbers.iter().map(|number| f64::from(*number)).list();
    let flag = |flag: bool| f64::from(u8::from(flag));
    let shape: Vec<f64> = tensor.shape.iter().map(|size| place(sizes, size)).list();
    let (op, attributes) = match &tensor.op {
        TensorOp::Input(slot) => (codes::INPUT, vec![f64::from(*slot)]),
        TensorOp::Constant(number) => (codes::CONSTANT, vec![*number]),
        TensorOp::Extent(size) => (codes::EXTENT, vec![place(sizes, size)]),
        TensorOp::Number(bits) => (codes::NUMBER, vec![place(sizes, bits)]),
        TensorOp::Iota(axis) => (codes::IOTA, vec![f64::from(*axis)]),
        TensorOp::RandomBits(stream) => (codes::RANDOM_BITS, vec![f64::from(*stream)]),
        TensorOp::Elementwise(op) => (codes::ELEMENTWISE, vec![f64::from(*op as u8)]),
        TensorOp::Reshape => (codes::RESHAPE, Vec::new()),
        TensorOp::Expand => (codes::EXPAND, Vec::new()),
        TensorOp::Permute(axes) => (codes::PERMUTE, numbers(axes)),
        TensorOp::Slice { starts, steps } => {
            let starts = starts.iter().map(|start| place(sizes, start));
            (codes::SLICE, starts.chain(steps.iter().map(|step| *step as f64)).list())
        }
        TensorOp::Pad { before, border } => {
            let before = before.iter().map(|before| place(sizes, before));
            (codes::PAD, [code(&BORDERS, border)].into_iter().chain(before).list())
        }
        TensorOp::Concat(axis) => (codes::CONCAT, vec![f64::from(*axis)]),
        TensorOp::Windows { axis, step, dilation } => (codes::WINDOWS, numbers(&[*axis, *step, *dilation])),
        TensorOp::Gather(axis) => (codes::GATHER, vec![f64::from(*axis)]),
        TensorOp::GatherElements(axis) => (codes::GATHER_ELEMENTS, vec![f64::from(*axis)]),
        TensorOp::Reduce(reduction, axes) => {
            (codes::REDUCE, [vec![code(&REDUCTIONS, reduction)], numbers(axes)].concat())
        }
        TensorOp::Scan { reduction, axis, exclusive, reverse } => {
            (codes::SCAN, vec![code(&REDUCTIONS, reduction), f64::from(*axis), flag(*exclusive), flag(*reverse)])
        }
        TensorOp::Fold { rule, axes, result } => {
            (codes::FOLD, [vec![place(rules, rule), f64::from(*result)], numbers(axes)].concat())
        }
        TensorOp::ScanBy { rule, axis, exclusive, reverse, result } => {
            let result = f64::from(*result);
            (codes::SCAN_BY, vec![place(rules, rule), result, f64::from(*axis), flag(*exclusive), flag(*reverse)])
        }
        TensorOp::MatMul => (codes::MATMUL, Vec::new()),
        TensorOp::Attention(of) => {
            let window = of.window.map_or(0.0, |window| f64::from(window) + 1.0);
            (
                codes::ATTENTION,
                vec![flag(of.causal), place(sizes, &of.position), of.scale, window, of.softcap.unwrap_or(0.0)],
            )
        }
        TensorOp::Scatter(axis, combine) => (codes::SCATTER, vec![f64::from(*axis), code(&COMBINES, combine)]),
        TensorOp::IndexPut(axis, combine) => (codes::INDEX_PUT, vec![f64::from(*axis), code(&COMBINES, combine)]),
        TensorOp::Gradient => (codes::GRADIENT, Vec::new()),
        TensorOp::CustomGradient => (codes::CUSTOM_GRADIENT, Vec::new()),
        TensorOp::Argsort { bits } => (codes::ARGSORT, vec![f64::from(*bits)]),
        TensorOp::SparseProduct => (codes::SPARSE_PRODUCT, Vec::new()),
        TensorOp::Linalg(kind) => (codes::LINALG, vec![f64::from(*kind as u8)]),
        TensorOp::Dequantize(form) => (codes::DEQUANTIZE, vec![f64::from(form.code())]),
        TensorOp::SetSlice { starts, .. } => (codes::SET_SLICE, starts.iter().map(|start| place(sizes, start)).list()),
        TensorOp::Fourier(of) => (
            codes::FOURIER,
            vec![
                f64::from(of.axis),
                f64::from(of.to),
                f64::from(of.length),
                code(&FourierKind::ALL, &of.kind),
                of.scale,
            ],
        ),
        TensorOp::DigitCounts(_) | TensorOp::DigitSort(_) | TensorOp::Roots(_) | TensorOp::RangeSum(_) => {
            unreachable!("planning makes them after the tape was read")
        }
    };
    let mut written = vec![f64::from(op), f64::from(tensor.dtype as u8), shape.len() as f64];
    written.extend(shape);
    written.push(tensor.operands.len() as f64);
    written.extend(tensor.operands.iter().map(|operand| f64::from(operand.0)));
    written.push(attributes.len() as f64);
    written.extend(attributes);
    written
}
