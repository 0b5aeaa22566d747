//! Shape and type of every operation, from its operands: the checker of what arrives on a tape, and the shapes of what [`super::build`] adds.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_ir::elementary;

use super::shapes::{broadcast, product, replaced, without};
use super::{
    Attention, Border, Combine, Elementwise, Expr, FourierKind, Linalg, Reduction, Takes, Tensor, TensorId, TensorOp,
};
use crate::dtype::DType;
use crate::roots;
use crate::size::Size;

/// Most terms of the number of elements of a tensor, and of the partial products on the way to it.
const MAX_COUNT_TERMS: usize = 256;

/// What is wrong, or nothing.
type Finding = Result<(), &'static str>;

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
    fn admits(self, dtype: DType) -> bool {
        match self {
            Takes::Reals => dtype.is_real(),
            Takes::Numbers => dtype != DType::Bool,
            Takes::Bits => !dtype.is_real(),
            Takes::Integers => dtype.is_integer(),
            Takes::Any => true,
        }
    }
}

impl TensorOp {
    /// Its name in errors, and how many operands it takes; none if it depends.
    fn signature(&self) -> (&'static str, Option<usize>) {
        match self {
            TensorOp::Input(_) => ("input", Some(0)),
            TensorOp::Constant(_) => ("constant", Some(0)),
            TensorOp::Extent(_) => ("extent", Some(0)),
            TensorOp::Number(_) => ("number", Some(0)),
            TensorOp::Iota(_) => ("iota", Some(0)),
            TensorOp::RandomBits(_) => ("random bits", Some(1)),
            TensorOp::Elementwise(op) => (op.name(), Some(op.arity())),
            TensorOp::Reshape => ("reshape", Some(1)),
            TensorOp::Expand => ("expand", Some(1)),
            TensorOp::Permute(_) => ("permute", Some(1)),
            TensorOp::Slice { .. } => ("slice", Some(1)),
            TensorOp::Pad { border, .. } => ("pad", Some(if *border == Border::Constant { 2 } else { 1 })),
            TensorOp::Concat(_) => ("concat", None),
            TensorOp::Windows { .. } => ("windows", Some(1)),
            TensorOp::Gather(_) => ("gather slices", Some(2)),
            TensorOp::GatherElements(_) => ("gather elements", Some(2)),
            TensorOp::Reduce(..) => ("reduce", Some(1)),
            TensorOp::Scan { .. } => ("scan", Some(1)),
            TensorOp::Fold { rule, .. } => ("fold", Some(rule.identity.len())),
            TensorOp::ScanBy { rule, .. } => ("scan by a rule", Some(rule.identity.len())),
            TensorOp::MatMul => ("matmul", Some(2)),
            TensorOp::Attention(_) => ("attention", None),
            TensorOp::Scatter(..) => ("scatter", Some(3)),
            TensorOp::IndexPut(..) => ("put slices", Some(3)),
            TensorOp::SetSlice { .. } => ("set slice", Some(2)),
            TensorOp::Argsort { .. } => ("argsort", Some(1)),
            TensorOp::Fourier(_) => ("fourier transform", None),
            TensorOp::Roots(_) => ("roots of unity", Some(0)),
            TensorOp::Dequantize(_) => ("dequantize", Some(2)),
            TensorOp::Linalg(kind) => (kind.name(), Some(kind.arity())),
            TensorOp::SparseProduct => ("sparse product", Some(7)),
            TensorOp::RangeSum(_) => ("sums of ranges", None),
            TensorOp::DigitCounts(_) => ("counts of digits", Some(1)),
            TensorOp::DigitSort(_) => ("sort by a digit", Some(2)),
            TensorOp::Gradient => ("gradient", Some(2)),
            TensorOp::CustomGradient => ("custom gradient", None),
        }
    }

    /// Its name in errors.
    pub fn name(&self) -> &'static str {
        self.signature().0
    }
}

impl Expr {
    /// Checks that types and shapes of all nodes follow from their operands. Sizes that depend on dims are compared as polynomials; where a
    /// range depends on them, it is not checked.
    pub fn check(&self) -> Result<()> {
        for (position, tensor) in self.nodes.iter().enumerate() {
            if let Err(finding) = self.check_tensor(position, tensor) {
                let name = tensor.op.name();
                return Err(Error::invalid_graph(format!("tensor {position} ({name}): {finding}")));
            }
        }
        Ok(())
    }

