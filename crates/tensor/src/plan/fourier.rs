//! Fourier transforms as kernels can make them.
//!
//! On the host loops take any length. On a device a workgroup takes a row that fits its memory. A longer one goes through memory in two passes or
//! three: with n = r m, transforms of r numbers at distances of m, factors e^(−2πi jk/n), and so on with the m others (Stockham's algorithm, with a
//! kernel for each radix). Its real numbers are taken in pairs, as complex numbers of half the length.

use residua_base::list::Listed;

use crate::dtype::DType;
use crate::expr::{Border, Elementwise, Expr, Fourier, FourierKind, Tensor, TensorId, TensorOp};
use crate::fuse::Target;
use crate::roots;
use crate::size::Size;

/// Longest transform of one kernel: where the numbers of a row are neighbours in memory, and where those of different rows are, of which a workgroup then
/// has several.
const LONGEST_ROW: u32 = 4096;
const LONGEST_COLUMN: u32 = 1024;

/// Real and imaginary parts.
type Parts = [TensorId; 2];

/// A transform.
pub fn transform(expr: &mut Expr, of: Fourier, operands: &[TensorId], target: &Target) -> TensorId {
    let shape = expr.shape(operands[0]);
    let is_row = |axis: u32| shape[axis as usize + 1..].iter().all(|extent| extent.is(1));
    let longest = if is_row(of.axis) && is_row(of.to) { LONGEST_ROW } else { LONGEST_COLUMN };
    if target.is_host || of.length <= longest {
        return expr.fourier(of, operands);
    }
    let axes = Fourier { to: of.axis, ..of };
    let found = match (of.kind, operands) {
        (FourierKind::Half, [x]) if of.length.is_multiple_of(2) => half(expr, axes, *x, target),
        (FourierKind::Real, [re, im]) if of.length.is_multiple_of(2) => real(expr, axes, [*re, *im], target),
        (FourierKind::Half, [x]) => {
            let spectrum = complex(expr, Fourier { kind: FourierKind::Forward, ..axes }, &[*x]);
            let shape = axes.shape(expr.shape(*x));
            let zeros = vec![Size::constant(0); shape.len()];
            expr.slice(spectrum, zeros, vec![1; shape.len()], shape)
        }
        (FourierKind::Real, [re, im]) => {
            let whole = mirrored(expr, &axes, [*re, *im]);
            let pairs = complex(expr, Fourier { kind: FourierKind::Inverse, ..axes }, &whole);
            expr.part(pairs, 0)
        }
        _ => complex(expr, axes, operands),
    };
    moved(expr, found, of)
}

/// A result whose numbers stand along the axis of the operands, along the axis that is wanted.
fn moved(expr: &mut Expr, x: TensorId, Fourier { axis, to, .. }: Fourier) -> TensorId {
    if axis == to {
        return x;
    }
    let mut axes: Vec<u32> = (0..expr.shape(x).len() as u32).filter(|other| *other != axis).list();
    axes.insert(to as usize, axis);
    expr.permute(x, &axes)
}

/// A complex transform in passes.
fn complex(expr: &mut Expr, of: Fourier, operands: &[TensorId]) -> TensorId {
    let shape = expr.shape(operands[0]).to_vec();
    let (before, after) = (&shape[..of.axis as usize], &shape[of.axis as usize + 1..]);
    let shaped = |middle: &[u32], last: &[u32]| -> Vec<Size> {
        let sizes = |extents: &[u32]| extents.iter().map(|extent| Size::constant(i64::from(*extent))).list();
        [before, &sizes(middle), after, &sizes(last)].concat()
    };
    let radices = radices(of.length);
    let (mut rest, mut done) = (of.length, 1);
    let mut parts = operands.to_vec();
    for (pass, radix) in radices.iter().enumerate() {
        let whole = rest;
        rest /= radix;
        let taken = shaped(&[*radix, rest, done], &[]);
        let parts_of_pass = parts.iter().map(|part| expr.reshape(*part, &taken)).list();
        let is_last = pass + 1 == radices.len();
        let scale = if is_last { of.scale } else { 1.0 };
        let own = Fourier { to: of.axis + 1, length: *radix, scale, ..of };
        let found = expr.fourier(own, &parts_of_pass);
        if is_last {
            return expr.reshape(found, &shaped(&[of.length], &[2]));
        }
        // Number j of the rest and frequency k have the factor e^(∓2πi jk/whole).
        let line = |axis: u32| {
            let mut line = vec![Size::constant(1); taken.len()];
            let extent = if axis == of.axis { rest } else { *radix };
            line[axis as usize] = Size::constant(i64::from(extent));
            line
        };
        let [place, frequency] = [of.axis, of.axis + 1].map(|axis| expr.iota(axis, DType::U32, &line(axis)));
        let turn = expr.elementwise(Elementwise::Mul, &[place, frequency]);
        let root = root(expr, turn, whole, of.kind == FourierKind::Inverse);
        let found = [0, 1].map(|part| expr.part(found, part));
        let turned = times(expr, found, root);
        done *= radix;
        // Both parts are written by the pass, and read together by the next.
        let pairs = pairs(expr, turned);
        let pairs = expr.reshape(pairs, &shaped(&[rest, done], &[2]));
        parts = [0, 1].map(|part| expr.part(pairs, part)).to_vec();
    }
    unreachable!("a long transform has a pass")
}

