//! Real numbers in pairs as complex ones: n/2 complex numbers z have the even numbers as real parts and the odd ones as imaginary parts.

use super::passes::{Parts, at, put};
use super::radix::Complex;
use crate::four::Four;

/// From the transform of z, of `count` frequencies, to those from 0 to `count` of the real numbers.
pub fn unfolded(x: &mut Parts, count: usize, width: usize, turns: &Parts) {
    x.resize((count + 1) * width);
    for lane in 0..width {
        let (re, im) = (x.re[lane], x.im[lane]);
        (x.re[lane], x.im[lane]) = (re + im, 0.0);
        (x.re[count * width + lane], x.im[count * width + lane]) = (re - im, 0.0);
    }
    changed::<false>(x, count, width, turns);
}

/// From the frequencies from 0 to `count` of real numbers to those of z, `count` of them, times 2.
pub fn folded(x: &mut Parts, count: usize, width: usize, turns: &Parts) {
    for lane in 0..width {
        let (first, last) = (x.re[lane], x.re[count * width + lane]);
        (x.re[lane], x.im[lane]) = (first + last, first - last);
    }
    changed::<true>(x, count, width, turns);
    x.resize(count * width);
}

/// E = (z + z̄')/2 and O = −i (z − z̄')/2, of which the frequencies are E + wO and the conjugate of E − wO.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn unfold(near: Complex, far: Complex, turn: Complex) -> [Complex; 2] {
    let half = Four::all(0.5);
    let even = Complex { re: near.re.plus(far.re).times(half), im: near.im.minus(far.im).times(half) };
    let odd = Complex { re: near.im.plus(far.im).times(half), im: far.re.minus(near.re).times(half) };
    let turned = odd.times(turn);
    [even.plus(turned), even.minus(turned).conjugate()]
}

/// S = X + X̄' and T = i w̄ (X − X̄'), of which z has S + T and the conjugate of S − T.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn fold(near: Complex, far: Complex, turn: Complex) -> [Complex; 2] {
    let sum = Complex { re: near.re.plus(far.re), im: near.im.minus(far.im) };
    let difference = Complex { re: near.re.minus(far.re), im: near.im.plus(far.im) };
    let turned = difference.times(turn.conjugate());
    [sum.plus_turned(turned), sum.minus_turned(turned).conjugate()]
}

#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn change<const FOLDS: bool>(near: Complex, far: Complex, turn: Complex) -> [Complex; 2] {
    if FOLDS { fold(near, far, turn) } else { unfold(near, far, turn) }
}

/// Changes all frequencies but 0 and `count` with their opposites.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn changed<const FOLDS: bool>(x: &mut Parts, count: usize, width: usize, turns: &Parts) {
    let all = count * width;
    assert!(x.re.len() >= all && x.im.len() >= all, "parts of a transform");
    assert!(turns.re.len() > count / 2 && turns.im.len() > count / 2, "roots of a transform");
    let Parts { re, im } = x;
    let mut place = 1;
    if width == 1 {
        while place + 3 < count - place - 3 {
            let far = count - place - 3;
            // SAFETY: 0 < place, and far + 3 < count; roots are there up to count/2.
            unsafe {
                let turn = at(&turns.re, &turns.im, place);
                let [near, opposite] = change::<FOLDS>(at(re, im, place), at(re, im, far).reversed(), turn);
                put(re, im, place, near);
                put(re, im, far, opposite.reversed());
            }
            place += 4;
        }
        for place in place..=count / 2 {
            let far = count - place;
            let [near, far_one] = [place, far].map(|place| Complex::all(re[place], im[place]));
            let [near, opposite] = change::<FOLDS>(near, far_one, Complex::all(turns.re[place], turns.im[place]));
            (re[far], im[far]) = (opposite.re.numbers()[0], opposite.im.numbers()[0]);
            (re[place], im[place]) = (near.re.numbers()[0], near.im.numbers()[0]);
        }
        return;
    }
    for place in 1..=count / 2 {
        let turn = Complex::all(turns.re[place], turns.im[place]);
        for lane in (0..width).step_by(4) {
            let (own, far) = (place * width + lane, (count - place) * width + lane);
            // SAFETY: both are of numbers from 1 to count − 1, of which each has `width` neighbours, a multiple of 4.
            unsafe {
                let [near, opposite] = change::<FOLDS>(at(re, im, own), at(re, im, far), turn);
                put(re, im, far, opposite);
                put(re, im, own, near);
            }
        }
    }
}

/// Fills the frequencies beyond the half of real numbers with the conjugates of their opposites. That of 0, and that of a half, are real.
pub fn mirrored(x: &mut Parts, length: usize, width: usize) {
    x.resize(length * width);
    x.im[..width].fill(0.0);
    for place in 1..length.div_ceil(2) {
        for lane in 0..width {
            let (own, far) = (place * width + lane, (length - place) * width + lane);
            (x.re[far], x.im[far]) = (x.re[own], -x.im[own]);
        }
    }
}
