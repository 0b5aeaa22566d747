//! The kernels of second derivatives, for small problems on the host: what Gauss-Newton leaves out of a model.
//!
//! Derivatives are by tangent coordinates δ of r(x ⊞ δ) at δ = 0. Of a block on a sphere x ⊞ tδ is a great circle, which bends by −‖δ‖² x, so that they
//! have a share of the first derivatives too, see [`manifolds::bends`].
//!
//! | entry | reads | gives |
//! |---|---|---|
//! | `secondDirectional` | a point, a direction δ | for each residual d²/dt² r(x ⊞ tδ) at t = 0 |
//! | `seededTangent` | a point, a number for each residual | Σ seed · ∂r/∂δ |
//! | `secondOrder` | the same | Σ seed · ∂²r/∂δ², see [`Pairs`] |
//!
//! Weights and losses are the caller's, who has them in the seeds: so addends of long sums need nothing of their own.

use residua_base::list::Listed;
use residua_codegen::{Index, Load};
use residua_ir::autodiff;
use residua_ir::graph::{InputId, NodeId, Op};

use super::batch::{Batch, Rows};
use super::derivatives::Row;
use super::energy::Coordinates;
use super::manifolds;
use super::planner::Planner;
use super::role::Role;
use super::tangent::slots;

/// Where a kernel of second derivatives adds to a matrix W of all parameters, n × n and row after row. What is meant is W + Wᵀ: of each pair of block slots an
/// instance writes one half, with the diagonal entries halved.
pub struct Pairs;

impl Pairs {
    /// The table of places of a batch in a matrix of `n` parameters: for each pair of slots, of which the latter is not after the former, and each row of the
    /// former a column with the place where that row meets the first column of the latter.
    pub fn places(batch: &Batch, n: u32) -> Vec<u32> {
        let mut places = Vec::new();
        for (a, &dim) in (0..).zip(&batch.class.block_dims) {
            for (b, i) in (0..=a).flat_map(|b| (0..dim).map(move |i| (b, i))) {
                let blocks = batch.column(a).iter().zip(batch.column(b));
                places.extend(blocks.map(|(&row, &column)| (row + i) * n + column));
            }
        }
        places
    }

    /// The column of row `i` of a pair.
    fn column(dims: &[u32], [a, b]: [u32; 2], i: u32) -> u32 {
        let before: u32 = (1..).zip(&dims[..a as usize]).map(|(pairs, dim)| pairs * dim).sum();
        before + b * dims[a as usize] + i
    }
}

