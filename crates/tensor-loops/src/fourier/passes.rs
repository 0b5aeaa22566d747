//! Transforms within memory: a pass for each radix, each of which leaves its frequencies in order (Stockham's algorithm, in which a pass reads one
//! array and writes another).
//!
//! Real and imaginary parts have an array each. Several transforms lie side by side: number j of transform w stands at j × width + w, where the width is a
//! multiple of 4; or there is one, and its first pass has four neighbours at a time.
//!
//! Loops over a radix go by index: compilers then unroll them, and the numbers are in registers.
#![expect(clippy::needless_range_loop, reason = "see above")]

use super::radix::{Complex, MOST, Turns, odd_of, root, transform};
use crate::four::Four;

/// Passes of a length, the first first.
pub struct Passes {
    length: usize,
    passes: Vec<Pass>,
}

/// A pass of a radix over transforms of `radix` × `rest` numbers.
struct Pass {
    radix: usize,
    rest: usize,
    /// e^(−2πi jk/(radix × rest)) for the frequencies k from 1 on and, of each, the places j < rest: real parts, and behind them the imaginary ones.
    factors: [Vec<f32>; 2],
    turns: Turns,
}

/// Real and imaginary parts.
#[derive(Default)]
pub struct Parts {
    pub re: Vec<f32>,
    pub im: Vec<f32>,
}

impl Parts {
    /// Room for so many numbers.
    pub fn resize(&mut self, count: usize) {
        for part in [&mut self.re, &mut self.im] {
            part.reserve((count + 256).saturating_sub(part.len()));
            part.resize(count, 0.0);
        }
    }
}

/// The radices of a length, none if it has a prime factor above 13. The first is 4 where one transform has neighbours for its vectors.
pub fn radices(length: usize) -> Option<Vec<usize>> {
    let mut odd = Vec::new();
    let mut rest = length.checked_shr(length.trailing_zeros())?;
    for radix in [3, 5, 7, 11, 13] {
        while rest.is_multiple_of(radix) {
            odd.push(radix);
            rest /= radix;
        }
    }
    if rest != 1 {
        return None;
    }
    let twos = length.trailing_zeros() as usize;
    let first = usize::from(twos >= 2);
    let (mut eights, mut fours, mut single) = ((twos - 2 * first) / 3, 0, 0);
    match ((twos - 2 * first) % 3, eights) {
        (1, 0) => single = 1,
        (1, _) => (eights, fours) = (eights - 1, 2),
        (left, _) => fours = left / 2,
    }
    let powers = [vec![4; first], vec![2; single], odd, vec![4; fours], vec![8; eights]];
    Some(powers.concat())
}

impl Passes {
    pub fn new(radices: &[usize]) -> Passes {
        let length = radices.iter().product();
        let mut whole = length;
        let mut passes = Vec::with_capacity(radices.len());
        for radix in radices {
            let rest = whole / radix;
            let mut factors = [Vec::new(), Vec::new()];
            for frequency in 1..*radix {
                for place in 0..rest {
                    let root = root((frequency * place) as u64, whole as u64);
                    factors.iter_mut().zip(root).for_each(|(list, part)| list.push(part as f32));
                }
            }
            passes.push(Pass { radix: *radix, rest, factors, turns: Turns::new(*radix) });
            whole = rest;
        }
        Passes { length, passes }
    }

    /// Whether one transform by itself has vectors.
    pub fn suit_one(&self) -> bool {
        self.length.is_multiple_of(16)
    }

    /// Transforms `x`, and leaves the result there; `spare` is as large, and its contents do not matter.
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn run(&self, x: &mut Parts, spare: &mut Parts, width: usize) {
        self.run_from(None, x, spare, width, self.passes.len());
    }

    /// Transforms one row of pairs in memory, exchanged or not, to such a row or to `x`. Says whether the result is in the row.
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn run_row(
        &self,
        from: Option<Pairs<&[f32]>>,
        to: Option<Pairs<&mut [f32]>>,
        scale: f32,
        memory: [&mut Parts; 2],
    ) -> bool {
        let [x, spare] = memory;
        let last = self.passes.last().filter(|last| matches!(last.radix, 4 | 8) && self.passes.len() > 1);
        let (Some(to), Some(last)) = (to, last) else {
            self.run_from(from, x, spare, 1, self.passes.len());
            return false;
        };
        self.run_from(from, x, spare, 1, self.passes.len() - 1);
        assert!(to.numbers.len() == 2 * self.length, "the numbers of a row");
        // SAFETY: both have as many numbers as the transform.
        unsafe {
            match last.radix {
                4 => last.last::<4>(x, to, scale),
                _ => last.last::<8>(x, to, scale),
            }
        }
        true
    }

