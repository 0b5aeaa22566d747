//! Generated modules run by an interpreter of WebAssembly, against [`interpret`](crate::interpret).

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::ops::Range;
use std::rc::Rc;

use self::machine::{Contents, assert_same, indices, real, run_compiled, run_interpreted, same};
use super::module;
use crate::{Call, Case, CheckedKernel, Function, Index, InstanceRange, Instances, Kernel, KernelBuffer, Load, Output};
use residua_ir::graph::{CheckedGraph, Graph, InputId, NodeId, Op, exponential};
use residua_portable::Random;

mod lookups;
mod loops;
mod machine;
mod parts;
mod random_kernels;

fn kernel(graph: CheckedGraph, buffers: Vec<KernelBuffer>, loads: Vec<Load>, outputs: Vec<Output>) -> CheckedKernel {
    Kernel { buffers, loads, outputs, ..Kernel::new("test", graph) }.check().unwrap()
}

#[test]
fn every_op_computes_what_the_reference_does() {
    const SPECIAL: [f64; 14] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.5,
        0.49999999999999994,
        4503599627370497.0,
        1e300,
        -1e-310,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let mut random = Random(1);
    for op in Op::ALL {
        let arity = op.arity();
        let mut points: Vec<Vec<f64>> =
            (0..101).map(|_| op.domain().iter().map(|domain| random.between(*domain)).collect()).collect();
        for number in 0..SPECIAL.len().pow(arity as u32) {
            let digit = |place: usize| SPECIAL[number / SPECIAL.len().pow(place as u32) % SPECIAL.len()];
            points.push((0..arity).map(digit).collect());
        }
        if arity == 1 {
            // From where exponentials vanish to where they are infinite.
            points.extend((-760..720).map(|k| vec![0.99 * f64::from(k)]));
        }

        let mut graph = Graph::new();
        let operands: Vec<NodeId> = (0..arity).map(|operand| graph.input(InputId(operand as u32))).collect();
        let node = graph.apply_raw(*op, &operands);
        let loads = (0..arity as u32).map(|column| Load::read(0, Index::column(column))).collect();
        let store = Output::store(node, 1, Index::column(0));
        let buffers = vec![real("operands", false), real("results", true)];
        let kernel = kernel(graph.check(arity as u32).unwrap(), buffers, loads, vec![store]);

        let columns = (0..arity).flat_map(|operand| points.iter().map(move |point| point[operand])).collect();
        let count = points.len() as u32;
        let dispatch = InstanceRange { instances: 0..count, stride: count, first: 0, origin: 0 };
        let mut compiled = [Contents::Reals(columns), Contents::Reals(vec![7.0; points.len()])];
        run_compiled(&kernel, &mut compiled, &dispatch).unwrap();
        let Contents::Reals(results) = &compiled[1] else { unreachable!() };
        for (point, result) in points.iter().zip(results) {
            let expected = residua_ir::graph::evaluate(*op, point);
            let bits_agree = expected.is_nan() || result.to_bits() == expected.to_bits();
            assert!(same(*result, expected) && bits_agree, "{}{point:?} is {result}, not {expected}", op.name());
        }
    }
}

