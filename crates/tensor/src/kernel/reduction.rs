//! Reductions and accumulations along rows.

use residua_base::list::Listed;
use std::rc::Rc;

use super::{Extent, Store};
use crate::expr::Rule;
use crate::scalar::{Id, Type, TypedGraph, TypedNode, TypedOp};

/// A kernel that reduces along rows. Coordinates 0 … count the outer axes, those after them the axes of the row.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Extents of the axes whose points each have a row; may be empty.
    pub outer: Vec<Extent>,
    /// Extents of the axes of a row; at least one.
    pub row: Vec<Extent>,
    /// Where this bool does not hold a point contributes nothing to the reductions and writes nothing: a row that is the last block of a
    /// longer one. None: it holds everywhere.
    pub valid: Option<Id>,
    /// Reductions along the row. The operands of one may depend on results of earlier ones.
    pub folds: Vec<Fold>,
    /// What is written for each point of the row, after all reductions.
    pub elements: Vec<Store>,
    /// What is written once a row; values and indices depend on outer coordinates and results alone.
    pub results: Vec<Store>,
}

impl Rows {
    /// Rows of fewer points have one thread each on a device: there is nothing to share.
    pub const SHORT: u32 = 32;

    /// How many points a row has, where rows have different lengths.
    pub fn length(&self, graph: &TypedGraph) -> Option<Id> {
        match graph.node(self.valid?) {
            TypedNode::Apply(TypedOp::Lt, [place, length, _])
                if graph.node(place) == TypedNode::Coordinate(self.outer.len() as u32) =>
            {
                Some(length).filter(|length| !matches!(graph.node(*length), TypedNode::Size(_)))
            }
            _ => None,
        }
    }
}

/// A reduction along a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// What is accumulated.
    pub combine: Combine,
    /// What each point contributes: the operands of [`Combine::lift`], or the numbers of a state if `merges_states`.
    pub operands: Vec<Id>,
    /// Whether the points contribute states, which an earlier kernel wrote, and not elements.
    pub merges_states: bool,
    /// Whether its results are the numbers of the last state, for a later kernel to merge, and not the finished results.
    pub keeps_state: bool,
}

/// A kernel that accumulates along an axis. Coordinates 0 … count the outer axes, the one after them the place along the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Extents of the axes whose points each have a row; may be empty.
    pub outer: Vec<Extent>,
    /// Extent of the axis.
    pub length: Extent,
    /// As that of [`Rows`].
    pub valid: Option<Id>,
    /// What is accumulated, and what each point contributes.
    pub fold: Fold,
    /// The state before the first point, which depends on outer coordinates alone; none for the identity.
    pub initial: Option<Vec<Id>>,
    /// Whether a point's result leaves out its own contribution.
    pub exclusive: bool,
    /// Whether it goes from the last point to the first. The place is that in memory nevertheless.
    pub reverse: bool,
    /// What is written for each point; results are `Folded` nodes of fold 0.
    pub elements: Vec<Store>,
}

/// What is accumulated along a row: states, with a rule that merges two of them, earlier points first.
#[derive(Clone, Debug, PartialEq)]
pub enum Combine {
    /// Compensated sum of f32. State: (sum, error), both f32; merged by the exact sum of the two sums. Result: sum + error.
    Sum,
    /// Sum of integers that wraps; i32 or u32 by the operand. Of f32 one that is not compensated.
    PlainSum,
    /// Product of f32 with what its roundings lost, since those of equal factors add up. State: (product, error), both f32. Or of integers, which
    /// wraps.
    Prod,
    /// Smallest, of any type but bool; a NaN passes. Of bools the conjunction.
    Min,
    /// Largest, of any type but bool; a NaN passes. Of bools the disjunction.
    Max,
    /// First smallest. Operands: value (f32, i32 or u32), u32 position. State: (value, position). Result: the position as an i32. A NaN is
    /// smaller than every number.
    ArgMin,
    /// First largest. A NaN is larger than every number.
    ArgMax,
    /// Variance of f32, whose points are differences to one of them: their mean must not be large beside them. State: (count, mean, sum of squares of
    /// differences), all f32. Result: the sum of squares over the count.
    Variance,
    /// A rule of the user on states of f32.
    By(Rc<Rule>),
}

impl Combine {
    /// The types of the numbers of a state, from the type of the first operand.
    pub fn state_types(&self, ty: Type) -> Vec<Type> {
        match self {
            Combine::Sum => vec![Type::F32; 2],
            Combine::Prod if ty == Type::F32 => vec![Type::F32; 2],
            Combine::PlainSum | Combine::Prod | Combine::Min | Combine::Max => vec![ty],
            Combine::ArgMin | Combine::ArgMax => vec![if ty == Type::Bool { Type::U32 } else { ty }, Type::U32],
            Combine::Variance => vec![Type::F32; 3],
            Combine::By(rule) => vec![Type::F32; rule.identity.len()],
        }
    }

    /// The position in the state of an argmin or argmax of nothing.
    pub const NOWHERE: u32 = u32::MAX;

    /// The bits of the numbers of the state of nothing, from the type of the first operand.
    pub fn identity(&self, ty: Type) -> Vec<u32> {
        let (smallest, largest) = match ty {
            Type::F32 => (f32::NEG_INFINITY.to_bits(), f32::INFINITY.to_bits()),
            Type::I32 => (i32::MIN as u32, i32::MAX as u32),
            Type::U32 => (0, u32::MAX),
            Type::Bool => (0, 1),
        };
        match self {
            Combine::Sum => vec![0; 2],
            Combine::PlainSum => vec![0],
            Combine::Prod if ty == Type::F32 => vec![1f32.to_bits(), 0],
            Combine::Prod => vec![1],
            Combine::Min => vec![largest],
            Combine::Max => vec![smallest],
            Combine::ArgMin => vec![largest, Combine::NOWHERE],
            Combine::ArgMax => vec![smallest, Combine::NOWHERE],
            Combine::Variance => vec![0; 3],
            Combine::By(rule) => rule.identity.iter().map(|number| (*number as f32).to_bits()).list(),
        }
    }
}