/// The lengths of the passes: as few as possible, of about the same size.
fn radices(length: u32) -> Vec<u32> {
    let primes = Fourier::radices(length).unwrap_or_default();
    for count in 2.. {
        let mut radices = vec![1; count];
        for prime in primes.iter().rev() {
            if let Some(smallest) = radices.iter_mut().min() {
                *smallest *= prime;
            }
        }
        if radices.iter().all(|radix| *radix <= LONGEST_COLUMN) {
            return radices;
        }
    }
    primes
}

/// The half spectrum of an even number of real numbers, from that of pairs of them.
fn half(expr: &mut Expr, of: Fourier, x: TensorId, target: &Target) -> TensorId {
    let count = of.length / 2;
    let axis = of.axis as usize;
    let z = [0, 1].map(|first| every(expr, x, axis, i64::from(first), 2, count));
    let z = transform(expr, Fourier { kind: FourierKind::Forward, length: count, ..of }, &z, target);
    // Frequency `count` is frequency 0 again.
    let mut shape = expr.shape(z).to_vec();
    shape[axis] = Size::constant(i64::from(count) + 1);
    let op = TensorOp::Pad { before: vec![Size::constant(0); shape.len()], border: Border::Wrap };
    let z = expr.push(Tensor { op, operands: vec![z], dtype: DType::F32, shape });
    let own = [0, 1].map(|part| expr.part(z, part));
    let opposite = own.map(|part| every(expr, part, axis, i64::from(count), -1, count + 1));
    // E = (z + z̄')/2, D = (z − z̄')/2: the frequencies are E − i w D.
    let [even, odd] = sum_and_difference(expr, own, opposite);
    let root = roots_along(expr, own[0], axis, of.length, false);
    let turned = times(expr, odd, root);
    let re = expr.elementwise(Elementwise::Add, &[even[0], turned[1]]);
    let im = expr.elementwise(Elementwise::Sub, &[even[1], turned[0]]);
    let half = expr.constant(0.5, DType::F32);
    let found = [re, im].map(|part| expr.elementwise(Elementwise::Mul, &[part, half]));
    pairs(expr, found)
}

/// An even number of real numbers from half their spectrum, as pairs of half as many complex ones.
fn real(expr: &mut Expr, of: Fourier, [re, im]: Parts, target: &Target) -> TensorId {
    let count = of.length / 2;
    let axis = of.axis as usize;
    let im = without_ends(expr, &of, im);
    let own = [re, im].map(|part| every(expr, part, axis, 0, 1, count));
    let opposite = [re, im].map(|part| every(expr, part, axis, i64::from(count), -1, count));
    // S = X + X̄', D = X − X̄': z has the frequencies S + i w̄ D.
    let [sum, difference] = sum_and_difference(expr, own, opposite);
    let root = roots_along(expr, own[0], axis, of.length, true);
    let turned = times(expr, difference, root);
    let re = expr.elementwise(Elementwise::Sub, &[sum[0], turned[1]]);
    let im = expr.elementwise(Elementwise::Add, &[sum[1], turned[0]]);
    let z = transform(expr, Fourier { kind: FourierKind::Inverse, length: count, ..of }, &[re, im], target);
    // The parts of a number are neighbours.
    let rank = expr.shape(z).len() as u32;
    let mut axes: Vec<u32> = (0..rank - 1).list();
    axes.insert(axis + 1, rank - 1);
    let z = expr.permute(z, &axes);
    let shape = of.shape(expr.shape(own[0]));
    expr.reshape(z, &shape)
}

/// The whole spectrum of an odd number of real numbers.
fn mirrored(expr: &mut Expr, of: &Fourier, [re, im]: Parts) -> Parts {
    let count = of.length / 2;
    let axis = of.axis as usize;
    let im = without_ends(expr, of, im);
    let [first, second] = [re, im].map(|part| every(expr, part, axis, i64::from(count), -1, count));
    let second = expr.elementwise(Elementwise::Neg, &[second]);
    [expr.concat(&[re, first], of.axis), expr.concat(&[im, second], of.axis)]
}