    fn check_tensor(&self, position: usize, tensor: &Tensor) -> Finding {
        ensure(tensor.operands.iter().all(|id| (id.0 as usize) < position), "an operand does not stand before")?;
        let expected = tensor.op.signature().1.unwrap_or(tensor.operands.len().max(1));
        ensure(tensor.operands.len() == expected, "the number of operands")?;
        check_count(&tensor.shape)?;
        let operands: Vec<&Tensor> = tensor.operands.iter().map(|id| self.tensor(*id)).list();
        check_type(tensor, &operands)?;
        check_shape(tensor, &operands)
    }

    /// The broadcast shape of nodes.
    pub(super) fn broadcast(&self, operands: &[TensorId]) -> Option<Vec<Size>> {
        broadcast(operands.iter().map(|id| self.tensor(*id).shape.as_slice()))
    }
}

fn ensure(holds: bool, otherwise: &'static str) -> Finding {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// Extents are no negative numbers, and their product is a polynomial of few terms and, where it is a number, one of 32 bits.
fn check_count(shape: &[Size]) -> Finding {
    let mut count = Size::constant(1);
    for size in shape {
        ensure(size.known().is_none_or(|extent| extent >= 0), "an extent is negative")?;
        ensure(count.terms().len() * size.terms().len() <= MAX_COUNT_TERMS, "too many terms in the sizes")?;
        count = &count * size;
    }
    ensure(count.known().is_none_or(|count| count <= i64::from(u32::MAX)), "more than 4294967295 elements")
}

const TYPES: &str = "the element types";
const SHAPES: &str = "the shapes";
const AXIS: &str = "an axis out of range";

fn check_type(tensor: &Tensor, operands: &[&Tensor]) -> Finding {
    let own = tensor.dtype;
    let is_index = |tensor: &Tensor| tensor.dtype.is_integer();
    let fits = match &tensor.op {
        TensorOp::Input(_) | TensorOp::Constant(_) => true,
        TensorOp::Extent(_) | TensorOp::Number(_) | TensorOp::Iota(_) => own != DType::Bool,
        TensorOp::RandomBits(_) => own == DType::U32 && operands[0].dtype == DType::U32,
        TensorOp::Elementwise(op) => {
            let values = match op {
                Elementwise::Select => &operands[1..],
                _ => operands,
            };
            let of = values[0].dtype;
            values.iter().all(|value| value.dtype == of)
                && op.takes().admits(of)
                && op.result(of).is_none_or(|result| result == own)
                && (*op != Elementwise::Select || operands[0].dtype == DType::Bool)
                && (*op != Elementwise::Bitcast || (of.bytes() == 4 && own.bytes() == 4))
        }
        TensorOp::Reshape
        | TensorOp::Expand
        | TensorOp::Permute(_)
        | TensorOp::Slice { .. }
        | TensorOp::Windows { .. } => operands[0].dtype == own,
        TensorOp::Pad { .. } | TensorOp::Concat(_) => operands.iter().all(|operand| operand.dtype == own),
        TensorOp::Gather(_) | TensorOp::GatherElements(_) => operands[0].dtype == own && is_index(operands[1]),
        TensorOp::Reduce(reduction, _) => match reduction {
            Reduction::ArgMin | Reduction::ArgMax => own == DType::I32 && operands[0].dtype != DType::Bool,
            Reduction::Sum | Reduction::Prod => operands[0].dtype == own && own != DType::Bool,
            Reduction::Min | Reduction::Max => operands[0].dtype == own,
            Reduction::Variance => operands[0].dtype == own && own.is_real(),
        },
        TensorOp::Scan { reduction, .. } => match reduction {
            Reduction::ArgMin | Reduction::ArgMax | Reduction::Variance => return Err("the reduction"),
            Reduction::Sum | Reduction::Prod => operands[0].dtype == own && own != DType::Bool,
            Reduction::Min | Reduction::Max => operands[0].dtype == own,
        },
        TensorOp::Fold { .. } | TensorOp::ScanBy { .. } => {
            own == DType::F32 && operands.iter().all(|operand| operand.dtype == DType::F32)
        }
        TensorOp::MatMul => {
            let [a, b] = [operands[0].dtype, operands[1].dtype];
            (a.is_real() && b.is_real() && own.is_real()) || (a == b && a == own && own.is_integer())
        }
        TensorOp::Attention(_) => {
            let factors = operands.iter().take(3).all(|operand| operand.dtype.is_real());
            let mask = operands.get(3).is_none_or(|mask| matches!(mask.dtype, DType::F32 | DType::Bool));
            (3..=4).contains(&operands.len()) && factors && mask && own == DType::F32
        }
        TensorOp::Scatter(_, combine) | TensorOp::IndexPut(_, combine) => {
            let combines = own != DType::Bool || !matches!(combine, Combine::Add | Combine::Mul);
            operands[0].dtype == own && is_index(operands[1]) && operands[2].dtype == own && combines
        }
        TensorOp::SetSlice { .. } => operands[0].dtype == own && operands[1].dtype == own,
        TensorOp::Argsort { .. } => operands[0].dtype == DType::U32 && own == DType::I32,
        TensorOp::Fourier(fourier) => {
            let most = match fourier.kind {
                FourierKind::Forward | FourierKind::Inverse => 1..=2,
                FourierKind::Half => 1..=1,
                FourierKind::Real => 2..=2,
            };
            most.contains(&operands.len())
                && own == DType::F32
                && operands.iter().all(|operand| operand.dtype == DType::F32)
        }
        TensorOp::Roots(_) => own == DType::F32,
        TensorOp::Dequantize(form) => {
            own == DType::F32 && operands[0].dtype == DType::U32 && operands[1].dtype == form.side_dtype()
        }
        TensorOp::Linalg(kind) => {
            let of = |place: usize| if *kind == Linalg::SparseSolve && place > 1 { DType::U32 } else { DType::F32 };
            own == DType::F32 && operands.iter().enumerate().all(|(place, operand)| operand.dtype == of(place))
        }
        TensorOp::SparseProduct => {
            own == DType::F32
                && (0..).zip(operands).all(|(place, operand)| match place {
                    2 | 3 => operand.dtype == DType::F32,
                    _ => is_index(operand),
                })
        }
        TensorOp::RangeSum(_) => {
            own == DType::F32
                && operands
                    .chunks(3)
                    .all(|part| part.len() == 3 && part[0].dtype == own && is_index(part[1]) && is_index(part[2]))
        }
        TensorOp::DigitCounts(_) | TensorOp::DigitSort(_) => {
            own == DType::U32 && operands.iter().all(|operand| operand.dtype == DType::U32)
        }
        TensorOp::Gradient => operands[0].dtype.is_real() && operands[1].dtype.is_real() && operands[1].dtype == own,
        TensorOp::CustomGradient => {
            own.is_real()
                && operands
                    .chunks(2)
                    .all(|pair| pair[0].dtype.is_real() && pair.iter().all(|each| each.dtype == pair[0].dtype))
                && operands[0].dtype == own
        }
    };
    ensure(fits, TYPES)
}

fn check_shape(tensor: &Tensor, operands: &[&Tensor]) -> Finding {
    let own = tensor.shape.as_slice();
    let rank = own.len() as u32;
    // The shape of the first operand.
    let of = operands.first().map_or(own, |operand| operand.shape.as_slice());
    let axis_of = |axis: u32| ensure((axis as usize) < of.len(), AXIS);
    match &tensor.op {
        TensorOp::Input(_) | TensorOp::Constant(_) | TensorOp::Extent(_) | TensorOp::Number(_) => Ok(()),
        TensorOp::Iota(axis) => ensure(*axis < rank, AXIS),
        TensorOp::RandomBits(_) => ensure(of.len() == 1 && of[0].is(3), "the key has another shape than [3]"),
        TensorOp::Elementwise(_) => {
            let shapes = operands.iter().map(|operand| operand.shape.as_slice());
            ensure(broadcast(shapes).as_deref() == Some(own), SHAPES)
        }
        TensorOp::Reshape => ensure(Size::product(of) == Size::product(own), "the number of elements"),
        TensorOp::Expand => ensure(broadcast([of, own]).as_deref() == Some(own), SHAPES),
        TensorOp::Permute(axes) => {
            let all = |axis: u32| axes.iter().filter(|other| **other == axis).count() == 1;
            ensure(axes.len() == of.len() && (0..of.len() as u32).all(all), "the order of the axes")?;
            ensure(
                own.len() == of.len() && own.iter().zip(axes).all(|(size, axis)| *size == of[*axis as usize]),
                SHAPES,
            )
        }
        TensorOp::Slice { starts, steps } => check_slice(own, of, starts, steps),
        TensorOp::Pad { before, border } => {
            ensure(of.len() == own.len() && before.len() == own.len(), SHAPES)?;
            if *border == Border::Constant {
                return ensure(operands[1].shape.is_empty(), "the number beyond the border is no scalar");
            }
            let is_empty = |shape: &[Size]| shape.iter().any(|size| size.is(0));
            ensure(!is_empty(of) || is_empty(own), "there is nothing to repeat beyond the border")
        }
        TensorOp::Concat(axis) => {
            axis_of(*axis)?;
            let mut extent = Size::constant(0);
            for part in operands {
                ensure(part.shape.len() == of.len(), SHAPES)?;
                extent = &extent + &part.shape[*axis as usize];
                ensure(part.shape[..] == replaced(of, *axis, &part.shape[*axis as usize..][..1]), SHAPES)?;
            }
            ensure(own == replaced(of, *axis, &[extent]), SHAPES)
        }
        TensorOp::Windows { axis, step, dilation } => {
            axis_of(*axis)?;
            ensure(own.len() == of.len() + 1 && *step > 0 && *dilation > 0, SHAPES)?;
            let (count, size) = (&own[*axis as usize], &own[of.len()]);
            ensure(own[..of.len()] == replaced(of, *axis, std::slice::from_ref(count)), SHAPES)?;
            match (count.known(), size.known(), of[*axis as usize].known()) {
                (Some(count), Some(size), Some(extent)) if count > 0 && size > 0 => {
                    let last = last_place(0, count, i64::from(*step));
                    ensure(last_place(last, size, i64::from(*dilation)) < extent, "a window ends beyond the axis")
                }
                _ => Ok(()),
            }
        }
        TensorOp::Gather(axis) => {
            axis_of(*axis)?;
            ensure(own == replaced(of, *axis, &operands[1].shape), SHAPES)
        }
        TensorOp::GatherElements(axis) => {
            axis_of(*axis)?;
            ensure(own == operands[1].shape, SHAPES)?;
            check_within(of, own, *axis)
        }
        TensorOp::Reduce(_, axes) | TensorOp::Fold { axes, .. } => {
            ensure(axes.is_sorted_by(|a, b| a < b), "the axes are not sorted")?;
            axes.iter().try_for_each(|axis| axis_of(*axis))?;
            check_states(tensor, operands)?;
            ensure(own == without(of, axes), SHAPES)
        }
        TensorOp::Scan { axis, .. } | TensorOp::ScanBy { axis, .. } => {
            axis_of(*axis)?;
            check_states(tensor, operands)?;
            ensure(own == of, SHAPES)
        }
        TensorOp::MatMul => ensure(product(of, &operands[1].shape).as_deref() == Some(own), SHAPES),
        TensorOp::Attention(attention) => check_attention(own, operands, attention),
        TensorOp::Scatter(axis, _) => {
            axis_of(*axis)?;
            ensure(own == of && operands[1].shape == operands[2].shape, SHAPES)?;
            check_within(of, &operands[1].shape, *axis)
        }
        TensorOp::IndexPut(axis, _) => {
            axis_of(*axis)?;
            let indices = &operands[1].shape;
            ensure(own == of && indices.len() == 1, SHAPES)?;
            ensure(operands[2].shape == replaced(of, *axis, indices), SHAPES)
        }
        TensorOp::SetSlice { starts, .. } => {
            ensure(own == of && starts.len() == of.len() && operands[1].shape.len() == of.len(), SHAPES)?;
            for ((start, part), extent) in starts.iter().zip(&operands[1].shape).zip(of) {
                let end = (start + part).known();
                let is_within = start.known().is_none_or(|start| start >= 0)
                    && end.zip(extent.known()).is_none_or(|(end, extent)| end <= extent);
                ensure(is_within, "a part goes beyond the axis")?;
            }
            Ok(())
        }
        TensorOp::Fourier(fourier) => {
            ensure(operands.iter().all(|operand| operand.shape == of), SHAPES)?;
            ensure(fourier.fits(of), "the length of a transform")?;
            ensure(own == fourier.shape(of), SHAPES)
        }
        TensorOp::Roots(length) => ensure(own == roots::shape(*length), SHAPES),
        TensorOp::Argsort { .. } => {
            ensure(own.len() == of.len() && rank > 0, SHAPES)?;
            let last = own.len() - 1;
            ensure(own[..last] == of[..last], SHAPES)?;
            let is_more = matches!((own[last].known(), of[last].known()), (Some(own), Some(of)) if own > of);
            ensure(!is_more, "more places than a row has")
        }
        TensorOp::Dequantize(form) => {
            let side = &operands[1].shape;
            let ([words_leading @ .., words], [side_leading @ .., side], [leading @ .., columns]) =
                (of, side.as_slice(), own)
            else {
                return Err(SHAPES);
            };
            let count = columns.known().and_then(|columns| u32::try_from(columns).ok());
            let Some(count) = count.filter(|count| count.is_multiple_of(form.multiple())) else {
                return Err("rows that are no whole blocks");
            };
            ensure(words_leading == leading && side_leading == leading, SHAPES)?;
            ensure(words.is(i64::from(count / form.a_word())) && side.is(i64::from(form.side(count))), SHAPES)
        }
        TensorOp::Linalg(kind) => check_linalg(own, operands, *kind),
        TensorOp::SparseProduct => check_sparse_product(own, operands),
        TensorOp::RangeSum(_) => operands.chunks(3).try_for_each(|part| {
            let ranges = part[1].shape.as_slice();
            let sums = part[0].shape.split_first().map(|(_, rest)| [ranges, rest].concat());
            ensure(ranges.len() == 1 && part[1].shape == part[2].shape && sums.as_deref() == Some(own), SHAPES)
        }),
        TensorOp::DigitCounts(_) => {
            ensure(of.len() == 2 && rank == 3 && own[0] == of[0] && own[1].is(256), SHAPES)?;
            ensure(own[2].known().is_some(), "the blocks depend on dims")
        }
        TensorOp::DigitSort(_) => {
            let counts = &operands[1].shape;
            ensure(own == of && rank == 2 && counts.len() == 3, SHAPES)?;
            ensure(counts[0] == of[0] && counts[1].is(256) && counts[2].known().is_some(), SHAPES)
        }
        TensorOp::Gradient => {
            ensure(of.iter().all(|size| size.is(1)), "the first operand is no scalar")?;
            ensure(own == operands[1].shape, SHAPES)
        }
        TensorOp::CustomGradient => {
            ensure(own == of && operands.len().is_multiple_of(2), SHAPES)?;
            ensure(operands.chunks(2).all(|pair| pair[0].shape == pair[1].shape), SHAPES)
        }
    }
}

/// One number more than rows and columns, and as many of all else as entries; values may have the other axes of the dense matrix too.
fn check_sparse_product(own: &[Size], operands: &[&Tensor]) -> Finding {
    let shape = |place: usize| operands[place].shape.as_slice();
    let ([rows, rest @ ..], [columns, others @ ..], [entries]) = (own, shape(3), shape(1)) else { return Err(SHAPES) };
    let more = |size: &Size| size + &Size::constant(1);
    let is_of = |place: usize, size: &Size| matches!(shape(place), [own] if own == size);
    ensure(rest == others && is_of(0, &more(rows)) && is_of(5, &more(columns)), SHAPES)?;
    ensure(is_of(4, entries) && is_of(6, entries), SHAPES)?;
    ensure(matches!(shape(2), [own, of @ ..] if own == entries && (of.is_empty() || of == rest)), SHAPES)
}

/// Queries, keys and values have equal leading axes, the heads of the queries are a multiple of those of the keys, and a mask broadcasts.
fn check_attention(own: &[Size], operands: &[&Tensor], attention: &Attention) -> Finding {
    let shape = |place: usize| operands[place].shape.as_slice();
    let (
        [batch @ .., heads, queries, size],
        [key_batch @ .., key_heads, keys, key_size],
        [value_batch @ .., value_heads, values, width],
    ) = (shape(0), shape(1), shape(2))
    else {
        return Err(SHAPES);
    };
    ensure(batch == key_batch && batch == value_batch && key_heads == value_heads, SHAPES)?;
    ensure(size == key_size && keys == values, SHAPES)?;
    let divides = |(heads, shared): (i64, i64)| shared > 0 && heads % shared == 0;
    ensure(heads == key_heads || heads.known().zip(key_heads.known()).is_some_and(divides), "the number of heads")?;
    let leading = [batch, &[heads.clone(), queries.clone()]].concat();
    ensure(own == [leading.as_slice(), std::slice::from_ref(width)].concat(), SHAPES)?;
    let scores = [leading.as_slice(), std::slice::from_ref(keys)].concat();
    let fits = |mask: &&Tensor| broadcast([mask.shape.as_slice(), &scores]).as_ref() == Some(&scores);
    ensure(operands.get(3).is_none_or(fits), "the shape of the mask")?;
    ensure(attention.scale.is_finite() && attention.softcap.is_none_or(|cap| cap > 0.0), "a number of the scores")
}

/// Matrices of one batch, square where they have to be; the second has as many rows as the first.
fn check_linalg(own: &[Size], operands: &[&Tensor], kind: Linalg) -> Finding {
    let [batch @ .., rows, columns] = operands[0].shape.as_slice() else { return Err(SHAPES) };
    ensure(!kind.is_of_squares() || rows == columns, "a matrix that is not square")?;
    let is_wide = rows.known().zip(columns.known()).is_some_and(|(rows, columns)| rows < columns);
    ensure(!kind.is_of_columns() || !is_wide, "a matrix with fewer rows than columns")?;
    let mut width = Size::constant(1);
    if kind == Linalg::SparseSolve {
        let of_entries = &operands[1].shape;
        let are_vectors = operands[1..].iter().all(|operand| operand.shape.len() == 1);
        let are_of_entries = operands[4..].iter().all(|operand| operand.shape == *of_entries);
        ensure(batch.is_empty() && are_vectors && are_of_entries, SHAPES)?;
    } else if kind == Linalg::PseudoInverse {
        ensure(operands[1].shape.is_empty(), SHAPES)?;
    } else if let Some(second) = operands.get(1) {
        let [of_second @ .., height, columns] = second.shape.as_slice() else { return Err(SHAPES) };
        ensure(of_second == batch && height == rows, SHAPES)?;
        width = columns.clone();
    }
    ensure(own == [batch, &kind.result([rows, columns, &width])].concat(), SHAPES)
}

/// The place of the last of some elements at equal distances.
fn last_place(start: i64, count: i64, step: i64) -> i64 {
    count.saturating_sub(1).saturating_mul(step).saturating_add(start)
}

fn check_slice(own: &[Size], of: &[Size], starts: &[Size], steps: &[i64]) -> Finding {
    ensure([own.len(), starts.len(), steps.len()] == [of.len(); 3], SHAPES)?;
    for axis in 0..own.len() {
        ensure(steps[axis] != 0 && steps[axis].unsigned_abs() <= u64::from(u32::MAX >> 1), "a step is 0 or too large")?;
        let (Some(count), Some(start), Some(extent)) = (own[axis].known(), starts[axis].known(), of[axis].known())
        else {
            continue;
        };
        let last = last_place(start, count, steps[axis]);
        let within = |place: i64| (0..extent).contains(&place);
        ensure(count == 0 || (within(start) && within(last)), "a part goes beyond the axis")?;
    }
    Ok(())
}

/// Along all axes but one, coordinates of indices are coordinates of the tensor that they select from.
fn check_within(of: &[Size], indices: &[Size], axis: u32) -> Finding {
    ensure(of.len() == indices.len(), SHAPES)?;
    let is_within = |(place, (own, other)): (usize, (&Size, &Size))| {
        place == axis as usize
            || own == other
            || matches!((own.known(), other.known()), (Some(own), Some(other)) if other <= own)
    };
    ensure(of.iter().zip(indices).enumerate().all(is_within), SHAPES)
}

/// The operands of a rule have one shape, and its result is one of the state's numbers.
fn check_states(tensor: &Tensor, operands: &[&Tensor]) -> Finding {
    match &tensor.op {
        TensorOp::Fold { rule, result, .. } | TensorOp::ScanBy { rule, result, .. } => {
            ensure((*result as usize) < rule.identity.len(), "the number of the state")?;
            ensure(operands.iter().all(|operand| operand.shape == operands[0].shape), SHAPES)
        }
        _ => Ok(()),
    }
}
