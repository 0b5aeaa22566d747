//! Typed expressions of one element: what a kernel computes for each point of its iteration space.
//!
//! A [`TypedGraph`] is a DAG with one type a node. Its leaves are numbers, coordinates of the iteration space, sizes of the dispatch, elements of
//! buffers and results of reductions. Addresses are expressions too: views, borders and gathers are arithmetic on coordinates. Equal nodes are
//! one node, and construction simplifies. Both back ends compute reals in f32 and integers in 32 bits that wrap, so that they give the same
//! bits but for elementary functions.

use residua_base::list::Listed;
use residua_ir::graph::Op as Real;
use rustc_hash::FxHashMap;

use crate::dtype::DType;
use crate::quantised::Form;

mod affine;
mod construct;
mod fold;
mod formula;
mod functions;
mod quantised;

pub use affine::Access;
pub(crate) use fold::fold;
pub(crate) use formula::{Formula, Value};
pub use quantised::{Dequantized, LoadAt};

/// A node of a [`TypedGraph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u32);

impl Id {
    /// Its position.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Type of a value within a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// A real number in f32.
    F32,
    /// A signed 32-bit integer.
    I32,
    /// An unsigned 32-bit integer.
    U32,
    /// A truth value.
    Bool,
}

impl Type {
    /// The type that an element of a tensor has within a kernel.
    pub fn of(dtype: DType) -> Type {
        match dtype {
            DType::F32 | DType::F16 => Type::F32,
            DType::I32 => Type::I32,
            DType::U32 | DType::U8 => Type::U32,
            DType::Bool => Type::Bool,
        }
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypedNode {
    /// A number by its bits: of an f32, an i32, a u32; 0 or 1 of a bool.
    Literal(Type, u32),
    /// A coordinate of the iteration space: a u32, the outermost axis first.
    Coordinate(u32),
    /// A word of the kernel's uniform: a u32, see [`crate::kernel::TensorKernel::sizes`].
    Size(u32),
    /// The element of a buffer at an index, a u32 that is within the buffer.
    Load {
        /// Position in [`crate::kernel::TensorKernel::buffers`].
        buffer: u32,
        /// Which element.
        index: Id,
    },
    /// A result of a reduction of the kernel.
    Folded {
        /// Position in the kernel's list of reductions.
        fold: u32,
        /// Which of its results.
        result: u32,
    },
    /// An operation; operands beyond its arity repeat the first.
    Apply(TypedOp, [Id; 3]),
}

/// Declares [`TypedOp`] from one line for each operation on values: name, number of operands, and type of the result where it is not that of the operands
/// (of the third: operands beyond the number repeat the first).
macro_rules! ops {
    (@result $operands:ident) => { $operands[2] };
    (@result $operands:ident $ty:ident) => { Type::$ty };
    ($($(#[$doc:meta])* $name:ident $arity:literal $($ty:ident)?;)+) => {
        /// An operation on values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TypedOp {
            /// An operation of the scalar expressions on f32. Comparisons, selections and `StopGradient` are not among them: those of this table
            /// serve.
            Real(Real),
            /// a, which [`TypedGraph::dequantized`] made of the loads b and c: of a word, and of the first element of its side.
            Level(Form),
            $($(#[$doc])* $name,)+
        }

        impl TypedOp {
            /// How many operands it takes.
            pub fn arity(self) -> usize {
                match self {
                    TypedOp::Real(op) => op.arity(),
                    TypedOp::Level(_) => 3,
                    $(TypedOp::$name => $arity,)+
                }
            }

            /// The type of its result, from the types of its operands.
            pub fn result(self, operands: [Type; 3]) -> Type {
                match self {
                    TypedOp::Real(_) | TypedOp::Level(_) => Type::F32,
                    $(TypedOp::$name => ops!(@result operands $($ty)?),)+
                }
            }
        }
    };
}

ops! {
    /// The integer part of an f32.
    Trunc 1 F32;
    /// a = b of one type; false with a NaN.
    Eq 2 Bool;
    /// a < b of one type that is no bool; false with a NaN.
    Lt 2 Bool;
    /// a ≤ b of one type that is no bool; false with a NaN.
    Le 2 Bool;
    /// b where the bool a holds, else c.
    Select 3;
    /// Sum of integers of one type; wraps.
    IntAdd 2;
    /// Difference of integers of one type; wraps.
    IntSub 2;
    /// Product of integers of one type; wraps.
    IntMul 2;
    /// Quotient of integers of one type toward zero; 0 where b is 0; wraps.
    IntDiv 2;
    /// Remainder of integers with the sign of a; 0 where b is 0.
    IntRem 2;
    /// Smaller of integers of one type.
    IntMin 2;
    /// Larger of integers of one type.
    IntMax 2;
    /// The high 32 bits of the product of two u32.
    HighProduct 2;
    /// Conjunction of bools, or bit by bit of integers.
    And 2;
    /// Disjunction of bools, or bit by bit of integers.
    Or 2;
    /// Exclusive or of bools, or bit by bit of integers.
    Xor 2;
    /// Negation of a bool, or bit by bit of an integer.
    Not 1;
    /// Shift to the left; b is a u32 and counts modulo 32.
    Shl 2;
    /// Shift to the right, which keeps the sign of an i32; b is a u32 and counts modulo 32.
    Shr 2;
    /// An integer as the nearest f32; a bool as 0 or 1.
    ToF32 1 F32;
    /// An f32 toward zero, clamped, NaN as 0; a u32 by its bits; a bool as 0 or 1.
    ToI32 1 I32;
    /// An f32 toward zero, clamped, NaN as 0; an i32 by its bits; a bool as 0 or 1.
    ToU32 1 U32;
    /// The bits of an i32 or u32 as an f32.
    BitsToF32 1 F32;
    /// The bits of an f32 as a u32.
    BitsOfF32 1 U32;
    /// The half in the low bits of a u32.
    HalfToF32 1 F32;
}

/// A DAG of typed values; operands stand before their users.
#[derive(Clone, Debug, Default)]
pub struct TypedGraph {
    nodes: Vec<TypedNode>,
    types: Vec<Type>,
    known: FxHashMap<TypedNode, Id>,
}

impl PartialEq for TypedGraph {
    /// Whether both have the same nodes in the same order.
    fn eq(&self, other: &TypedGraph) -> bool {
        self.nodes == other.nodes && self.types == other.types
    }
}

impl TypedGraph {
    /// What a node is.
    pub fn node(&self, id: Id) -> TypedNode {
        self.nodes[id.index()]
    }

    /// The type of a node.
    pub fn ty(&self, id: Id) -> Type {
        self.types[id.index()]
    }

    /// How many nodes it has.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes, operands first.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + use<> {
        (0..self.nodes.len() as u32).map(Id)
    }

    /// The operands of a node: those of an operation, the index of a load.
    pub fn operands(&self, id: Id) -> Vec<Id> {
        match self.node(id) {
            TypedNode::Apply(op, operands) => operands[..op.arity()].to_vec(),
            TypedNode::Load { index, .. } => vec![index],
            TypedNode::Literal(..) | TypedNode::Coordinate(_) | TypedNode::Size(_) | TypedNode::Folded { .. } => {
                Vec::new()
            }
        }
    }

    /// For each node whether some values need it.
    pub fn reachable(&self, roots: impl IntoIterator<Item = Id>) -> Vec<bool> {
        let mut is_needed = vec![false; self.len()];
        roots.into_iter().for_each(|root| is_needed[root.index()] = true);
        for id in self.ids().rev() {
            if is_needed[id.index()] {
                self.operands(id).into_iter().for_each(|operand| is_needed[operand.index()] = true);
            }
        }
        is_needed
    }

    /// The nodes that some values need, operands first.
    pub fn needed(&self, roots: impl IntoIterator<Item = Id>) -> Vec<Id> {
        let is_needed = self.reachable(roots);
        self.ids().filter(|id| is_needed[id.index()]).list()
    }

    /// The loads that some values need.
    pub fn loads(&self, roots: impl IntoIterator<Item = Id>) -> Vec<LoadAt> {
        let load = |id: Id| match self.node(id) {
            TypedNode::Load { buffer, index } => Some((buffer, index)),
            _ => None,
        };
        self.needed(roots).into_iter().filter_map(load).list()
    }

    /// Adds a node of a type, or finds the equal one.
    pub(crate) fn intern(&mut self, node: TypedNode, ty: Type) -> Id {
        if let Some(id) = self.known.get(&node) {
            return *id;
        }
        let id = Id(self.nodes.len() as u32);
        self.nodes.push(node);
        self.types.push(ty);
        self.known.insert(node, id);
        id
    }
}
