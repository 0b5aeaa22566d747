//! Transforms of a few numbers, four of them side by side.
#![expect(
    clippy::needless_range_loop,
    reason = "compilers unroll loops over indices, so that the numbers are in registers"
)]

use residua_ir::graph::sine;

use crate::four::Four;

/// Four complex numbers.
#[derive(Clone, Copy)]
pub struct Complex {
    pub re: Four,
    pub im: Four,
}

impl Complex {
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn plus(self, other: Complex) -> Complex {
        Complex { re: self.re.plus(other.re), im: self.im.plus(other.im) }
    }

    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn minus(self, other: Complex) -> Complex {
        Complex { re: self.re.minus(other.re), im: self.im.minus(other.im) }
    }

    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn times(self, other: Complex) -> Complex {
        let re = self.re.times(other.re).minus(self.im.times(other.im));
        let im = self.re.times(other.im).plus(self.im.times(other.re));
        Complex { re, im }
    }

    /// self − i·other.
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn minus_turned(self, other: Complex) -> Complex {
        Complex { re: self.re.plus(other.im), im: self.im.minus(other.re) }
    }

    /// self + i·other.
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn plus_turned(self, other: Complex) -> Complex {
        Complex { re: self.re.minus(other.im), im: self.im.plus(other.re) }
    }

    /// The same number four times.
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn all(re: f32, im: f32) -> Complex {
        Complex { re: Four::all(re), im: Four::all(im) }
    }

    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn conjugate(self) -> Complex {
        Complex { re: self.re, im: Four::all(0.0).minus(self.im) }
    }

    /// The numbers in the opposite order.
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn reversed(self) -> Complex {
        Complex { re: self.re.reversed(), im: self.im.reversed() }
    }

    /// self + other·factor.
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn plus_multiple(self, other: Complex, factor: f32) -> Complex {
        let factor = Four::all(factor);
        Complex { re: self.re.plus_product(other.re, factor), im: self.im.plus_product(other.im, factor) }
    }

    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn multiple(self, factor: f32) -> Complex {
        let factor = Four::all(factor);
        Complex { re: self.re.times(factor), im: self.im.times(factor) }
    }
}

/// cos and −sin of a part of a turn, part/whole, with part < whole: the real and the imaginary part of e^(−2πi part/whole).
pub fn root(part: u64, whole: u64) -> [f64; 2] {
    let angle = 2.0 * std::f64::consts::PI * (part as f64 / whole as f64);
    [sine::cos(angle), -sine::sin(angle)]
}

/// The largest radix.
pub const MOST: usize = 13;

/// Cosines and sines of 2π k/radix, rounded.
pub struct Turns {
    cos: [f32; MOST],
    sin: [f32; MOST],
}

impl Turns {
    pub fn new(radix: usize) -> Turns {
        let roots: [[f64; 2]; MOST] = std::array::from_fn(|k| root((k % radix) as u64, radix as u64));
        Turns { cos: roots.map(|[cos, _]| cos as f32), sin: roots.map(|[_, sin]| -sin as f32) }
    }
}

/// The transform Σⱼ xⱼ e^(−2πi jk/R) of a radix.
#[inline(always)]
pub fn transform<const R: usize>(x: [Complex; R], turns: &Turns) -> [Complex; R] {
    match R {
        2 => two(x),
        4 => four(x),
        8 => eight(x),
        _ => odd(x, turns),
    }
}

#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn two<const R: usize>(x: [Complex; R]) -> [Complex; R] {
    let mut y = x;
    y[0] = x[0].plus(x[1]);
    y[1] = x[0].minus(x[1]);
    y
}

#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn four<const R: usize>(x: [Complex; R]) -> [Complex; R] {
    let (a, b) = (x[0].plus(x[2]), x[0].minus(x[2]));
    let (c, d) = (x[1].plus(x[3]), x[1].minus(x[3]));
    let mut y = x;
    y[0] = a.plus(c);
    y[1] = b.minus_turned(d);
    y[2] = a.minus(c);
    y[3] = b.plus_turned(d);
    y
}

/// Two of four numbers, of which the second is turned by eighths.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn eight<const R: usize>(x: [Complex; R]) -> [Complex; R] {
    let even = four([x[0], x[2], x[4], x[6]]);
    let odd = four([x[1], x[3], x[5], x[7]]);
    let eighth = Four::all(std::f32::consts::FRAC_1_SQRT_2);
    let [a, b] = [odd[1], odd[3]];
    let first = Complex { re: a.re.plus(a.im).times(eighth), im: a.im.minus(a.re).times(eighth) };
    // i times the third, so that both are turned alike.
    let third = Complex { re: b.re.minus(b.im).times(eighth), im: b.re.plus(b.im).times(eighth) };
    let mut y = x;
    (y[0], y[4]) = (even[0].plus(odd[0]), even[0].minus(odd[0]));
    (y[1], y[5]) = (even[1].plus(first), even[1].minus(first));
    (y[2], y[6]) = (even[2].minus_turned(odd[2]), even[2].plus_turned(odd[2]));
    (y[3], y[7]) = (even[3].minus(third), even[3].plus(third));
    y
}

/// The same as [`odd`] of any odd radix.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn odd_of(x: &[Complex], turns: &Turns) -> [Complex; MOST] {
    let (radix, half) = (x.len(), x.len() / 2);
    let mut y = [x[0]; MOST];
    for k in 1..=half {
        let (mut even, mut odd) = (x[0], Complex::all(0.0, 0.0));
        for j in 1..=half {
            let (a, b) = (x[j], x[radix - j]);
            even = even.plus_multiple(a.plus(b), turns.cos[j * k % radix]);
            odd = odd.plus_multiple(a.minus(b), turns.sin[j * k % radix]);
        }
        y[k] = even.minus_turned(odd);
        y[radix - k] = even.plus_turned(odd);
    }
    for x in &x[1..] {
        y[0] = y[0].plus(*x);
    }
    y
}

/// Sums and differences of numbers at opposite places have real factors.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn odd<const R: usize>(x: [Complex; R], turns: &Turns) -> [Complex; R] {
    let (mut sums, mut differences, mut y) = (x, x, x);
    for j in 1..=R / 2 {
        sums[j] = x[j].plus(x[R - j]);
        differences[j] = x[j].minus(x[R - j]);
        y[0] = y[0].plus(sums[j]);
    }
    for k in 1..=R / 2 {
        let mut even = x[0];
        let mut odd = differences[1].multiple(turns.sin[k]);
        for j in 1..=R / 2 {
            even = even.plus_multiple(sums[j], turns.cos[j * k % R]);
        }
        for j in 2..=R / 2 {
            odd = odd.plus_multiple(differences[j], turns.sin[j * k % R]);
        }
        y[k] = even.minus_turned(odd);
        y[R - k] = even.plus_turned(odd);
    }
    y
}
