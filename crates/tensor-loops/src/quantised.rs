//! Quantised factors: panels are made of their blocks, and products with few rows read these as they are.

use super::elements::number_of_half;
use super::format::{Format, Level, Minimum};
use super::four::{Four, of_bytes, of_curve, of_nibbles};

/// Numbers that are read together.
pub const BLOCK: usize = super::format::BLOCK as usize;

/// What belongs to the blocks of a factor.
#[derive(Clone, Copy, Debug)]
pub enum Side<'a> {
    /// A half for each block.
    Halves(&'a [u16]),
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
    pub side: Side<'a>,
    /// Distance between rows of the left, columns of the right factor in elements of the side.
    pub side_stride: usize,
}

/// A block: the integers are to be multiplied by a scale and lessened by a minimum, those of each half of the block by its own.
struct Block<'a> {
    words: &'a [u32],
    high: &'a [u32],
    scales: [f32; 2],
    minima: [f32; 2],
}

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

    /// The block of an outer position that has a number.
    #[inline]
    fn block(&self, outer: usize, block: usize) -> Block<'a> {
        let words = self.words(outer, block, 1);
        let Format { high, high_at, group, span, record, half, .. } = self.format;
        let place = (block * BLOCK) as u32;
        let side = outer * self.side_stride;
        let records = match self.side {
            Side::Halves(halves) => {
                let scale = number_of_half(halves[side + block]);
                return Block { words, high: &[], scales: [scale; 2], minima: [0.0; 2] };
            }
            Side::Records(records) => records,
        };
        let record_words = record as usize;
        let first = side + (place / span) as usize * record_words;
        let record = &records[first..first + record_words];
        let within = place % span;
        let half_at = |half: u32| number_of_half((record[half as usize / 2] >> (16 * (half % 2))) as u16);
        let scale = half_at(within / half);
        let groups = [within / group, (within + BLOCK as u32 - group) / group];
        let scales = match self.format.scales {
            None => [scale; 2],
            Some(field) => groups.map(|group| scale * field.integer(record, group) as f32),
        };
        let minima = match self.format.minimum {
            Minimum::None => [0.0; 2],
            Minimum::Opposite => [-half_at(1); 2],
            Minimum::Times(field) => {
                let least = half_at(1);
                groups.map(|group| least * field.integer(record, group) as f32)
            }
        };
        let high_words = high as usize;
        let from = high_at as usize + within as usize / BLOCK * high_words;
        Block { words, high: &record[from..from + high_words], scales, minima }
    }

    /// The levels of a block.
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn levels(&self, block: &Block) -> [[Four; 4]; 2] {
        let mut nibbles = match (self.format.low, block.words) {
            (8, words) => {
                let (parts, _) = words.as_chunks::<4>();
                return [of_bytes(&parts[0]), of_bytes(&parts[1])];
            }
            (_, &[a, b]) => spread(2, &[a, b]),
            (_, words) => [0, 1, 2, 3].map(|word| words[word]),
        };
        let mut upper = spread(self.format.high, block.high);
        if self.format.low == 2 {
            for (nibbles, upper) in nibbles.iter_mut().zip(&mut upper) {
                *nibbles |= std::mem::take(upper) << 2;
            }
        }
        match self.format.level {
            Level::Curve => of_curve(&nibbles),
            Level::Less(zero) => of_nibbles(&nibbles, &upper, zero as i8),
            Level::Signed => of_nibbles(&nibbles, &upper, 0),
        }
    }

    /// Writes the numbers of an outer position, from a multiple of 32 on. `to` has a multiple of 32.
    #[inline]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn write(&self, outer: usize, first: usize, to: &mut [f32]) {
        for (place, to) in to.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
            let block = self.block(outer, first / BLOCK + place);
            let levels = self.levels(&block);
            let halves = to.as_chunks_mut::<{ BLOCK / 2 }>().0;
            for (half, to) in halves.iter_mut().enumerate() {
                let scale = Four::all(block.scales[half]);
                for (to, four) in to.as_chunks_mut::<4>().0.iter_mut().zip(levels[half]) {
                    let product = four.times(scale);
                    // Without a minimum a 0 keeps its sign.
                    *to = match self.format.minimum {
                        Minimum::None => product,
                        _ => product.plus(Four::all(-block.minima[half])),
                    }
                    .numbers();
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
            (Side::Halves(_), Level::Signed) => dots::<8>(self, x, first, sums),
            (Side::Halves(_), Level::Less(8)) => dots::<4>(self, x, first, sums),
            _ => dots::<ANY>(self, x, first, sums),
        }
    }

    /// The halves of the blocks of an outer position.
    #[inline]
    fn halves(&self, outer: usize, blocks: usize) -> &'a [u16] {
        match self.side {
            Side::Halves(halves) => &halves[outer * self.side_stride..][..blocks],
            Side::Records(_) => &[],
        }
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
    let mut sums = [Four::all(0.0); N];
    for (block, x) in blocks.iter().enumerate() {
        let x = x.as_chunks::<4>().0;
        let totals = [0, 4].map(|from| {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| Four::new(x[from + k]));
            a.plus(b).plus(c.plus(d))
        });
        for row in 0..N {
            let of_row = weights.block(outer[row], block);
            for (half, levels) in weights.levels(&of_row).iter().enumerate() {
                let x = &x[4 * half..][..4];
                let mut part = levels[0].times(Four::new(x[0]));
                for place in 1..4 {
                    part = part.plus_product(levels[place], Four::new(x[place]));
                }
                sums[row] = sums[row].plus_product(part, Four::all(of_row.scales[half]));
                if has_minima {
                    sums[row] = sums[row].plus_product(totals[half], Four::all(-of_row.minima[half]));
                }
            }
        }
    }
    sums
}
