//! Second derivatives along manifolds: how the path t ↦ x ⊞ tδ moves and bends at t = 0.

use super::basis::{Frame, quaternion_columns};
use super::{Manifold, dot};
use residua_base::list::{Listed, PushAll};
use residua_ir::graph::{Graph, NodeId};

/// Of each number of a block its derivative along the path, Bδ, and its second derivative: none where the path is straight. On spheres the path is a great
/// circle that is run with the speed ‖δ‖, which bends by −‖δ‖² x.
pub fn path(g: &mut Graph, manifold: Manifold, x: &[NodeId], delta: &[NodeId]) -> (Vec<NodeId>, Vec<Option<NodeId>>) {
    match manifold {
        Manifold::Euclidean | Manifold::Angle => (delta.to_vec(), vec![None; x.len()]),
        Manifold::UnitQuaternion => {
            let mut along = vec![g.literal(0.0); x.len()];
            for (&delta, column) in delta.iter().zip(quaternion_columns()) {
                for (sum, (source, sign)) in along.iter_mut().zip(column) {
                    let product = g.mul(delta, x[source]);
                    *sum = if sign < 0.0 { g.sub(*sum, product) } else { g.add(*sum, product) };
                }
            }
            (along, great_circle(g, x, delta))
        }
        Manifold::UnitVector => {
            let along = Frame::of(g, x).tangent_vector(g, delta);
            (along, great_circle(g, x, delta))
        }
        Manifold::Product(product) => {
            let (mut along, mut bends) = (Vec::with_capacity(x.len()), Vec::with_capacity(x.len()));
            for (manifold, x, delta) in product.split(x, delta) {
                let (of_part, bends_of_part) = path(g, manifold, x, delta);
                along.push_all(of_part);
                bends.push_all(bends_of_part);
            }
            (along, bends)
        }
    }
}

fn great_circle(g: &mut Graph, x: &[NodeId], delta: &[NodeId]) -> Vec<Option<NodeId>> {
    let square = dot(g, delta, delta);
    let back = g.neg(square);
    x.iter().map(|&x| Some(g.mul(back, x))).list()
}

/// What a function's second derivatives by tangent coordinates have of its first ones, `row`, by the block's numbers: a number for each diagonal entry, none
/// where it is 0 whatever the point. On spheres it is −rowᵀx.
pub fn bends(g: &mut Graph, manifold: Manifold, x: &[NodeId], row: &[Option<NodeId>]) -> Vec<Option<NodeId>> {
    let tangents = manifold.tangent_dim(x.len() as u32) as usize;
    match manifold {
        Manifold::Euclidean | Manifold::Angle => vec![None; tangents],
        Manifold::UnitQuaternion | Manifold::UnitVector => {
            let (x, partials): (Vec<NodeId>, Vec<NodeId>) =
                x.iter().zip(row).filter_map(|(&x, partial)| partial.map(|partial| (x, partial))).unzip();
            let product = (!x.is_empty()).then(|| dot(g, &x, &partials));
            vec![product.map(|product| g.neg(product)); tangents]
        }
        Manifold::Product(product) => {
            let (mut of_parts, mut first) = (Vec::with_capacity(tangents), 0);
            for part in product.parts {
                let places = first..first + part.dim as usize;
                of_parts.push_all(bends(g, part.manifold, &x[places.clone()], &row[places.clone()]));
                first = places.end;
            }
            of_parts
        }
    }
}
