//! Quantised factors: panels are made of their blocks, and products with few rows read these as they are.

use super::elements::number_of_half;
use super::format::{Format, Level, Minimum};
use super::four::{Four, of_bytes, of_curve, of_nibbles};

/// Numbers that are read together.
pub const BLOCK: usize = super::format::BLOCK as usize;

/// What belongs to the blocks of a factor.
#[derive(Clone, Copy, Debug)]
pub enum BlockScales<'a> {
    /// A half for each block.
    Halves(&'a [u16]),
    /// An f32 for each block.
    Singles(&'a [f32]),
    /// Records of words.
    Records(&'a [u32]),
}

/// A factor in blocks along the depth, which is a multiple of 32.
#[derive(Clone, Copy, Debug)]
pub struct Quantised<'a> {
    /// The form of its blocks.
    pub format: Format,
    /// The integers, or their low bits.
    pub words: &'a [u32],
    /// Distance between rows of the left, columns of the right factor in words.
    pub words_stride: usize,
    /// What belongs to the blocks: halves where the record of the format is one.
    pub side: BlockScales<'a>,
    /// Distance between rows of the left, columns of the right factor in elements of the side.
    pub side_stride: usize,
}

/// What the integers of a record are to be multiplied by and lessened by, for each group.
#[derive(Clone, Copy, Default)]
struct Factors {
    scales: [f32; GROUPS],
    minima: [f32; GROUPS],
}

/// Most groups of a record.
const GROUPS: usize = 16;

impl<'a> Quantised<'a> {
    /// Words of a block.
    #[inline]
    fn block_words(&self) -> usize {
        self.format.block_words() as usize
    }

    /// The words of an outer position, `blocks` blocks from one on.
    #[inline]
    fn words(&self, outer: usize, first: usize, blocks: usize) -> &'a [u32] {
        let words = outer * self.words_stride + first * self.block_words();
        &self.words[words..words + blocks * self.block_words()]
    }

    /// The record of an outer position that a block belongs to; none where a half belongs to it.
    #[inline]
    fn record(&self, outer: usize, block: usize) -> &'a [u32] {
        match self.side {
            BlockScales::Halves(_) | BlockScales::Singles(_) => &[],
            BlockScales::Records(records) => {
                let words = self.format.record as usize;
                &records[outer * self.side_stride + block * BLOCK / self.format.span as usize * words..][..words]
            }
        }
    }

    /// Finds the factors of some groups of the record of a block, from the first to the last one.
    #[inline(never)]
    fn find_factors(&self, outer: usize, block: usize, [first, last]: [usize; 2], factors: &mut Factors) {
        let Format { group, half, scales, minimum, .. } = self.format;
        let record = match self.side {
            BlockScales::Halves(halves) => {
                factors.scales[0] = number_of_half(halves[outer * self.side_stride + block]);
                return;
            }
            BlockScales::Singles(scales) => {
                factors.scales[0] = scales[outer * self.side_stride + block];
                return;
            }
            BlockScales::Records(_) => self.record(outer, block),
        };
        let halves = [record[0] as u16, (record[0] >> 16) as u16].map(number_of_half);
        for at in first..=last {
            let scale = halves[at * group as usize / half as usize];
            factors.scales[at] = match scales {
                Some(field) => scale * field.integer(record, at as u32) as f32,
                None => scale,
            };
            factors.minima[at] = match minimum {
                Minimum::None => 0.0,
                Minimum::Opposite => -halves[1],
                Minimum::Times(field) => halves[1] * field.integer(record, at as u32) as f32,
            };
        }
    }

    /// The groups of the first and of the second half of a block within its record.
    #[inline]
    fn groups(&self, block: usize) -> [usize; 2] {
        let (group, place) = (self.format.group as usize, block * BLOCK % self.format.span as usize);
        [place / group, (place + BLOCK / 2) / group]
    }

    /// The levels of a block. It is a function of its own: its code is long, and would be written for each row.
    #[inline(never)]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn levels(&self, outer: usize, block: usize) -> [[Four; 4]; 2] {
        let Format { low, high, high_at, span, level, .. } = self.format;
        let mut nibbles = match (low, self.words(outer, block, 1)) {
            (8, words) => {
                let (parts, _) = words.as_chunks::<4>();
                return [of_bytes(&parts[0]), of_bytes(&parts[1])];
            }
            (_, &[a, b]) => spread(2, &[a, b]),
            (_, words) => [0, 1, 2, 3].map(|word| words[word]),
        };
        let mut upper = [0; 4];
        if high > 0 {
            let from = high_at as usize + block * BLOCK % span as usize / BLOCK * high as usize;
            upper = spread(high, &self.record(outer, block)[from..from + high as usize]);
        }
        if low == 2 {
            for (nibbles, upper) in nibbles.iter_mut().zip(&mut upper) {
                *nibbles |= std::mem::take(upper) << 2;
            }
        }
        match level {
            Level::Curve => of_curve(&nibbles),
            Level::Less(zero) => of_nibbles(&nibbles, &upper, zero as i8),
            Level::Signed => of_nibbles(&nibbles, &upper, 0),
        }
    }

    /// Writes the numbers of an outer position, from a multiple of 32 on. `to` has a multiple of 32.
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn write(&self, outer: usize, first: usize, to: &mut [f32]) {
        let mut factors = Factors::default();
        for (block, to) in (first / BLOCK..).zip(to.as_chunks_mut::<BLOCK>().0) {
            let groups = self.groups(block);
            self.find_factors(outer, block, groups, &mut factors);
            let levels = self.levels(outer, block);
            let halves = to.as_chunks_mut::<{ BLOCK / 2 }>().0;
            for ((to, levels), group) in halves.iter_mut().zip(levels).zip(groups) {
                let scale = Four::all(factors.scales[group]);
                let opposite = Four::all(-factors.minima[group]);
                for (to, four) in to.as_chunks_mut::<4>().0.iter_mut().zip(levels) {
                    let product = four.times(scale);
                    // Without a minimum a 0 keeps its sign.
                    let number = if self.format.minimum == Minimum::None { product } else { product.plus(opposite) };
                    *to = number.numbers();
                }
            }
        }
    }

    /// Σ x wⱼ of the outer positions from `first` on, as many as there are sums.
    ///
    /// The numbers of a group are added up before they are multiplied with its scale. So the error of a sum is to first order at most
    /// (depth / 32 + 12) · 2⁻²⁴ · Σ|xᵢwᵢ| for q8_0 and q4_0, and (depth / 8 + 12) · 2⁻²⁴ · Σ|xᵢ|(|scale · levelᵢ| + |minimum|) for others.
    #[inline(never)]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn dots(&self, x: &[f32], first: usize, sums: &mut [f32]) {
        match (self.side, self.format.level) {
            (BlockScales::Halves(_), Level::Signed) => dots::<8>(self, x, first, sums),
            (BlockScales::Halves(_), Level::Less(8)) => dots::<4>(self, x, first, sums),
            _ => dots::<ANY>(self, x, first, sums),
        }
    }

    /// The halves of the blocks of an outer position.
    #[inline]
    fn halves(&self, outer: usize, blocks: usize) -> &'a [u16] {
        match self.side {
            BlockScales::Halves(halves) => &halves[outer * self.side_stride..][..blocks],
            BlockScales::Singles(_) | BlockScales::Records(_) => &[],
        }
    }

    /// Whether it is a left factor of products of integers.
    pub(crate) fn is_of_bytes(&self) -> bool {
        self.format.is_single
    }

    /// The levels of a block, which are whole numbers, two neighbours of 16 bits in a word, and for each of its halves what they are to be multiplied by and
    /// lessened by.
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub(crate) fn pairs(&self, outer: usize, block: usize) -> ([[u32; BLOCK / 4]; 2], [[f32; 2]; 2]) {
        let mut factors = Factors::default();
        let groups = self.groups(block);
        self.find_factors(outer, block, groups, &mut factors);
        // The low bits of 1.5 · 2²³ and a whole number are those of the number.
        let large = Four::all(12_582_912.0);
        let pairs = self.levels(outer, block).map(|fours| {
            let mut pairs = [0; BLOCK / 4];
            for (to, four) in pairs.as_chunks_mut::<2>().0.iter_mut().zip(fours) {
                let [a, b, c, d] = four.plus(large).numbers().map(f32::to_bits);
                *to = [a & 0xffff | b << 16, c & 0xffff | d << 16];
            }
            pairs
        });
        (pairs, groups.map(|group| [factors.scales[group], factors.minima[group]]))
    }
}

