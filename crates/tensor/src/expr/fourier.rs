//! Fourier transforms.

use residua_base::list::Listed;

use super::{Expr, Tensor, TensorId, TensorOp};
use crate::dtype::DType;
use crate::size::Size;

/// A discrete Fourier transform along an axis: Σⱼ xⱼ e^(∓2πi jk/n), times a scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fourier {
    /// Which axis of the operands.
    pub axis: u32,
    /// Which axis of the result the frequencies, or the numbers from frequencies, stand along. The other axes keep their order.
    pub to: u32,
    /// How many numbers are transformed, n: at most [`Fourier::MOST`], with [`Fourier::radices`].
    pub length: u32,
    /// From what to what.
    pub kind: FourierKind,
    /// What all results are multiplied by.
    pub scale: f64,
}

/// From what to what a transform goes. Complex operands are real and imaginary parts; complex results have these along a last axis of 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FourierKind {
    /// From complex numbers, or real ones, to complex ones, with e^(−2πi jk/n).
    Forward,
    /// The same with e^(2πi jk/n).
    Inverse,
    /// From real numbers to their frequencies from 0 to ⌊n/2⌋, with e^(−2πi jk/n).
    Half,
    /// From frequencies from 0 to ⌊n/2⌋ to real numbers, with e^(2πi jk/n). The others are their conjugates; the imaginary parts of those that are their own
    /// conjugates do not count.
    Real,
}

impl FourierKind {
    /// By code of the tape.
    pub const ALL: [FourierKind; 4] =
        [FourierKind::Forward, FourierKind::Inverse, FourierKind::Half, FourierKind::Real];
}

impl Fourier {
    /// Longest transform.
    pub const MOST: u32 = 1 << 24;

    /// The prime factors of a length, ascending; none if one is above 13.
    pub fn radices(length: u32) -> Option<Vec<u32>> {
        let (mut rest, mut found) = (length, Vec::new());
        for prime in [2, 3, 5, 7, 11, 13] {
            while rest > 1 && rest.is_multiple_of(prime) {
                found.push(prime);
                rest /= prime;
            }
        }
        (rest == 1).then_some(found)
    }

    /// How many numbers the operands have along the axis.
    pub fn taken(&self) -> u32 {
        if self.kind == FourierKind::Real { self.length / 2 + 1 } else { self.length }
    }

    /// How many numbers the result has along its axis.
    pub fn given(&self) -> u32 {
        if self.kind == FourierKind::Half { self.length / 2 + 1 } else { self.length }
    }

    /// Whether results are complex.
    pub fn is_complex(&self) -> bool {
        self.kind != FourierKind::Real
    }

    /// Whether a frequency of a half is its own conjugate, or counts for two.
    pub fn is_alone(&self, frequency: u32) -> bool {
        frequency == 0 || 2 * frequency == self.length
    }

    /// The axes of operands of a shape that are not transformed.
    pub fn others(&self, shape: &[Size]) -> Vec<Size> {
        let kept = |(axis, _): &(usize, &Size)| *axis != self.axis as usize;
        shape.iter().enumerate().filter(kept).map(|(_, size)| size.clone()).list()
    }

    /// The shape of the result for operands of a shape.
    pub fn shape(&self, of: &[Size]) -> Vec<Size> {
        let mut shape = self.others(of);
        shape.insert(self.to as usize, Size::constant(i64::from(self.given())));
        if self.is_complex() {
            shape.push(Size::constant(2));
        }
        shape
    }

    /// Whether operands of a shape have it.
    pub fn fits(&self, of: &[Size]) -> bool {
        let (axis, to) = (self.axis as usize, self.to as usize);
        axis < of.len()
            && to < of.len()
            && (1..=Fourier::MOST).contains(&self.length)
            && Fourier::radices(self.length).is_some()
            && of[axis] == Size::constant(i64::from(self.taken()))
    }
}

impl Expr {
    /// A transform of real and imaginary parts, or of real numbers.
    pub fn fourier(&mut self, fourier: Fourier, operands: &[TensorId]) -> TensorId {
        let shape = fourier.shape(self.shape(operands[0]));
        self.push(Tensor { op: TensorOp::Fourier(fourier), operands: operands.to_vec(), dtype: DType::F32, shape })
    }

    /// A part of complex numbers, of which both stand along a last axis: the real one or the imaginary one.
    pub fn part(&mut self, pairs: TensorId, part: u32) -> TensorId {
        let mut shape = self.shape(pairs).to_vec();
        let last = shape.len() - 1;
        let starts = (0..=last).map(|axis| Size::constant(if axis == last { i64::from(part) } else { 0 })).list();
        shape[last] = Size::constant(1);
        let one = self.slice(pairs, starts, vec![1; shape.len()], shape.clone());
        shape.pop();
        self.reshape(one, &shape)
    }
}
