//! The order in which kernels compute: sound whatever the graph, and with few values alive.

use crate::kernels;
use crate::recorder::{Recorder, params_model};
use residua::model::access_plan::{AccessPlan, Entry, Target};
use residua::model::{Class, Rows, Tape};
use residua_codegen::{CheckedKernel, Epilogue, Index, Kernel, Load, Output, Step};
use residua_ir::graph::{Node, NodeId, Op};

/// The nodes of a schedule.
fn computed(kernel: &CheckedKernel) -> Vec<NodeId> {
    let node = |step| match step {
        Step::Compute(node) => Some(node),
        Step::Write(_) => None,
    };
    kernel.steps().iter().copied().filter_map(node).collect()
}

/// The nodes in the order in which the graph was made.
fn as_made(kernel: &CheckedKernel) -> Vec<NodeId> {
    let mut order = computed(kernel);
    order.sort();
    order
}

/// The operations and arguments that a node needs, and whether it is computed.
fn needs(kernel: &CheckedKernel, node: NodeId) -> Option<Vec<NodeId>> {
    match kernel.graph.graph().node(node) {
        Node::Literal(_) => None,
        Node::Result(..) => Some(kernel.graph.graph().operands(node).to_vec()),
        Node::Apply(op, operands) => Some(operands[..op.arity()].to_vec()),
        Node::Input(input) => match &kernel.loads[input.0 as usize] {
            Load::Read(_) => None,
            Load::Call { call, .. } => {
                let call = &kernel.calls[*call as usize];
                Some(call.arguments.iter().copied().chain([call.selector]).collect())
            }
        },
    }
}

/// How many values are alive at once if the nodes are computed in this order: each input is read before its first use, each value
/// stays until its last, and until the end if its store waits for that.
fn peak(kernel: &CheckedKernel, order: &[NodeId]) -> usize {
    let graph = kernel.graph.graph();
    let operands = |node: NodeId| {
        let mut operands = needs(kernel, node).unwrap_or_default();
        operands.retain(|operand| graph.literal_value(*operand).is_none());
        operands.sort();
        operands.dedup();
        operands
    };
    let mut uses = vec![0; graph.len()];
    for operand in order.iter().flat_map(|node| operands(*node)) {
        uses[operand.index()] += 1;
    }
    let mut waits = vec![true; kernel.outputs.len()];
    for step in kernel.steps() {
        if let Step::Write(number) = step {
            waits[*number as usize] = false;
        }
    }
    for (output, _) in kernel.outputs.iter().zip(waits).filter(|(_, waits)| *waits) {
        uses[output.node.index()] += 1;
    }
    let mut alive: Vec<bool> = vec![false; graph.len()];
    let (mut count, mut peak) = (0, 0);
    for node in order {
        for operand in operands(*node) {
            count += usize::from(!std::mem::replace(&mut alive[operand.index()], true));
        }
        peak = peak.max(count);
        for operand in operands(*node) {
            uses[operand.index()] -= 1;
            count -= usize::from(uses[operand.index()] == 0);
        }
        // A result that is stored at once takes a register until it is.
        peak = peak.max(count + 1);
        alive[node.index()] = true;
        count += usize::from(uses[node.index()] > 0);
    }
    peak
}

fn assert_sound(kernel: &CheckedKernel, about: &str) {
    let mut done = vec![false; kernel.graph.graph().len()];
    let mut stored = vec![0; kernel.outputs.len()];
    let mut last = None;
    for step in kernel.steps() {
        match *step {
            Step::Compute(node) => {
                let needed = needs(kernel, node).unwrap();
                for operand in needed.into_iter().filter(|operand| needs(kernel, *operand).is_some()) {
                    assert!(done[operand.index()], "{about}: {node:?} before {operand:?}");
                }
                assert!(!std::mem::replace(&mut done[node.index()], true), "{about}: {node:?} twice");
                last = Some(node);
            }
            Step::Write(number) => {
                let output = &kernel.outputs[number as usize];
                assert_eq!(Some(output.node), last, "{about}: output {number} is the node just computed");
                assert!(matches!(output.epilogue, Epilogue::Store(_)), "{about}");
                stored[number as usize] += 1;
            }
        }
    }
    assert!(stored.iter().all(|times| *times <= 1), "{about}");
    for node in kernel.outputs.iter().map(|output| output.node) {
        assert!(needs(kernel, node).is_none() || done[node.index()], "{about}: {node:?} is missing");
    }
}

/// The class of a file of `tests/tapes`: a line an entry, then the constants and the outputs.
fn class(text: &str) -> Class {
    let (mut ops, mut operands, mut parameters) = (Vec::new(), [Vec::new(), Vec::new(), Vec::new()], 0);
    let (mut constants, mut outputs) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "constants" => constants = words[1..].iter().map(|word| word.parse().unwrap()).collect(),
            "outputs" => outputs = words[1..].iter().map(|word| word.parse().unwrap()).collect(),
            op => {
                ops.push(op.parse().unwrap());
                parameters += u32::from(op == "2");
                operands.iter_mut().zip(&words[1..]).for_each(|(column, word)| column.push(word.parse().unwrap()));
            }
        }
    }
    let tape = Tape::new(ops, operands, constants, outputs, parameters, 0).unwrap();
    let batches = params_model(tape, parameters).batches;
    assert_eq!(batches.len(), 1);
    Class::clone(&batches[0].class)
}