impl Planner<'_> {
    /// Stores d²/dt² r(x ⊞ tδ) at t = 0 of each residual, where δ is the vector.
    pub(super) fn second_directional(&mut self) {
        let class = self.class;
        let locals = self.local_inputs();
        // The velocity of each local parameter, which is held fixed where the slope is differentiated, and what its path bends by.
        let (mut velocity, mut bend) = (vec![None; locals.len()], vec![None; locals.len()]);
        for (column, (&(_, dim), &manifold)) in (0..).zip(slots(class).iter().zip(&class.manifolds)) {
            let of_block = self.locals_of_block(column, dim);
            if of_block.iter().all(Option::is_none) {
                continue;
            }
            let direction =
                (0..manifold.tangent_dim(dim)).map(|component| self.load_direction(column, component)).list();
            let x = of_block.iter().flatten().map(|&local| self.graph.input(local)).list();
            let (along, bends) = if manifold.has_unit_basis() {
                (direction, vec![None; dim as usize])
            } else {
                manifolds::path(&mut self.graph, manifold, &x, &direction)
            };
            for (local, (along, bends)) in of_block.iter().zip(along.into_iter().zip(bends)) {
                let Some(local) = local else { continue };
                velocity[local.0 as usize] = Some(self.apply(Op::StopGradient, &[along]));
                bend[local.0 as usize] = bends;
            }
        }
        // Sweeps forward along the path: their length is that of the residuals, however many there are, and of however many parameters.
        let moving = |numbers: &[Option<NodeId>]| {
            let inputs = (0u32..).map(InputId).zip(numbers);
            inputs.filter_map(|(input, number)| Some((input, (*number)?))).list()
        };
        let (velocity, bend) = (moving(&velocity), moving(&bend));
        let (zero, outputs) = (self.graph.literal(0.0), self.class.outputs.clone());
        let slopes = autodiff::directional(&mut self.graph, &outputs, &velocity);
        let slopes = slopes.into_iter().map(|slope| slope.unwrap_or(zero)).list();
        let of_residuals = autodiff::directional(&mut self.graph, &slopes, &velocity);
        let of_paths = autodiff::directional(&mut self.graph, &outputs, &bend);
        for (output, (of_residual, of_path)) in (0..).zip(of_residuals.into_iter().zip(of_paths)) {
            let node = self.graph.add(of_residual.unwrap_or(zero), of_path.unwrap_or(zero));
            let index = self.row_index(output);
            self.write(Role::Residuals, index, node, matches!(self.rows, Rows::Addends(_)));
        }
    }

    /// Adds Σ seed · ∂r/∂δ to a vector of all parameters.
    pub(super) fn seeded_tangent(&mut self) {
        let seeds = self.seeds();
        let row = self.tangent_sweep(&seeds);
        let slots = slots(self.class);
        for (place, node) in row {
            let (column, component) = coordinate(&slots, place);
            let index = Index::indexed(self.buffer(Role::Indices), column, component);
            self.write(Role::Gradient, index, node, true);
        }
    }

    /// Adds Σ seed · ∂²r/∂δ² to a matrix of all parameters, see [`Pairs`].
    pub(super) fn second_order(&mut self) {
        let seeds = self.seeds();
        let rows = self.second_derivatives(&seeds, Coordinates::Tangent);
        let slots = slots(self.class);
        let half = self.graph.literal(0.5);
        for (row, entries) in rows {
            let (a, i) = coordinate(&slots, row);
            for (column, node) in entries {
                let (b, j) = coordinate(&slots, column);
                let node = if row == column { self.graph.mul(half, node) } else { node };
                let places = Pairs::column(&self.class.block_dims, [a, b], i);
                let index = Index::indexed(self.buffer(Role::Places), places, j);
                self.write(Role::JtjBlocks, index, node, true);
            }
        }
    }

    /// The derivatives of Σ seed · ∂r/∂δ by the places of coordinates, the lower half; entries that are zero whatever the point are not there. With seeds that do
    /// not depend on parameters that is Σ seed · ∂²r/∂δ².
    pub(super) fn second_derivatives(
        &mut self,
        seeds: &[(NodeId, NodeId)],
        coordinates: Coordinates,
    ) -> Vec<(u32, Row)> {
        let class = self.class;
        let locals = self.local_inputs();
        let places = self.places();
        let gradient = autodiff::gradient(&mut self.graph, seeds, &locals);
        let mut hessian = Vec::new();
        for (column, (&(first, dim), &manifold)) in (0..).zip(slots(class).iter().zip(&class.manifolds)) {
            let of_block = self.locals_of_block(column, dim);
            let is_flat = coordinates == Coordinates::Numbers || manifold.has_unit_basis();
            // Rows by the block's own numbers. Those of a block with other tangent coordinates have all columns of the block.
            let mut rows: Vec<Row> = vec![Row::new(); dim as usize];
            for (component, local) in (0u32..).zip(&of_block) {
                let Some(partial) = local.and_then(|local| gradient[local.0 as usize]) else { continue };
                let last = if is_flat { first + component } else { first + dim - 1 };
                let before = locals.iter().copied().filter(|local| places[local.0 as usize] <= last).list();
                let one = self.graph.literal(1.0);
                let row = autodiff::gradient(&mut self.graph, &[(partial, one)], &before);
                let entries = before.iter().zip(row);
                let row = entries.filter_map(|(local, entry)| Some((places[local.0 as usize], entry?))).list();
                rows[component as usize] = match coordinates {
                    Coordinates::Numbers => row,
                    Coordinates::Tangent => self.tangent_row(row, &places),
                };
            }
            if !is_flat {
                let x = of_block.iter().flatten().map(|&local| self.graph.input(local)).list();
                let partials = of_block.iter().map(|local| gradient[(*local)?.0 as usize]).list();
                if partials.iter().all(Option::is_none) {
                    continue;
                }
                rows = self.tangent_rows(&rows, first, (&x, &partials), manifold);
            }
            hessian.extend((first..).zip(rows));
        }
        hessian
    }

    /// Rows by the numbers x of a block that begins at a place, in its tangent coordinates. `partials` are first derivatives by its numbers.
    fn tangent_rows(
        &mut self,
        rows: &[Row],
        first: u32,
        (x, partials): (&[NodeId], &[Option<NodeId>]),
        manifold: manifolds::Manifold,
    ) -> Vec<Row> {
        let tangents = manifold.tangent_dim(x.len() as u32);
        let mut projected: Vec<Row> = vec![Row::new(); tangents as usize];
        let bends = manifolds::bends(&mut self.graph, manifold, x, partials);
        for place in 0..first + tangents {
            let entry = |row: &Row| row.iter().find(|&&(of, _)| of == place).map(|&(_, node)| node);
            let column = rows.iter().map(entry).list();
            let along = manifolds::tangent_partials(&mut self.graph, manifold, x, &column);
            for (component, (row, mut entry)) in (0u32..).zip(projected.iter_mut().zip(along)) {
                if place == first + component {
                    let bend = bends[component as usize];
                    entry = match (entry, bend) {
                        (Some(entry), Some(bend)) => Some(self.graph.add(entry, bend)),
                        (entry, bend) => entry.or(bend),
                    };
                }
                if let Some(entry) = entry.filter(|_| place <= first + component) {
                    row.push((place, entry));
                }
            }
        }
        projected
    }

    /// For each residual the number that the caller gives.
    pub(super) fn seeds(&mut self) -> Vec<(NodeId, NodeId)> {
        let outputs = self.class.outputs.clone();
        (0..).zip(outputs).map(|(number, output)| (output, self.load_of_row(Role::Seeds, number))).list()
    }

    fn load_direction(&mut self, column: u32, component: u32) -> NodeId {
        let (buffer, indices) = (self.buffer(Role::Vector), self.buffer(Role::Indices));
        self.load(Load::read(buffer, Index::indexed(indices, column, component)))
    }

    /// The local parameter that each number of a block is; none where no residual depends on it.
    fn locals_of_block(&self, column: u32, dim: u32) -> Vec<Option<InputId>> {
        let mut of_block = vec![None; dim as usize];
        for (local, place) in (0..).zip(&self.class.locals).filter(|(_, place)| place.column == column) {
            of_block[place.component as usize] = Some(InputId(local));
        }
        of_block
    }
}

/// The slot and the component of a place.
pub(super) fn coordinate(slots: &[(u32, u32)], place: u32) -> (u32, u32) {
    let column = slots.partition_point(|&(first, _)| first <= place) - 1;
    (column as u32, place - slots[column].0)
}
