//! Rows of a tensor to and from arrays of parts. Rows go in fast ways where pairs of numbers are neighbours, as the parts of complex numbers are, or
//! where rows themselves are.

use std::ops::Range;

use super::passes::Parts;
use crate::four::Four;

/// Numbers of rows: number j of row r stands at `starts[r] + j × stride`.
#[derive(Clone, Copy, Debug)]
pub struct RowNumbers<'a> {
    /// All of them.
    pub values: &'a [f32],
    /// Where rows begin.
    pub starts: &'a [usize],
    /// From one number of a row to the next.
    pub stride: usize,
}

/// Where the results of rows go, as [`RowNumbers`]: imaginary parts stand behind their real ones.
#[derive(Debug)]
pub struct Results<'a> {
    /// All memory.
    pub values: &'a mut [f32],
    /// Where rows begin.
    pub starts: &'a [usize],
    /// From one number of a row to the next.
    pub stride: usize,
}

/// Memory of a run, whose contents do not matter before it.
#[derive(Default)]
pub struct TransformMemory {
    pub(super) x: Parts,
    pub(super) spare: Parts,
    pub(super) lanes: Parts,
    pub(super) lanes_spare: Parts,
}

/// Numbers of rows: number j of row r stands at `starts[r] + offset + j × step`.
#[derive(Clone, Copy)]
pub struct Strided<'a> {
    values: &'a [f32],
    starts: &'a [usize],
    offset: usize,
    step: usize,
}

impl<'a> RowNumbers<'a> {
    /// Some rows.
    pub fn rows(self, range: Range<usize>) -> RowNumbers<'a> {
        RowNumbers { starts: &self.starts[range], ..self }
    }

    /// All numbers of the rows.
    pub fn all(self) -> Strided<'a> {
        Strided { values: self.values, starts: self.starts, offset: 0, step: self.stride }
    }

    /// Those of even places, or those of odd ones.
    pub fn every_second(self, first: usize) -> Strided<'a> {
        Strided { values: self.values, starts: self.starts, offset: first * self.stride, step: 2 * self.stride }
    }

    /// Whether the numbers of different rows are nearer to each other than those of one.
    pub fn are_side_by_side(&self) -> bool {
        matches!(self.starts, [first, second, ..] if second.abs_diff(*first) < self.stride)
    }
}

impl Strided<'_> {
    fn first(&self, row: usize) -> usize {
        self.starts[row.min(self.starts.len() - 1)] + self.offset
    }

    /// The distance of rows, where each is as far from the one before.
    fn distance(&self, width: usize) -> Option<usize> {
        distance(self.starts, width)
    }

    /// Whether the numbers of another one stand right behind these.
    pub fn is_before(&self, other: &Strided) -> bool {
        std::ptr::eq(self.values.as_ptr(), other.values.as_ptr())
            && (0..self.starts.len()).all(|row| self.first(row) + 1 == other.first(row))
            && self.step == other.step
    }
}

/// The distance of as many rows as transforms lie side by side.
fn distance(starts: &[usize], width: usize) -> Option<usize> {
    let step = starts.get(1)?.checked_sub(starts[0])?;
    (starts.len() == width && starts.windows(2).all(|pair| pair[0] + step == pair[1])).then_some(step)
}

/// Loads numbers; without imaginary parts these are 0. The rows beyond the last are that one again.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn load(re: Strided, im: Option<Strided>, count: usize, width: usize, x: &mut Parts) {
    x.resize(count * width);
    match im {
        // The values of imaginary parts reach as far as those of pairs.
        Some(im) if re.is_before(&im) && re.step == 2 && width == 1 => {
            split(&im.values[re.first(0)..][..2 * count], x);
        }
        Some(im) if re.is_before(&im) && re.distance(width) == Some(2) => {
            for place in 0..count {
                let from = &im.values[re.first(0) + place * re.step..][..2 * width];
                split_to(from, &mut x.re[place * width..][..width], &mut x.im[place * width..][..width]);
            }
        }
        Some(im) if re.is_before(&im) && re.step == 2 && width == 4 => {
            load_four(&Strided { values: im.values, ..re }, count, x)
        }
        _ => {
            load_part(&re, count, width, &mut x.re);
            match im {
                Some(im) => load_part(&im, count, width, &mut x.im),
                None => x.im.fill(0.0),
            }
        }
    }
}

fn load_part(from: &Strided, count: usize, width: usize, to: &mut [f32]) {
    if from.distance(width) == Some(1) {
        for place in 0..count {
            to[place * width..][..width].copy_from_slice(&from.values[from.first(0) + place * from.step..][..width]);
        }
        return;
    }
    for row in 0..width {
        let values = &from.values[from.first(row)..];
        for place in 0..count {
            to[place * width + row] = values[place * from.step];
        }
    }
}

