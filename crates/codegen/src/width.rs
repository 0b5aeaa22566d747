//! In how many numbers a device computes each node: a backward pass over the graph.
//!
//! What an output wants as a pair is computed in pairs, with all that it depends on. The rest is computed in single numbers, of which an operand in pairs
//! gives its high part. So a kernel whose residuals are pairs and whose Jacobian is single has no operation in pairs that the Jacobian alone needs.

use residua_ir::graph::{Graph, InputId, LoopBody, LoopId, Node, NodeId};
use std::rc::Rc;

use crate::{Call, Case, Kernel, Load, Width};

/// An operation in pairs takes SwiftShader as long to compile as so many in single numbers: 312 of them in a kernel of 852 took 2.0 s against 0.1 s.
pub const OPERATIONS_OF_PAIR: usize = 24;

/// For each node its width. That of a node that is not needed is single.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Widths(Vec<Width>);

impl Widths {
    /// The widths in a kernel, of which the positions have been checked.
    pub fn of_kernel(kernel: &Kernel) -> Widths {
        let roots = kernel.outputs.iter().map(|output| (output.node, output.width()));
        Widths::from_roots(kernel.graph.graph(), roots, |input, widths| {
            // A call takes its arguments in the width of its results; the selector is a whole number.
            if let Load::Call { call, .. } = kernel.loads[input.0 as usize] {
                let Call { arguments, .. } = &kernel.calls[call as usize];
                arguments.iter().for_each(|argument| widths[argument.index()] = Width::Pair);
            }
        })
    }

    /// The widths in a case of a function whose results have this width.
    pub fn of_case(case: &Case, width: Width) -> Widths {
        Widths::of_nodes(case.graph.graph(), case.results.iter().map(|result| (*result, width)))
    }

    /// The widths in a graph without calls, from those of its roots.
    pub fn of_nodes(graph: &Graph, roots: impl Iterator<Item = (NodeId, Width)>) -> Widths {
        Widths::from_roots(graph, roots, |_, _| {})
    }

    /// The widths in a body of a loop whose final state is wanted in these, and those of its inputs after the counter. What a step takes in pairs the step
    /// before it gives in pairs.
    pub fn of_body(body: &LoopBody, wanted: &[Width]) -> (Widths, Vec<Width>) {
        let graph = body.graph().graph();
        let mut inputs = vec![Width::Single; body.states() + body.captured()];
        inputs[..wanted.len()].copy_from_slice(wanted);
        loop {
            let widths = Widths::of_nodes(graph, body.next().iter().copied().zip(inputs.iter().copied()));
            let before = inputs.clone();
            for id in graph.ids() {
                if let Node::Input(InputId(input @ 1..)) = graph.node(id) {
                    inputs[input as usize - 1] = inputs[input as usize - 1].max(widths.of(id));
                }
            }
            if inputs == before {
                return (widths, inputs);
            }
        }
    }

    /// In which widths the results of a loop are wanted, by their numbers.
    pub fn of_results(&self, graph: &Graph, of: LoopId) -> Vec<Width> {
        let mut wanted = vec![Width::Single; graph.loop_of(of).body().states()];
        for id in graph.ids() {
            if let Node::Result(other, number) = graph.node(id)
                && other == of
            {
                wanted[number as usize] = self.of(id);
            }
        }
        wanted
    }

    /// `input` widens what an input in pairs depends on.
    fn from_roots(
        graph: &Graph,
        roots: impl Iterator<Item = (NodeId, Width)>,
        mut input: impl FnMut(InputId, &mut [Width]),
    ) -> Widths {
        let mut widths = vec![Width::Single; graph.len()];
        for (node, width) in roots {
            widths[node.index()] = widths[node.index()].max(width);
        }
        let mut wanted: Vec<Vec<Width>> = vec![Vec::new(); graph.loops().len()];
        for id in graph.ids().rev() {
            if widths[id.index()] == Width::Single {
                continue;
            }
            match graph.node(id) {
                Node::Result(of, number) => {
                    let of_loop = graph.loop_of(of);
                    let wanted = &mut wanted[of.index()];
                    wanted.resize(of_loop.body().states(), Width::Single);
                    wanted[number as usize] = Width::Pair;
                    let (_, inputs) = Widths::of_body(of_loop.body(), wanted);
                    for (input, width) in of_loop.inputs().iter().zip(inputs) {
                        widths[input.index()] = widths[input.index()].max(width);
                    }
                }
                Node::Literal(_) => {}
                Node::Input(number) => input(number, &mut widths),
                Node::Apply(op, operands) => {
                    operands[..op.arity()].iter().for_each(|operand| widths[operand.index()] = Width::Pair);
                }
            }
        }
        Widths(widths)
    }