#[test]
fn exponentials_of_negatives_are_the_references_to_the_last_bit() {
    let mut numbers: Vec<f64> = (-720..760).map(|k| 0.99 * f64::from(k)).collect();
    numbers.extend([0.0, -0.0, 1e-17, 746.0, -709.782712893384, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    let mut graph = Graph::new();
    let a = graph.input(InputId(0));
    let negative = graph.apply_raw(Op::Neg, &[a]);
    let node = graph.apply_raw(Op::Exp, &[negative]);
    let loads = vec![Load::read(0, Index::column(0))];
    let store = Output::store(node, 1, Index::column(0));
    let kernel = kernel(graph.check(1).unwrap(), vec![real("a", false), real("results", true)], loads, vec![store]);
    let count = numbers.len() as u32;
    let mut buffers = [Contents::Reals(numbers.clone()), Contents::Reals(vec![7.0; numbers.len()])];
    run_compiled(&kernel, &mut buffers, &InstanceRange { instances: 0..count, stride: count, first: 0, origin: 0 })
        .unwrap();
    let Contents::Reals(results) = &buffers[1] else { unreachable!() };
    for (a, result) in numbers.iter().zip(results) {
        let expected = exponential::exp(-a);
        assert!(
            result.to_bits() == expected.to_bits() || a.is_nan() && result.is_nan(),
            "e^-{a} is {expected}, not {result}"
        );
    }
}

/// Two cases of two results, with an imported function in the second. The first may have nothing to do.
fn function(idle: bool) -> Function {
    let case = |name, swapped: bool| {
        let mut graph = Graph::new();
        let [a, b] = [0, 1].map(|input| graph.input(InputId(input)));
        let product = graph.apply_raw(Op::Mul, &[a, b]);
        let angle = graph.apply_raw(Op::Sin, &[product]);
        let results = match (swapped, idle) {
            (true, _) => vec![angle, a],
            (false, false) => vec![b, product],
            (false, true) => vec![b, graph.literal(0.5)],
        };
        Case { name, graph: graph.check(2).unwrap(), results }
    };
    Function { name: "f", parameters: &["a", "b"], results: 2, cases: vec![case("first", false), case("second", true)] }
}

/// A kernel of many random operations whose inputs and outputs use every kind of place, with a call and a total; and
/// buffers for it. All instances may share columns of indices; where none is, it reads what it writes, so that rounds are not interleaved.
fn random_kernel(
    random: &mut Random,
    operations: usize,
    all: u32,
    first: u32,
    shared: &[u32],
) -> (CheckedKernel, Vec<Contents>) {
    const BLOCKS: u32 = 5;
    let parameter = |column, component| Index::indexed(3, column, component);
    let loads = vec![
        Load::read(0, parameter(0, 0)),
        Load::read(0, parameter(0, 2)),
        Load::read(0, parameter(1, 1)),
        Load::read(1, Index::column(0)),
        Load::read(1, Index::column(3)),
        Load::read(2, Index::literal(1)),
        Load::read(4, Index::interleaved(3, 2)),
        Load::read(4, Index::interleaved(1, 1)),
        Load::read(2, Index::literal(0)),
        Load::Call { call: 0, result: 0 },
        Load::Call { call: 0, result: 1 },
        // One that may be read from where the kernel also writes.
        match shared {
            [] => Load::read(7, Index::column(1)),
            _ => Load::read(1, Index::column(2)),
        },
        // Beside others in memory.
        Load::read(0, parameter(0, 1)),
        Load::read(0, parameter(1, 0)),
        // Indices as numbers: of an instance, and of all.
        Load::read(3, Index::column(1)),
        Load::read(3, Index::literal(2)),
    ];
    let mut graph = Graph::new();
    let mut nodes: Vec<NodeId> = (0..8).map(|input| graph.input(InputId(input))).collect();
    nodes.extend([11, 12, 13, 14, 15].map(|input| graph.input(InputId(input))));
    nodes.push(graph.literal(0.75));
    let selector = graph.input(InputId(8));
    let mut calls = vec![];
    for operation in 0..operations {
        if operation == operations / 2 {
            let arguments = vec![nodes[random.below(nodes.len())], nodes[random.below(nodes.len())]];
            calls.push(Call { function: Rc::new(function(random.below(2) == 0)), selector, arguments });
            nodes.extend([9, 10].map(|input| graph.input(InputId(input))));
        }
        let op = Op::ALL[random.below(Op::ALL.len())];
        let operands: Vec<NodeId> = (0..op.arity()).map(|_| nodes[random.below(nodes.len())]).collect();
        nodes.push(graph.apply_raw(op, &operands));
    }
    let mut any = || nodes[nodes.len() - 1 - random.below(nodes.len() / 2)];
    let mut store = |buffer, index, accumulate| {
        let written = if accumulate { Output::accumulate } else { Output::store };
        written(any(), buffer, index)
    };
    let mut outputs = vec![
        store(5, Index::interleaved(2, 0), false),
        store(5, Index::interleaved(2, 1), false),
        store(6, parameter(0, 0), true),
        store(6, parameter(0, 1), true),
        store(6, parameter(0, 2), true),
        store(6, parameter(1, 2), true),
        store(6, parameter(1, 1), true),
        store(7, Index::column(0), false),
        store(7, Index::column(1), false),
        store(8, Index::literal(2), true),
        store(8, Index::literal(0), false),
        store(8, parameter(1, 3), false),
        store(10, parameter(1, 0), false),
        store(10, parameter(1, 1), false),
        store(9, Index::column(1), false),
        store(9, Index::column(0), false),
    ];
    outputs.push(Output::reduce(any()));
    let mut kernel = Kernel {
        buffers: vec![
            real("parameters", false),
            real("data", false),
            real("uniforms", false),
            indices("blocks"),
            real("seeds", false),
            real("values", true),
            real("gradient", true),
            real("state", true),
            real("sums", true),
            real("partials", true),
            real("entries", true),
        ],
        loads,
        calls,
        outputs,
        ..Kernel::new("random", graph.check(16).unwrap())
    };
    kernel.share_columns(&|buffer, column| buffer == 3 && shared.contains(&column));

    let mut reals = |count: u32| Contents::Reals((0..count).map(|_| random.between((-2.0, 2.0))).collect());
    let mut buffers = vec![
        reals(3 * BLOCKS),
        reals(4 * all),
        reals(2),
        Contents::Indices(vec![]),
        reals(first + 3 * all),
        reals(first + 2 * all),
        reals(3 * BLOCKS),
        reals(2 * all),
        reals(3 * BLOCKS + 1),
        reals(2 * all),
        reals(3 * BLOCKS),
    ];
    // Few blocks for many instances, so that neighbours collide.
    let mut blocks: Vec<u32> = (0..2 * all).map(|_| 3 * random.below(BLOCKS as usize) as u32).collect();
    for column in shared {
        let start = (column * all) as usize;
        let same = blocks[start];
        blocks[start..start + all as usize].fill(same);
    }
    buffers[3] = Contents::Indices(blocks);
    if let Contents::Reals(uniforms) = &mut buffers[2] {
        uniforms[0] = random.below(4) as f64 - 1.0;
    }
    (kernel.check().unwrap(), buffers)
}

#[test]
fn whole_kernels_do_what_their_interpretation_does() {
    let mut random = Random(2);
    let (mut finite, mut written) = (0, 0);
    let ranges = [0..7, 0..8, 0..1, 0..0, 1..8, 2..7, 3..3, 7..8, 0..40, 1..40, 3..38];
    for (round, instances) in ranges.into_iter().cycle().take(160).enumerate() {
        let shared = [&[][..], &[0], &[1], &[0, 1]][round % 4];
        let (kernel, buffers) = random_kernel(&mut random, 5 + round / 2, 40, 3, shared);
        let origin = [0, instances.start][round / 11 % 2];
        let dispatch = InstanceRange { instances: instances.clone(), stride: 40, first: 3, origin };
        let (mut compiled, mut interpreted) = (buffers.clone(), buffers.clone());
        let total = run_compiled(&kernel, &mut compiled, &dispatch).unwrap();
        let expected = run_interpreted(&kernel, &mut interpreted, &dispatch).unwrap();
        let about = format!("round {round}, instances {instances:?}");
        assert!(same(total, expected), "{about}: total {total} compiled, {expected} interpreted");
        assert_same(&compiled, &interpreted, &about);
        for (before, after) in buffers.iter().zip(&compiled) {
            if let (Contents::Reals(before), Contents::Reals(after)) = (before, after) {
                let changed = before.iter().zip(after).filter(|(before, after)| before != after);
                written += changed.clone().count();
                finite += changed.filter(|(_, after)| after.is_finite()).count();
            }
        }
    }
    assert!(2 * finite > written && written > 1000, "{finite} of {written} numbers are finite: too few to tell much");
}

#[test]
fn code_for_few_instances_is_shorter_and_computes_the_same() {
    // Rounds of this kernel alternate, whose code for few instances is left out.
    let (many, buffers) = random_kernel(&mut Random(5), 12, 40, 3, &[0, 1]);
    let few = Kernel { instances: Instances::Few, ..many.clone().into_kernel() }.check().unwrap();
    let bytes = |kernel: &CheckedKernel| module(std::slice::from_ref(kernel), 0).unwrap().len();
    assert!(3 * bytes(&few) < 2 * bytes(&many), "{} and {} bytes", bytes(&few), bytes(&many));
    for instances in [0..0, 0..1, 3..38, 0..40] {
        let dispatch = InstanceRange { instances: instances.clone(), stride: 40, first: 3, origin: 0 };
        let (mut one, mut other) = (buffers.clone(), buffers.clone());
        let totals =
            [(&few, &mut one), (&many, &mut other)].map(|(kernel, buffers)| run_compiled(kernel, buffers, &dispatch));
        assert!(same(totals[0].clone().unwrap(), totals[1].clone().unwrap()), "{instances:?}: {totals:?}");
        assert_same(&one, &other, &format!("{instances:?}"));
    }
}

#[test]
fn code_for_one_instance_has_no_pairs_and_takes_no_more() {
    let (few, buffers) = random_kernel(&mut Random(4), 12, 40, 3, &[0, 1]);
    let [few, one] = [Instances::Few, Instances::One]
        .map(|instances| Kernel { instances, ..few.clone().into_kernel() }.check().unwrap());
    let bytes = |kernel: &CheckedKernel| module(std::slice::from_ref(kernel), 0).unwrap().len();
    assert!(4 * bytes(&one) < 3 * bytes(&few), "{} and {} bytes", bytes(&one), bytes(&few));
    let dispatch = |instances| InstanceRange { instances, stride: 40, first: 3, origin: 0 };
    for instances in [0..0, 5..6] {
        let (mut ours, mut other) = (buffers.clone(), buffers.clone());
        let totals = [(&one, &mut ours), (&few, &mut other)]
            .map(|(kernel, buffers)| run_compiled(kernel, buffers, &dispatch(instances.clone())).unwrap());
        assert!(same(totals[0], totals[1]), "{instances:?}: {totals:?}");
        assert_same(&ours, &other, &format!("{instances:?}"));
    }
    let refused = dispatch(0..2).check(&one, &[]).unwrap_err();
    assert!(refused.message.contains("2 instances of a kernel for one"), "{}", refused.message);
}

#[test]
fn thousands_of_operations_make_one_kernel() {
    let of = [Instances::Few, Instances::One];
    let shared = [&[][..], &[0], &[0, 1]];
    let few = of.into_iter().flat_map(|instances| shared.map(|shared| (instances, shared)));
    for (instances, shared) in few.chain([(Instances::Many, &[][..])]) {
        let (kernel, buffers) = random_kernel(&mut Random(3), 8000, 3, 0, shared);
        let kernel = Kernel { instances, ..kernel.into_kernel() }.check().unwrap();
        let end = if instances == Instances::One { 1 } else { 3 };
        let dispatch = InstanceRange { instances: 0..end, stride: 3, first: 0, origin: 0 };
        let (mut compiled, mut interpreted) = (buffers.clone(), buffers);
        run_compiled(&kernel, &mut compiled, &dispatch).unwrap();
        run_interpreted(&kernel, &mut interpreted, &dispatch).unwrap();
        assert_same(&compiled, &interpreted, "8,000 operations");
    }
}

/// The locals of each function of a module, and its bytes.
fn functions(module: &[u8]) -> Vec<(u32, usize)> {
    fn number(bytes: &mut &[u8]) -> u32 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            number |= u32::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return number;
            }
        }
    }
    let mut rest = &module[8..];
    let mut counts = Vec::new();
    while let [section, bytes @ ..] = rest {
        rest = bytes;
        let length = number(&mut rest) as usize;
        let mut bytes = &rest[..length];
        rest = &rest[length..];
        // The section of code.
        if *section == 10 {
            for _ in 0..number(&mut bytes) {
                let length = number(&mut bytes) as usize;
                let mut body = &bytes[..length];
                bytes = &bytes[length..];
                let groups = number(&mut body);
                let mut count = 0;
                for _ in 0..groups {
                    count += number(&mut body);
                    body = &body[1..];
                }
                counts.push((count, length));
            }
        }
    }
    counts
}

