//! A class: what the instances of a batch have in common.

use std::rc::Rc;

use residua_ir::graph::{CheckedGraph, NodeId};

use super::manifolds::Manifold;

/// Where a local parameter stands: a component of one of the instance's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// Column of the instance's index table.
    pub column: u32,
    /// Which number of the block.
    pub component: u32,
}

/// Which robust losses the residuals may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Losses {
    /// Any, at any time: kernels ask a uniform which.
    Any,
    /// The squared one alone, so that kernels need not hold the others: a driver takes as long to compile these as all the rest.
    Squared,
}

/// One residual expression over local parameters, data and batch constants.
///
/// The inputs of the graph are numbered: local parameters `0..locals.len()`, then `data` data scalars, then `batch_constants`
/// numbers on which all instances agree.
#[derive(Clone, Debug)]
pub struct Class {
    /// What is computed.
    pub graph: CheckedGraph,
    /// The residuals of an instance, in order.
    pub outputs: Vec<NodeId>,
    /// The local parameters.
    pub locals: Vec<Local>,
    /// Columns of the index table that hold blocks: the numbers each block has.
    pub block_dims: Vec<u32>,
    /// For each of them the space that its blocks live in.
    pub manifolds: Vec<Manifold>,
    /// Data scalars an instance has.
    pub data: u32,
    /// Numbers on which all instances agree.
    pub batch_constants: u32,
    /// Numbers of all tables of the model, if the graph reads any; else 0.
    pub tables: u32,
    /// The losses that there may be.
    pub losses: Losses,
    /// The data column that is the weight of the instance, if it has one; the residuals in the graph are 0 where it is 0.
    pub weight: Option<u32>,
}

impl Class {
    /// The class without losses that its residuals do not have at present.
    pub fn limited_to(self: &Rc<Class>, losses: Losses) -> Rc<Class> {
        match losses {
            Losses::Any => self.clone(),
            Losses::Squared => Rc::new(Class { losses, ..Class::clone(self) }),
        }
    }

    /// Column of the local gradient that a local parameter has: block after block, component after component.
    pub fn gradient_column(&self, local: usize) -> u32 {
        let place = self.locals[local];
        self.block_dims[..place.column as usize].iter().sum::<u32>() + place.component
    }

    /// Whether the kernels of two classes have the same texts.
    pub fn has_kernels_of(&self, other: &Class) -> bool {
        let Class {
            graph,
            outputs,
            locals,
            block_dims,
            manifolds,
            data,
            batch_constants,
            tables: of_tables,
            losses,
            weight,
        } = self;
        let tables =
            (&other.outputs, &other.locals, &other.block_dims, &other.manifolds, &other.data, &other.batch_constants);
        (outputs, locals, block_dims, manifolds, data, batch_constants) == tables
            && (*of_tables, *losses, *weight) == (other.tables, other.losses, other.weight)
            && graph.graph().is_same(other.graph.graph())
    }
}

#[cfg(test)]
#[path = "class_tests.rs"]
mod tests;
