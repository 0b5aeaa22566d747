//! The DAG of operations on tensors that a tape records.
//!
//! A node is an operation on earlier nodes, with an element type and a shape. Shapes hold [`Size`]s. Operations of the facade that are not
//! here are compositions of these, which the facade records: a softmax is a maximum, a difference, an exponential, a sum and a quotient,
//! and fusion makes one kernel of them.

use std::rc::Rc;

use residua_base::list::Listed;
use residua_ir::graph::{CheckedGraph, NodeId as ScalarId};

use crate::dtype::DType;
use crate::quantised::Form;
use crate::size::Size;

mod attention;
mod build;
mod digit;
mod elementwise;
#[cfg(not(target_arch = "wasm32"))]
mod evaluate;
mod fourier;
mod infer;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod infer_test;
mod linalg;
mod memory;
mod shapes;
pub mod winograd;

pub use attention::{Attention, Weights};
pub use digit::Digit;
pub use elementwise::{Elementwise, Takes};
#[cfg(not(target_arch = "wasm32"))]
pub use evaluate::{Array, evaluate};
pub use fourier::{Fourier, FourierKind};
pub use linalg::Linalg;
pub(crate) use memory::with_memory;
pub use memory::{has_memory, memory_dtype};

/// A node of an [`Expr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub u32);

/// A DAG of operations on tensors; operands stand before their users.
#[derive(Clone, Debug, Default)]
pub struct Expr {
    /// In the order of recording.
    pub nodes: Vec<Tensor>,
}

/// An operation and what it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// What it is.
    pub op: TensorOp,
    /// What it takes.
    pub operands: Vec<TensorId>,
    /// Type of its elements.
    pub dtype: DType,
    /// Extent of each axis, the outermost first.
    pub shape: Vec<Size>,
}

/// An operation on tensors. Axes count from the outermost.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorOp {
    /// Numbers in memory: a stored tensor or an input of the program, by its slot. C order, without gaps.
    Input(u32),
    /// One number everywhere, of the node's type.
    Constant(f64),
    /// A size as a number, everywhere.
    Extent(Size),
    /// One number everywhere, as [`TensorOp::Constant`], whose bits are a size: those of an f32, or an integer modulo 2³². Recipes that differ in such numbers
    /// have the same kernels.
    Number(Size),
    /// The coordinate along an axis.
    Iota(u32),
    /// 32 random bits an element by Threefry 2×32-20. The operand is [seed low, seed high, run] of u32; the counter is the element's linear
    /// index (whose top word is the run), the key is the seed with the stream added to its high word.
    RandomBits(u32),
    /// Elementwise on operands that broadcast to the node's shape as in NumPy.
    Elementwise(Elementwise),
    /// The same elements in the same order, in another shape.
    Reshape,
    /// Repeats axes of extent 1, and adds axes at the front, up to the node's shape.
    Expand,
    /// Axis k of the result is this axis of the operand.
    Permute(Vec<u32>),
    /// Element i of an axis is element start + i · step of the operand's.
    Slice {
        /// For each axis.
        starts: Vec<Size>,
        /// For each axis; negative goes backwards.
        steps: Vec<i64>,
    },
    /// Element i of an axis is element i − before of the first operand's. Beyond its border it is what the mode says: for
    /// [`Border::Constant`] the second operand, a scalar.
    Pad {
        /// For each axis.
        before: Vec<Size>,
        /// What stands beyond the border.
        border: Border,
    },
    /// The operands after one another along an axis.
    Concat(u32),
    /// Overlapping pieces of an axis: element i of the axis and j of a new last axis is element i · step + j · dilation of the operand's.
    Windows {
        /// Which axis.
        axis: u32,
        /// Distance between pieces.
        step: u32,
        /// Distance within a piece.
        dilation: u32,
    },
    /// Slices of an axis of the first operand by the second's integers: the shape is that of the first with the axis replaced by the shape of
    /// the indices. A negative index counts from the end; one out of range reads 0.
    Gather(u32),
    /// The first operand's element whose coordinate along an axis is the second operand's element; both have one rank.
    GatherElements(u32),
    /// Over some axes, which go. Sorted.
    Reduce(Reduction, Vec<u32>),
    /// Of all elements of an axis up to each.
    Scan {
        /// What is accumulated.
        reduction: Reduction,
        /// Which axis.
        axis: u32,
        /// Whether it leaves out the element itself.
        exclusive: bool,
        /// Whether it goes from the end.
        reverse: bool,
    },
    /// A reduction by a rule of the user over some axes, which go; the operands are the state of each element, and this is one number of the
    /// last state.
    Fold {
        /// How states merge.
        rule: Rc<Rule>,
        /// Sorted.
        axes: Vec<u32>,
        /// Which number of the state.
        result: u32,
    },
    /// The same of all elements of an axis up to each.
    ScanBy {
        /// How states merge.
        rule: Rc<Rule>,
        /// Which axis.
        axis: u32,
        /// Whether it leaves out the element itself.
        exclusive: bool,
        /// Whether it goes from the end.
        reverse: bool,
        /// Which number of the state.
        result: u32,
    },
    /// [..., m, k] times [..., k, n] is [..., m, n]; leading axes broadcast. One operand may be f16 where the other is f32.
    MatMul,
    /// softmax(q kᵀ · scale + mask) v of queries, keys, values and perhaps a mask; f32.
    Attention(Attention),
    /// The first operand with elements of the third put at places along an axis that the second says. All have one rank; indices and source have
    /// one shape.
    Scatter(u32, Combine),
    /// The first operand with slices of the third put at places along an axis that the second, a vector, says.
    IndexPut(u32, Combine),
    /// The first operand with the part that begins at some places replaced by the second.
    SetSlice {
        /// For each axis.
        starts: Vec<Size>,
        /// The slot whose memory it is, where planning found that only the part has to be written: the first operand is then the slot's
        /// contents before, and readers of the result read the slot. None on tapes, and where it is computed like a view.
        slot: Option<u32>,
    },
    /// The places along the last axis of the smallest numbers of each row of u32, in ascending order, as i32; equal numbers keep their order.
    /// There are as many of them as the last axis of the node has, at most all.
    Argsort {
        /// How many low bits of the numbers may differ from 0: 1 to 32.
        bits: u32,
    },
    /// Numbers of a few bits with a scale for each block of 32 along the last axis, as f32: (n − 8) · scale of 4 bits, n · scale of 8, which are
    /// signed. The operands are words of u32, which hold the numbers low bits first, and scales of f16, one a block.
    Dequantize(Form),
    /// A Fourier transform of real and imaginary parts, or of real numbers; f32.
    Fourier(Fourier),
    /// The table of the roots of unity of a length, [`crate::roots`]: [roots, 2] of f32. Planning makes it of transforms; no tape has it.
    Roots(u32),
    /// A factorisation of each matrix of a batch of f32, which are the last two axes, or a triangular system.
    Linalg(Linalg),
    /// How often each value of a digit occurs in each block of 2048 keys of a row of u32: [rows, n] gives [rows, 256, blocks]
    /// of u32. Planning makes it of sorts; no tape has it.
    DigitCounts(Digit),
    /// The places of the keys of each row of the first operand, [rows, n] of u32, in ascending order of a digit, as u32; those with equal digits keep
    /// their order. The second operand is the counts of the digits in each block and those before it. Planning makes it of sorts; no tape has it.
    DigitSort(Digit),
    /// A sparse matrix [n, m] times a dense one [m, ...]. The operands are where the entries of each row begin, [n + 1] of u32, the column and the value of
    /// each entry, [entries] or of values [entries, ...], the dense matrix, and for derivatives the row of each entry, where the entries of each column begin
    /// in their order by column, [m + 1], and that order. Planning makes sums of ranges of it.
    SparseProduct,
    /// Sums along the first axis of the first operand, [entries, ...] of f32, from places that the second says, [n] of u32, to those of the third, which are
    /// not above the number of entries: [n, ...]. Three more operands are more of the same, whose sums are added. Planning makes it, and says whether sums are
    /// compensated; no tape has it.
    RangeSum(bool),
    /// The derivative of the first operand, a scalar, by the second. [`crate::expr`] knows nothing of its meaning: differentiation replaces it
    /// before anything else.
    Gradient,
    /// The first operand, with derivatives that the caller gives. The second stands for the adjoint of the result. The others are pairs: what the result
    /// has a derivative by, and its adjoint, which is computed from the second. Differentiation replaces it.
    CustomGradient,
}

