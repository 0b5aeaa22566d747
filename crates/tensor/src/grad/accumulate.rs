//! Rules of reductions and scans.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;

use super::{Places, PullBack, Shares};
use crate::dtype::DType;
use crate::expr::{Elementwise, Reduction, TensorId};
use crate::size::Size;

impl PullBack<'_> {
    pub(super) fn reduce(&mut self, reduction: Reduction, axes: &[u32]) -> Shares {
        let (x, result, adjoint) = (self.operands[0], self.result, self.adjoint.node);
        let shape = self.shape(0);
        match reduction {
            Reduction::Sum => {
                let node = self.expr().restore(adjoint, axes, &shape);
                self.only(node)
            }
            Reduction::Prod => {
                let others = self.others_product(x, axes, &shape);
                let adjoint = self.expr().restore(adjoint, axes, &shape);
                let node = self.times(adjoint, others);
                self.only(node)
            }
            // Equal extremes share evenly.
            Reduction::Min | Reduction::Max => {
                let dtype = self.dtype();
                let extreme = self.expr().restore(result, axes, &shape);
                let is_extreme = self.apply(Elementwise::Eq, &[x, extreme]);
                let counted = self.expr().cast(is_extreme, dtype);
                let count = self.expr().reduce(Reduction::Sum, counted, axes);
                let share = self.apply(Elementwise::Div, &[adjoint, count]);
                let share = self.expr().restore(share, axes, &shape);
                let node = self.where_holds(is_extreme, share);
                self.only_guarded(node)
            }
            // 2 (x − mean) / n
            Reduction::Variance => {
                let count = Size::product(axes.iter().map(|axis| &shape[*axis as usize]));
                let inverse = self.inverse(&count);
                let difference = self.centred(x, axes, inverse);
                let adjoint = self.apply(Elementwise::Mul, &[adjoint, inverse]);
                let adjoint = self.scaled(2.0, adjoint);
                let adjoint = self.expr().restore(adjoint, axes, &shape);
                let node = self.times(adjoint, difference);
                self.only(node)
            }
            // Positions are integers.
            Reduction::ArgMin | Reduction::ArgMax => vec![None],
        }
    }

    /// Differences to the mean over some axes, from one over the number of elements. They are taken from the differences to the first element: a mean
    /// that is far from 0 would leave few digits for them.
    fn centred(&mut self, x: TensorId, axes: &[u32], inverse: TensorId) -> TensorId {
        let first = self.expr().first(x, axes);
        let first = self.apply(Elementwise::StopGradient, &[first]);
        let differences = self.apply(Elementwise::Sub, &[x, first]);
        let sum = self.expr().reduce_keeping(Reduction::Sum, differences, axes);
        let mean = self.apply(Elementwise::Mul, &[sum, inverse]);
        self.apply(Elementwise::Sub, &[differences, mean])
    }

    /// One over a size, as a scalar of the result's type.
    fn inverse(&mut self, size: &Size) -> TensorId {
        if let Some(number) = size.known() {
            return self.number(1.0 / number as f64);
        }
        let dtype = self.dtype();
        let extent = self.expr().extent(size, DType::F32);
        let one = self.expr().constant(1.0, DType::F32);
        let inverse = self.apply(Elementwise::Div, &[one, extent]);
        self.expr().cast(inverse, dtype)
    }

    /// For each element the product of the others over some axes, without a division: of those before and of those after.
    fn others_product(&mut self, x: TensorId, axes: &[u32], shape: &[Size]) -> TensorId {
        let line = Line::of(shape, axes);
        let x = self.flattened(x, &line);
        let [before, after] =
            [false, true].map(|reverse| self.expr().scan(x, Reduction::Prod, line.axis(), true, reverse));
        let product = self.apply(Elementwise::Mul, &[before, after]);
        self.unflattened(product, &line)
    }

    /// A tensor with some axes as one, the last.
    pub(super) fn flattened(&mut self, x: TensorId, line: &Line) -> TensorId {
        let permuted = self.expr().permute(x, &line.order);
        self.expr().reshape(permuted, &line.flat)
    }

    /// The inverse of [`PullBack::flattened`].
    pub(super) fn unflattened(&mut self, x: TensorId, line: &Line) -> TensorId {
        let permuted = self.expr().reshape(x, &line.permuted);
        self.expr().permute_back(permuted, &line.order)
    }

    pub(super) fn scan(&mut self, reduction: Reduction, axis: u32, exclusive: bool, reverse: bool) -> Result<Shares> {
        let (x, adjoint) = (self.operands[0], self.adjoint.node);
        Ok(match reduction {
            Reduction::Sum => {
                let node = self.expr().scan(adjoint, Reduction::Sum, axis, exclusive, !reverse);
                self.only(node)
            }
            // Of pᵢ = pᵢ₋₁ xᵢ: the adjoint of pᵢ is a recurrence from the end, and that of xᵢ its product with pᵢ₋₁.
            Reduction::Prod => {
                let before = if exclusive { self.result } else { self.expr().scan(x, reduction, axis, true, reverse) };
                let seed = if exclusive { self.next(adjoint, axis, reverse) } else { adjoint };
                let factor = self.next(x, axis, reverse);
                let recurrence = self.recurrence(&[factor], &[seed], axis, !reverse)?;
                let node = self.apply(Elementwise::Mul, &[recurrence[0], before]);
                self.only(node)
            }
            Reduction::Min | Reduction::Max => {
                let node = self.scan_of_extremes(reduction, axis, exclusive, reverse);
                self.only_guarded(node)
            }
            Reduction::ArgMin | Reduction::ArgMax | Reduction::Variance => {
                return Err(Error::internal("a scan of what is no sum of elements"));
            }
        })
    }

    /// The elements that come next in the order of a scan, and 0 after the last.
    pub(super) fn next(&mut self, x: TensorId, axis: u32, reverse: bool) -> TensorId {
        let shape = self.sweep.expr.shape(x).to_vec();
        let mut before = vec![Size::constant(0); shape.len()];
        before[axis as usize] = Size::constant(if reverse { 1 } else { -1 });
        self.expr().pad_with_zeros(x, before, &shape)
    }

    /// The last element in the order of the scan that was as extreme as all before gets the adjoints up to the next such.
    fn scan_of_extremes(&mut self, reduction: Reduction, axis: u32, exclusive: bool, reverse: bool) -> TensorId {
        let (x, shape) = (self.operands[0], self.shape(0));
        let earlier = if exclusive { self.result } else { self.expr().scan(x, reduction, axis, true, reverse) };
        let compare = if reduction == Reduction::Max { Elementwise::Ge } else { Elementwise::Le };
        let is_new = self.apply(compare, &[x, earlier]);
        // Before there is one, an index beyond the axis.
        let (nobody, latest) = if reverse { (i32::MAX, Reduction::Min) } else { (i32::MIN, Reduction::Max) };
        let nobody = self.expr().constant(f64::from(nobody), DType::I32);
        let places = self.expr().iota(axis, DType::I32, &shape);
        let places = self.apply(Elementwise::Select, &[is_new, places, nobody]);
        let indices = self.expr().scan(places, latest, axis, exclusive, reverse);
        self.added_to_zeros(Places::Elements, axis, &shape, indices, self.adjoint.node)
    }
}

/// Some axes of a shape as one axis after the others.
pub(super) struct Line {
    order: Vec<u32>,
    permuted: Vec<Size>,
    /// The shape with the axes as one.
    pub flat: Vec<Size>,
}

impl Line {
    pub(super) fn of(shape: &[Size], axes: &[u32]) -> Line {
        let others = (0..shape.len() as u32).filter(|axis| !axes.contains(axis));
        let order: Vec<u32> = others.chain(axes.iter().copied()).list();
        let permuted: Vec<Size> = order.iter().map(|axis| shape[*axis as usize].clone()).list();
        let (outer, inner) = permuted.split_at(shape.len() - axes.len());
        let flat = [outer, &[Size::product(inner)]].concat();
        Line { order, permuted, flat }
    }

    /// The axis that the others became.
    pub(super) fn axis(&self) -> u32 {
        self.flat.len() as u32 - 1
    }
}