/// Σ (|pᵢ − pⱼ| − 1)² over all pairs of 20 points: 60 parameters, some 2,000 operations.
fn distances() -> Class {
    let mut r = Recorder::default();
    let points: Vec<[u32; 3]> = (0..20).map(|point| [0, 1, 2].map(|axis| r.parameter(3 * point + axis))).collect();
    let one = r.constant(1.0);
    let mut terms = Vec::new();
    for (number, a) in points.iter().enumerate() {
        for b in &points[..number] {
            let squares = [0, 1, 2].map(|axis| {
                let difference = r.apply(Op::Sub, &[a[axis], b[axis]]);
                r.apply(Op::Mul, &[difference, difference])
            });
            let sum = r.apply(Op::Add, &[squares[0], squares[1]]);
            let sum = r.apply(Op::Add, &[sum, squares[2]]);
            let distance = r.apply(Op::Norm, &[sum]);
            let stretch = r.apply(Op::Sub, &[distance, one]);
            terms.push(r.apply(Op::Mul, &[stretch, stretch]));
        }
    }
    let sum = terms.into_iter().reduce(|sum, term| r.apply(Op::Add, &[sum, term])).unwrap();
    // A sum alone would be taken apart.
    let whole = r.apply(Op::Abs, &[sum]);
    let batches = params_model(r.tape(vec![whole], 60, 0), 60).batches;
    let mut class = Class::clone(&batches[0].class);
    class.outputs = class.graph.graph().operands(class.outputs[0]).to_vec();
    class
}

fn kernel(class: &Class, entry: Entry, target: Target) -> CheckedKernel {
    AccessPlan::new(class, Rows::From(0), entry, target, "").unwrap().kernel
}

const STAR: &str = include_str!("../tapes/developable-12.txt");

#[test]
fn every_operation_that_is_needed_comes_once_and_after_its_operands() {
    for hand_made in [kernels::spring(), kernels::robust(), kernels::curve(), kernels::places()] {
        assert_sound(&hand_made.clone().check().unwrap(), &hand_made.name);
    }
    for (name, class) in [("star", class(STAR)), ("distances", distances())] {
        for entry in Entry::ALL {
            let of_gpu_alone = matches!(
                entry,
                Entry::Product | Entry::Jvp | Entry::SumDescent | Entry::CostDescent | Entry::SumLine | Entry::CostLine
            );
            let targets: &[Target] = if of_gpu_alone { &[Target::Gpu] } else { &[Target::Gpu, Target::Cpu] };
            for target in targets {
                assert_sound(&kernel(&class, entry, *target), &format!("{name} {target:?} {entry:?}"));
            }
        }
    }
}

#[test]
fn fewer_values_are_alive_than_in_the_order_in_which_the_graph_was_made() {
    let (star, distances) = (class(STAR), distances());
    // The largest part of the values of the made order. All coordinates of the star are read, 39 of 86 values, and what its faces keep for the
    // derivative, 18 values each, no order spares. A pair of points needs its six coordinates, so that the pairs one after the other need
    // the 60 coordinates of 108 values; their derivatives keep no pair's intermediate values beyond the pair.
    let cases = [
        ("star", &star, Entry::Values, 0.75),
        ("star", &star, Entry::SumGradient, 1.0),
        ("star", &star, Entry::CostGradient, 1.0),
        ("star", &star, Entry::Linearise, 1.0),
        ("distances", &distances, Entry::Values, 0.6),
        ("distances", &distances, Entry::SumGradient, 0.6),
        ("distances", &distances, Entry::Jacobian, 0.6),
    ];
    for (name, class, entry, part) in cases {
        let kernel = kernel(class, entry, Target::Cpu);
        let [before, after] = [as_made(&kernel), computed(&kernel)].map(|order| peak(&kernel, &order));
        assert!(
            after as f64 <= part * before as f64,
            "{name} {entry:?}: {after} values alive at once, {before} in the made order"
        );
    }
}

#[test]
fn the_peak_counts_what_is_read_computed_and_kept() {
    // When the stretch is computed: three differences, their squared length, the length, and the rest length, which has just been read.
    let spring = kernels::spring().check().unwrap();
    assert_eq!(peak(&spring, &computed(&spring)), 6);
    // One operand that is read and one result, which takes its place, and the next.
    let operations = kernels::of_ops(&[Op::Neg, Op::Abs]).check().unwrap();
    assert_eq!(peak(&operations, &computed(&operations)), 2);
}

#[test]
fn stores_that_something_could_see_wait_for_the_end() {
    let early = |kernel: &Kernel| {
        let kernel = kernel.clone().check().unwrap();
        kernel.steps().iter().filter(|step| matches!(step, Step::Write(_))).count()
    };
    let moved = |output: &Output, buffer, index| Output::store(output.node, buffer, index);
    let mut kernel = kernels::of_ops(&[Op::Neg, Op::Abs]);
    assert_eq!(early(&kernel), 2, "columns of their own, in a buffer that is only written");
    kernel.outputs[1] = moved(&kernel.outputs[1], 1, Index::column(0));
    assert_eq!(early(&kernel), 0, "both go to one place");
    kernel.outputs[1] = moved(&kernel.outputs[1], 1, Index::literal(7));
    assert_eq!(early(&kernel), 0, "what kinds of place they are cannot be compared");

    let mut in_place = kernels::of_ops(&[Op::Neg, Op::Abs]);
    in_place.buffers[0].written = true;
    for (column, output) in (0..).zip(&mut in_place.outputs) {
        *output = moved(output, 0, Index::column(column));
    }
    assert_eq!(early(&in_place), 0, "columns that are read");
    for (column, output) in (3..).zip(&mut in_place.outputs) {
        *output = moved(output, 0, Index::column(column));
    }
    assert_eq!(early(&in_place), 2, "columns beside those that are read");

    let mut adding = kernels::of_ops(&[Op::Neg]);
    adding.outputs[0] = Output::accumulate(adding.outputs[0].node, 1, Index::column(0));
    assert_eq!(early(&adding), 0, "instances add in their order");
}
