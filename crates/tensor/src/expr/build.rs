//! Adds operations whose shape follows from their operands, for rules of differentiation, compositions and tests.
//!
//! Operands must fit: what arrives on a tape is checked before, and what is made of it fits by construction. A shape that does not is an error
//! of this crate, which [`Expr::check`] finds.

use super::shapes::{product, replaced, without};
use super::{Combine, Elementwise, Expr, Linalg, Reduction, Tensor, TensorId, TensorOp};
use crate::dtype::DType;
use crate::quantised::Form;
use crate::size::Size;
use residua_base::list::Listed;

impl Expr {
    /// The shape of a node.
    pub fn shape(&self, id: TensorId) -> &[Size] {
        &self.tensor(id).shape
    }

    /// The element type of a node.
    pub fn dtype(&self, id: TensorId) -> DType {
        self.tensor(id).dtype
    }

    fn add_op(&mut self, op: TensorOp, operands: &[TensorId], dtype: DType, shape: Vec<Size>) -> TensorId {
        self.push(Tensor { op, operands: operands.to_vec(), dtype, shape })
    }

    /// What a slot holds.
    pub fn input(&mut self, slot: u32, dtype: DType, shape: &[Size]) -> TensorId {
        self.add_op(TensorOp::Input(slot), &[], dtype, shape.to_vec())
    }

    /// A number as a scalar.
    pub fn constant(&mut self, number: f64, dtype: DType) -> TensorId {
        self.add_op(TensorOp::Constant(number), &[], dtype, Vec::new())
    }

    /// A number everywhere.
    pub fn full(&mut self, number: f64, dtype: DType, shape: &[Size]) -> TensorId {
        self.add_op(TensorOp::Constant(number), &[], dtype, shape.to_vec())
    }

    /// A size as a scalar.
    pub fn extent(&mut self, size: &Size, dtype: DType) -> TensorId {
        match size.known() {
            Some(number) => self.constant(number as f64, dtype),
            None => self.add_op(TensorOp::Extent(size.clone()), &[], dtype, Vec::new()),
        }
    }

    /// The coordinate along an axis.
    pub fn iota(&mut self, axis: u32, dtype: DType, shape: &[Size]) -> TensorId {
        self.add_op(TensorOp::Iota(axis), &[], dtype, shape.to_vec())
    }

    /// An elementwise operation on operands that broadcast; neither a cast nor a bitcast.
    pub fn elementwise(&mut self, op: Elementwise, operands: &[TensorId]) -> TensorId {
        let shape = self.broadcast(operands).unwrap_or_default();
        let of = self.dtype(operands[operands.len() - 1]);
        let dtype = op.result(of).unwrap_or(of);
        self.add_op(TensorOp::Elementwise(op), operands, dtype, shape)
    }

    /// The same numbers as another type.
    pub fn cast(&mut self, x: TensorId, dtype: DType) -> TensorId {
        if self.dtype(x) == dtype {
            return x;
        }
        let shape = self.shape(x).to_vec();
        self.add_op(TensorOp::Elementwise(Elementwise::Cast), &[x], dtype, shape)
    }

    /// The same 32 bits as another type.
    pub fn bitcast(&mut self, x: TensorId, dtype: DType) -> TensorId {
        let shape = self.shape(x).to_vec();
        self.add_op(TensorOp::Elementwise(Elementwise::Bitcast), &[x], dtype, shape)
    }

    /// The same elements in another shape.
    pub fn reshape(&mut self, x: TensorId, shape: &[Size]) -> TensorId {
        if self.shape(x) == shape {
            return x;
        }
        self.add_op(TensorOp::Reshape, &[x], self.dtype(x), shape.to_vec())
    }

    /// Repeated up to a shape.
    pub fn expand(&mut self, x: TensorId, shape: &[Size]) -> TensorId {
        if self.shape(x) == shape {
            return x;
        }
        self.add_op(TensorOp::Expand, &[x], self.dtype(x), shape.to_vec())
    }

    /// Axis k of the result is this axis of `x`.
    pub fn permute(&mut self, x: TensorId, axes: &[u32]) -> TensorId {
        if axes.is_sorted() {
            return x;
        }
        let shape = axes.iter().map(|axis| self.shape(x)[*axis as usize].clone()).list();
        self.add_op(TensorOp::Permute(axes.to_vec()), &[x], self.dtype(x), shape)
    }

