//! Rules of gathers and of what is put at places.

use super::{Adjoint, Places, PullBack, Shares};
use crate::dtype::DType;
use crate::expr::{Combine, Elementwise, TensorId};
use crate::size::Size;

impl PullBack<'_> {
    /// Slices were read: their adjoints are added at their places.
    pub(super) fn gather(&mut self, axis: u32) -> Shares {
        let (shape, indices, adjoint) = (self.shape(0), self.operands[1], self.adjoint.node);
        let count = self.sweep.expr.count(indices);
        let indices = self.expr().reshape(indices, std::slice::from_ref(&count));
        let mut merged = shape.clone();
        merged[axis as usize] = count;
        let source = self.expr().reshape(adjoint, &merged);
        let node = self.added_to_zeros(Places::Slices, axis, &shape, indices, source);
        self.only_guarded(node)
    }

    /// Elements were read: their adjoints are added at their places.
    pub(super) fn gather_elements(&mut self, axis: u32) -> Shares {
        let (shape, indices) = (self.shape(0), self.operands[1]);
        let node = self.added_to_zeros(Places::Elements, axis, &shape, indices, self.adjoint.node);
        self.only_guarded(node)
    }

    /// Zeros with a source added at places.
    pub(super) fn added_to_zeros(
        &mut self,
        places: Places,
        axis: u32,
        shape: &[Size],
        indices: TensorId,
        source: TensorId,
    ) -> TensorId {
        let dtype = self.sweep.expr.dtype(source);
        let zeros = self.expr().full(0.0, dtype, shape);
        self.put_at(places, axis, zeros, indices, source, Combine::Add)
    }

    /// x with a source put at places.
    fn put_at(
        &mut self,
        places: Places,
        axis: u32,
        x: TensorId,
        indices: TensorId,
        source: TensorId,
        combine: Combine,
    ) -> TensorId {
        match places {
            Places::Elements => self.expr().scatter(x, indices, source, axis, combine),
            Places::Slices => self.expr().index_put(x, indices, source, axis, combine),
        }
    }

    /// The elements of x at places.
    fn read_at(&mut self, places: Places, axis: u32, x: TensorId, indices: TensorId) -> TensorId {
        match places {
            Places::Elements => self.expr().gather_elements(x, indices, axis),
            Places::Slices => self.expr().gather(x, indices, axis),
        }
    }

    /// The shares of what a source was put into, and of the source.
    pub(super) fn put(&mut self, axis: u32, combine: Combine, places: Places) -> Shares {
        let put = Put { axis, places, x: self.operands[0], indices: self.operands[1], source: self.operands[2] };
        let [x, source] = match combine {
            Combine::Set => self.put_set(&put),
            Combine::Add => {
                let adjoint = self.adjoint.node;
                let source = self.wanted[2].then(|| self.read_at(places, axis, adjoint, put.indices));
                [Some(adjoint), source]
            }
            Combine::Mul => self.put_product(&put),
            Combine::Min | Combine::Max => self.put_extreme(&put),
        };
        // An index out of range leaves its source out.
        let share = |node: Option<TensorId>| node.map(|node| Adjoint { node, guarded: true });
        vec![share(x), None, share(source)]
    }

    /// What is replaced gets nothing; of several sources at one place the last.
    fn put_set(&mut self, put: &Put) -> [Option<TensorId>; 2] {
        let &Put { axis, places, x, indices, source } = put;
        let adjoint = self.adjoint.node;
        let dtype = self.dtype();
        let shapes = [x, source].map(|id| self.sweep.expr.shape(id).to_vec());
        let zeros = self.expr().full(0.0, dtype, &shapes[1]);
        let rest = self.wanted[0].then(|| self.put_at(places, axis, adjoint, indices, zeros, Combine::Set));
        let taken = self.wanted[2].then(|| {
            // Which element of the source stands at each place.
            let count = Size::product(&shapes[1]);
            let numbers = self.expr().iota(0, DType::I32, &[count]);
            let numbers = self.expr().reshape(numbers, &shapes[1]);
            let nobody = self.expr().full(-1.0, DType::I32, &shapes[0]);
            let last = self.put_at(places, axis, nobody, indices, numbers, Combine::Set);
            let last = self.read_at(places, axis, last, indices);
            let stays = self.apply(Elementwise::Eq, &[last, numbers]);
            let read = self.read_at(places, axis, adjoint, indices);
            self.where_holds(stays, read)
        });
        [rest, taken]
    }

    /// Each factor gets the product of the others: without a factor that is 0, of which there may be none or one.
    fn put_product(&mut self, put: &Put) -> [Option<TensorId>; 2] {
        let &Put { axis, places, x, indices, source } = put;
        let (dtype, adjoint) = (self.dtype(), self.adjoint.node);
        let (zero, one) = (self.number(0.0), self.number(1.0));
        let are_zero = [x, source].map(|id| self.apply(Elementwise::Eq, &[id, zero]));
        let [x_factor, source_factor] =
            [0, 1].map(|k| self.apply(Elementwise::Select, &[are_zero[k], one, [x, source][k]]));
        let [x_zeros, source_zeros] = are_zero.map(|is_zero| self.expr().cast(is_zero, dtype));
        let product = self.put_at(places, axis, x_factor, indices, source_factor, Combine::Mul);
        let zeros = self.put_at(places, axis, x_zeros, indices, source_zeros, Combine::Add);
        let others = self.others([product, zeros], [x_factor, x_zeros]);
        let x_share = self.times(adjoint, others);
        let [product, zeros, adjoint] = [product, zeros, adjoint].map(|id| self.read_at(places, axis, id, indices));
        let others = self.others([product, zeros], [source_factor, source_zeros]);
        [Some(x_share), Some(self.times(adjoint, others))]
    }

    /// A product without one of its factors. Products are of the factors that are not 0, beside how many are.
    fn others(&mut self, [product, zeros]: [TensorId; 2], [factor, own_zeros]: [TensorId; 2]) -> TensorId {
        let quotient = self.apply(Elementwise::Div, &[product, factor]);
        let has_none = self.apply(Elementwise::Eq, &[zeros, own_zeros]);
        self.where_holds(has_none, quotient)
    }

    /// The equal extremes at a place share its adjoint evenly.
    fn put_extreme(&mut self, put: &Put) -> [Option<TensorId>; 2] {
        let &Put { axis, places, x, indices, source } = put;
        let (dtype, result) = (self.dtype(), self.result);
        let x_is = self.apply(Elementwise::Eq, &[x, result]);
        let extreme = self.read_at(places, axis, result, indices);
        let source_is = self.apply(Elementwise::Eq, &[source, extreme]);
        let [x_counts, source_counts] = [x_is, source_is].map(|is| self.expr().cast(is, dtype));
        let count = self.put_at(places, axis, x_counts, indices, source_counts, Combine::Add);
        let share = self.apply(Elementwise::Div, &[self.adjoint.node, count]);
        let x_share = self.where_holds(x_is, share);
        let read = self.read_at(places, axis, share, indices);
        [Some(x_share), Some(self.where_holds(source_is, read))]
    }
}

/// A source put into a tensor at places along an axis.
struct Put {
    axis: u32,
    places: Places,
    x: TensorId,
    indices: TensorId,
    source: TensorId,
}