/// Imaginary parts of half a spectrum, 0 where a frequency is its own conjugate.
fn without_ends(expr: &mut Expr, of: &Fourier, im: TensorId) -> TensorId {
    let shape = expr.shape(im).to_vec();
    let place = expr.iota(of.axis, DType::U32, &shape);
    let [first, last] = [0, of.length / 2].map(|place| expr.constant(f64::from(place), DType::U32));
    let mut is_end = expr.elementwise(Elementwise::Eq, &[place, first]);
    if of.length.is_multiple_of(2) {
        let is_last = expr.elementwise(Elementwise::Eq, &[place, last]);
        is_end = expr.elementwise(Elementwise::Or, &[is_end, is_last]);
    }
    let zero = expr.constant(0.0, DType::F32);
    expr.elementwise(Elementwise::Select, &[is_end, zero, im])
}

/// Elements of an axis at equal distances.
fn every(expr: &mut Expr, x: TensorId, axis: usize, start: i64, step: i64, count: u32) -> TensorId {
    let mut shape = expr.shape(x).to_vec();
    let mut starts = vec![Size::constant(0); shape.len()];
    let mut steps = vec![1; shape.len()];
    (starts[axis], steps[axis]) = (Size::constant(start), step);
    shape[axis] = Size::constant(i64::from(count));
    expr.slice(x, starts, steps, shape)
}

/// a + b̄ and a − b̄.
fn sum_and_difference(expr: &mut Expr, a: Parts, b: Parts) -> [Parts; 2] {
    let mut each = |op: Elementwise, part: usize| expr.elementwise(op, &[a[part], b[part]]);
    let (add, sub) = (Elementwise::Add, Elementwise::Sub);
    [[each(add, 0), each(sub, 1)], [each(sub, 0), each(add, 1)]]
}

fn times(expr: &mut Expr, a: Parts, b: Parts) -> Parts {
    let mut product = |i: usize, j: usize| expr.elementwise(Elementwise::Mul, &[a[i], b[j]]);
    let products = [product(0, 0), product(1, 1), product(0, 1), product(1, 0)];
    let re = expr.elementwise(Elementwise::Sub, &products[..2]);
    [re, expr.elementwise(Elementwise::Add, &products[2..])]
}

/// Parts along a last axis.
fn pairs(expr: &mut Expr, parts: Parts) -> TensorId {
    let shape = [expr.shape(parts[0]), &[Size::constant(1)]].concat();
    let columns = parts.map(|part| expr.reshape(part, &shape));
    expr.concat(&columns, shape.len() as u32 - 1)
}

/// e^(∓2πi k/length) for each place k of an axis, in a shape that broadcasts to that of a tensor.
fn roots_along(expr: &mut Expr, x: TensorId, axis: usize, length: u32, inverse: bool) -> Parts {
    let extent = expr.shape(x)[axis].clone();
    let mut line = vec![Size::constant(1); expr.shape(x).len()];
    line[axis] = extent;
    let turn = expr.iota(axis as u32, DType::U32, &line);
    root(expr, turn, length, inverse)
}

/// e^(∓2πi turn/length) of whole numbers below the length, from the table.
fn root(expr: &mut Expr, turn: TensorId, length: u32, inverse: bool) -> Parts {
    let table = Tensor {
        op: TensorOp::Roots(length),
        operands: Vec::new(),
        dtype: DType::F32,
        shape: roots::shape(length).to_vec(),
    };
    let table = expr.push(table);
    let at = |expr: &mut Expr, places: TensorId| {
        [0, 1].map(|part| {
            let column = expr.part(table, part);
            expr.gather(column, places, 0)
        })
    };
    let [cos, sin] = if length <= roots::FINE {
        at(expr, turn)
    } else {
        let number = |expr: &mut Expr, number: u32| expr.constant(f64::from(number), DType::U32);
        let [mask, shift, first] =
            [roots::FINE - 1, roots::FINE.trailing_zeros(), roots::FINE].map(|n| number(expr, n));
        let fine = expr.elementwise(Elementwise::And, &[turn, mask]);
        let coarse = expr.elementwise(Elementwise::Shr, &[turn, shift]);
        let coarse = expr.elementwise(Elementwise::Add, &[coarse, first]);
        let [fine, coarse] = [fine, coarse].map(|places| at(expr, places));
        times(expr, fine, coarse)
    };
    let sin = if inverse { expr.elementwise(Elementwise::Neg, &[sin]) } else { sin };
    [cos, sin]
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn long_transforms_have_few_passes() {
        for (length, expected) in [(1 << 13, 2), (1 << 20, 2), (1 << 21, 3), (1 << 24, 3), (7 * 11 * 13 * 13, 2)] {
            let radices = radices(length);
            assert_eq!((radices.iter().product::<u32>(), radices.len()), (length, expected), "{radices:?}");
            assert!(radices.iter().all(|radix| *radix <= LONGEST_COLUMN), "{radices:?}");
        }
    }
}