#[test]
fn a_wide_block_of_one_instance_has_fewer_locals_than_engines_take() {
    // A residual for each of as many parameters as a block has at most: xᵢ² − dᵢ.
    const DIM: u32 = 6_500;
    let mut graph = Graph::new();
    let nodes: Vec<NodeId> = (0..DIM)
        .map(|number| {
            let [x, d] = [number, DIM + number].map(|input| graph.input(InputId(input)));
            let square = graph.apply_raw(Op::Mul, &[x, x]);
            graph.apply_raw(Op::Sub, &[square, d])
        })
        .collect();
    let parameters = (0..DIM).map(|component| Load::read(0, Index::indexed(1, 0, component)));
    let data = (0..DIM).map(|column| Load::read(2, Index::column(column)));
    let buffers = vec![real("parameters", false), indices("blocks"), real("data", false), real("values", true)];
    let outputs = (0..).zip(&nodes).map(|(column, node)| Output::store(*node, 3, Index::column(column))).collect();
    let mut kernel = Kernel {
        buffers,
        loads: parameters.chain(data).collect(),
        outputs,
        instances: Instances::Few,
        ..Kernel::new("wide", graph.check(2 * DIM).unwrap())
    };
    kernel.share_columns(&|_, _| true);
    let kernel = kernel.check().unwrap();
    let most =
        functions(&module(std::slice::from_ref(&kernel), 0).unwrap()).into_iter().map(|(locals, _)| locals).max();
    // V8 refuses more than 50,000, and takes seconds for half of them.
    assert!(most < Some(1_000), "{most:?}");
    let mut compiled = [
        Contents::Reals((0..DIM).map(f64::from).collect()),
        Contents::Indices(vec![0]),
        Contents::Reals(vec![0.5; DIM as usize]),
        Contents::Reals(vec![7.0; DIM as usize]),
    ];
    run_compiled(&kernel, &mut compiled, &InstanceRange { instances: 0..1, stride: 1, first: 0, origin: 0 }).unwrap();
    let expected = (0..DIM).map(|x| f64::from(x).powi(2) - 0.5).collect();
    assert_eq!(compiled[3], Contents::Reals(expected));
}