    /// What becomes `x` where its axes are permuted so.
    pub fn permute_back(&mut self, x: TensorId, axes: &[u32]) -> TensorId {
        let mut back = vec![0; axes.len()];
        for (place, axis) in (0..).zip(axes) {
            back[*axis as usize] = place;
        }
        self.permute(x, &back)
    }

    /// The last two axes exchanged.
    pub fn transpose(&mut self, x: TensorId) -> TensorId {
        let rank = self.shape(x).len() as u32;
        let mut axes: Vec<u32> = (0..rank).list();
        axes.swap(rank as usize - 2, rank as usize - 1);
        self.permute(x, &axes)
    }

    /// Some of the elements of each axis.
    pub fn slice(&mut self, x: TensorId, starts: Vec<Size>, steps: Vec<i64>, shape: Vec<Size>) -> TensorId {
        self.add_op(TensorOp::Slice { starts, steps }, &[x], self.dtype(x), shape)
    }

    /// `x` with the part that begins at some places replaced.
    pub fn set_slice(&mut self, x: TensorId, starts: Vec<Size>, source: TensorId) -> TensorId {
        let shape = self.shape(x).to_vec();
        self.add_op(TensorOp::SetSlice { starts, slot: None }, &[x, source], self.dtype(x), shape)
    }

    /// `x` in another shape, so much further along each axis, with zeros around.
    pub fn pad_with_zeros(&mut self, x: TensorId, before: Vec<Size>, shape: &[Size]) -> TensorId {
        if self.shape(x) == shape && before.iter().all(|before| before.is(0)) {
            return x;
        }
        let dtype = self.dtype(x);
        let zero = self.constant(0.0, dtype);
        let op = TensorOp::Pad { before, border: super::Border::Constant };
        self.add_op(op, &[x, zero], dtype, shape.to_vec())
    }

    /// The parts after one another along an axis.
    pub fn concat(&mut self, parts: &[TensorId], axis: u32) -> TensorId {
        let zero = Size::constant(0);
        let extent = parts.iter().fold(zero, |sum, part| &sum + &self.shape(*part)[axis as usize]);
        let shape = replaced(self.shape(parts[0]), axis, &[extent]);
        self.add_op(TensorOp::Concat(axis), parts, self.dtype(parts[0]), shape)
    }

    /// Slices of an axis.
    pub fn gather(&mut self, x: TensorId, indices: TensorId, axis: u32) -> TensorId {
        let shape = replaced(self.shape(x), axis, self.shape(indices));
        self.add_op(TensorOp::Gather(axis), &[x, indices], self.dtype(x), shape)
    }

    /// Elements along an axis.
    pub fn gather_elements(&mut self, x: TensorId, indices: TensorId, axis: u32) -> TensorId {
        let shape = self.shape(indices).to_vec();
        self.add_op(TensorOp::GatherElements(axis), &[x, indices], self.dtype(x), shape)
    }

    /// Over some axes, sorted.
    pub fn reduce(&mut self, reduction: Reduction, x: TensorId, axes: &[u32]) -> TensorId {
        let shape = without(self.shape(x), axes);
        let dtype = match reduction {
            Reduction::ArgMin | Reduction::ArgMax => DType::I32,
            Reduction::Sum | Reduction::Prod | Reduction::Min | Reduction::Max | Reduction::Variance => self.dtype(x),
        };
        self.add_op(TensorOp::Reduce(reduction, axes.to_vec()), &[x], dtype, shape)
    }

    /// Over some axes, sorted, which stay with extent 1.
    pub fn reduce_keeping(&mut self, reduction: Reduction, x: TensorId, axes: &[u32]) -> TensorId {
        let shape = with_ones(self.shape(x), axes);
        let reduced = self.reduce(reduction, x, axes);
        self.reshape(reduced, &shape)
    }

    /// The first element along some axes, which stay with extent 1; 0 if there is none.
    pub fn first(&mut self, x: TensorId, axes: &[u32]) -> TensorId {
        let ones = with_ones(self.shape(x), axes);
        self.pad_with_zeros(x, vec![Size::constant(0); ones.len()], &ones)
    }

    /// What was reduced over some axes of a shape, repeated along these.
    pub fn restore(&mut self, reduced: TensorId, axes: &[u32], shape: &[Size]) -> TensorId {
        let kept = self.reshape(reduced, &with_ones(shape, axes));
        self.expand(kept, shape)
    }

