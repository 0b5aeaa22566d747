//! The objective of an instance as nodes: the weighted sum of its residuals, or the least-squares cost with its robust loss.

use residua_base::list::Listed;
use std::rc::Rc;

use residua_codegen::{Call, Load};
use residua_ir::graph::{InputId, NodeId, Op};

use super::class::Losses;
use super::losses;
use super::planner::Planner;

impl Planner<'_> {
    /// An objective, and for each residual its derivative by it: the weighted sum, or the least-squares cost.
    pub(super) fn objective(&mut self, is_sum: bool) -> (NodeId, Vec<(NodeId, NodeId)>) {
        if !is_sum {
            return self.cost();
        }
        let weight = self.uniform(0);
        let weight = self.times_instance_weight(weight);
        let sum = self.sum(self.outputs.clone());
        let total = self.graph.apply(Op::Mul, &[weight, sum]);
        (total, self.outputs.iter().map(|&output| (output, weight)).list())
    }

    /// ½ weight·ρ(‖r‖²), of which the gradient is weight·ρ′(‖r‖²)·Jᵀr.
    fn cost(&mut self) -> (NodeId, Vec<(NodeId, NodeId)>) {
        let outputs = self.outputs.clone();
        let squares = outputs.iter().map(|&r| self.graph.apply(Op::Mul, &[r, r])).list();
        let squared_norm = self.sum(squares);
        let [rho, slope] = self.loss(squared_norm);
        let weight = self.scaled_weight();
        let half = self.graph.literal(0.5);
        let half_weight = self.graph.apply(Op::Mul, &[half, weight]);
        let total = self.graph.apply(Op::Mul, &[half_weight, rho]);
        let scale = self.graph.apply(Op::Mul, &[weight, slope]);
        (total, outputs.iter().map(|&r| (r, self.graph.apply(Op::Mul, &[scale, r]))).list())
    }

    /// The loss at a squared norm: ρ, ρ′.
    pub(super) fn loss(&mut self, squared_norm: NodeId) -> [NodeId; 2] {
        if self.class.losses == Losses::Squared {
            return [squared_norm, self.graph.literal(1.0)];
        }
        let (selector, a, b) = (self.uniform(1), self.uniform(2), self.uniform(3));
        let (function, arguments) = (losses::function(), vec![squared_norm, a, b]);
        let is_known = |call: &Call| Rc::ptr_eq(&call.function, &function) && call.arguments == arguments;
        let call = self.calls.iter().position(is_known).unwrap_or_else(|| {
            self.calls.push(Call { function, selector, arguments });
            self.calls.len() - 1
        }) as u32;
        [0, 1].map(|result| self.load_once(Load::Call { call, result }))
    }

    pub(super) fn bend(&mut self, squared_norm: NodeId) -> NodeId {
        let (selector, a, b) = (self.uniform(1), self.uniform(2), self.uniform(3));
        let call = self.calls.len() as u32;
        self.calls.push(Call { function: losses::bend(), selector, arguments: vec![squared_norm, a, b] });
        self.load(Load::Call { call, result: 0 })
    }

    /// Weight times the loss's factor.
    pub(super) fn scaled_weight(&mut self) -> NodeId {
        let (weight, factor) = (self.uniform(0), self.uniform(4));
        let weight = self.product_of(weight, factor);
        self.times_instance_weight(weight)
    }

    fn times_instance_weight(&mut self, weight: NodeId) -> NodeId {
        match self.instance_weight() {
            Some(of_instance) => self.product_of(weight, of_instance),
            None => weight,
        }
    }

    /// The weight of the instance, if it has one.
    pub(super) fn instance_weight(&mut self) -> Option<NodeId> {
        let column = self.class.weight?;
        Some(self.graph.input(InputId(self.class.locals.len() as u32 + column)))
    }
}
