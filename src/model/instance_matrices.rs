//! The kernels of symmetric matrices that a device has for each instance, as Newton's method has them there.
//!
//! The matrix of an instance is by all numbers of its blocks, in the order of [`Class::gradient_column`]. A table has its lower half, row by row, a column for
//! each entry; [`Entry::Hessian`](super::entry_point::Entry::Hessian) writes the first such table.
//!
//! | entry | gives |
//! |---|---|
//! | `matrixProduct` | Av of each instance for the vector v of all parameters, as local gradients, and Σ vᵀAv |
//! | `matrixColumn` | column k of each diagonal block of A, as local gradients |
//! | `matrixMagnitudes` | the magnitudes of the diagonal of A, as local gradients |
//!
//! A gather of local gradients adds them up over the instances. Of a block that an instance has twice the parts of A that are beside its diagonal blocks are
//! left out of the block's own.

use residua_base::list::Listed;
use residua_codegen::{Index, Load};
use residua_ir::graph::{NodeId, Op};

use super::class::Class;
use super::planner::Planner;
use super::role::Role;
use super::tangent::slots;

/// Rows of an instance's matrix.
pub fn rows(class: &Class) -> u32 {
    class.block_dims.iter().sum()
}

/// Columns of a table of matrices.
pub fn columns(class: &Class) -> u32 {
    let rows = rows(class);
    rows * (rows + 1) / 2
}

/// The column of the table that has an entry.
pub fn column(row: u32, column: u32) -> u32 {
    let (row, column) = (row.max(column), row.min(column));
    row * (row + 1) / 2 + column
}

/// For each row the block slot and the component.
pub fn coordinates(class: &Class) -> Vec<(u32, u32)> {
    (0..).zip(&class.block_dims).flat_map(|(slot, &dim)| (0..dim).map(move |component| (slot, component))).list()
}

impl Planner<'_> {
    /// An entry of the matrix.
    fn matrix_entry(&mut self, row: u32, of_row: u32) -> NodeId {
        let buffer = self.buffer(Role::Partials);
        self.load_once(Load::read(buffer, Index::column(column(row, of_row))))
    }

    pub(super) fn matrix_product(&mut self) -> NodeId {
        let mut vector = Vec::new();
        for (slot, component) in coordinates(self.class) {
            let (buffer, indices) = (self.buffer(Role::Vector), self.buffer(Role::Indices));
            vector.push(self.load(Load::read(buffer, Index::indexed(indices, slot, component))));
        }
        let mut along = Vec::new();
        for row in 0..vector.len() {
            let mut terms = Vec::new();
            for (column, &number) in (0..).zip(&vector) {
                let entry = self.matrix_entry(row as u32, column);
                terms.push(self.product_of(entry, number));
            }
            let product = self.sum(terms);
            self.store(Role::LocalGradient, Index::column(row as u32), product);
            along.push(self.product_of(vector[row], product));
        }
        self.sum(along)
    }

    /// Stores a column of each diagonal block, or without a number the magnitudes of their diagonals.
    pub(super) fn matrix_column(&mut self, number: Option<u32>) {
        for (first, dim) in slots(self.class) {
            for row in first..first + dim {
                let node = match number {
                    None => {
                        let entry = self.matrix_entry(row, row);
                        self.apply(Op::Abs, &[entry])
                    }
                    Some(number) if number < dim => self.matrix_entry(row, first + number),
                    Some(_) => self.graph.literal(0.0),
                };
                self.store(Role::LocalGradient, Index::column(row), node);
            }
        }
    }
}
