//! Discrete Fourier transforms of rows, of lengths whose prime factors are at most 13.
//!
//! Rows are loaded into arrays of real and of imaginary parts, transformed there ([`passes`], or [`long`] for what no cache holds), and stored. Of an
//! even number of real ones the transform is that of half as many complex numbers, whose parts are neighbours. Roots of unity are computed in f64 and
//! rounded; a run repeats bit for bit, and no row depends on its neighbours.

mod halves;
mod long;
mod memory;
mod passes;
mod radix;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;

use long::Long;
pub use memory::{Results, RowNumbers, TransformMemory};
use passes::{Pairs, Parts, Passes, radices};
pub use radix::root;

/// What is transformed to what. Exponents are −2πi jk/n, or 2πi jk/n of inverse ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransformKind {
    /// Complex numbers to complex numbers.
    Complex {
        /// The sign of the exponent.
        inverse: bool,
    },
    /// Real numbers to complex numbers.
    Whole {
        /// The sign of the exponent.
        inverse: bool,
    },
    /// Real numbers to their frequencies from 0 to ⌊n/2⌋.
    Half,
    /// Frequencies from 0 to ⌊n/2⌋ to real numbers, inversely: other frequencies are their conjugates. Imaginary parts of those that are their own
    /// conjugates do not count.
    Real,
}

/// A transform of a length, with its roots of unity.
pub struct FourierTransform {
    length: usize,
    kind: TransformKind,
    scale: f32,
    /// Whether two real numbers are the parts of a complex one.
    is_halved: bool,
    /// How many complex numbers are transformed.
    count: usize,
    inner: Inner,
    /// e^(−2πi k/length) for k up to a quarter of the length, where it is halved.
    turns: Parts,
}

/// The complex transform of the length, or of half of it.
enum Inner {
    Short(Passes),
    Long(Long),
}

/// Longest transform whose passes stay in a cache.
const LONGEST: usize = 1 << 14;

/// Rows that lie side by side are transformed so many at once, others that have no vectors by themselves so many.
const NEIGHBOURS: usize = 16;
const TOGETHER: usize = 4;

impl FourierTransform {
    /// A transform whose results are multiplied by `scale`; none where the length is 0 or has a prime factor above 13.
    pub fn new(length: usize, kind: TransformKind, scale: f32) -> Option<FourierTransform> {
        let radices_of_all = radices(length).filter(|_| length > 0)?;
        let is_halved = length.is_multiple_of(2) && !matches!(kind, TransformKind::Complex { .. });
        let (count, radices) = if is_halved { (length / 2, radices(length / 2)?) } else { (length, radices_of_all) };
        let inner =
            if count <= LONGEST { Inner::Short(Passes::new(&radices)) } else { Inner::Long(Long::new(&radices)) };
        let turns = if is_halved { roots(length / 4 + 1, length) } else { Parts::default() };
        Some(FourierTransform { length, kind, scale, is_halved, count, inner, turns })
    }

    /// Transforms rows. Imaginary parts are those of [`TransformKind::Complex`] and [`TransformKind::Real`]. What is read and written of each row is within the values.
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn run(&self, re: RowNumbers, im: Option<RowNumbers>, to: &mut Results, memory: &mut TransformMemory) {
        let rows = to.starts.len();
        let is_single = match &self.inner {
            Inner::Short(passes) => passes.suit_one() && !re.are_side_by_side(),
            Inner::Long(_) => true,
        };
        let together = if is_single {
            1
        } else if re.are_side_by_side() {
            NEIGHBOURS
        } else {
            TOGETHER
        };
        for first in (0..rows).step_by(together) {
            let range = first..rows.min(first + together);
            let width = if is_single { 1 } else { range.len().next_multiple_of(4) };
            let re = re.rows(range.clone());
            let im = im.map(|im| im.rows(range.clone()));
            let mut to = Results { values: to.values, starts: &to.starts[range], stride: to.stride };
            let TransformMemory { x, spare, .. } = memory;
            match &self.inner {
                Inner::Short(passes) if width == 1 => {
                    let from = self.pairs(re, im);
                    if from.is_none() {
                        self.load(re, im, width, x);
                    }
                    if passes.run_row(from, self.target(&mut to), self.scale, [x, spare]) {
                        continue;
                    }
                }
                Inner::Short(passes) => {
                    self.load(re, im, width, x);
                    passes.run(x, spare, width);
                }
                Inner::Long(long) => {
                    self.load(re, im, width, x);
                    long.run(memory);
                }
            }
            self.store(&mut memory.x, width, to);
        }
    }

