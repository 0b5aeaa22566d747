//! The kernels of the Hessian of an objective: a matrix for each instance, and on the host products with the whole.
//!
//! | entry | reads beside the tables | gives |
//! |---|---|---|
//! | `hessian` | of a cost the loss, of seeds a number for each residual | the lower half of each instance's Hessian, on the GPU for [`super::instance_matrices`] |
//! | `hessianProduct` | the same, a vector v | adds the instance's Hessian times v to a vector of all parameters |
//!
//! With weight w, loss ρ, s = ‖r‖² and u = Jᵀr, the gradient of ½ w ρ(s) is w ρ′ u and its Hessian w ρ′ ∂u/∂x + 2 w ρ″ uuᵀ.

use residua_base::list::Listed;
use residua_codegen::{Index, Load};
use residua_ir::autodiff;
use residua_ir::graph::NodeId;

use super::class::Losses;
use super::derivatives::Row;
use super::energy::{Coordinates, Energy};
use super::instance_matrices;
use super::planner::{Planner, Target};
use super::role::Role;
use super::second_order::coordinate;
use super::tangent::slots;

/// Numbers of an instance's parameters, at most: its matrix is dense, and its kernel has an instruction for each entry at least.
pub const MOST_NUMBERS: usize = 64;

/// The Hessian of an instance: rows by the places of coordinates.
type Rows = Vec<(u32, Row)>;

