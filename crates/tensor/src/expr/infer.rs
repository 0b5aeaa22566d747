//! What is known of every operation by itself: its name, how many operands it takes, and shapes of results, for the checker and for what [`super::build`]
//! adds.

use residua_base::list::Listed;
use residua_ir::elementary;

use super::{Border, Elementwise, Op, Takes};
use crate::dtype::DType;
use crate::size::Size;

/// The shape to which shapes broadcast as in NumPy; none if they do not.
pub(super) fn broadcast<'a>(shapes: impl IntoIterator<Item = &'a [Size]>) -> Option<Vec<Size>> {
    let mut common: Vec<Size> = Vec::new();
    for shape in shapes {
        if shape.len() > common.len() {
            let missing = shape.len() - common.len();
            common.splice(..0, shape[..missing].iter().cloned());
        }
        let first = common.len() - shape.len();
        for (own, other) in common[first..].iter_mut().zip(shape) {
            if own.is(1) {
                *own = other.clone();
            } else if !other.is(1) && own != other {
                return None;
            }
        }
    }
    Some(common)
}

/// A shape without some of its axes.
pub(super) fn without(shape: &[Size], axes: &[u32]) -> Vec<Size> {
    let kept = |(axis, _): &(usize, &Size)| !axes.contains(&(*axis as u32));
    shape.iter().enumerate().filter(kept).map(|(_, size)| size.clone()).list()
}

/// A shape with an axis replaced by others.
pub(super) fn replaced(shape: &[Size], axis: u32, by: &[Size]) -> Vec<Size> {
    let axis = axis as usize;
    [&shape[..axis], by, &shape[axis + 1..]].concat()
}

/// The shape of a product of matrices; none if there is none.
pub(super) fn product(a: &[Size], b: &[Size]) -> Option<Vec<Size>> {
    let ([a_batch @ .., rows, depth], [b_batch @ .., other_depth, columns]) = (a, b) else { return None };
    if depth != other_depth {
        return None;
    }
    let mut shape = broadcast([a_batch, b_batch])?;
    shape.extend([rows.clone(), columns.clone()]);
    Some(shape)
}

impl Elementwise {
    /// The type of the result for operands of a type; none where the caller chooses it.
    pub(super) fn result(self, operand: DType) -> Option<DType> {
        use Elementwise::*;
        match self {
            IsNan | IsFinite | Eq | Ne | Lt | Le | Gt | Ge => Some(DType::Bool),
            Cast | Bitcast => None,
            Neg | Abs | Sign | Sqrt | Expm1 | Log1p | Erfc | Floor | Ceil | Round | Trunc | Not | StopGradient
            | VectorNorm | InverseNorm | Add | Sub | Mul | Div | Mod | FloorMod | Pow | Minimum | Maximum | And
            | Or | Xor | Shl | Shr | GuardedMul | Select => Some(operand),
            elementary!(Elementwise) => Some(operand),
        }
    }
}

impl Takes {
    pub(super) fn admits(self, dtype: DType) -> bool {
        match self {
            Takes::Reals => dtype.is_real(),
            Takes::Numbers => dtype != DType::Bool,
            Takes::Bits => !dtype.is_real(),
            Takes::Integers => dtype.is_integer(),
            Takes::Any => true,
        }
    }
}

impl Op {
    /// Its name in errors.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Input(_) => "input",
            Op::Constant(_) => "constant",
            Op::Extent(_) => "extent",
            Op::Number(_) => "number",
            Op::Iota(_) => "iota",
            Op::RandomBits(_) => "random bits",
            Op::Elementwise(op) => op.name(),
            Op::Reshape => "reshape",
            Op::Expand => "expand",
            Op::Permute(_) => "permute",
            Op::Slice { .. } => "slice",
            Op::Pad { .. } => "pad",
            Op::Concat(_) => "concat",
            Op::Windows { .. } => "windows",
            Op::Gather(_) => "gather slices",
            Op::GatherElements(_) => "gather elements",
            Op::Reduce(..) => "reduce",
            Op::Scan { .. } => "scan",
            Op::Fold { .. } => "fold",
            Op::ScanBy { .. } => "scan by a rule",
            Op::MatMul => "matmul",
            Op::Attention(_) => "attention",
            Op::Scatter(..) => "scatter",
            Op::IndexPut(..) => "put slices",
            Op::SetSlice { .. } => "set slice",
            Op::Argsort { .. } => "argsort",
            Op::Fourier(_) => "fourier transform",
            Op::Roots(_) => "roots of unity",
            Op::Dequantize(_) => "dequantize",
            Op::Linalg(kind) => kind.name(),
            Op::SparseProduct => "sparse product",
            Op::RangeSum(_) => "sums of ranges",
            Op::DigitCounts(_) => "counts of digits",
            Op::DigitSort(_) => "sort by a digit",
            Op::Gradient => "gradient",
            Op::CustomGradient => "custom gradient",
        }
    }

    /// How many operands it takes; none if it depends.
    pub(super) fn arity(&self) -> Option<usize> {
        match self {
            Op::Input(_) | Op::Constant(_) | Op::Extent(_) | Op::Number(_) | Op::Iota(_) | Op::Roots(_) => Some(0),
            Op::RandomBits(_)
            | Op::Reshape
            | Op::Expand
            | Op::Permute(_)
            | Op::Slice { .. }
            | Op::Windows { .. }
            | Op::Reduce(..)
            | Op::Scan { .. } => Some(1),
            Op::Elementwise(op) => Some(op.arity()),
            Op::Pad { border, .. } => Some(if *border == Border::Constant { 2 } else { 1 }),
            Op::Argsort { .. } | Op::DigitCounts(_) => Some(1),
            Op::Gather(_)
            | Op::GatherElements(_)
            | Op::MatMul
            | Op::SetSlice { .. }
            | Op::DigitSort(_)
            | Op::Dequantize(_)
            | Op::Gradient => Some(2),
            Op::Scatter(..) | Op::IndexPut(..) => Some(3),
            Op::Fold { rule, .. } | Op::ScanBy { rule, .. } => Some(rule.identity.len()),
            Op::Linalg(kind) => Some(kind.arity()),
            Op::SparseProduct => Some(7),
            Op::Concat(_) | Op::Attention(_) | Op::Fourier(_) | Op::RangeSum(_) | Op::CustomGradient => None,
        }
    }
}