    /// What is transformed of a row, where it lies in memory as pairs.
    fn pairs<'a>(&self, re: RowNumbers<'a>, im: Option<RowNumbers<'a>>) -> Option<Pairs<&'a [f32]>> {
        let values = match (self.kind, im) {
            (TransformKind::Complex { .. }, Some(im)) if re.all().is_before(&im.all()) && re.stride == 2 => im.values,
            (TransformKind::Half | TransformKind::Whole { .. }, _) if self.is_halved && re.stride == 1 => re.values,
            _ => return None,
        };
        let numbers = &values[re.starts[0]..][..2 * self.count];
        Some(Pairs { numbers, is_exchanged: self.is_exchanged() })
    }

    /// Where the result of the passes of a row goes in memory, if it is the result of the row and lies in pairs.
    fn target<'a>(&self, to: &'a mut Results) -> Option<Pairs<&'a mut [f32]>> {
        let lies_in_pairs = match self.kind {
            TransformKind::Complex { .. } => to.stride == 2,
            TransformKind::Real => self.is_halved && to.stride == 1,
            TransformKind::Half | TransformKind::Whole { .. } => false,
        };
        let numbers = lies_in_pairs.then(|| &mut to.values[to.starts[0]..][..2 * self.count])?;
        Some(Pairs { numbers, is_exchanged: self.is_exchanged() })
    }

    /// Whether real and imaginary parts are exchanged before and after the transform, which makes it the inverse one.
    fn is_exchanged(&self) -> bool {
        matches!(self.kind, TransformKind::Complex { inverse: true } | TransformKind::Real)
    }

    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn load(&self, re: RowNumbers, im: Option<RowNumbers>, width: usize, x: &mut Parts) {
        match (self.kind, im) {
            (TransformKind::Complex { .. }, Some(im)) => memory::load(re.all(), Some(im.all()), self.count, width, x),
            (TransformKind::Real, Some(im)) => {
                memory::load(re.all(), Some(im.all()), self.length / 2 + 1, width, x);
                if self.is_halved {
                    halves::folded(x, self.count, width, &self.turns);
                } else {
                    halves::mirrored(x, self.length, width);
                }
            }
            _ if self.is_halved => memory::load(re.every_second(0), Some(re.every_second(1)), self.count, width, x),
            _ => memory::load(re.all(), None, self.count, width, x),
        }
        if self.is_exchanged() {
            std::mem::swap(&mut x.re, &mut x.im);
        }
    }

    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn store(&self, x: &mut Parts, width: usize, to: Results) {
        if self.is_exchanged() {
            std::mem::swap(&mut x.re, &mut x.im);
        }
        let stride = to.stride;
        match self.kind {
            TransformKind::Complex { .. } => memory::store(x, self.count, width, to, Some(1), self.scale),
            TransformKind::Real if self.is_halved => {
                let to = Results { stride: 2 * stride, ..to };
                memory::store(x, self.count, width, to, Some(stride), self.scale);
            }
            TransformKind::Real => memory::store(x, self.count, width, to, None, self.scale),
            TransformKind::Half | TransformKind::Whole { .. } => {
                if self.is_halved {
                    halves::unfolded(x, self.count, width, &self.turns);
                }
                if self.kind == TransformKind::Half {
                    memory::store(x, self.length / 2 + 1, width, to, Some(1), self.scale);
                    return;
                }
                halves::mirrored(x, self.length, width);
                if self.kind == (TransformKind::Whole { inverse: true }) {
                    x.im.iter_mut().for_each(|part| *part = -*part);
                }
                memory::store(x, self.length, width, to, Some(1), self.scale);
            }
        }
    }
}

/// e^(−2πi k/whole) for the first k, rounded.
fn roots(count: usize, whole: usize) -> Parts {
    let mut roots = Parts::default();
    for part in 0..count {
        let [cos, sin] = root(part as u64, whole as u64);
        roots.re.push(cos as f32);
        roots.im.push(sin as f32);
    }
    roots
}
