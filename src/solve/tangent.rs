//! Tangent bases B(x) of parameter blocks as numbers, and the map from tangent coordinates to the numbers of a block.

use crate::model::manifolds::{tangent_dim, tangent_partials};
use crate::model::{ArrayInfo, Model};
use residua_base::list::{Listed, PushAll};
use residua_ir::graph::{CheckedGraph, Graph, InputId, NodeId};

use residua_base::error::Result;

/// The tangent bases B(x) of a model's blocks, as numbers.
pub struct TangentBases<'a> {
    arrays: &'a [ArrayInfo],
    /// For each array on a manifold the graph of B, and its entries, row after row; `None` is 0.
    graphs: Vec<Option<(CheckedGraph, Vec<Option<NodeId>>)>>,
}

/// A block of consecutive parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterBlock {
    /// Position of its array in the model.
    pub array: usize,
    /// Position of its first number among all parameters.
    pub first: usize,
    /// Number of its numbers.
    pub dim: usize,
    /// Its degrees of freedom.
    pub tangent: usize,
}

impl<'a> TangentBases<'a> {
    /// The bases of a model's blocks.
    pub fn of(model: &'a Model) -> Result<TangentBases<'a>> {
        let graphs = model.arrays.iter().map(|array| {
            if array.manifold.has_unit_basis() {
                return Ok(None);
            }
            let mut g = Graph::new();
            let x: Vec<NodeId> = (0..array.dim).map(|number| g.input(InputId(number))).list();
            let one = g.literal(1.0);
            let mut entries = Vec::new();
            for row in 0..x.len() {
                let partials: Vec<_> = (0..x.len()).map(|column| (column == row).then_some(one)).list();
                entries.push_all(tangent_partials(&mut g, array.manifold, &x, &partials));
            }
            Ok(Some((g.check(array.dim)?, entries)))
        });
        Ok(TangentBases { arrays: &model.arrays, graphs: graphs.list_or_error()? })
    }

    /// The block that a parameter belongs to.
    pub fn block_of(&self, parameter: usize) -> Option<ParameterBlock> {
        self.arrays.iter().enumerate().find_map(|(number, array)| {
            let (offset, dim) = (array.offset as usize, array.dim as usize);
            let within = parameter.checked_sub(offset)?;
            (within < dim * array.count as usize).then(|| ParameterBlock {
                array: number,
                first: offset + within / dim * dim,
                dim,
                tangent: tangent_dim(array.manifold, array.dim) as usize,
            })
        })
    }

    /// All blocks, in order.
    pub fn blocks(&self) -> impl Iterator<Item = ParameterBlock> + '_ {
        self.arrays.iter().enumerate().flat_map(|(number, array)| {
            let (dim, tangent) = (array.dim as usize, tangent_dim(array.manifold, array.dim) as usize);
            let first = move |block: usize| array.offset as usize + block * dim;
            (0..array.count as usize).map(move |block| ParameterBlock {
                array: number,
                first: first(block),
                dim,
                tangent,
            })
        })
    }

    /// B of a block at `x`, all parameters: `dim` rows of `tangent` numbers. `None` is the unit matrix.
    pub fn basis(&self, block: ParameterBlock, x: &[f64]) -> Option<Vec<f64>> {
        let (graph, entries) = self.graphs[block.array].as_ref()?;
        let values = graph.evaluate(&x[block.first..block.first + block.dim]);
        Some(entries.iter().map(|entry| entry.map_or(0.0, |entry| values[entry.index()])).list())
    }
}

/// Bt: the change of a block's numbers for a tangent vector t.
pub fn lift(basis: Option<&[f64]>, tangent: &[f64]) -> Vec<f64> {
    match basis {
        None => tangent.to_vec(),
        Some(basis) => {
            basis.chunks_exact(tangent.len()).map(|row| row.iter().zip(tangent).map(|(b, t)| b * t).sum()).list()
        }
    }
}
