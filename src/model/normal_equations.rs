//! What an instance adds to normal equations: to J̃ᵀr̃ and to all of J̃ᵀJ̃, of which no row is ever written.
//!
//! With weight w, loss ρ and the instance's residuals r, s = ‖r‖², v = Jᵀr in tangent coordinates, the cost is ½ w ρ(s), and the
//! Gauss-Newton model with the correction of B. Triggs et al. ("Bundle Adjustment: A Modern Synthesis", 2000, section 4.3), as
//! Ceres Solver has it, is
//!
//! ```text
//! g = w ρ′ v        H = w (ρ′ JᵀJ + 2 max(ρ″, 0) v vᵀ)
//! ```
//!
//! The root that Ceres takes for its corrected Jacobian drops out of J̃ᵀJ̃. Of one residual, v vᵀ is s JᵀJ.
//!
//! [`terms`] defines the sums for two users: the kernels of many small problems, and on the CPU those of a batch whose instances share all their
//! blocks, so that its sums are a few numbers, [`SharedSums`], kept in locals. The latter take their residuals at the point where the model
//! was made last, too, and give by how much the cost has fallen: a trial point's cost comes from the pass that makes its model. They come in two
//! forms: for the squared loss, which has nothing to compute, and for all losses, of which the batch constants choose one. The weight, and
//! the loss's factor, are the caller's; weights of instances are not.

use residua_base::list::Listed;
use residua_codegen::{Index, Load};
use residua_ir::graph::{Graph, NodeId, Op};

use super::class::Class;
use super::planner::Planner;
use super::role::Role;

/// A column of ∂r/∂x: a node for each residual, none where it is zero whatever the point.
pub type Column = Vec<Option<NodeId>>;

/// What an instance adds.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// To the gradient, by the columns' positions.
    pub gradient: Vec<(usize, NodeId)>,
    /// To J̃ᵀJ̃: position of a column, of another one that is not before it, node.
    pub jtj: Vec<(usize, usize, NodeId)>,
}

/// What residuals with these columns of ∂r/∂x add, where `scale` is w ρ′ (none for 1) and `bend` 2 w max(ρ″, 0) (none for 0).
pub fn terms(
    g: &mut Graph,
    residuals: &[NodeId],
    columns: &[(usize, Column)],
    scale: Option<NodeId>,
    bend: Option<NodeId>,
) -> Terms {
    let mut terms = Terms::default();
    let wide: Column = residuals.iter().map(|&node| Some(node)).list();
    let times = |g: &mut Graph, column: &Column, factor: Option<NodeId>| match factor {
        Some(factor) => column.iter().map(|entry| entry.map(|entry| g.mul(factor, entry))).list(),
        None => column.clone(),
    };
    // For J̃ᵀJ̃, of one residual both in one.
    let (jtj, apart) = match (bend, residuals) {
        (Some(bend), &[r]) => {
            let square = g.mul(r, r);
            let share = g.mul(bend, square);
            (Some(scale.map_or(share, |scale| g.add(scale, share))), None)
        }
        _ => (scale, bend),
    };
    // v, and the columns times their factor.
    let mut slopes = Vec::new();
    let mut scaled: Vec<Column> = Vec::new();
    for (position, column) in columns {
        let by_scale = times(g, column, scale);
        if let Some(node) = product_sum(g, &by_scale, &wide) {
            terms.gradient.push((*position, node));
        }
        slopes.push(apart.and_then(|_| product_sum(g, column, &wide)));
        scaled.push(if jtj == scale { by_scale } else { times(g, column, jtj) });
    }
    for second in 0..columns.len() {
        for first in 0..=second {
            let mut node = product_sum(g, &scaled[first], &columns[second].1);
            if let (Some(bend), Some(a), Some(b)) = (apart, slopes[first], slopes[second]) {
                let share = g.mul(a, b);
                let share = g.mul(bend, share);
                node = Some(node.map_or(share, |node| g.add(node, share)));
            }
            if let Some(node) = node {
                terms.jtj.push((columns[first].0, columns[second].0, node));
            }
        }
    }
    terms
}

/// The sum of some nodes, if there are any.
pub fn sum(g: &mut Graph, terms: &[NodeId]) -> Option<NodeId> {
    let (&first, rest) = terms.split_first()?;
    let mut sum = first;
    for &term in rest {
        sum = g.add(sum, term);
    }
    Some(sum)
}

