//! Generated WGSL against the reference evaluation, on random graphs of ops that are exact on small integers.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::interpreter::run;
use crate::kernels;
use crate::random::{Application, applications, cases};
use residua_codegen::wgsl::{self, Dispatch};
use residua_codegen::{Index as Place, Kernel};
use residua_ir::graph::{CheckedGraph, Graph, InputId, NodeId, Op};

const INPUTS: u32 = 3;

/// Ops whose results are exact in f32 where their operands and results are integers of at most 24 bits. Divisions are not.
const EXACT: &[Op] = &[
    Op::Neg,
    Op::Abs,
    Op::Sign,
    Op::Floor,
    Op::Ceil,
    Op::Round,
    Op::StopGradient,
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::Min,
    Op::Max,
    Op::Eq,
    Op::Ne,
    Op::Lt,
    Op::Le,
    Op::Gt,
    Op::Ge,
    Op::GuardedMul,
    Op::Select,
];

/// A graph of some applications, with or without the simplifier's rules, and the nodes of the applications.
fn graph_of(applications: &[Application], simplifies: bool) -> (CheckedGraph, Vec<NodeId>) {
    let mut graph = Graph::new();
    let mut nodes: Vec<NodeId> = (0..INPUTS).map(|input| graph.input(InputId(input))).collect();
    nodes.extend([0.0, 1.0, -2.0].map(|value| graph.literal(value)));
    for Application { op, operands } in applications {
        let operands: Vec<NodeId> = operands[..op.arity()].iter().map(|index| *index.get(&nodes)).collect();
        nodes.push(if simplifies { graph.apply(*op, &operands) } else { graph.apply_raw(*op, &operands) });
    }
    (graph.check(INPUTS).unwrap(), nodes)
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn generated_wgsl_computes_what_the_reference_does(
        applications in applications(EXACT, 24),
        simplifies: bool,
        points in vec(-5..6_i8, 3 * 5),
    ) {
        let (graph, nodes) = graph_of(&applications, simplifies);
        let count = points.len() / 3;
        let point = |instance: usize| -> Vec<f64> { (0..3).map(|column| f64::from(points[column * count + instance])).collect() };
        let expected: Vec<Vec<f64>> = (0..count).map(|instance| graph.evaluate(&point(instance))).collect();
        // Products of products grow beyond what f32 holds.
        prop_assume!(expected.iter().flatten().all(|value| value.abs() <= f64::from(1 << 24)));
        let kernel = Kernel {
            buffers: vec![kernels::reals("operands", false), kernels::reals("results", true)],
            loads: (0..INPUTS).map(|column| kernels::read(0, Place::column(column))).collect(),
            outputs: (0..).zip(&nodes).map(|(column, node)| kernels::store(1, Place::column(column), *node)).collect(),
            ..Kernel::new("random", graph)
        };
        let kernel = kernel.check().unwrap();
        let mut buffers =
            vec![points.iter().map(|number| f32::from(*number).to_bits()).collect(), vec![f32::NAN.to_bits(); nodes.len() * count]];
        if wgsl::reads_zero(&kernel) {
            buffers.push(vec![0]);
        }
        buffers.push(Dispatch::new(count as u32, count as u32, 0).words().to_vec());
        run(&wgsl::write(&kernel, wgsl::PairForm::Split).unwrap(), [1, 1], &mut buffers);
        for (column, node) in nodes.iter().enumerate() {
            for (instance, values) in expected.iter().enumerate() {
                let (found, expected) = (f32::from_bits(buffers[1][column * count + instance]), values[node.index()]);
                prop_assert_eq!(f64::from(found), expected, "result {} of instance {}", column, instance);
            }
        }
    }
}
