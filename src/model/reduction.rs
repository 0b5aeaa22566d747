//! By how much the least-squares cost of an instance falls, without the cancellation that a difference of costs has: near a minimum this is all that
//! distinguishes a step that reduces the cost.

use residua_base::list::Listed;
use residua_ir::graph::{NodeId, Op};

use super::planner::Planner;

/// Squared norms whose difference is below this share of them are close. The midpoint rule is then right to about
/// CLOSE²/24 = 4e-6 of the difference, and the difference of two f32 losses to 2⁻²⁴/CLOSE = 6e-6 of it.
const CLOSE: f64 = 0.01;

impl Planner<'_> {
    /// ½ w (ρ(s) − ρ(s′)) for r in the local table and r′ at the point.
    pub(super) fn reduction(&mut self) -> NodeId {
        let after = self.class.outputs.clone();
        let before: Vec<NodeId> = (0..after.len() as u32).map(|output| self.load_residual(output)).list();
        let difference = self.difference_of_squares(&before, &after);
        let change = self.fall_of_loss(difference, &before, &after);
        let half = self.graph.literal(0.5);
        let weight = self.scaled_weight();
        let half_weight = self.product_of(half, weight);
        self.product_of(half_weight, change)
    }

    /// s − s′ as (r − r′)·(r + r′), which does not cancel where they are close.
    pub(super) fn difference_of_squares(&mut self, before: &[NodeId], after: &[NodeId]) -> NodeId {
        let terms = before
            .iter()
            .zip(after)
            .map(|(&before, &after)| {
                let (difference, sum) = (self.apply(Op::Sub, &[before, after]), self.apply(Op::Add, &[before, after]));
                self.product_of(difference, sum)
            })
            .list();
        self.sum(terms)
    }

    /// ρ(s) − ρ(s′): where s and s′ are close, their difference times the loss's slope in the middle.
    pub(super) fn fall_of_loss(&mut self, difference: NodeId, before: &[NodeId], after: &[NodeId]) -> NodeId {
        let (s_before, s_after) = (self.squared_norm(before), self.squared_norm(after));
        let sum = self.apply(Op::Add, &[s_before, s_after]);
        let half = self.graph.literal(0.5);
        let middle = self.product_of(half, sum);
        let ([rho_before, _], [rho_after, _]) = (self.loss(s_before), self.loss(s_after));
        let [_, slope] = self.loss(middle);
        let close = {
            let size = self.apply(Op::Abs, &[difference]);
            let bound = self.graph.literal(CLOSE);
            let bound = self.product_of(bound, middle);
            self.apply(Op::Lt, &[size, bound])
        };
        let near = self.product_of(slope, difference);
        let far = self.apply(Op::Sub, &[rho_before, rho_after]);
        self.apply(Op::Select, &[close, near, far])
    }
}
