//! Transforms of what no cache holds: n₁ · n₂ numbers as transforms of n₁ along one axis, factors e^(−2πi jk/n), and transforms of n₂ along the
//! other, each of several neighbours at once (Bailey's four steps).

use super::memory::TransformMemory;
use super::passes::{Parts, Passes, at};
use super::radix::{Complex, root};
use crate::four::Four;

/// Neighbours that are transformed at once: a line of a cache of each part.
const WIDTH: usize = 16;

/// Two lengths whose product is that of the transform.
pub struct Long {
    lengths: [usize; 2],
    passes: [Passes; 2],
}

impl Long {
    /// Lengths as near to each other as radices allow, found from the largest radices on.
    pub fn new(radices: &[usize]) -> Long {
        let mut parts = [(1, Vec::new()), (1, Vec::new())];
        for radix in radices.iter().rev() {
            let smaller = usize::from(parts[1].0 < parts[0].0);
            parts[smaller].0 *= radix;
            parts[smaller].1.push(*radix);
        }
        let lengths = [parts[0].0, parts[1].0];
        let passes = parts.map(|(_, radices)| Passes::new(&radices));
        Long { lengths, passes }
    }

    /// Transforms `memory.x`, and leaves the result there.
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn run(&self, memory: &mut TransformMemory) {
        let TransformMemory { x, spare, lanes, lanes_spare } = memory;
        let [first, second] = self.lengths;
        spare.resize(first * second);
        // The place of a number is j₁ n₂ + j₂, that of its sums k₁ is j₂ n₁ + k₁, that of a frequency k₂ n₁ + k₁.
        for start in (0..second).step_by(WIDTH) {
            let count = WIDTH.min(second - start);
            gather(x, lanes, first, second, start, count);
            self.passes[0].run(lanes, lanes_spare, count.next_multiple_of(4));
            self.turn(lanes, spare, start, count);
        }
        for start in (0..first).step_by(WIDTH) {
            let count = WIDTH.min(first - start);
            gather(spare, lanes, second, first, start, count);
            let width = count.next_multiple_of(4);
            self.passes[1].run(lanes, lanes_spare, width);
            for row in 0..second {
                x.re[row * first + start..][..count].copy_from_slice(&lanes.re[row * width..][..count]);
                x.im[row * first + start..][..count].copy_from_slice(&lanes.im[row * width..][..count]);
            }
        }
    }

    /// Multiplies by the factors, and writes each of several neighbours as a row.
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn turn(&self, lanes: &Parts, to: &mut Parts, start: usize, count: usize) {
        let [first, second] = self.lengths;
        let width = count.next_multiple_of(4);
        for lane in (0..count).step_by(4) {
            let step: [[f64; 2]; 4] = [0, 1, 2, 3].map(|k| root((start + lane + k) as u64, (first * second) as u64));
            let (mut cos, mut sin) = ([1.0; 4], [0.0; 4]);
            for place in (0..first).step_by(4) {
                let mut found = [Complex { re: Four::all(0.0), im: Four::all(0.0) }; 4];
                let rows = 4.min(first - place);
                for (k, found) in found.iter_mut().enumerate().take(rows) {
                    let own = (place + k) * width + lane;
                    assert!(own + 4 <= lanes.re.len() && own + 4 <= lanes.im.len(), "neighbours of a transform");
                    // SAFETY: they have four numbers there.
                    let x = unsafe { at(&lanes.re, &lanes.im, own) };
                    let factor = [cos, sin].map(|part| Four::new(part.map(|part| part as f32)));
                    *found = x.times(Complex { re: factor[0], im: factor[1] });
                    for lane in 0..4 {
                        let (c, s) = (cos[lane], sin[lane]);
                        cos[lane] = c * step[lane][0] - s * step[lane][1];
                        sin[lane] = c * step[lane][1] + s * step[lane][0];
                    }
                }
                let parts =
                    [Four::transposed(found.map(|found| found.re)), Four::transposed(found.map(|found| found.im))];
                for (k, (re, im)) in parts[0].iter().zip(&parts[1]).enumerate().take(count - lane) {
                    let at = (start + lane + k) * first + place;
                    to.re[at..at + rows].copy_from_slice(&re.numbers()[..rows]);
                    to.im[at..at + rows].copy_from_slice(&im.numbers()[..rows]);
                }
            }
        }
    }
}

/// Neighbouring columns of a matrix side by side. What stands beyond the last is that one again.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn gather(from: &Parts, to: &mut Parts, rows: usize, columns: usize, start: usize, count: usize) {
    let width = count.next_multiple_of(4);
    to.resize(rows * width);
    for row in 0..rows {
        for (from, to) in [(&from.re, &mut to.re), (&from.im, &mut to.im)] {
            let from = &from[row * columns + start..][..count];
            let to = &mut to[row * width..][..width];
            to[..count].copy_from_slice(from);
            to[count..].fill(from[count - 1]);
        }
    }
}
