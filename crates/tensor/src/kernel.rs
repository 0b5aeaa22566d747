//! Kernels: what one dispatch computes, for both back ends.
//!
//! A kernel has an iteration space, whose points are its instances, and a [`Graph`](crate::scalar::Graph) that says what each point computes
//! from its coordinates. Extents and strides are words of a uniform, so that a kernel serves other shapes; `1` and `0` are literals, so that
//! contiguous and repeated operands show in the text.

use residua_base::list::Listed;
use std::rc::Rc;

use crate::dtype::DType;
use crate::expr::{Digit, Fourier as Of, Linalg as Kind, Rule};
use crate::scalar::{Graph, Id, Node, Op, Type};
use crate::size::Size;

/// What one dispatch computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Entry point in snake_case, and its name in plans.
    pub name: String,
    /// The buffers, in binding order. The uniform is bound after them.
    pub buffers: Vec<Buffer>,
    /// The words of the uniform that [`crate::scalar::Node::Size`] and extents refer to. Words with equal sizes are one.
    pub sizes: Vec<Size>,
    /// What is computed.
    pub graph: Graph,
    /// Over what, and what becomes of it.
    pub body: Body,
    /// For which sizes it runs; none: for all. A plan has several kernels for one purpose where sizes decide which is the fastest.
    pub guard: Option<SizeBounds>,
}

/// Bounds of a size, for which a kernel runs.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeBounds {
    /// The size.
    pub size: Size,
    /// The smallest.
    pub least: u32,
    /// The largest.
    pub most: u32,
}

impl SizeBounds {
    /// Whether the size is within the bounds where the dims have these values.
    pub fn holds(&self, dims: &[u32]) -> bool {
        (i64::from(self.least)..=i64::from(self.most)).contains(&self.size.at(dims))
    }

    /// Whether no run has sizes within these bounds and within others.
    pub fn excludes(&self, other: &SizeBounds) -> bool {
        self.size == other.size && (self.most < other.least || other.most < self.least)
    }
}

/// One buffer of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// Type of its elements. Elements narrower than a word are packed into words, the first in the low bits.
    pub dtype: DType,
    /// Whether the kernel writes it. A kernel that reads and writes one buffer reads, at each point, only elements that the same point
    /// writes.
    pub written: bool,
}

/// An extent: a number or a word of the uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Always this number.
    Known(u32),
    /// A word of the uniform, by position in [`Kernel::sizes`].
    Word(u32),
}

impl Extent {
    /// Its value for the words of a uniform.
    pub fn of(self, words: &[u32]) -> u32 {
        match self {
            Extent::Known(number) => number,
            Extent::Word(word) => words[word as usize],
        }
    }
}

/// Over what a kernel runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Each point by itself.
    Elements(Elements),
    /// The same over several spaces, of which none needs another: they run side by side.
    Maps(Vec<Elements>),
    /// Each row of points by itself, with reductions along the row.
    Rows(Rows),
    /// Each row of points by itself, with the accumulation of all points up to each.
    Scan(Scan),
    /// Products of matrices.
    Product(Product),
    /// Several of them with [`Tile::Vector`], of which none needs another: they run side by side.
    Products(Vec<Product>),
    /// Products of one left factor and of the same extents, whose tile is [`Tile::Vector`]: a workgroup computes its elements of one after the
    /// other, so that what is written for an element of a later one may be computed from what was written for that of an earlier one.
    Sequence(Vec<Product>),
    /// The order of the keys of each row.
    Sort(Sort),
    /// How often each digit occurs in each block of a row of keys.
    DigitCounts(DigitCounts),
    /// The order of the keys of each row by a digit.
    DigitSort(DigitSort),
    /// Fourier transforms of rows.
    Fourier(Fourier),
    /// A factorisation or a triangular system of a batch of matrices.
    Linalg(Linalg),
    /// Attention of a batch of heads.
    Attention(Attention),
}

/// A kernel whose points are independent.
#[derive(Clone, Debug, PartialEq)]
pub struct Elements {
    /// Extent of each axis, the outermost first; at least one axis.
    pub space: Vec<Extent>,
    /// What is written.
    pub stores: Vec<Store>,
    /// Whether the stores write all of their buffers, so that what lies beyond the last element is padding.
    pub fills: bool,
}

