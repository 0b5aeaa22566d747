//! Long kernels, which are several functions.

use super::machine::{Contents, assert_same, indices, real, run_compiled, run_interpreted, same};
use super::{function, functions};
use crate::wasm::module;
use crate::{Call, CheckedKernel, Index, InstanceRange, Instances, Kernel, Load, Output};
use residua_ir::graph::{Graph, InputId, Node, NodeId, Op};
use residua_portable::Random;
use std::rc::Rc;

/// The bytes of the functions of a kernel.
fn sizes(kernel: &CheckedKernel) -> Vec<usize> {
    functions(&module(std::slice::from_ref(kernel), 0).unwrap()).into_iter().map(|(_, bytes)| bytes).collect()
}

/// Operations on recent results and, now and then, on old ones, with a call whose first case may have nothing to do; each third result is stored, and the
/// last is the total. With the number of stores.
fn long_kernel(idle: bool) -> (CheckedKernel, usize) {
    const DIM: usize = 12_000;
    let (random, mut graph) = (&mut Random(5), Graph::new());
    let mut nodes: Vec<NodeId> = (0..4).map(|number| graph.input(InputId(number))).collect();
    let ops = [Op::Add, Op::Sub, Op::Mul, Op::Neg, Op::Min, Op::Abs, Op::Sin, Op::Exp, Op::Round, Op::Select];
    let selector = graph.input(InputId(4));
    let mut calls = Vec::new();
    while nodes.len() < DIM {
        if calls.is_empty() && nodes.len() >= DIM / 2 {
            let arguments = nodes[nodes.len() - 2..].to_vec();
            calls.push(Call { function: Rc::new(function(idle)), selector, arguments });
            nodes.extend([5, 6].map(|input| graph.input(InputId(input))));
        }
        let op = ops[random.below(ops.len())];
        let operands = [(); 3].map(|()| match random.below(50) {
            0 => nodes[random.below(nodes.len())],
            _ => nodes[nodes.len() - 1 - random.below(nodes.len().min(9))],
        });
        let result = graph.apply_raw(op, &operands[..op.arity()]);
        // Large numbers would soon be infinite.
        nodes.push(graph.apply_raw(Op::Sin, &[result]));
    }
    let is_computed = |node: &&NodeId| matches!(graph.node(**node), Node::Apply(..));
    let stores = nodes.iter().filter(is_computed).step_by(3);
    let outputs = (0..).zip(stores).map(|(column, node)| Output::store(*node, 1, Index::column(column)));
    let outputs: Vec<Output> = outputs.chain([Output::reduce(*nodes.last().unwrap())]).collect();
    let stored = outputs.len() - 1;
    let kernel = Kernel {
        buffers: vec![real("data", false), real("values", true)],
        loads: (0..5)
            .map(|column| Load::read(0, Index::column(column)))
            .chain([0, 1].map(|result| Load::Call { call: 0, result }))
            .collect(),
        calls,
        outputs,
        instances: Instances::One,
        ..Kernel::new("long", graph.check(7).unwrap())
    };
    (kernel.check().unwrap(), stored)
}

#[test]
fn a_kernel_of_many_thousand_operations_is_several_functions_and_computes_the_same() {
    for idle in [false, true] {
        let (kernel, stored) = long_kernel(idle);
        let sizes = sizes(&kernel);
        // Some milliseconds of an engine each.
        assert!(sizes.len() > 3 && sizes.iter().all(|size| *size < 100_000), "{sizes:?}");
        for (selector, instances) in [(0.0, 0..0), (0.0, 0..1), (1.0, 0..1)] {
            let buffers = [Contents::Reals(vec![0.3, -0.7, 1.1, 0.2, selector]), Contents::Reals(vec![7.0; stored])];
            let (mut compiled, mut interpreted) = (buffers.clone(), buffers.clone());
            let range = InstanceRange { instances: instances.clone(), stride: 1, first: 0, origin: 0 };
            let total = run_compiled(&kernel, &mut compiled, &range).unwrap();
            let expected = run_interpreted(&kernel, &mut interpreted, &range).unwrap();
            let about = format!("idle: {idle}, selector {selector}, {instances:?}");
            assert!(same(total, expected) && total.is_finite(), "{about}: {total} and {expected}");
            assert_same(&compiled, &interpreted, &about);
            assert_eq!(instances.is_empty(), compiled == buffers, "{about}");
        }
    }
}

