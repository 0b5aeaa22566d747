//! Operations that one kernel computes.

use crate::dtype::DType;
use crate::expr::{Expr, TensorId, TensorOp};
use crate::size::Size;
use residua_base::list::Listed;

/// Operations that one kernel computes.
#[derive(Clone, Debug)]
pub enum Group {
    /// Each point by itself.
    Elements {
        /// Tensors of one shape, but for axes of extent 1.
        roots: Vec<TensorId>,
    },
    /// Reductions along the same axes of operands of the same shape.
    Rows(RowGroup),
    /// An accumulation along an axis.
    Scan {
        /// Results of one scan.
        scans: Vec<TensorId>,
    },
    /// A product of matrices.
    Product {
        /// It.
        product: TensorId,
        /// What is computed from its elements.
        elements: Vec<TensorId>,
    },
    /// The order of rows of keys, or their order by a digit.
    Sort {
        /// It.
        sort: TensorId,
        /// What is computed for each rank.
        elements: Vec<TensorId>,
    },
    /// Counts of digits.
    DigitCounts {
        /// It.
        counts: TensorId,
    },
    /// A Fourier transform.
    Fourier {
        /// It.
        fourier: TensorId,
        /// What is computed for each number of the result.
        elements: Vec<TensorId>,
    },
    /// A factorisation or a triangular system.
    Linalg {
        /// It.
        linalg: TensorId,
    },
    /// Attention.
    Attention {
        /// It.
        attention: TensorId,
    },
    /// Elements put at places that numbers say.
    Scatter {
        /// It.
        scatter: TensorId,
    },
}

/// A group of reductions.
#[derive(Clone, Debug)]
pub struct RowGroup {
    /// Shape of what is reduced.
    pub shape: Vec<Size>,
    /// Which axes are reduced, sorted.
    pub axes: Vec<u32>,
    /// The reductions, in the order of the recipe.
    pub folds: Vec<TensorId>,
    /// What is computed for each element of the shape.
    pub elements: Vec<TensorId>,
    /// What is computed once a row.
    pub results: Vec<TensorId>,
}

impl RowGroup {
    /// That of sums of ranges: rows are as long as all terms, and end before that.
    pub fn of_ranges(expr: &Expr, id: TensorId) -> RowGroup {
        let tensor = expr.tensor(id);
        let mut shape = tensor.shape.clone();
        shape.insert(1, expr.shape(tensor.operands[0])[0].clone());
        RowGroup { shape, axes: vec![1], folds: vec![id], elements: Vec::new(), results: Vec::new() }
    }

    /// Whether its rows are ranges, whose lengths differ.
    pub fn is_of_ranges(&self, expr: &Expr) -> bool {
        self.folds.first().is_some_and(|fold| matches!(expr.tensor(*fold).op, TensorOp::RangeSum(_)))
    }

    /// Extents of the axes that stay.
    pub fn outer(&self) -> Vec<Size> {
        self.extents(false)
    }

    /// Extents of the axes that are reduced.
    pub fn row(&self) -> Vec<Size> {
        self.extents(true)
    }

    fn extents(&self, reduced: bool) -> Vec<Size> {
        let of_axis = (0..).zip(&self.shape).filter(|(axis, _)| self.axes.contains(axis) == reduced);
        of_axis.map(|(_, extent)| extent.clone()).list()
    }

    /// Every tensor that it writes.
    pub fn members(&self) -> Vec<TensorId> {
        [self.folds.as_slice(), &self.elements, &self.results].concat()
    }

    /// Whether the reduced axes are the innermost.
    pub fn is_innermost(&self) -> bool {
        let first = self.shape.len() - self.axes.len();
        self.axes.iter().enumerate().all(|(place, axis)| *axis as usize == first + place)
    }
}

impl Group {
    /// Every tensor that it writes.
    pub fn members(&self) -> Vec<TensorId> {
        match self {
            Group::Elements { roots } => roots.clone(),
            Group::Rows(rows) => rows.members(),
            Group::Scan { scans } => scans.clone(),
            Group::Product { product, elements } => [&[*product], elements.as_slice()].concat(),
            Group::Sort { sort, elements } => [&[*sort], elements.as_slice()].concat(),
            Group::Fourier { fourier, elements } => [&[*fourier], elements.as_slice()].concat(),
            Group::DigitCounts { counts } => vec![*counts],
            Group::Linalg { linalg } => vec![*linalg],
            Group::Attention { attention } => vec![*attention],
            Group::Scatter { scatter } => vec![*scatter],
        }
    }
}

/// Extents of the points at which a kernel computes a tensor: of one that replaces a part of a slot, those of the part.
pub fn points(expr: &Expr, id: TensorId) -> &[Size] {
    let tensor = expr.tensor(id);
    match tensor.op {
        TensorOp::SetSlice { slot: Some(_), .. } => &expr.tensor(tensor.operands[1]).shape,
        _ => &tensor.shape,
    }
}

/// The slot in whose memory a tensor stands: an input, or one of which parts were replaced.
pub fn slot_of(expr: &Expr, id: TensorId) -> Option<u32> {
    match expr.tensor(id).op {
        TensorOp::Input(slot) => Some(slot),
        TensorOp::SetSlice { slot, .. } => slot,
        _ => None,
    }
}

/// A shape without axes of extent 1.
pub fn without_ones(shape: &[Size]) -> Vec<&Size> {
    shape.iter().filter(|extent| !extent.is(1)).list()
}

/// Whether elements of a type share words.
pub fn is_packed(dtype: DType) -> bool {
    dtype.bytes() < 4
}
