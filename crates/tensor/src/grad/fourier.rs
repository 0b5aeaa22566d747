//! The rule of Fourier transforms: the adjoint of a transform is the one with the opposite exponent. Of real numbers each frequency but those that
//! are their own conjugates stands for two, which the transforms of halves count.

use residua_base::list::Listed;

use super::{Adjoint, PullBack, Shares};
use crate::dtype::DType;
use crate::expr::{Elementwise, Fourier, FourierKind, TensorId};
use crate::size::Size;

impl PullBack<'_> {
    pub(super) fn fourier(&mut self, of: &Fourier) -> Shares {
        use FourierKind::{Forward, Half, Inverse, Real};
        let adjoint = self.adjoint.node;
        let kind = match of.kind {
            Forward => Inverse,
            Inverse => Forward,
            Half => Real,
            Real => Half,
        };
        let back = Fourier { axis: of.to, to: of.axis, kind, ..*of };
        let parts = match of.kind {
            Forward | Inverse | Half => {
                let parts = [0, 1].map(|part| self.expr().part(adjoint, part)).to_vec();
                let parts = if of.kind == Half { self.weighted(of, of.to, 0.5, parts) } else { parts };
                let found = self.expr().fourier(back, &parts);
                if of.kind == Half { vec![found] } else { self.parts(found) }
            }
            Real => {
                let found = self.expr().fourier(back, &[adjoint]);
                let parts = self.parts(found);
                self.weighted(of, of.axis, 2.0, parts)
            }
        };
        let guarded = self.adjoint.guarded;
        self.operands.iter().zip(parts).map(|(_, node)| Some(Adjoint { node, guarded })).list()
    }

    fn parts(&mut self, pairs: TensorId) -> Vec<TensorId> {
        [0, 1].map(|part| self.expr().part(pairs, part)).to_vec()
    }

    /// Halves of spectra times a factor where a frequency stands for two.
    fn weighted(&mut self, of: &Fourier, axis: u32, factor: f64, parts: Vec<TensorId>) -> Vec<TensorId> {
        let shape = self.sweep.expr.shape(parts[0]).to_vec();
        let count = i64::from(of.length / 2 + 1);
        let line: Vec<Size> =
            (0..shape.len()).map(|other| Size::constant(if other == axis as usize { count } else { 1 })).list();
        let place = self.expr().iota(axis, DType::U32, &line);
        let mut is_alone = self.is_place(place, 0);
        if of.length.is_multiple_of(2) {
            let is_last = self.is_place(place, of.length / 2);
            is_alone = self.apply(Elementwise::Or, &[is_alone, is_last]);
        }
        let [one, factor] = [1.0, factor].map(|number| self.expr().full(number, DType::F32, &line));
        let weight = self.apply(Elementwise::Select, &[is_alone, one, factor]);
        parts.into_iter().map(|part| self.apply(Elementwise::Mul, &[part, weight])).list()
    }

    fn is_place(&mut self, place: TensorId, number: u32) -> TensorId {
        let number = self.expr().constant(f64::from(number), DType::U32);
        self.apply(Elementwise::Eq, &[place, number])
    }
}