/// A value that is written to an element of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// Position in [`Kernel::buffers`].
    pub buffer: u32,
    /// Which element: a u32 that is within the buffer. No two points write one element.
    pub index: Id,
    /// What: of the type that the buffer's elements have within kernels.
    pub value: Id,
}

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
    /// How many points a row has, where rows have different lengths.
    pub fn length(&self, graph: &Graph) -> Option<Id> {
        match graph.node(self.valid?) {
            Node::Apply(Op::Lt, [place, length, _])
                if graph.node(place) == Node::Coordinate(self.outer.len() as u32) =>
            {
                Some(length).filter(|length| !matches!(graph.node(*length), Node::Size(_)))
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

/// A batch of products of matrices, [`rows`, `depth`] times [`depth`, `columns`]. Coordinates 0 … count the axes of the batch, the three after
/// them are the row, the column and the place along the depth. Reductions of a row are numbered from 0 on, and the product after them.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// Extents of the axes of the batch; may be empty.
    pub batch: Vec<Extent>,
    /// Rows of the result.
    pub rows: Extent,
    /// Columns of the result.
    pub columns: Extent,
    /// Length of the sums.
    pub depth: Extent,
    /// Reductions along the depth on which the left factor depends; only of a product of one row with [`Tile::Vector`].
    pub folds: Vec<Fold>,
    /// The left factor at (batch, row, depth): a load, or a few operations on loads. f32, i32 or u32.
    pub left: Id,
    /// The right factor at (batch, depth, column), of the same type.
    pub right: Id,
    /// What is written for each (batch, row, column), where result 0 of the fold after those of a row is the element of the product.
    pub elements: Vec<Store>,
    /// How it is tiled.
    pub tile: Tile,
}

/// A kernel that finds the order of the keys of rows: ascending, and of equal keys the order in which they stand. Coordinates 0 … count the outer
/// axes, the two after them are the place of a key in its row and a rank. The result `Folded { fold: 0, result: 0 }`, a u32, is the place of the
/// key of a rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Sort {
    /// Extents of the axes whose points each have a row; may be empty.
    pub outer: Vec<Extent>,
    /// How many keys a row has.
    pub length: Extent,
    /// How many ranks are wanted: at most all.
    pub kept: Extent,
    /// How many keys a row has at most. On a device at most [`Sort::LONGEST`].
    pub most: u32,
    /// How many low bits of a key may differ from 0.
    pub bits: u32,
    /// The key at (outer, place), a u32.
    pub key: Id,
    /// What is written for each (outer, rank).
    pub elements: Vec<Store>,
}

impl Sort {
    /// Longest row that a workgroup sorts: its keys and their places take 16 KB.
    pub const LONGEST: u32 = 2048;
}

/// A kernel that counts digits in blocks of [`Digit::BLOCK`] keys of rows. Coordinates 0 … count the outer axes, the three after them are the place
/// of a key, a digit and a block. The result `Folded { fold: 0, result: 0 }`, a u32, is how often a digit occurs in a block.
#[derive(Clone, Debug, PartialEq)]
pub struct DigitCounts {
    /// Extents of the axes whose points each have a row; may be empty.
    pub outer: Vec<Extent>,
    /// How many keys a row has.
    pub length: Extent,
    /// Blocks of a row. Those beyond its end are empty.
    pub blocks: u32,
    /// What is counted.
    pub digit: Digit,
    /// The key at (outer, place), a u32.
    pub key: Id,
    /// What is written for each (outer, digit, block).
    pub elements: Vec<Store>,
}

/// A kernel that finds the order of the keys of rows by a digit, in which keys with equal digits stand as they do in the row. Coordinates 0 … count
/// the outer axes, the four after them are the place of a key, a rank, a digit and a block. The result `Folded { fold: 0, result: 0 }`, a u32, is
/// the place of the key of a rank.
#[derive(Clone, Debug, PartialEq)]
pub struct DigitSort {
    /// Extents of the axes whose points each have a row; may be empty.
    pub outer: Vec<Extent>,
    /// How many keys a row has.
    pub length: Extent,
    /// Blocks of a row.
    pub blocks: u32,
    /// By what.
    pub digit: Digit,
    /// The key at (outer, place), a u32.
    pub key: Id,
    /// How often a digit occurs in a row, at (outer, digit), a u32.
    pub total: Id,
    /// How often a digit occurs in the blocks before a block, at (outer, digit, block), a u32.
    pub before: Id,
    /// What is written for each (outer, rank).
    pub elements: Vec<Store>,
}

/// A kernel that transforms rows. Coordinates 0 … count the outer axes, the two after them are the place of a number in its row and a place of the
/// result. The results of fold 0 at such a place are the real part and, where it is complex, the imaginary one.
#[derive(Clone, Debug, PartialEq)]
pub struct Fourier {
    /// Extents of the axes whose points each have a row; may be empty.
    pub outer: Vec<Extent>,
    /// What is transformed. Its axes are those of the tensors.
    pub of: Of,
    /// The real part at (outer, place), an f32: on the host a load.
    pub re: Id,
    /// The imaginary part; none: 0.
    pub im: Option<Id>,
    /// Whether the imaginary part stands behind the real one, at an even place.
    pub has_pairs: bool,
    /// What is written for each (outer, place of the result). The first of them are pairs, as many as `pairs` says: the second of a pair stands behind
    /// the first, at an even place.
    pub elements: Vec<Store>,
    /// How many pairs of stores there are.
    pub pairs: usize,
    /// The buffer of the roots of unity of the length, on a device. Lengths up to 2 need none.
    pub roots: Option<u32>,
    /// Whether the numbers of a row are neighbours in the tensors that are read. If not, those of different rows are.
    pub reads_rows: bool,
    /// Whether they are in what is written.
    pub writes_rows: bool,
}

/// A kernel that factors matrices, or solves triangular systems, dense or sparse. Coordinates 0 … count the axes of the batch, the two after them are the row
/// and the column of the first matrix, the next two those of the second, the last two those of the result. The result `Folded { fold: 0, result: 0 }` is an
/// element of the result, which is written where it stands in the memory of a tensor: there alone, since kernels of a device compute there.
#[derive(Clone, Debug, PartialEq)]
pub struct Linalg {
    /// What is computed.
    pub kind: Kind,
    /// Extents of the axes of the batch; may be empty.
    pub batch: Vec<Extent>,
    /// Rows of the first matrix; the second has as many.
    pub rows: Extent,
    /// Columns of the first matrix.
    pub columns: Extent,
    /// Columns of the second matrix; 1 if there is none.
    pub width: Extent,
    /// Rows of the result.
    pub height: Extent,
    /// Columns of the result.
    pub length: Extent,
    /// Most rows and columns of the first matrix.
    pub most: [u32; 2],
    /// An element of the first matrix, an f32.
    pub matrix: Id,
    /// An element of the second matrix, an f32; of a sparse system a value, at the third coordinate.
    pub second: Option<Id>,
    /// Of a sparse system a number of the pattern, a u32 at the fourth coordinate, and how many there are. The width is the number of values.
    pub pattern: Option<(Id, Extent)>,
    /// Where an element of the result is written: one store.
    pub elements: Vec<Store>,
}

/// Attention of a batch of heads. Coordinates 0 … count the axes of the batch; those after them are the query, the key, the place along a vector
/// and the block of keys. For a product p of a query and a key, which is `Folded { fold: 0, result: 0 }`, the score is s(p); with m the largest
/// score, weights are exp(s − m), and a score of at most [`Attention::LEAST_SCORE`] has weight 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Extents of the axes of the batch; may be empty.
    pub batch: Vec<Extent>,
    /// How many queries.
    pub queries: Extent,
    /// How many keys.
    pub keys: Extent,
    /// Numbers of a query and of a key; a multiple of 4.
    pub size: u32,
    /// Numbers of a value; a multiple of 4.
    pub width: u32,
    /// The query at (batch, query, place): a load, or a few operations on loads.
    pub query: Id,
    /// The key at (batch, key, place).
    pub key: Id,
    /// The value at (batch, key, place).
    pub value: Id,
    /// The score at (batch, query, key), where the limits let the query see the key; else it is [`Attention::LEAST_SCORE`].
    pub score: Id,
    /// Which keys a query sees; none: all.
    pub limits: Option<Limits>,
    /// What is written for each (batch, query, place), and block if there are blocks. Results of fold 1 are, with tiles, 0 the weighted mean of
    /// the values; with blocks 0 the weighted sum, 1 the largest score, and 2 the sum of the weights. These two are written once a query and
    /// block.
    pub elements: Vec<Store>,
    /// How it is divided.
    pub schedule: AttentionSchedule,
}