#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn split(from: &[f32], x: &mut Parts) {
    split_to(from, &mut x.re, &mut x.im);
}

/// Pairs as parts.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn split_to(from: &[f32], re: &mut [f32], im: &mut [f32]) {
    let (eights, rest) = from.as_chunks::<8>();
    let (re_fours, re_rest) = re.as_chunks_mut::<4>();
    let (im_fours, im_rest) = im.as_chunks_mut::<4>();
    for ((from, re), im) in eights.iter().zip(re_fours).zip(im_fours) {
        let [a, b, c, d, e, f, g, h] = *from;
        let [even, odd] = Four::split(Four::new([a, b, c, d]), Four::new([e, f, g, h]));
        (*re, *im) = (even.numbers(), odd.numbers());
    }
    for ((pair, re), im) in rest.as_chunks::<2>().0.iter().zip(re_rest).zip(im_rest) {
        [*re, *im] = *pair;
    }
}

/// Pairs of four rows, two of each at a time.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn load_four(from: &Strided, count: usize, x: &mut Parts) {
    let rows = [0, 1, 2, 3].map(|row| &from.values[from.first(row)..][..2 * count]);
    let whole = count / 2 * 2;
    for place in (0..whole).step_by(2) {
        let columns = Four::transposed(rows.map(|row| {
            let pairs = &row[2 * place..][..4];
            Four::new([pairs[0], pairs[1], pairs[2], pairs[3]])
        }));
        for (k, column) in columns.iter().enumerate() {
            let part = if k % 2 == 0 { &mut x.re } else { &mut x.im };
            part[4 * (place + k / 2)..][..4].copy_from_slice(&column.numbers());
        }
    }
    for place in whole..count {
        for (row, numbers) in rows.iter().enumerate() {
            (x.re[4 * place + row], x.im[4 * place + row]) = (numbers[2 * place], numbers[2 * place + 1]);
        }
    }
}

/// Stores numbers times a scale: real parts at the places of rows, and imaginary ones, if they are wanted, so much further.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn store(x: &mut Parts, count: usize, width: usize, to: Results, im: Option<usize>, scale: f32) {
    if scale != 1.0 {
        x.re.iter_mut().chain(&mut x.im).for_each(|part| *part *= scale);
    }
    let Results { values, starts, stride } = to;
    if im == Some(1) && width == 1 && stride == 2 {
        joined(x, 0..count, &mut values[starts[0]..][..2 * count]);
    } else if im == Some(1) && distance(starts, width) == Some(2) {
        for place in 0..count {
            joined(x, place * width..(place + 1) * width, &mut values[starts[0] + place * stride..][..2 * width]);
        }
    } else if im == Some(1) && stride == 2 && width == 4 && starts.len() == 4 {
        store_four(x, count, values, starts);
    } else {
        for (row, start) in starts.iter().enumerate() {
            let values = &mut values[*start..];
            for place in 0..count {
                values[place * stride] = x.re[place * width + row];
                if let Some(distance) = im {
                    values[place * stride + distance] = x.im[place * width + row];
                }
            }
        }
    }
}

/// Parts of some places as pairs.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn joined(x: &Parts, range: Range<usize>, to: &mut [f32]) {
    let (re_fours, re_rest) = x.re[range.clone()].as_chunks::<4>();
    let (im_fours, im_rest) = x.im[range].as_chunks::<4>();
    let (eights, rest) = to.as_chunks_mut::<8>();
    for ((to, re), im) in eights.iter_mut().zip(re_fours).zip(im_fours) {
        let [low, high] = Four::joined(Four::new(*re), Four::new(*im));
        let ([a, b, c, d], [e, f, g, h]) = (low.numbers(), high.numbers());
        *to = [a, b, c, d, e, f, g, h];
    }
    for ((pair, re), im) in rest.as_chunks_mut::<2>().0.iter_mut().zip(re_rest).zip(im_rest) {
        *pair = [*re, *im];
    }
}

/// Pairs of four rows, two of each at a time.
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn store_four(x: &Parts, count: usize, values: &mut [f32], starts: &[usize]) {
    for place in (0..count).step_by(2) {
        let part = |part: &[f32], place: usize| match part.get(4 * place..4 * place + 4) {
            Some([a, b, c, d]) if place < count => Four::new([*a, *b, *c, *d]),
            _ => Four::all(0.0),
        };
        let columns = [part(&x.re, place), part(&x.im, place), part(&x.re, place + 1), part(&x.im, place + 1)];
        let end = 2 * (count - place).min(2);
        for (row, start) in Four::transposed(columns).iter().zip(starts) {
            values[start + 2 * place..][..end].copy_from_slice(&row.numbers()[..end]);
        }
    }
}
