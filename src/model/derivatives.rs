//! The derivatives of a class, which are the same for the pattern of J̃ and for the kernel of its linearisation.

use residua_ir::graph::{Graph, NodeId};

/// Entries of a row of ∂r/∂x or J̃ by their [`Class::gradient_column`](super::class::Class::gradient_column), ascending; the others are zero whatever the point.
pub(super) type Row = Vec<(u32, NodeId)>;

/// The derivatives of a class for the kernel of its linearisation, which are the same for every target.
pub struct Derivatives {
    /// The class's graph with what the sweeps added to it.
    pub(super) graph: Graph,
    /// The rows of J̃ in tangent coordinates.
    pub(super) rows: Vec<Row>,
    /// The entries of J̃ that the host writes, in its order: of each its output and its gradient column.
    pub places: Vec<(u32, u32)>,
}