/// Query i stands at place position + i of the keys, and sees those up to its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The place of the first query: the bits of an i32.
    pub position: Extent,
    /// How many keys before its own it sees; none: all.
    pub window: Option<u32>,
}

/// How attention is divided. Sums have the same order for the same extents and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionSchedule {
    /// A workgroup has some queries, and goes through all keys.
    Tiles,
    /// A workgroup has one query and a block of keys, and writes a state, which a later kernel merges with those of other blocks.
    Blocks,
}

impl Attention {
    /// Most queries for which blocks are taken.
    pub const MOST_QUERIES: u32 = 8;
    /// Keys of a block.
    pub const BLOCK: u32 = 128;
    /// The score of a key that is not seen, and the largest score of no keys: −2¹²⁷. It is finite, so that differences of two are.
    pub const LEAST_SCORE: f32 = -170_141_183_460_469_231_731_687_303_715_884_105_728.0;
}

/// How a product is tiled. Sums go along the depth in order with every tile but the last, so that the choice between those does not change
/// results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// 128 × 128 elements a workgroup. Where both factors have their vectors along the depth a thread has 128 of them, else 64.
    Large,
    /// 128 × 128 elements a workgroup, 64 a thread.
    LargeOf64,
    /// 64 × 256 elements a workgroup, 128 a thread.
    Wide,
    /// 64 × 64.
    Medium,
    /// 32 × 32.
    Small,
    /// A few rows, or a few columns: a workgroup for some of the other axis, threads along the depth.
    Vector,
}

