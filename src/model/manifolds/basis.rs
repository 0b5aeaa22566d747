//! The tangent bases B(x), as products with a row of partial derivatives.

use super::{Manifold, dot};
use residua_base::list::{Listed, PushAll};
use residua_ir::graph::{Graph, NodeId};

/// A row of partial derivatives with respect to a block's numbers, times the basis B(x) of its tangent space: the partials with
/// respect to δ at δ = 0, [`Manifold::tangent_dim`] of them. `None` is a structural zero; a row of these gives such a row.
pub fn tangent_partials(
    g: &mut Graph,
    manifold: Manifold,
    x: &[NodeId],
    row: &[Option<NodeId>],
) -> Vec<Option<NodeId>> {
    assert_eq!(x.len(), row.len(), "one partial a number");
    let tangents = manifold.tangent_dim(x.len() as u32) as usize;
    if row.iter().all(Option::is_none) {
        return vec![None; tangents];
    }
    match manifold {
        Manifold::Euclidean | Manifold::Angle => row.to_vec(),
        Manifold::UnitQuaternion => {
            let columns = quaternion_columns();
            columns.iter().map(|column| signed_sum(g, column.map(|(source, sign)| (x[source], sign)), row)).list()
        }
        Manifold::UnitVector => {
            let Frame { head, share, sign } = Frame::of(g, x);
            let last = x.len() - 1;
            let (known, partials): (Vec<NodeId>, Vec<NodeId>) =
                head.iter().zip(row).filter_map(|(&x, partial)| partial.map(|partial| (x, partial))).unzip();
            let along = dot(g, &known, &partials);
            let mut factor = g.mul(along, share);
            if let Some(partial) = row[last] {
                let turned = g.mul(sign, partial);
                factor = g.add(factor, turned);
            }
            (0..last)
                .map(|i| {
                    let product = g.mul(head[i], factor);
                    Some(match row[i] {
                        Some(partial) => g.sub(partial, product),
                        None => g.neg(product),
                    })
                })
                .list()
        }
        Manifold::Product(product) => {
            let (mut partials, mut first) = (Vec::with_capacity(tangents), 0);
            for part in product.parts {
                let places = first..first + part.dim as usize;
                partials.push_all(tangent_partials(g, part.manifold, &x[places.clone()], &row[places.clone()]));
                first = places.end;
            }
            partials
        }
    }
}

/// The columns of a quaternion's B, of each entry its number of x and its sign: (0, i)·x, (0, j)·x, (0, k)·x; Ceres' QuaternionManifold::PlusJacobian.
pub(super) fn quaternion_columns() -> [[(usize, f64); 4]; 3] {
    [
        [(1, -1.0), (0, 1.0), (3, -1.0), (2, 1.0)],
        [(2, -1.0), (3, 1.0), (0, 1.0), (1, -1.0)],
        [(3, -1.0), (2, -1.0), (1, 1.0), (0, 1.0)],
    ]
}

/// Σ sign·x·partial over the partials that there are.
fn signed_sum<const N: usize>(g: &mut Graph, terms: [(NodeId, f64); N], row: &[Option<NodeId>]) -> Option<NodeId> {
    let mut sum = None;
    for ((x, sign), partial) in terms.into_iter().zip(row) {
        let Some(partial) = *partial else { continue };
        let product = g.mul(x, partial);
        sum = Some(match (sum, sign < 0.0) {
            (None, false) => product,
            (None, true) => g.neg(product),
            (Some(sum), false) => g.add(sum, product),
            (Some(sum), true) => g.sub(sum, product),
        });
    }
    sum
}

/// What the basis at a unit vector is made of. The Householder reflection that takes x to −s·eₙ, s the sign of xₙ, has the columns
///
/// bⱼ = eⱼ − xⱼ/(1 + |xₙ|)·(x₁, …, xₙ₋₁, 0) − s·xⱼ·eₙ,  j < n,
///
/// all orthogonal to x. As in Ceres' `ComputeHouseholderVector`, the sign is the one for which nothing cancels.
pub(super) struct Frame {
    /// x₁ … xₙ₋₁
    pub head: Vec<NodeId>,
    /// 1/(1 + |xₙ|)
    pub share: NodeId,
    /// s
    pub sign: NodeId,
}

impl Frame {
    /// The frame at x.
    pub fn of(g: &mut Graph, x: &[NodeId]) -> Frame {
        let (&last, head) = x.split_last().expect("a unit vector has two numbers at least");
        let (zero, one, minus) = (g.literal(0.0), g.literal(1.0), g.literal(-1.0));
        let size = g.abs(last);
        let sum = g.add(one, size);
        let share = g.div(one, sum);
        let below = g.lt(last, zero);
        let sign = g.select(below, minus, one);
        Frame { head: head.to_vec(), share, sign }
    }

    /// Bδ, number by number.
    pub fn tangent_vector(&self, g: &mut Graph, delta: &[NodeId]) -> Vec<NodeId> {
        let along = dot(g, &self.head, delta);
        let factor = g.mul(along, self.share);
        let mut tangent: Vec<NodeId> = (0..self.head.len())
            .map(|i| {
                let product = g.mul(self.head[i], factor);
                g.sub(delta[i], product)
            })
            .list();
        let turned = g.mul(self.sign, along);
        tangent.push(g.neg(turned));
        tangent
    }
}