#[test]
fn a_long_kernel_checks_its_indices_without_branches() {
    // Squares that go to places of their own, one after another in reverse.
    const DIM: u32 = 2_500;
    let mut graph = Graph::new();
    let inputs: Vec<NodeId> = (0..DIM).map(|number| graph.input(InputId(number))).collect();
    let squares: Vec<NodeId> = inputs.iter().map(|&x| graph.apply_raw(Op::Mul, &[x, x])).collect();
    let stores = (0..).zip(&squares).map(|(column, node)| Output::store(*node, 2, Index::indexed(1, column, 0)));
    let kernel = Kernel {
        buffers: vec![real("data", false), indices("places"), real("values", true)],
        loads: (0..DIM).map(|column| Load::read(0, Index::column(column))).collect(),
        outputs: stores.collect(),
        instances: Instances::Few,
        ..Kernel::new("scattered", graph.check(DIM).unwrap())
    };
    let kernel = kernel.check().unwrap();
    // An `if` around an `unreachable`: compilers look at every local there, and some thousand numbers wait in locals.
    let bytes = module(std::slice::from_ref(&kernel), 0).unwrap();
    let branches = bytes.windows(4).filter(|code| *code == [0x04, 0x40, 0x00, 0x0b]).count();
    assert!(branches < 10, "{branches}");
    for (last, traps) in [(DIM - 1, false), (DIM, true), (u32::MAX, true)] {
        let mut compiled = [
            Contents::Reals((0..DIM).map(f64::from).collect()),
            Contents::Indices((0..DIM).rev().map(|place| if place == DIM - 1 { last } else { place }).collect()),
            Contents::Reals(vec![0.0; DIM as usize]),
        ];
        let range = InstanceRange { instances: 0..1, stride: 1, first: 0, origin: 0 };
        assert_eq!(run_compiled(&kernel, &mut compiled, &range).is_err(), traps, "{last}");
        if !traps {
            let expected = (0..DIM).rev().map(|x| f64::from(x).powi(2)).collect();
            assert_eq!(compiled[2], Contents::Reals(expected));
        }
    }
}