#[test]
fn numbers_wait_for_late_stores_across_functions() {
    // Squares that go to places of their own, one after another in reverse, and their sum.
    const DIM: u32 = 8_500;
    let mut graph = Graph::new();
    let inputs: Vec<NodeId> = (0..DIM).map(|number| graph.input(InputId(number))).collect();
    let squares: Vec<NodeId> = inputs.iter().map(|&x| graph.apply_raw(Op::Mul, &[x, x])).collect();
    let mut sum = squares[0];
    for square in &squares[1..] {
        sum = graph.apply_raw(Op::Add, &[sum, *square]);
    }
    let stores = (0..).zip(&squares).map(|(column, node)| Output::store(*node, 2, Index::indexed(1, column, 0)));
    let kernel = Kernel {
        buffers: vec![real("data", false), indices("places"), real("values", true)],
        loads: (0..DIM).map(|column| Load::read(0, Index::column(column))).collect(),
        outputs: stores.chain([Output::reduce(sum)]).collect(),
        instances: Instances::One,
        ..Kernel::new("scattered", graph.check(DIM).unwrap())
    };
    let kernel = kernel.check().unwrap();
    assert!(sizes(&kernel).len() > 3);
    for (last, traps) in [(DIM - 1, false), (DIM, true), (u32::MAX, true)] {
        let mut compiled = [
            Contents::Reals((0..DIM).map(f64::from).collect()),
            Contents::Indices((0..DIM).rev().map(|place| if place == DIM - 1 { last } else { place }).collect()),
            Contents::Reals(vec![0.0; DIM as usize]),
        ];
        let of_one = InstanceRange { instances: 0..1, stride: 1, first: 0, origin: 0 };
        let total = run_compiled(&kernel, &mut compiled, &of_one);
        assert_eq!(total.is_err(), traps, "{last}");
        if !traps {
            let squares: Vec<f64> = (0..DIM).map(|x| f64::from(x).powi(2)).collect();
            // Whole numbers below 2⁵³ add up without rounding.
            assert_eq!(total, Ok(squares.iter().sum()));
            assert_eq!(compiled[2], Contents::Reals(squares.into_iter().rev().collect()));
        }
    }
}

#[test]
fn a_long_kernel_of_several_instances_has_few_locals_and_computes_the_same() {
    // Steps v ← vd + x, and back t ← td + v, for which every v waits.
    const STEPS: usize = 4_500;
    let mut graph = Graph::new();
    let [x, d] = [0, 1].map(|input| graph.input(InputId(input)));
    let mut step = |of: NodeId, and: NodeId| {
        let product = graph.apply_raw(Op::Mul, &[of, d]);
        graph.apply_raw(Op::Add, &[product, and])
    };
    let mut passed = vec![x];
    for number in 0..STEPS {
        passed.push(step(passed[number], x));
    }
    let last = passed.iter().rev().fold(d, |last, &v| step(last, v));
    let outputs = vec![
        Output::store(last, 3, Index::column(1)),
        Output::accumulate(last, 4, Index::indexed(1, 0, 0)),
        Output::accumulate(passed[7], 4, Index::indexed(1, 0, 1)),
        Output::accumulate(last, 5, Index::literal(1)),
        Output::reduce(last),
    ];
    let kernel = Kernel {
        buffers: vec![
            real("parameters", false),
            indices("blocks"),
            real("data", false),
            real("values", true),
            real("gradient", true),
            real("sums", true),
        ],
        loads: vec![Load::read(0, Index::indexed(1, 0, 0)), Load::read(2, Index::column(0))],
        outputs,
        ..Kernel::new("steps", graph.check(2).unwrap())
    };
    let buffers = [
        Contents::Reals(vec![0.3, 0.5, -0.7, 0.2]),
        Contents::Indices((0..11).map(|instance| instance % 3).collect()),
        Contents::Reals((0..11).map(|instance| 1.0 - 0.1 * f64::from(instance)).collect()),
        Contents::Reals(vec![7.0; 22]),
        Contents::Reals(vec![0.1; 4]),
        Contents::Reals(vec![0.1; 2]),
    ];
    for number in [Instances::Few, Instances::Many, Instances::One] {
        let kernel = Kernel { instances: number, ..kernel.clone() }.check().unwrap();
        let most =
            functions(&module(std::slice::from_ref(&kernel), 0).unwrap()).into_iter().map(|(locals, _)| locals).max();
        assert!(most < Some(200), "{most:?}");
        for instances in [0..0, 2..3, 0..2, 4..7, 0..11, 1..11] {
            if number == Instances::One && instances.len() > 1 {
                continue;
            }
            let dispatch = InstanceRange { instances: instances.clone(), stride: 11, first: 0, origin: 0 };
            let (mut compiled, mut interpreted) = (buffers.clone(), buffers.clone());
            // Twice, so that nothing of the first call is left in the second.
            for _ in 0..2 {
                let total = run_compiled(&kernel, &mut compiled, &dispatch).unwrap();
                let expected = run_interpreted(&kernel, &mut interpreted, &dispatch).unwrap();
                assert!(same(total, expected), "{instances:?}: {total}, not {expected}");
            }
            assert_same(&compiled, &interpreted, &format!("{number:?} {instances:?}"));
        }
    }
}