/// Bits of four nibbles of integers in words of their own, from words in which they have a distance of 4.
#[inline]
fn spread(bits: u32, words: &[u32]) -> [u32; 4] {
    match *words {
        [word] if bits == 1 => [word, word >> 1, word >> 2, word >> 3].map(|word| word & 0x1111_1111),
        [a, b] => [a, a >> 2, b, b >> 2].map(|word| word & 0x3333_3333),
        _ => [0; 4],
    }
}

/// Outer positions whose sums are made at once, so that x is read once for all of them.
const TOGETHER: usize = 4;

/// In place of the bits of a format whose blocks are read by its description.
const ANY: usize = 0;

#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn dots<const BITS: usize>(weights: &Quantised, x: &[f32], first: usize, sums: &mut [f32]) {
    let (groups, rest) = sums.as_chunks_mut::<TOGETHER>();
    for (group, position) in groups.iter_mut().zip((first..).step_by(TOGETHER)) {
        *group = dots_of::<BITS, TOGETHER>(weights, [0, 1, 2, 3].map(|k| position + k), x);
    }
    let position = first + TOGETHER * groups.len();
    for (k, sum) in rest.iter_mut().enumerate() {
        [*sum] = dots_of::<BITS, 1>(weights, [position + k], x);
    }
}