impl Planner<'_> {
    /// Stores the lower half of the Hessian of each instance, one instance after the other, on the GPU column after column; gives row and column of each entry
    /// of the host, by [`super::class::Class::gradient_column`]. Nothing of instances with more than [`MOST_NUMBERS`] numbers.
    pub(super) fn hessian(&mut self, of: Energy, coordinates: Coordinates, target: Target) -> Vec<(u32, u32)> {
        if self.class.locals.len() > MOST_NUMBERS {
            return Vec::new();
        }
        let rows = match of {
            Energy::Sum => {
                let (_, seeds) = self.objective(true);
                self.second_derivatives(&seeds, coordinates)
            }
            Energy::Seeded => {
                let seeds = self.seeds();
                self.second_derivatives(&seeds, coordinates)
            }
            Energy::Cost => self.hessian_of_cost(coordinates),
        };
        let mut places = Vec::new();
        if target == Target::Gpu {
            let mut columns = vec![self.graph.literal(0.0); instance_matrices::columns(self.class) as usize];
            for (row, entries) in rows {
                for (column, node) in entries {
                    columns[instance_matrices::column(row, column) as usize] = node;
                }
            }
            for (column, node) in (0..).zip(columns) {
                self.store(Role::Partials, Index::column(column), node);
            }
            return places;
        }
        let width = rows.iter().map(|(_, row)| row.len()).sum::<usize>() as u32;
        for (row, entries) in rows {
            for (column, node) in entries {
                self.store(Role::Partials, Index::interleaved(width, places.len() as u32), node);
                places.push((row, column));
            }
        }
        places
    }

    /// Adds the Hessian of each instance, times the vector, to a vector of all parameters.
    pub(super) fn hessian_product(&mut self, of: Energy) {
        let locals = self.local_inputs();
        let (seeds, factors) = match of {
            Energy::Sum => (self.objective(true).1, None),
            Energy::Seeded => (self.seeds(), None),
            Energy::Cost => {
                let (seeds, scale, bend) = self.factors_of_cost();
                (seeds, Some((scale, bend)))
            }
        };
        let gradient = autodiff::gradient(&mut self.graph, &seeds, &locals);
        let slots = slots(self.class);
        let mut vector = Vec::new();
        for (place, partial) in self.places().into_iter().zip(&gradient) {
            let Some(partial) = partial else { continue };
            let (slot, component) = coordinate(&slots, place);
            let (buffer, indices) = (self.buffer(Role::Vector), self.buffer(Role::Indices));
            let number = self.load(Load::read(buffer, Index::indexed(indices, slot, component)));
            vector.push((*partial, number));
        }
        let mut product = if self.graph.loops().is_empty() {
            autodiff::gradient(&mut self.graph, &vector, &locals)
        } else {
            // Loops have tangents along the vector alone, and not a tangent or an adjoint for each local parameter once more.
            let moving = locals.iter().zip(&gradient).filter(|(_, partial)| partial.is_some());
            let velocity = moving.zip(&vector).map(|((input, _), &(_, number))| (*input, number)).list();
            let partials = gradient.iter().copied().flatten().list();
            let mut along = autodiff::directional(&mut self.graph, &partials, &velocity).into_iter();
            gradient.iter().map(|partial| partial.and_then(|_| along.next().flatten())).list()
        };
        if let Some((scale, bend)) = factors {
            for entry in product.iter_mut().flatten() {
                *entry = self.graph.mul(scale, *entry);
            }
            if let Some(bend) = bend {
                let along = vector.iter().map(|&(partial, number)| self.graph.mul(partial, number)).list();
                let along = self.sum(along);
                let share = self.graph.mul(bend, along);
                for (entry, partial) in product.iter_mut().zip(&gradient) {
                    let Some(partial) = partial else { continue };
                    let of_loss = self.graph.mul(share, *partial);
                    *entry = Some(entry.map_or(of_loss, |entry| self.graph.add(entry, of_loss)));
                }
            }
        }
        for (local, node) in self.class.locals.iter().zip(product) {
            let Some(node) = node else { continue };
            let index = Index::indexed(self.buffer(Role::Indices), local.column, local.component);
            self.write(Role::Gradient, index, node, true);
        }
    }

    /// Residuals as seeds of u, w ρ′, and 2 w ρ″, which the squared loss is without.
    fn factors_of_cost(&mut self) -> (Vec<(NodeId, NodeId)>, NodeId, Option<NodeId>) {
        let outputs = self.outputs.clone();
        let squared_norm = self.squared_norm(&outputs);
        let [_, slope] = self.loss(squared_norm);
        let weight = self.scaled_weight();
        let scale = self.graph.mul(weight, slope);
        let bend = (self.class.losses == Losses::Any).then(|| {
            let bend = self.bend(squared_norm);
            let two = self.graph.literal(2.0);
            let bend = self.graph.mul(two, bend);
            self.graph.mul(weight, bend)
        });
        (outputs.iter().map(|&r| (r, r)).list(), scale, bend)
    }

    fn hessian_of_cost(&mut self, coordinates: Coordinates) -> Rows {
        let (seeds, scale, bend) = self.factors_of_cost();
        let mut rows = self.second_derivatives(&seeds, coordinates);
        for (_, entry) in rows.iter_mut().flat_map(|(_, row)| row) {
            *entry = self.graph.mul(scale, *entry);
        }
        let Some(bend) = bend else { return rows };
        let gradient = match coordinates {
            Coordinates::Tangent => self.tangent_sweep(&seeds),
            Coordinates::Numbers => {
                let locals = self.local_inputs();
                let partials = autodiff::gradient(&mut self.graph, &seeds, &locals);
                let mut gradient =
                    self.places().into_iter().zip(partials).filter_map(|(place, u)| Some((place, u?))).list();
                gradient.sort_unstable_by_key(|&(place, _)| place);
                gradient
            }
        };
        for (place, u) in &gradient {
            let scaled = self.graph.mul(bend, *u);
            let position = rows.iter().position(|(row, _)| row == place).unwrap_or_else(|| {
                rows.push((*place, Row::new()));
                rows.len() - 1
            });
            for (column, other) in gradient.iter().filter(|(column, _)| column <= place) {
                let of_loss = self.graph.mul(scaled, *other);
                let row = &mut rows[position].1;
                match row.iter_mut().find(|(of, _)| of == column) {
                    Some((_, entry)) => *entry = self.graph.add(*entry, of_loss),
                    None => row.push((*column, of_loss)),
                }
            }
        }
        rows
    }
}