/// aᵀb, of which `None` are zeros.
fn product_sum(g: &mut Graph, a: &[Option<NodeId>], b: &[Option<NodeId>]) -> Option<NodeId> {
    let mut products = Vec::new();
    for pair in a.iter().zip(b) {
        if let (Some(a), Some(b)) = pair {
            products.push(g.mul(*a, *b));
        }
    }
    sum(g, &products)
}

/// How the sums of a batch lie: Σ ρ(s), then J̃ᵀr̃ and the lower half of J̃ᵀJ̃, row after row, by [`Class::gradient_column`]; without
/// the weight of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedSums {
    /// Numbers in the instance's blocks.
    pub width: usize,
}

impl SharedSums {
    /// Those of a class.
    pub fn of(class: &Class) -> SharedSums {
        SharedSums { width: class.block_dims.iter().sum::<u32>() as usize }
    }

    /// How many numbers.
    pub fn numbers(self) -> usize {
        self.jtj(self.width, 0)
    }

    /// Place of an entry of J̃ᵀr̃.
    pub fn gradient(self, place: usize) -> usize {
        1 + place
    }

    /// Place of an entry of J̃ᵀJ̃, of which the column is not after the row.
    pub fn jtj(self, row: usize, column: usize) -> usize {
        1 + self.width + row * (row + 1) / 2 + column
    }
}

impl Planner<'_> {
    /// Adds up [`SharedSums`], keeps the residuals in columns and gives by how much the cost falls from others in such columns, for the
    /// squared loss or for any; half of it times the weight is meant.
    pub(super) fn shared_sums(&mut self, any_loss: bool) -> NodeId {
        let residuals = self.outputs.clone();
        let mut before = Vec::with_capacity(residuals.len());
        for (column, &node) in (0..).zip(&residuals) {
            let (buffer, index) = (self.buffer(Role::Seeds), Index::column(column));
            before.push(self.load(Load::read(buffer, index.clone())));
            self.store(Role::Residuals, index, node);
        }
        let rows = self.tangent_jacobian();
        let mut columns: Vec<(usize, Column)> = Vec::new();
        for place in 0..SharedSums::of(self.class).width {
            columns.push((place, vec![None; rows.len()]));
        }
        for (output, row) in rows.iter().enumerate() {
            for &(place, partial) in row {
                columns[place as usize].1[output] = Some(partial);
            }
        }
        columns.retain(|(_, column)| column.iter().any(Option::is_some));
        let s = self.squared_norm(&residuals);
        let (mut rho, mut scale, mut bend) = (s, None, None);
        if any_loss {
            let [of_loss, slope] = self.loss(s);
            let bends = self.bend(s);
            let (zero, two) = (self.graph.literal(0.0), self.graph.literal(2.0));
            let convex = self.graph.lt(zero, bends);
            let positive = self.graph.apply(Op::Select, &[convex, bends, zero]);
            (rho, scale, bend) = (of_loss, Some(slope), Some(self.graph.mul(two, positive)));
        }
        let weight = self.instance_weight();
        let weighted = |g: &mut Graph, node: NodeId| weight.map_or(node, |weight| g.mul(weight, node));
        if let Some(weight) = weight {
            rho = weighted(&mut self.graph, rho);
            scale = Some(scale.map_or(weight, |scale| weighted(&mut self.graph, scale)));
            bend = bend.map(|bend| weighted(&mut self.graph, bend));
        }
        let terms = terms(&mut self.graph, &residuals, &columns, scale, bend);
        let layout = SharedSums::of(self.class);
        let gradient = terms.gradient.iter().map(|&(place, node)| (layout.gradient(place), node));
        let jtj = terms.jtj.iter().map(|&(column, row, node)| (layout.jtj(row, column), node));
        for (place, node) in [(0, rho)].into_iter().chain(gradient).chain(jtj) {
            self.write(Role::JtjBlocks, Index::literal(place as u32), node, true);
        }
        let difference = self.difference_of_squares(&before, &residuals);
        let fall = if any_loss { self.fall_of_loss(difference, &before, &residuals) } else { difference };
        weighted(&mut self.graph, fall)
    }
}