/// Σ x wⱼ of `N` outer positions.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn dots_of<const BITS: usize, const N: usize>(weights: &Quantised, outer: [usize; N], x: &[f32]) -> [f32; N] {
    let x = x.as_chunks::<BLOCK>().0;
    let sums = if BITS == ANY { sums_of_blocks(weights, outer, x) } else { sums_of::<BITS, N>(weights, outer, x) };
    sums.map(|sum| {
        let [x, y, z, w] = sum.numbers();
        (x + y) + (z + w)
    })
}

/// The integers of a block as numbers.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn integers<const BITS: usize>(words: &[u32; BITS]) -> [[Four; 4]; 2] {
    let (parts, _) = words.as_chunks::<4>();
    if BITS == 8 { [of_bytes(&parts[0]), of_bytes(&parts[1])] } else { of_nibbles(&parts[0], &[0; 4], 8) }
}

#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn sums_of<const BITS: usize, const N: usize>(
    weights: &Quantised,
    outer: [usize; N],
    blocks: &[[f32; BLOCK]],
) -> [Four; N] {
    let words = outer.map(|outer| &weights.words(outer, 0, blocks.len()).as_chunks::<BITS>().0[..blocks.len()]);
    let scales = outer.map(|outer| &weights.halves(outer, blocks.len())[..blocks.len()]);
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
    sums
}

/// As [`sums_of`], for any format.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn sums_of_blocks<const N: usize>(weights: &Quantised, outer: [usize; N], blocks: &[[f32; BLOCK]]) -> [Four; N] {
    let has_minima = weights.format.minimum != Minimum::None;
    let blocks_of_record = weights.format.span as usize / BLOCK;
    let last_group = (weights.format.span / weights.format.group) as usize - 1;
    let mut sums = [Four::all(0.0); N];
    let mut factors = [Factors::default(); N];
    for (block, x) in blocks.iter().enumerate() {
        if block % blocks_of_record == 0 {
            for (outer, factors) in outer.iter().zip(&mut factors) {
                weights.find_factors(*outer, block, [0, last_group], factors);
            }
        }
        let x = x.as_chunks::<4>().0;
        let totals = [0, 4].map(|from| {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| Four::new(x[from + k]));
            a.plus(b).plus(c.plus(d))
        });
        let groups = weights.groups(block);
        for row in 0..N {
            for (half, levels) in weights.levels(outer[row], block).iter().enumerate() {
                let x = &x[4 * half..][..4];
                let mut part = levels[0].times(Four::new(x[0]));
                for place in 1..4 {
                    part = part.plus_product(levels[place], Four::new(x[place]));
                }
                sums[row] = sums[row].plus_product(part, Four::all(factors[row].scales[groups[half]]));
                if has_minima {
                    sums[row] = sums[row].plus_product(totals[half], Four::all(-factors[row].minima[groups[half]]));
                }
            }
        }
    }
    sums
}