/// x₀ read by index, and stored.
fn gather() -> CheckedKernel {
    let mut graph = Graph::new();
    let node = graph.input(InputId(0));
    let index = Index::indexed(1, 0, 2);
    let store = Output::store(node, 2, Index::column(0));
    let buffers = vec![real("parameters", false), indices("blocks"), real("values", true)];
    kernel(graph.check(1).unwrap(), buffers, vec![Load::read(0, index)], vec![store])
}

#[test]
fn an_index_beyond_its_buffer_stops_the_kernel() {
    let run = |blocks: [u32; 3], instances: Range<u32>| {
        let mut buffers =
            [Contents::Reals(vec![1.0; 6]), Contents::Indices(blocks.into()), Contents::Reals(vec![0.0; 3])];
        run_compiled(&gather(), &mut buffers, &InstanceRange { instances, stride: 3, first: 0, origin: 0 })
    };
    assert_eq!(run([0, 3, 3], 0..3), Ok(0.0));
    for blocks in [[4, 0, 0], [0, 4, 0], [0, 0, 4], [0, 0, u32::MAX], [u32::MAX - 1, 0, 0]] {
        let trap = run(blocks, 0..3).unwrap_err();
        assert!(trap.contains("unreachable"), "{blocks:?}: {trap}");
    }
    assert_eq!(run([0, 0, 4], 0..2), Ok(0.0), "an index that no instance reads is nobody's concern");
}
