//! Which kernels need the guard's zero: a word that is 0 in every run and unknown to compilers.
//!
//! Functions of the library that split roundings, and numbers that WGSL has no token for, are written with such a word. Storage buffers
//! hold it, since lavapipe compiles the contents of uniform buffers into its shaders: the word after the gate of a kernel that has one,
//! else a buffer of its own.

use crate::uses::Uses;
use crate::{CheckedKernel, Guard};
use residua_ir::elementary;
use residua_ir::graph::{Graph, Node, Op};

/// The expression of the zero in a kernel.
pub(super) fn zero_of(kernel: &CheckedKernel) -> String {
    match kernel.guard {
        Guard::Gate => "gate[1]".to_owned(),
        Guard::Head { buffer } => format!("bitcast<u32>({}[1])", kernel.buffers[buffer as usize].name),
        Guard::None => "zero[0]".to_owned(),
    }
}

/// Whether a kernel has a resource `zero`, a storage buffer of one word that is 0.
pub fn reads_zero(kernel: &CheckedKernel) -> bool {
    let cases = kernel.calls.iter().flat_map(|call| &call.function.cases);
    kernel.guard == Guard::None
        && (kernel.has_pairs()
            || is_guarded(kernel.graph.graph(), kernel.uses())
            || cases.into_iter().any(|case| is_guarded(case.graph.graph(), &Uses::of_case(case)))
            || kernel.loop_bodies().iter().any(|body| {
                let graph = body.graph().graph();
                is_guarded(graph, &Uses::of_nodes(graph, body.next().iter().copied()))
            }))
}

/// Whether the text of a graph refers to the zero.
fn is_guarded(graph: &Graph, uses: &Uses) -> bool {
    let is_literal = |id| graph.literal_value(id).is_some();
    uses.needed(graph).any(|id| match graph.node(id) {
        Node::Input(_) | Node::Result(..) => false,
        Node::Literal(bits) => (f64::from_bits(bits) as f32).is_infinite(),
        Node::Apply(op, operands) => is_guarded_op(op) || operands[..op.arity()].iter().all(|id| is_literal(*id)),
    })
}

/// Whether the text of an op refers to the zero.
fn is_guarded_op(op: Op) -> bool {
    matches!(op, Op::Pow | Op::Mod | elementary!(Op)) && !matches!(op, Op::Asin | Op::Acos | Op::Atan | Op::Atan2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementType, Index, Kernel, KernelBuffer, Load, Output};
    use residua_ir::graph::{InputId, NodeId};

    /// A kernel of one op, of loads or of a literal.
    fn kernel(op: Op, literal: Option<f64>) -> CheckedKernel {
        let mut graph = Graph::new();
        let operands: Vec<NodeId> = (0..op.arity() as u32)
            .map(|input| match literal {
                None => graph.input(InputId(input)),
                Some(literal) => graph.literal(literal),
            })
            .collect();
        let node = graph.apply_raw(op, &operands);
        let inputs = if literal.is_some() { 0 } else { op.arity() as u32 };
        let buffer = |name, written| KernelBuffer { name, dtype: ElementType::Real, written };
        let kernel = Kernel {
            buffers: vec![buffer("operands", false), buffer("results", true)],
            loads: (0..inputs).map(|column| Load::read(0, Index::column(column))).collect(),
            outputs: vec![Output::store(node, 1, Index::column(0))],
            ..Kernel::new("operation", graph.check(inputs).expect("the graph is sound"))
        };
        kernel.check().expect("the kernel is sound")
    }

    #[test]
    fn kernels_whose_text_refers_to_the_zero_bind_it() {
        for op in Op::ALL {
            let of_loads = kernel(*op, None);
            let text = super::super::write(&of_loads, super::super::PairForm::Split).expect("a device can run it");
            assert_eq!(reads_zero(&of_loads), text.contains("guard_zero()"), "{}", op.name());
            for literal in [0.5, f64::INFINITY, 1e300, f64::NAN] {
                let of_literals = kernel(*op, Some(literal));
                let text =
                    super::super::write(&of_literals, super::super::PairForm::Split).expect("a device can run it");
                // A binding that the text does not need does no harm; a missing one would.
                assert!(reads_zero(&of_literals) || !text.contains("guard_zero()"), "{} of {literal}", op.name());
            }
        }
    }
}
