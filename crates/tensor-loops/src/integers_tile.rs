//! Tiles of products of quantised factors in integers: of a left factor of bytes and a right one of any format. Sums of a group are exact, and are added in
//! f32.
//!
//! A panel has for each block of 32 places 16 lines of pairs of neighbours, two integers of 16 bits in a word, and after them what belongs to the block.

use super::four::Four;
use super::quantised::{BLOCK, Quantised};
use super::tile::{COLUMNS, ROWS};
use super::whole::Whole;

/// Lines of the pairs of a block.
const PAIRS: usize = BLOCK / 2;
/// Lines of a block: the pairs, the scales of both halves, and the minima of both halves of a right factor or the sums of both halves of a left one.
const LINES: usize = PAIRS + 4;
const SCALES: usize = PAIRS;
const LESS: usize = PAIRS + 2;

/// Lines of a panel of so many places, whole blocks.
pub fn lines(places: usize) -> usize {
    places / BLOCK * LINES
}

/// Copies a part of a factor into panels, as [`pack`](super::pack::pack). What a last panel lacks has scales of 0.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn pack<const W: usize>(
    panels: &mut [[u32; W]],
    factor: &Quantised,
    (first_outer, outer): (usize, usize),
    (first_depth, depth): (usize, usize),
) {
    for (panel, start) in panels.chunks_exact_mut(lines(depth)).zip((0..outer).step_by(W)) {
        let width = W.min(outer - start);
        if width < W {
            panel.fill([0; W]);
        }
        for (block, panel) in (first_depth / BLOCK..).zip(panel.as_chunks_mut::<LINES>().0) {
            for lane in 0..width {
                let (pairs, factors) = factor.pairs(first_outer + start + lane, block);
                for (half, (pairs, [scale, minimum])) in pairs.iter().zip(factors).enumerate() {
                    let lines = &mut panel[half * PAIRS / 2..];
                    lines.iter_mut().zip(pairs).for_each(|(line, pair)| line[lane] = *pair);
                    let both = |pair: &u32| i32::from(*pair as i16) + i32::from((pair >> 16) as i16);
                    let sum = || pairs.iter().map(both).sum::<i32>() as f32 * scale;
                    panel[SCALES + half][lane] = scale.to_bits();
                    panel[LESS + half][lane] = if factor.is_of_bytes() { sum() } else { minimum }.to_bits();
                }
            }
        }
    }
}

/// What groups the right factor has.
#[derive(Clone, Copy, Debug)]
pub struct Groups {
    /// Groups of a block: 1 or 2.
    pub count: usize,
    /// Whether they have minima.
    pub have_minima: bool,
}

/// The product of a left and a right panel.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn tile(left: &[[u32; ROWS]], right: &[[u32; COLUMNS]], groups: Groups) -> [[f32; COLUMNS]; ROWS] {
    let mut sums = [[Four::all(0.0); COLUMNS / 4]; ROWS];
    let of_bits = |bits: &[u32; 4]| Four::new(bits.map(f32::from_bits));
    for (left, right) in left.as_chunks::<LINES>().0.iter().zip(right.as_chunks::<LINES>().0) {
        for group in 0..groups.count {
            let pairs = PAIRS / groups.count;
            let mut whole = [[Whole::zero(); COLUMNS / 4]; ROWS];
            for (left, right) in left[group * pairs..][..pairs].iter().zip(&right[group * pairs..]) {
                for (row, whole) in whole.iter_mut().enumerate() {
                    for (whole, columns) in whole.iter_mut().zip(right.as_chunks::<4>().0) {
                        *whole = whole.plus_pairs(left[row], columns);
                    }
                }
            }
            for row in 0..ROWS {
                let scale = Four::all(f32::from_bits(left[SCALES + group][row]));
                for (vector, columns) in right[SCALES + group].as_chunks::<4>().0.iter().enumerate() {
                    let scales = scale.times(of_bits(columns));
                    sums[row][vector] = sums[row][vector].plus_product(whole[row][vector].singles(), scales);
                }
                if groups.have_minima {
                    let [first, second] = [0, 1].map(|half| f32::from_bits(left[LESS + half][row]));
                    let total = if groups.count == 1 { first + second } else { [first, second][group] };
                    for (vector, columns) in right[LESS + group].as_chunks::<4>().0.iter().enumerate() {
                        sums[row][vector] = sums[row][vector].plus_product(Four::all(-total), of_bits(columns));
                    }
                }
            }
        }
    }
    sums.map(|row| {
        let mut numbers = [0.0; COLUMNS];
        for (to, sum) in numbers.as_chunks_mut::<4>().0.iter_mut().zip(row) {
            *to = sum.numbers();
        }
        numbers
    })
}
