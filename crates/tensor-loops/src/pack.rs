//! Panels: parts of a factor in the order in which tiles read them.

use super::elements::StoredNumber;
use super::four::Four;
use super::quantised::{BLOCK, Quantised};
use super::{MatrixFactor, Reals, Scattered};

/// Copies a part of a factor, `outer` × `depth` numbers from a position on, into panels of `W` outer positions, place along the depth after
/// place. What a last panel lacks is 0. The first place of a quantised factor is a multiple of 32.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn pack<const W: usize>(
    panels: &mut [[f32; W]],
    factor: &Reals,
    (first_outer, outer): (usize, usize),
    (first_depth, depth): (usize, usize),
) {
    for (panel, start) in panels.chunks_exact_mut(depth).zip((0..outer).step_by(W)) {
        let width = W.min(outer - start);
        if width < W {
            panel.fill([0.0; W]);
        }
        let first = first_outer + start;
        match factor {
            Reals::Singles(factor) => elements(panel, factor, (first, width), first_depth),
            Reals::Halves(factor) => elements(panel, factor, (first, width), first_depth),
            Reals::ScatteredSingles(factor) => scattered(panel, factor, (first, width), first_depth),
            Reals::ScatteredHalves(factor) => scattered(panel, factor, (first, width), first_depth),
            Reals::Quantised(factor) => blocks(panel, factor, (first, width), first_depth),
        }
    }
}

/// Fills a panel with elements.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn elements<T: StoredNumber, const W: usize>(
    panel: &mut [[f32; W]],
    factor: &MatrixFactor<T>,
    (first, width): (usize, usize),
    first_depth: usize,
) {
    let MatrixFactor { values, outer_stride, depth_stride } = *factor;
    let from = first * outer_stride + first_depth * depth_stride;
    if outer_stride == 1 && width == W {
        for (place, to) in panel.iter_mut().enumerate() {
            let at = from + place * depth_stride;
            let fours = values[at..at + W].as_chunks::<4>().0;
            for (to, four) in to.as_chunks_mut::<4>().0.iter_mut().zip(fours) {
                *to = T::four(four).numbers();
            }
        }
    } else if depth_stride == 1 && width == W {
        let length = panel.len();
        for lane in (0..W).step_by(4) {
            let lanes = [0, 1, 2, 3].map(|k| &values[from + (lane + k) * outer_stride..][..length]);
            transpose(panel, lane, lanes);
        }
    } else {
        for lane in 0..width {
            let at = from + lane * outer_stride;
            for (place, to) in panel.iter_mut().enumerate() {
                to[lane] = values[at + place * depth_stride].number();
            }
        }
    }
}

/// Fills a panel with elements at places of their own. Outer positions are often neighbours: those of one row of windows.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn scattered<T: StoredNumber, const W: usize>(
    panel: &mut [[f32; W]],
    factor: &Scattered<T>,
    (first, width): (usize, usize),
    first_depth: usize,
) {
    let outer = &factor.outer[first..first + width];
    let depth = &factor.depth[first_depth..first_depth + panel.len()];
    let are_neighbours = width == W && outer.iter().zip(outer[0]..).all(|(place, next)| *place == next);
    for (to, further) in panel.iter_mut().zip(depth) {
        if are_neighbours {
            let at = (outer[0] + further) as usize;
            let fours = factor.values[at..at + W].as_chunks::<4>().0;
            for (to, four) in to.as_chunks_mut::<4>().0.iter_mut().zip(fours) {
                *to = T::four(four).numbers();
            }
        } else {
            for (number, place) in to.iter_mut().zip(outer) {
                *number = factor.values[(place + further) as usize].number();
            }
        }
    }
}

/// Writes four outer positions to lanes of a panel from one on.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn transpose<T: StoredNumber, const W: usize>(panel: &mut [[f32; W]], lane: usize, lanes: [&[T]; 4]) {
    let fours = lanes.map(|numbers| numbers.as_chunks::<4>().0);
    let (places, rest) = panel.as_chunks_mut::<4>();
    for (k, to) in places.iter_mut().enumerate() {
        let columns = Four::transposed([0, 1, 2, 3].map(|row: usize| T::four(&fours[row][k])));
        for (to, column) in to.iter_mut().zip(columns) {
            to[lane..lane + 4].copy_from_slice(&column.numbers());
        }
    }
    let done = 4 * places.len();
    for (place, to) in rest.iter_mut().enumerate() {
        for (k, numbers) in lanes.iter().enumerate() {
            to[lane + k] = numbers[done + place].number();
        }
    }
}

/// Fills a panel with numbers of a quantised factor.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn blocks<const W: usize>(
    panel: &mut [[f32; W]],
    factor: &Quantised,
    (first, width): (usize, usize),
    first_depth: usize,
) {
    let mut numbers = [[0.0; BLOCK]; 4];
    for (block, places) in panel.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
        for lane in (0..width).step_by(4) {
            for (k, numbers) in numbers.iter_mut().enumerate() {
                if lane + k < width {
                    factor.write(first + lane + k, first_depth + block * BLOCK, numbers);
                } else {
                    numbers.fill(0.0);
                }
            }
            let [a, b, c, d] = &numbers;
            transpose(places, lane, [&a[..], b, c, d]);
        }
    }
}