    /// So many passes, the first from a row of pairs if there is one.
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn run_from(&self, from: Option<Pairs<&[f32]>>, x: &mut Parts, spare: &mut Parts, width: usize, count: usize) {
        let all = self.length * width;
        spare.resize(all);
        x.resize(all);
        assert!(width.is_multiple_of(4) || width == 1 && self.suit_one(), "the width of transforms");
        let mut stride = width;
        for (number, pass) in self.passes[..count].iter().enumerate() {
            // SAFETY: all have `length × width` numbers, which is radix × rest × stride.
            unsafe {
                match from {
                    Some(from) if number == 0 => {
                        assert!(from.numbers.len() == 2 * self.length, "the numbers of a row");
                        pass.first::<true>(from, x, spare);
                    }
                    _ => pass.run(x, spare, stride),
                }
            }
            stride *= pass.radix;
            std::mem::swap(x, spare);
        }
    }
}

/// Numbers of a row as pairs of real and imaginary parts.
#[derive(Clone, Copy)]
pub struct Pairs<T> {
    pub numbers: T,
    /// Whether the imaginary part stands first.
    pub is_exchanged: bool,
}

impl Pass {
    /// # Safety
    /// Both arrays have radix × rest × stride numbers; the stride is a multiple of 4, or 1 with radix 4 and a multiple of 4 as rest.
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    unsafe fn run(&self, from: &Parts, to: &mut Parts, stride: usize) {
        // SAFETY: by the caller.
        unsafe {
            match self.radix {
                4 if stride == 1 => self.first::<false>(Pairs { numbers: &[], is_exchanged: false }, from, to),
                4 => self.pass::<4>(from, to, stride),
                8 => self.pass::<8>(from, to, stride),
                2 => self.pass::<2>(from, to, stride),
                3 => self.pass::<3>(from, to, stride),
                5 => self.pass::<5>(from, to, stride),
                _ => self.rare(from, to, stride),
            }
        }
    }

