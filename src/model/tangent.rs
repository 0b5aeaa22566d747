//! Rows of ∂r/∂x and J̃ᵀr̃ in tangent coordinates: the places of a block's numbers, and their projection for blocks on manifolds.

use crate::model::manifolds::{self, Manifold};
use residua_base::list::Listed;
use residua_base::sort::ascending;
use residua_ir::autodiff;
use residua_ir::graph::{InputId, NodeId};

use super::class::Class;
use super::derivatives::Row;
use super::planner::Planner;

/// The places of a block slot's numbers: first column of the local gradient, and how many.
pub(super) fn slots(class: &Class) -> Vec<(u32, u32)> {
    let mut first = 0;
    class
        .block_dims
        .iter()
        .map(|&dim| {
            first += dim;
            (first - dim, dim)
        })
        .list()
}

impl Planner<'_> {
    /// Rows of ∂r/∂x in tangent coordinates: the entries that are not zero whatever the point, by [`Class::gradient_column`], ascending.
    pub(super) fn tangent_jacobian(&mut self) -> Vec<Row> {
        let class = self.class;
        let locals = self.local_inputs();
        let places = self.places();
        let partials = autodiff::sparse_jacobian(&mut self.graph, &class.outputs, &locals);
        let mut rows = Vec::with_capacity(partials.len());
        for partials in partials {
            let row = partials.into_iter().map(|(local, partial)| (places[local.0 as usize], partial)).list();
            rows.push(self.tangent_row(row, &places));
        }
        rows
    }

    /// J̃ᵀr̃ in tangent coordinates by a sweep from the residuals, each times `scale`; by [`Class::gradient_column`], ascending.
    pub(super) fn tangent_gradient(&mut self, scale: NodeId) -> Row {
        let class = self.class;
        let seeds = class.outputs.iter().map(|&r| (r, self.product_of(scale, r))).list();
        self.tangent_sweep(&seeds)
    }

    /// The sum of the rows of ∂r/∂x, each times its seed, in tangent coordinates by a sweep from the residuals; by [`Class::gradient_column`],
    /// ascending.
    pub(super) fn tangent_sweep(&mut self, seeds: &[(NodeId, NodeId)]) -> Row {
        let locals = self.local_inputs();
        let places = self.places();
        let partials = autodiff::gradient(&mut self.graph, seeds, &locals);
        let row = places.iter().zip(partials).filter_map(|(&place, partial)| Some((place, partial?))).list();
        self.tangent_row(row, &places)
    }

    /// The [`Class::gradient_column`] of each local parameter.
    pub(super) fn places(&self) -> Vec<u32> {
        (0..self.class.locals.len()).map(|local| self.class.gradient_column(local)).list()
    }

    /// Partials by the numbers of the blocks, in their tangent coordinates. `places` are those of the local parameters.
    pub(super) fn tangent_row(&mut self, mut row: Row, places: &[u32]) -> Row {
        let class = self.class;
        ascending(&mut row);
        for (&slot, &manifold) in slots(class).iter().zip(&class.manifolds) {
            if !manifold.has_unit_basis() {
                self.project_on_tangent(&mut row, slot, manifold, places);
            }
        }
        row
    }

    /// Brings the entries of a block on a manifold into its tangent coordinates. `places` are those of the local parameters.
    fn project_on_tangent(&mut self, row: &mut Row, (first, dim): (u32, u32), manifold: Manifold, places: &[u32]) {
        let [start, end] = [first, first + dim].map(|limit| row.partition_point(|&(place, _)| place < limit));
        if start == end {
            return;
        }
        let mut partials = vec![None; dim as usize];
        for &(place, partial) in &row[start..end] {
            partials[(place - first) as usize] = Some(partial);
        }
        let mut inputs = vec![None; dim as usize];
        for (local, place) in (0u32..).zip(places).filter(|(_, place)| (first..first + dim).contains(place)) {
            inputs[(place - first) as usize] = Some(InputId(local));
        }
        let block: Vec<NodeId> = inputs.iter().flatten().map(|&input| self.graph.input(input)).list();
        let tangent = manifolds::tangent_partials(&mut self.graph, manifold, &block, &partials);
        row.splice(start..end, (first..).zip(tangent).filter_map(|(place, partial)| Some((place, partial?))));
    }
}