    /// The accumulation along an axis.
    pub fn scan(&mut self, x: TensorId, reduction: Reduction, axis: u32, exclusive: bool, reverse: bool) -> TensorId {
        let shape = self.shape(x).to_vec();
        self.add_op(TensorOp::Scan { reduction, axis, exclusive, reverse }, &[x], self.dtype(x), shape)
    }

    /// A product of matrices, of a type.
    pub fn matmul(&mut self, a: TensorId, b: TensorId, dtype: DType) -> TensorId {
        let shape = product(self.shape(a), self.shape(b)).unwrap_or_default();
        self.add_op(TensorOp::MatMul, &[a, b], dtype, shape)
    }

    /// `x` with elements of `source` put along an axis.
    pub fn scatter(
        &mut self,
        x: TensorId,
        indices: TensorId,
        source: TensorId,
        axis: u32,
        combine: Combine,
    ) -> TensorId {
        let shape = self.shape(x).to_vec();
        self.add_op(TensorOp::Scatter(axis, combine), &[x, indices, source], self.dtype(x), shape)
    }

    /// `x` with slices of `source` put along an axis.
    pub fn index_put(
        &mut self,
        x: TensorId,
        indices: TensorId,
        source: TensorId,
        axis: u32,
        combine: Combine,
    ) -> TensorId {
        let shape = self.shape(x).to_vec();
        self.add_op(TensorOp::IndexPut(axis, combine), &[x, indices, source], self.dtype(x), shape)
    }

    /// A factorisation or a triangular system of batches of matrices.
    pub fn linalg(&mut self, kind: Linalg, operands: &[TensorId]) -> TensorId {
        let shape = self.shape(operands[0]);
        let (batch, of) = shape.split_at(shape.len() - 2);
        let one = Size::constant(1);
        let width = operands.get(1).and_then(|second| self.shape(*second).last()).unwrap_or(&one);
        let shape = [batch, &kind.result([&of[0], &of[1], width])].concat();
        self.add_op(TensorOp::Linalg(kind), operands, DType::F32, shape)
    }

    /// Sums along the first axis from some places to others, compensated or not.
    pub fn range_sum(&mut self, is_compensated: bool, parts: &[[TensorId; 3]]) -> TensorId {
        let [x, begin, _] = parts[0];
        let shape = replaced(self.shape(x), 0, self.shape(begin));
        self.add_op(TensorOp::RangeSum(is_compensated), parts.as_flattened(), DType::F32, shape)
    }

    /// The product of each value of a sparse matrix with the row of a dense one that its column names, of the operands of [`TensorOp::SparseProduct`].
    pub fn sparse_terms(&mut self, operands: &[TensorId]) -> TensorId {
        let rows = self.gather(operands[3], operands[1], 0);
        let mut shape = self.shape(operands[2]).to_vec();
        shape.resize(self.shape(rows).len(), Size::constant(1));
        let values = self.reshape(operands[2], &shape);
        self.elementwise(Elementwise::Mul, &[values, rows])
    }

    /// The diagonals of square matrices, [..., n, n], as rows, [..., 1, n].
    pub fn diagonal(&mut self, x: TensorId) -> TensorId {
        let mut shape = self.shape(x).to_vec();
        let axis = shape.len() - 2;
        shape[axis] = Size::constant(1);
        let places = self.iota(axis as u32 + 1, DType::I32, &shape);
        self.gather_elements(x, places, axis as u32)
    }

    /// Quantised numbers as f32.
    pub fn dequantize(&mut self, form: Form, words: TensorId, side: TensorId) -> TensorId {
        let mut shape = self.shape(words).to_vec();
        if let Some(last) = shape.last_mut() {
            *last = &*last * &Size::constant(i64::from(form.a_word()));
        }
        self.add_op(TensorOp::Dequantize(form), &[words, side], DType::F32, shape)
    }

    /// The derivative of a scalar, to be replaced by differentiation.
    pub fn gradient(&mut self, scalar: TensorId, by: TensorId) -> TensorId {
        let shape = self.shape(by).to_vec();
        self.add_op(TensorOp::Gradient, &[scalar, by], self.dtype(by), shape)
    }
}

/// A shape with extent 1 in place of some axes.
fn with_ones(shape: &[Size], axes: &[u32]) -> Vec<Size> {
    let extent = |(axis, size): (usize, &Size)| {
        if axes.contains(&(axis as u32)) { Size::constant(1) } else { size.clone() }
    };
    shape.iter().enumerate().map(extent).list()
}
