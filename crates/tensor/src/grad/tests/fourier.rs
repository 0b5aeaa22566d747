//! The rule of Fourier transforms.

use super::*;
use crate::expr::{Fourier, FourierKind};

#[test]
fn fourier() {
    use FourierKind::{Forward, Half, Inverse, Real};
    for (kind, parts, length) in
        [(Forward, 2, 5), (Inverse, 2, 4), (Forward, 1, 6), (Half, 1, 5), (Half, 1, 6), (Real, 2, 5), (Real, 2, 6)]
    {
        let of = Fourier { axis: 1, to: 0, length, kind, scale: 0.7 };
        let extents = [2, i64::from(of.taken())];
        let shapes = vec![(extents.as_slice(), (-1.0, 1.0)); parts];
        check(&format!("{kind:?} of {length}"), &shapes, &[], &|expr, x| expr.fourier(of, x));
    }
}
