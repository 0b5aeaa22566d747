//! Kernels built by hand, for the tests of the writer.

use std::rc::Rc;

use residua_codegen::{Call, Case, ElementType, Function, Index, Kernel, KernelBuffer, Load, Output};
use residua_ir::graph::{Graph, InputId, NodeId, Op};

pub fn reals(name: &'static str, written: bool) -> KernelBuffer {
    KernelBuffer { name, dtype: ElementType::Real, written }
}

pub fn indices(name: &'static str) -> KernelBuffer {
    KernelBuffer { name, dtype: ElementType::U32, written: false }
}

pub fn read(buffer: u32, index: Index) -> Load {
    Load::read(buffer, index)
}

pub fn store(buffer: u32, index: Index, node: NodeId) -> Output {
    Output::store(node, buffer, index)
}

/// `out[column k] = op_k(in[column 0], in[column 1], in[column 2])` for each of the given ops.
pub fn of_ops(ops: &[Op]) -> Kernel {
    let mut graph = Graph::new();
    let inputs: Vec<NodeId> = (0..3).map(|input| graph.input(InputId(input))).collect();
    let results: Vec<NodeId> = ops.iter().map(|op| graph.apply_raw(*op, &inputs[..op.arity()])).collect();
    Kernel {
        buffers: vec![reals("operands", false), reals("results", true)],
        loads: (0..3).map(|column| read(0, Index::column(column))).collect(),
        outputs: (0..).zip(results).map(|(column, node)| store(1, Index::column(column), node)).collect(),
        ..Kernel::new("operations", graph.check(3).expect("the graph is sound"))
    }
}

/// One node of literals alone, stored; for what constant expressions must not become.
pub fn of_literals(op: Op, operands: &[f64]) -> Kernel {
    let mut graph = Graph::new();
    let operands: Vec<NodeId> = operands.iter().map(|value| graph.literal(*value)).collect();
    let result = graph.apply_raw(op, &operands);
    Kernel {
        buffers: vec![reals("results", true)],
        loads: Vec::new(),
        outputs: vec![store(0, Index::column(0), result)],
        ..Kernel::new("literals", graph.check(0).expect("the graph is sound"))
    }
}

/// Energy (l - rest)²/2 of a spring between two points and its gradient by hand: the positions by way of the slots'
/// indices, the rest length per instance, the gradients side by side.
pub fn spring() -> Kernel {
    let mut g = Graph::new();
    let inputs: Vec<NodeId> = (0..7).map(|input| g.input(InputId(input))).collect();
    let half = g.literal(0.5);
    let differences: Vec<NodeId> = (0..3).map(|axis| g.apply_raw(Op::Sub, &[inputs[axis + 3], inputs[axis]])).collect();
    let squares: Vec<NodeId> = differences.iter().map(|d| g.apply_raw(Op::Mul, &[*d, *d])).collect();
    let sum = g.apply_raw(Op::Add, &[squares[0], squares[1]]);
    let sum = g.apply_raw(Op::Add, &[sum, squares[2]]);
    let length = g.apply_raw(Op::Norm, &[sum]);
    let stretch = g.apply_raw(Op::Sub, &[length, inputs[6]]);
    let square = g.apply_raw(Op::Mul, &[stretch, stretch]);
    let energy = g.apply_raw(Op::Mul, &[half, square]);
    let inverse = g.apply_raw(Op::InverseNorm, &[sum]);
    let factor = g.apply_raw(Op::Mul, &[stretch, inverse]);
    let ahead: Vec<NodeId> = differences.iter().map(|d| g.apply_raw(Op::Mul, &[factor, *d])).collect();
    let behind: Vec<NodeId> = ahead.iter().map(|d| g.apply_raw(Op::Neg, &[*d])).collect();
    let mut loads: Vec<Load> = (0..6).map(|input| read(0, Index::indexed(1, input / 3, input % 3))).collect();
    loads.push(read(2, Index::column(0)));
    Kernel {
        header: vec!["springs: 7,500 instances".to_owned(), "energy and its gradient by both ends".to_owned()],
        buffers: vec![reals("x", false), indices("slots"), reals("data", false), reals("local", true)],
        loads,
        outputs: (0..)
            .zip(behind.into_iter().chain(ahead))
            .map(|(column, node)| store(3, Index::column(column), node))
            .chain([Output::reduce(energy)])
            .collect(),
        ..Kernel::new("gradient", g.check(7).expect("the graph is sound"))
    }
}

/// A loss of two cases: squared, and Huber's with scale `a`.
pub fn loss() -> Rc<Function> {
    let mut squared = Graph::new();
    let s = squared.input(InputId(0));
    let one = squared.literal(1.0);

    let mut huber = Graph::new();
    let (t, a) = (huber.input(InputId(0)), huber.input(InputId(1)));
    let limit = huber.apply_raw(Op::Mul, &[a, a]);
    let inside = huber.apply_raw(Op::Le, &[t, limit]);
    let root = huber.apply_raw(Op::Sqrt, &[t]);
    let two = huber.literal(2.0);
    let unit = huber.literal(1.0);
    let product = huber.apply_raw(Op::Mul, &[a, root]);
    let doubled = huber.apply_raw(Op::Mul, &[two, product]);
    let outside = huber.apply_raw(Op::Sub, &[doubled, limit]);
    let slope = huber.apply_raw(Op::Div, &[a, root]);
    let value = huber.apply_raw(Op::Select, &[inside, t, outside]);
    let derivative = huber.apply_raw(Op::Select, &[inside, unit, slope]);

    Rc::new(Function {
        name: "loss",
        parameters: &["s", "a", "b"],
        results: 2,
        cases: vec![
            Case { name: "squared", graph: squared.check(3).expect("sound"), results: vec![s, one] },
            Case { name: "huber", graph: huber.check(3).expect("sound"), results: vec![value, derivative] },
        ],
    })
}

