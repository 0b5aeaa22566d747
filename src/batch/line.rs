//! The kernels of a line search: an objective at several steps along a direction, and its slope there.
//!
//! | entry | reads | gives |
//! |---|---|---|
//! | `sumLine`, `costLine` | a point, a direction, [`STEPS`] steps | at each step the objective and its slope along the direction |
//!
//! Each step is a layer of the kernel. A local parameter that does not move adds nothing to the slope, whatever its derivative.

use crate::autodiff;
use crate::codegen::{Address, Load};
use crate::graph::{InputId, NodeId, Op};
use crate::list::Listed;

use super::plan::{Planner, Role};

/// Steps that are evaluated in one go: the next one of a bisection, and the two that may follow it.
pub const STEPS: u32 = 3;

impl Planner<'_> {
    /// Puts the residuals where the layer's step along the direction leads; gives the direction of each local parameter.
    pub(super) fn go_along(&mut self) -> Vec<NodeId> {
        let class = self.class;
        if class.locals.is_empty() {
            return Vec::new();
        }
        let (steps, vector, indices) =
            (self.buffer(Role::Steps), self.buffer(Role::Vector), self.buffer(Role::Indices));
        let step = self.load(Load::Read { buffer: steps, address: Address::Layer(1) });
        let mut inputs: Vec<NodeId> =
            (0..class.graph.input_count()).map(|input| self.graph.input(InputId(input))).list();
        let mut direction = Vec::new();
        for (input, local) in inputs.iter_mut().zip(&class.locals) {
            let address = Address::Indexed { indices, column: local.column, component: local.component };
            let along = self.load(Load::Read { buffer: vector, address });
            let way = self.graph.apply(Op::Mul, &[step, along]);
            *input = self.graph.apply(Op::Add, &[*input, way]);
            direction.push(along);
        }
        self.outputs = self.graph.substitute(class.graph.graph(), &inputs, &class.outputs);
        direction
    }

    /// The slope along a direction of what has these derivatives by the residuals.
    pub(super) fn slope(&mut self, seeds: &[(NodeId, NodeId)], direction: &[NodeId]) -> NodeId {
        let locals = self.local_inputs();
        // Where the point is a step along, its derivatives by where it began are those by where it is.
        let partials = autodiff::gradient(&mut self.graph, seeds, &locals);
        let terms = direction
            .iter()
            .zip(partials)
            .filter_map(|(&along, partial)| Some(self.graph.apply(Op::GuardedMul, &[along, partial?])))
            .list();
        self.sum(terms)
    }
}
