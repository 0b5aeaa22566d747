//! Factors of integers of few bits with a scale for every 32: products with few rows read them as they are.

use super::elements::number_of_half;
use super::four::{Four, of_bytes, of_nibbles};

/// Numbers that share a scale.
pub const BLOCK: usize = 32;

/// A factor whose numbers are integers times scales, along the depth. A block of 32 numbers has a scale, and number `e` of it is in the bits
/// from `e × bits mod 32` on of word `e × bits / 32`: a signed byte, or four bits less 8. The depth is a multiple of 32.
#[derive(Clone, Copy, Debug)]
pub struct Quantised<'a> {
    /// The integers.
    pub words: &'a [u32],
    /// Distance between rows of the left, columns of the right factor in words.
    pub words_stride: usize,
    /// The scales as halves, that of a block after that of the one before.
    pub scales: &'a [u16],
    /// Distance between rows of the left, columns of the right factor in scales.
    pub scales_stride: usize,
    /// Bits of an integer: 8 or 4.
    pub bits: u32,
}

impl<'a> Quantised<'a> {
    /// Words of a block.
    #[inline]
    fn block_words(&self) -> usize {
        self.bits as usize
    }

    /// The words and the scales of an outer position, `blocks` blocks from one on.
    #[inline]
    fn part(&self, outer: usize, first: usize, blocks: usize) -> (&'a [u32], &'a [u16]) {
        let words = outer * self.words_stride + first * self.block_words();
        let scales = outer * self.scales_stride + first;
        (&self.words[words..words + blocks * self.block_words()], &self.scales[scales..scales + blocks])
    }

    /// Writes the numbers of an outer position, from a multiple of 32 on. `to` has a multiple of 32.
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn write(&self, outer: usize, first: usize, to: &mut [f32]) {
        let (words, scales) = self.part(outer, first / BLOCK, to.len() / BLOCK);
        if self.bits == 8 {
            write::<8>(words, scales, to);
        } else {
            write::<4>(words, scales, to);
        }
    }

    /// Σ x wⱼ of the outer positions from `first` on, as many as there are sums.
    ///
    /// The numbers of a block are added up before they are multiplied with its scale, so the error of a sum is at most
    /// (depth / 32 + 12) · 2⁻²⁴ · Σ|xᵢwᵢ| to first order.
    #[inline(never)]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn dots(&self, x: &[f32], first: usize, sums: &mut [f32]) {
        if self.bits == 8 {
            dots::<8>(self, x, first, sums);
        } else {
            dots::<4>(self, x, first, sums);
        }
    }
}

/// The integers of a block as numbers.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn integers<const BITS: usize>(words: &[u32; BITS]) -> [[Four; 4]; 2] {
    let (parts, _) = words.as_chunks::<4>();
    if BITS == 8 { [of_bytes(&parts[0]), of_bytes(&parts[1])] } else { of_nibbles(&parts[0]) }
}

#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn write<const BITS: usize>(words: &[u32], scales: &[u16], to: &mut [f32]) {
    let blocks = words.as_chunks::<BITS>().0.iter().zip(scales);
    for ((words, scale), to) in blocks.zip(to.as_chunks_mut::<BLOCK>().0) {
        let scale = Four::all(number_of_half(*scale));
        let numbers = integers(words);
        for (to, four) in to.as_chunks_mut::<4>().0.iter_mut().zip(numbers.as_flattened()) {
            *to = four.times(scale).numbers();
        }
    }
}

/// Outer positions whose sums are made at once, so that x is read once for all of them.
const TOGETHER: usize = 4;

#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn dots<const BITS: usize>(weights: &Quantised, x: &[f32], first: usize, sums: &mut [f32]) {
    let blocks = x.len() / BLOCK;
    let (groups, rest) = sums.as_chunks_mut::<TOGETHER>();
    for (group, position) in groups.iter_mut().zip((first..).step_by(TOGETHER)) {
        *group = dots_of::<BITS, TOGETHER>([0, 1, 2, 3].map(|k| weights.part(position + k, 0, blocks)), x);
    }
    let position = first + TOGETHER * groups.len();
    for (k, sum) in rest.iter_mut().enumerate() {
        [*sum] = dots_of::<BITS, 1>([weights.part(position + k, 0, blocks)], x);
    }
}

/// Σ x wⱼ of `N` outer positions.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn dots_of<const BITS: usize, const N: usize>(rows: [(&[u32], &[u16]); N], x: &[f32]) -> [f32; N] {
    let blocks = x.as_chunks::<BLOCK>().0;
    let words = rows.map(|(words, _)| &words.as_chunks::<BITS>().0[..blocks.len()]);
    let scales = rows.map(|(_, scales)| &scales[..blocks.len()]);
    let mut sums = [Four::all(0.0); N];
    for (block, x) in blocks.iter().enumerate() {
        let x = x.as_chunks::<4>().0;
        let mut of_block = [0; 4];
        for row in 0..N {
            of_block[row] = scales[row][block];
        }
        let of_block = Four::of_halves(&of_block).lanes();
        for row in 0..N {
            let [low, high] = integers(&words[row][block]);
            let mut parts = [low[0].times(Four::new(x[0])), low[1].times(Four::new(x[1]))];
            parts[0] = parts[0].plus_product(low[2], Four::new(x[2]));
            parts[1] = parts[1].plus_product(low[3], Four::new(x[3]));
            for place in 0..4 {
                parts[place % 2] = parts[place % 2].plus_product(high[place], Four::new(x[4 + place]));
            }
            sums[row] = sums[row].plus_product(parts[0].plus(parts[1]), of_block[row]);
        }
    }
    sums.map(|sum| {
        let [x, y, z, w] = sum.numbers();
        (x + y) + (z + w)
    })
}