    /// Nodes of the graph, of which each operation in pairs counts as those that it takes: how long compilers take grows with it.
    pub fn text_operations(&self, graph: &Graph) -> usize {
        let of_node = |id| match (graph.node(id), self.of(id)) {
            (Node::Apply(..), Width::Pair) => OPERATIONS_OF_PAIR,
            (Node::Apply(..), Width::Single) | (Node::Input(_) | Node::Literal(_) | Node::Result(..), _) => 1,
        };
        let mut bodies: Vec<&Rc<LoopBody>> = Vec::new();
        let mut count: usize = graph.ids().map(of_node).sum();
        for of in graph.loop_ids() {
            let body = graph.loop_of(of).body();
            if !bodies.iter().any(|known| Rc::ptr_eq(known, body)) {
                bodies.push(body);
                let wanted = self.of_results(graph, of);
                count += Widths::of_body(body, &wanted).0.text_operations(body.graph().graph());
            }
        }
        count
    }

    /// The width of a node.
    pub fn of(&self, node: NodeId) -> Width {
        self.0[node.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementType, Index, KernelBuffer, Output};
    use residua_ir::graph::Op;

    fn buffer(name: &'static str, written: bool) -> KernelBuffer {
        KernelBuffer { name, dtype: ElementType::Real, written }
    }

    #[test]
    fn what_a_pair_depends_on_is_in_pairs_and_nothing_else() {
        let mut graph = Graph::new();
        let [a, b] = [0, 1].map(|input| graph.input(InputId(input)));
        let product = graph.apply_raw(Op::Mul, &[a, a]);
        let of_pairs = graph.apply_raw(Op::Sin, &[product]);
        let single = graph.apply_raw(Op::Mul, &[product, b]);
        let kernel = Kernel {
            buffers: vec![buffer("x", false), buffer("y", true)],
            loads: vec![Load::read_pair(0, Index::column(0), Index::column(2)), Load::read(0, Index::column(1))],
            outputs: vec![
                Output::store_pair(of_pairs, 1, Index::column(0), Index::column(2)),
                Output::store(single, 1, Index::column(1)),
            ],
            ..Kernel::new("mixed", graph.check(2).expect("the graph is sound"))
        };
        let widths = Widths::of_kernel(&kernel);
        let of = |nodes: &[NodeId]| nodes.iter().map(|node| widths.of(*node)).collect::<Vec<_>>();
        assert_eq!(of(&[a, product, of_pairs]), [Width::Pair; 3]);
        assert_eq!(of(&[b, single]), [Width::Single; 2]);
    }

    #[test]
    fn an_operation_in_pairs_counts_as_those_that_it_takes() {
        let mut graph = Graph::new();
        let a = graph.input(InputId(0));
        let [square, sine] = [Op::Mul, Op::Sin].map(|op| graph.apply_raw(op, &[a, a][..op.arity()]));
        let operations = |width| Widths::of_nodes(&graph, [(square, width), (sine, Width::Single)].into_iter());
        assert_eq!(operations(Width::Single).text_operations(&graph), 3);
        assert_eq!(operations(Width::Pair).text_operations(&graph), 2 + OPERATIONS_OF_PAIR);
    }

    #[test]
    fn a_total_in_pairs_widens_what_is_summed() {
        let mut graph = Graph::new();
        let a = graph.input(InputId(0));
        let square = graph.apply_raw(Op::Mul, &[a, a]);
        for (output, width) in [(Output::reduce(square), Width::Single), (Output::reduce_pair(square), Width::Pair)] {
            let kernel = Kernel {
                buffers: vec![buffer("x", false)],
                loads: vec![Load::read(0, Index::column(0))],
                outputs: vec![output],
                ..Kernel::new("total", graph.clone().check(1).expect("the graph is sound"))
            };
            assert_eq!(Widths::of_kernel(&kernel).of(a), width);
            assert_eq!(kernel.has_pairs(), width == Width::Pair);
        }
    }
}