impl Tile {
    /// Most rows, or columns, that [`Tile::Vector`] suits.
    pub const MOST_ROWS: u32 = 8;

    /// The tiles that may take one another's place in a kernel, by the numbers that the facade has for them: `TILES` in
    /// pkg-template/src/tensor/device/tiles.ts. Where these tiles or their kernels change, `VERSION` in tuner.ts changes too: times of
    /// earlier kernels are then not used.
    pub const EXCHANGEABLE: [Tile; 5] = [Tile::Large, Tile::LargeOf64, Tile::Medium, Tile::Small, Tile::Wide];
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
}

impl Combine {
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

impl Kernel {
    /// The value of an extent where the dims have these values.
    pub fn extent(&self, extent: Extent, dims: &[u32]) -> u32 {
        match extent {
            Extent::Known(number) => number,
            Extent::Word(word) => self.sizes[word as usize].at(dims) as u32,
        }
    }

    /// The value of an extent that does not depend on dims, in this kernel. The text of a kernel may depend on it only by choosing among few
    /// schedules, so that other sizes find their pipeline.
    pub fn known(&self, extent: Extent) -> Option<u32> {
        match extent {
            Extent::Known(number) => Some(number),
            Extent::Word(word) => self.sizes[word as usize].known().and_then(|size| u32::try_from(size).ok()),
        }
    }

    /// About how many points a row has, of rows of different lengths; 0 if only a run tells.
    pub fn average_length(&self, rows: &Rows) -> u32 {
        let [of_row, count] =
            [&rows.row, &rows.outer].map(|extents| extents.first().and_then(|extent| self.known(*extent)));
        of_row.zip(count).map_or(0, |(all, count)| all / count.max(1))
    }

    /// Whether an extent is a multiple of a number whatever the dims are.
    pub fn is_multiple(&self, extent: Extent, number: u32) -> bool {
        match extent {
            Extent::Known(extent) => extent.is_multiple_of(number),
            Extent::Word(word) => self.sizes[word as usize].is_multiple_of(i64::from(number)),
        }
    }

    /// The largest value that an extent has in any run of this kernel: a known one's own, or the bound that the guard has for it.
    pub fn bound(&self, extent: Extent) -> Option<u32> {
        let of_guard = || match (&self.guard, extent) {
            (Some(guard), Extent::Word(word)) if self.sizes[word as usize] == guard.size => Some(guard.most),
            _ => None,
        };
        self.known(extent).or_else(of_guard)
    }

    /// Whether it runs where the dims have these values.
    pub fn runs(&self, dims: &[u32]) -> bool {
        self.guard.as_ref().is_none_or(|guard| guard.holds(dims))
    }
}