/// What stands beyond the border of a padded axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Border {
    /// A number.
    Constant,
    /// The nearest element.
    Clamp,
    /// The axis again.
    Wrap,
    /// The axis mirrored at its outermost elements, which do not repeat.
    Mirror,
}

/// A reduction of the elements of some axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reduction {
    /// Of nothing 0. Real sums are compensated.
    Sum,
    /// Of nothing 1.
    Prod,
    /// Of nothing the largest of the type; NaN if any is.
    Min,
    /// Of nothing the smallest of the type; NaN if any is.
    Max,
    /// Linear index within the reduced axes of the first smallest; a NaN is smallest. An i32.
    ArgMin,
    /// Linear index within the reduced axes of the first largest; a NaN is largest. An i32.
    ArgMax,
    /// Mean of (x − mean)², by Welford's and Chan's updates.
    Variance,
}

/// How elements of several sources at one place combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// The last one replaces.
    Set,
    /// Sum.
    Add,
    /// Product.
    Mul,
    /// Smallest.
    Min,
    /// Largest.
    Max,
}

/// An associative rule on states of a few f32.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The state of nothing.
    pub identity: Vec<f64>,
    /// Its inputs are the numbers of the earlier state, then those of the later one.
    pub merge: CheckedGraph,
    /// The merged state.
    pub results: Vec<ScalarId>,
}

impl Reduction {
    /// Its name in plans.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Prod => "prod",
            Reduction::Min => "min",
            Reduction::Max => "max",
            Reduction::ArgMin => "argmin",
            Reduction::ArgMax => "argmax",
            Reduction::Variance => "variance",
        }
    }
}

impl PartialEq for Rule {
    /// Two rules are one where they compute the same by the same operations, so that kernels with equal rules are one.
    fn eq(&self, other: &Rule) -> bool {
        let bits = |rule: &Rule| rule.identity.iter().map(|number| number.to_bits()).list();
        let are_same_nodes = self.merge.graph().nodes() == other.merge.graph().nodes();
        are_same_nodes && self.results == other.results && bits(self) == bits(other)
    }
}

impl Expr {
    /// A node.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.nodes[id.0 as usize]
    }

    /// Adds a node.
    pub fn push(&mut self, tensor: Tensor) -> TensorId {
        self.nodes.push(tensor);
        TensorId(self.nodes.len() as u32 - 1)
    }

    /// The number of elements of a node.
    pub fn count(&self, id: TensorId) -> Size {
        Size::product(&self.tensor(id).shape)
    }
}