/// Cost w·ρ(r²)/2 of a residual r = x − y and its derivative, with the loss chosen by a uniform.
pub fn robust() -> Kernel {
    let mut g = Graph::new();
    let x = g.input(InputId(0));
    let y = g.input(InputId(1));
    let kind = g.input(InputId(2));
    let scale = g.input(InputId(3));
    let weight = g.input(InputId(4));
    let residual = g.apply_raw(Op::Sub, &[x, y]);
    let square = g.apply_raw(Op::Mul, &[residual, residual]);
    let zero = g.literal(0.0);
    let value = g.input(InputId(5));
    let slope = g.input(InputId(6));
    let half = g.literal(0.5);
    let half_weight = g.apply_raw(Op::Mul, &[half, weight]);
    let cost = g.apply_raw(Op::Mul, &[half_weight, value]);
    let weighted = g.apply_raw(Op::Mul, &[weight, slope]);
    let derivative = g.apply_raw(Op::Mul, &[weighted, residual]);
    Kernel {
        header: vec!["points: robust distance".to_owned()],
        buffers: vec![reals("x", false), reals("data", false), reals("settings", false), reals("local", true)],
        loads: vec![
            read(0, Index::interleaved(1, 0)),
            read(1, Index::column(0)),
            read(2, Index::literal(0)),
            read(2, Index::literal(1)),
            read(2, Index::literal(3)),
            Load::Call { call: 0, result: 0 },
            Load::Call { call: 0, result: 1 },
        ],
        calls: vec![Call { function: loss(), selector: kind, arguments: vec![square, scale, zero] }],
        outputs: vec![store(3, Index::column(0), derivative), Output::reduce(cost)],
        ..Kernel::new("cost", g.check(7).expect("the graph is sound"))
    }
}

/// A curve y = a·sin(b·t + c) against samples (t, y): residual and Jacobian, shared parameters at fixed places, samples as
/// data, and a uniform amplitude limit.
pub fn curve() -> Kernel {
    let mut g = Graph::new();
    let [a, b, c, t, y, limit] = [0, 1, 2, 3, 4, 5].map(|input| g.input(InputId(input)));
    let bounded = g.apply_raw(Op::Min, &[a, limit]);
    let turned = g.apply_raw(Op::Mul, &[b, t]);
    let angle = g.apply_raw(Op::Add, &[turned, c]);
    let sine = g.apply_raw(Op::Sin, &[angle]);
    let model = g.apply_raw(Op::Mul, &[bounded, sine]);
    let residual = g.apply_raw(Op::Sub, &[model, y]);
    let cosine = g.apply_raw(Op::Cos, &[angle]);
    let by_angle = g.apply_raw(Op::Mul, &[bounded, cosine]);
    let by_b = g.apply_raw(Op::Mul, &[by_angle, t]);
    let free = g.apply_raw(Op::Lt, &[a, limit]);
    let zero = g.literal(0.0);
    let by_a = g.apply_raw(Op::Select, &[free, sine, zero]);
    Kernel {
        header: vec!["curve: residual and partials by a, b, c".to_owned()],
        buffers: vec![
            reals("x", false),
            reals("data", false),
            reals("constants", false),
            reals("residuals", true),
            reals("jacobian_values", true),
        ],
        loads: vec![
            read(0, Index::literal(0)),
            read(0, Index::literal(1)),
            read(0, Index::literal(2)),
            read(1, Index::column(0)),
            read(1, Index::column(1)),
            read(2, Index::literal(0)),
        ],
        outputs: vec![
            store(3, Index::interleaved(1, 0), residual),
            store(4, Index::column(0), by_a),
            store(4, Index::column(1), by_b),
            store(4, Index::column(2), by_angle),
        ],
        ..Kernel::new("jacobian", g.check(6).expect("the graph is sound"))
    }
}

/// Every kind of place, read and written, one buffer both.
pub fn places() -> Kernel {
    let mut g = Graph::new();
    let inputs: Vec<NodeId> = (0..8).map(|input| g.input(InputId(input))).collect();
    let mut sum = inputs[0];
    for input in &inputs[1..] {
        sum = g.apply_raw(Op::Add, &[sum, *input]);
    }
    let infinite = g.literal(f64::INFINITY);
    let capped = g.apply_raw(Op::Min, &[sum, infinite]);
    Kernel {
        buffers: vec![reals("state", true), indices("slots"), reals("v0", false), indices("ranks")],
        loads: vec![
            read(0, Index::column(0)),
            read(0, Index::literal(0)),
            read(0, Index::interleaved(3, 2)),
            read(2, Index::indexed(1, 4, 0)),
            read(2, Index::indexed(3, 4, 0)),
            read(2, Index::indexed(1, 4, 5)),
            read(3, Index::column(1)),
            read(2, Index::column(7)),
        ],
        outputs: vec![
            store(0, Index::column(3), capped),
            store(0, Index::literal(9), sum),
            store(0, Index::interleaved(2, 1), sum),
            store(0, Index::indexed(1, 0, 2), sum),
            Output::reduce(sum),
        ],
        ..Kernel::new("places", g.check(8).expect("the graph is sound"))
    }
}