    /// # Safety
    /// As for [`Pass::run`].
    #[inline(never)]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    unsafe fn pass<const R: usize>(&self, from: &Parts, to: &mut Parts, stride: usize) {
        let [cos, sin] = &self.factors;
        assert!(cos.len() == (R - 1) * self.rest && sin.len() == cos.len(), "the factors of a pass");
        let one = Complex::all(1.0, 0.0);
        // Factors of 1 are left out of the radices that long transforms have.
        let turned_from = if R.is_multiple_of(4) {
            // SAFETY: by the caller.
            unsafe { self.place::<R, false>(from, to, stride, 0, &[one; R]) };
            1
        } else {
            0
        };
        for place in turned_from..self.rest {
            let mut factors = [one; R];
            for k in 1..R {
                let at = (k - 1) * self.rest + place;
                // SAFETY: k < R and place < rest.
                factors[k] = unsafe { Complex::all(*cos.get_unchecked(at), *sin.get_unchecked(at)) };
            }
            // SAFETY: by the caller.
            unsafe { self.place::<R, true>(from, to, stride, place, &factors) };
        }
    }

    /// The pass of a radix from 7 on, whose numbers no processor has in registers: a loop that is short as code.
    ///
    /// # Safety
    /// As for [`Pass::run`].
    #[inline(never)]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    unsafe fn rare(&self, from: &Parts, to: &mut Parts, stride: usize) {
        let [cos, sin] = &self.factors;
        let radix = self.radix;
        let step = stride * self.rest;
        let mut x = [Complex::all(0.0, 0.0); MOST];
        for place in 0..self.rest {
            for lane in (0..stride).step_by(4) {
                let (first, target) = (place * stride + lane, place * radix * stride + lane);
                for (j, x) in x[..radix].iter_mut().enumerate() {
                    // SAFETY: by the caller: lane + 3 < stride and j < radix.
                    *x = unsafe { at(&from.re, &from.im, first + j * step) };
                }
                let y = odd_of(&x[..radix], &self.turns);
                for (k, y) in y[..radix].iter().enumerate() {
                    let factor = match k {
                        0 => Complex::all(1.0, 0.0),
                        _ => Complex::all(cos[(k - 1) * self.rest + place], sin[(k - 1) * self.rest + place]),
                    };
                    // SAFETY: as above.
                    unsafe { put(&mut to.re, &mut to.im, target + k * stride, y.times(factor)) };
                }
            }
        }
    }

    /// The numbers of a place of all transforms, with factors other than 1 if they are `TURNED`.
    ///
    /// # Safety
    /// As for [`Pass::run`]; the place is less than `rest`.
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    unsafe fn place<const R: usize, const TURNED: bool>(
        &self,
        from: &Parts,
        to: &mut Parts,
        stride: usize,
        place: usize,
        factors: &[Complex; R],
    ) {
        let step = stride * self.rest;
        for lane in (0..stride).step_by(4) {
            let (first, target) = (place * stride + lane, place * R * stride + lane);
            let mut x = *factors;
            for (j, x) in x.iter_mut().enumerate() {
                // SAFETY: by the caller: lane + 3 < stride and j < R.
                *x = unsafe { at(&from.re, &from.im, first + j * step) };
            }
            let y = transform(x, &self.turns);
            for (k, y) in y.iter().enumerate() {
                let y = if TURNED && k > 0 { y.times(factors[k]) } else { *y };
                // SAFETY: as above.
                unsafe { put(&mut to.re, &mut to.im, target + k * stride, y) };
            }
        }
    }

    /// The pass without factors, which is the last, to a row.
    ///
    /// # Safety
    /// As for [`Pass::run`]; the row has as many pairs.
    #[inline(never)]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    unsafe fn last<const R: usize>(&self, from: &Parts, to: Pairs<&mut [f32]>, scale: f32) {
        let scale = Four::all(scale);
        let stride = from.re.len() / R;
        for lane in (0..stride).step_by(4) {
            let mut x = [Complex::all(0.0, 0.0); R];
            for (j, x) in x.iter_mut().enumerate() {
                // SAFETY: lane + 3 < stride.
                *x = unsafe { at(&from.re, &from.im, lane + j * stride) };
            }
            for (k, y) in transform(x, &self.turns).iter().enumerate() {
                let (re, im) = (y.re.times(scale), y.im.times(scale));
                let pairs = if to.is_exchanged { Four::joined(im, re) } else { Four::joined(re, im) };
                // SAFETY: as above.
                unsafe {
                    to.numbers.as_mut_ptr().add(2 * (lane + k * stride)).cast::<[Four; 2]>().write_unaligned(pairs)
                };
            }
        }
    }

    /// The first pass of one transform: four places at a time.
    ///
    /// # Safety
    /// As for [`Pass::run`]; pairs, which are read instead of the parts if `OF_PAIRS`, are as many.
    #[inline(never)]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    unsafe fn first<const OF_PAIRS: bool>(&self, pairs: Pairs<&[f32]>, from: &Parts, to: &mut Parts) {
        let [cos, sin] = &self.factors;
        for place in (0..self.rest).step_by(4) {
            // SAFETY: place + 3 < rest, of which the numbers have four and the factors three.
            unsafe {
                let mut x = [Complex::all(0.0, 0.0); 4];
                for (j, x) in x.iter_mut().enumerate() {
                    let own = place + j * self.rest;
                    if OF_PAIRS {
                        let [a, b] = pairs.numbers.as_ptr().add(2 * own).cast::<[Four; 2]>().read_unaligned();
                        let [even, odd] = Four::split(a, b);
                        let (re, im) = if pairs.is_exchanged { (odd, even) } else { (even, odd) };
                        *x = Complex { re, im };
                    } else {
                        *x = at(&from.re, &from.im, own);
                    }
                }
                let mut y = transform(x, &self.turns);
                for k in 1..4 {
                    y[k] = y[k].times(at(cos, sin, place + (k - 1) * self.rest));
                }
                let re = Four::transposed(y.map(|y| y.re));
                let im = Four::transposed(y.map(|y| y.im));
                for k in 0..4 {
                    put(&mut to.re, &mut to.im, 4 * (place + k), Complex { re: re[k], im: im[k] });
                }
            }
        }
    }
}

/// Four complex numbers of an array.
///
/// # Safety
/// They are there.
#[inline(always)]
pub unsafe fn at(re: &[f32], im: &[f32], first: usize) -> Complex {
    // SAFETY: by the caller; an array needs no alignment but that of its numbers.
    unsafe {
        let [re, im] = [re, im].map(|part| part.as_ptr().add(first).cast::<[f32; 4]>().read());
        Complex { re: Four::new(re), im: Four::new(im) }
    }
}

/// Writes four complex numbers.
///
/// # Safety
/// There is room for them.
#[inline(always)]
pub unsafe fn put(re: &mut [f32], im: &mut [f32], first: usize, numbers: Complex) {
    // SAFETY: by the caller.
    unsafe {
        re.as_mut_ptr().add(first).cast::<[f32; 4]>().write(numbers.re.numbers());
        im.as_mut_ptr().add(first).cast::<[f32; 4]>().write(numbers.im.numbers());
    }
}
