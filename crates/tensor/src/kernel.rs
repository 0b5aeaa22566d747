//! Kernels: what one dispatch computes, for both back ends.
//!
//! A kernel has an iteration space, whose points are its instances, and a [`TypedGraph`](crate::scalar::TypedGraph) that says what each point computes
//! from its coordinates. Extents and strides are words of a uniform, so that a kernel serves other shapes; `1` and `0` are literals, so that
//! contiguous and repeated operands show in the text.

use crate::dtype::DType;
use crate::scalar::{Id, TypedGraph};
use crate::size::Size;

mod attention;
mod linalg;
mod product;
mod reduction;
mod sort;

pub use attention::{Attention, AttentionSchedule, CausalMask};
pub use linalg::{Fourier, Linalg, Turns};
pub use product::{Product, Tile};
pub use reduction::{Combine, Fold, Rows, Scan};
pub use sort::{DigitCounts, DigitSort, Sort};

/// Bytes of a workgroup's memory on every device.
pub const WORKGROUP_BYTES: u32 = 16 << 10;

/// Threads of a workgroup on every device.
pub const WORKGROUP_THREADS: u32 = 256;

/// What one dispatch computes.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorKernel {
    /// Entry point in snake_case, and its name in plans.
    pub name: String,
    /// The buffers, in binding order. The uniform is bound after them.
    pub buffers: Vec<TensorBuffer>,
    /// The words of the uniform that [`crate::scalar::TypedNode::Size`] and extents refer to. Words with equal sizes are one.
    pub sizes: Vec<Size>,
    /// What is computed.
    pub graph: TypedGraph,
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
pub struct TensorBuffer {
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
    /// A word of the uniform, by position in [`TensorKernel::sizes`].
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
    /// A part of a round of rotations.
    Turns(Turns),
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
    /// Position in [`TensorKernel::buffers`].
    pub buffer: u32,
    /// Which element: a u32 that is within the buffer. No two points write one element.
    pub index: Id,
    /// What: of the type that the buffer's elements have within kernels.
    pub value: Id,
}

impl Store {
    /// The places and the values of stores.
    pub fn roots(stores: &[Store]) -> impl Iterator<Item = Id> {
        stores.iter().flat_map(|store| [store.index, store.value])
    }
}

impl TensorKernel {
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
