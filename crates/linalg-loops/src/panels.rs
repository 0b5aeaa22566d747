//! Dense panels of a Cholesky factorisation, column after column with a stride.
//!
//! The products are computed in tiles of 4 × 4 numbers, which stay in registers: four rows are two vectors of two numbers on WebAssembly and
//! on x86-64. Rows are read and written in fours, so that strides leave room for that; numbers above the diagonal are scratch.
//!
//! Threads may write different rows of one panel. What they write is a slice of cells, which other threads may have as well, and what they read beside
//! it a [`Panel`].

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;

use residua_base::threads::together;

use super::pair::Pair;

/// Rows and columns of a tile.
pub const TILE: usize = 4;
/// Columns of A and B that a pass over C takes: with one page of memory each they fit the address cache of a core.
const PASS: usize = 64;

/// Where a product lies: C of `rows` × `cols` numbers becomes C − A Bᵀ, or −A Bᵀ where it `starts`. `rows` is a multiple of [`TILE`].
#[derive(Clone, Copy, Debug)]
pub struct PanelProduct {
    /// Rows and columns of C.
    pub rows: usize,
    /// See `rows`.
    pub cols: usize,
    /// Columns of A and B, at least one.
    pub depth: usize,
    /// Stride of C.
    pub stride: usize,
    /// Stride of A and B, which are rows of one panel.
    pub panel_stride: usize,
    /// First row of A in the panel.
    pub a: usize,
    /// First row of B in the panel.
    pub b: usize,
    /// C is overwritten.
    pub starts: bool,
    /// Only the tiles that reach below the diagonal are computed.
    pub lower: bool,
}

/// Numbers that are read and do not change meanwhile, among others that may.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    start: *const f64,
    length: usize,
    numbers: PhantomData<&'a [Cell<f64>]>,
}

impl<'a> From<&'a [f64]> for Panel<'a> {
    fn from(numbers: &'a [f64]) -> Panel<'a> {
        Panel { start: numbers.as_ptr(), length: numbers.len(), numbers: PhantomData }
    }
}

impl<'a> From<&'a [Cell<f64>]> for Panel<'a> {
    fn from(numbers: &'a [Cell<f64>]) -> Panel<'a> {
        Panel { start: numbers.as_ptr().cast(), length: numbers.len(), numbers: PhantomData }
    }
}

impl Panel<'_> {
    /// The address of a number that has this many from itself on.
    #[inline]
    fn at(self, place: usize, count: usize) -> *const f64 {
        assert!(place + count <= self.length, "a product within its panel");
        self.start.wrapping_add(place)
    }
}

/// Numbers as cells.
pub fn cells(numbers: &mut [f64]) -> &[Cell<f64>] {
    Cell::from_mut(numbers).as_slice_of_cells()
}

/// C − A Bᵀ.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn subtract_product(c: &[Cell<f64>], panel: Panel, product: PanelProduct) {
    let PanelProduct { rows, cols, depth, stride, panel_stride, a, b, mut starts, lower } = product;
    let mut first = 0;
    loop {
        let pass = PASS.min(depth - first);
        for column in (0..cols).step_by(TILE) {
            let c = &c[column * stride..];
            for row in (if lower { column } else { 0 }..rows).step_by(TILE) {
                let places = [a + row, b + column].map(|place| first * panel_stride + place);
                let c = &c[row..];
                match cols - column {
                    1 => tile::<1>(c, stride, panel, places, panel_stride, pass, starts),
                    2 => tile::<2>(c, stride, panel, places, panel_stride, pass, starts),
                    3 => tile::<3>(c, stride, panel, places, panel_stride, pass, starts),
                    _ => tile::<4>(c, stride, panel, places, panel_stride, pass, starts),
                }
            }
        }
        first += pass;
        starts = false;
        if first >= depth {
            return;
        }
    }
}

/// One tile. Beside the loops of its caller V8 keeps fewer of its numbers in registers, and takes a fifth longer.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn tile<const W: usize>(
    c: &[Cell<f64>],
    stride: usize,
    panel: Panel,
    [a, b]: [usize; 2],
    panel_stride: usize,
    depth: usize,
    starts: bool,
) {
    // Checked once: a check for each load takes a third of the time.
    let end = (depth - 1) * panel_stride + TILE;
    let (mut a, mut b) = (panel.at(a, end), panel.at(b, end - TILE + W));
    let mut sums = [[Pair::both(0.0); 2]; W];
    for _ in 0..depth {
        // SAFETY: at step k < depth, `a` is k·panel_stride numbers behind its start and at least TILE before its end, and `b` so with W.
        let (upper, lower, of_b) =
            unsafe { (*a.cast::<[f64; 2]>(), *a.add(2).cast::<[f64; 2]>(), *b.cast::<[f64; W]>()) };
        let (upper, lower) = (Pair::new(upper), Pair::new(lower));
        for (sums, &b) in sums.iter_mut().zip(&of_b) {
            let b = Pair::both(b);
            *sums = [sums[0].add(upper.mul(b)), sums[1].add(lower.mul(b))];
        }
        // The last of these addresses may lie outside, and is not read.
        (a, b) = (a.wrapping_add(panel_stride), b.wrapping_add(panel_stride));
    }
    for (column, sums) in sums.iter().enumerate() {
        let Some(c) = c[column * stride..].first_chunk::<TILE>() else { return };
        for (c, sum) in c.as_chunks::<2>().0.iter().map(together).zip(sums) {
            let before = if starts { Pair::both(0.0) } else { Pair::new(c.get()) };
            c.set(before.sub(*sum).numbers());
        }
    }
}

/// Which columns of a strip have a pivot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pivots {
    /// All of them.
    All,
    /// All but those of these numbers.
    Without([bool; TILE]),
}

/// The diagonal block of a strip of up to four columns of L, with inverse pivots.
#[derive(Clone, Copy, Debug, Default)]
pub struct Diagonal {
    width: usize,
    l: [[f64; TILE]; TILE],
}

/// Factorises up to four columns of a panel, which earlier columns have been subtracted from: `strip` has their numbers, whose diagonal
/// begins at row `first`. A column whose pivot is not above `least`, or not finite, becomes that of the unit matrix.
pub fn factorise_strip(strip: &mut [f64], stride: usize, first: usize, width: usize, least: f64) -> Pivots {
    let (diagonal, pivots) = factorise_diagonal(strip, stride, first, width, least);
    finish_rows(cells(strip), stride, first + width..stride, &diagonal);
    pivots
}

/// Factorises the diagonal block of a strip.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn factorise_diagonal(
    strip: &mut [f64],
    stride: usize,
    first: usize,
    width: usize,
    least: f64,
) -> (Diagonal, Pivots) {
    let mut missing = [false; TILE];
    let mut l = [[0.0f64; TILE]; TILE];
    for j in 0..width {
        let above = l[j];
        for i in j..width {
            let known: f64 = l[i].iter().zip(&above).take(j).map(|(a, b)| a * b).sum();
            l[i][j] = strip[j * stride + first + i] - known;
        }
        let pivot = l[j][j];
        let inverse = if pivot > least && pivot.is_finite() {
            strip[j * stride + first + j] = pivot.sqrt();
            strip[j * stride + first + j].recip()
        } else {
            missing[j] = true;
            strip[j * stride + first + j] = 1.0;
            0.0
        };
        for i in j + 1..width {
            l[i][j] *= inverse;
            strip[j * stride + first + i] = l[i][j];
        }
        l[j][j] = inverse;
    }
    (Diagonal { width, l }, if missing.contains(&true) { Pivots::Without(missing) } else { Pivots::All })
}

/// Computes rows of L below the diagonal block of a strip. Those that end an even number of rows before the end of the strip are as all together.
#[inline(never)]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
pub fn finish_rows(strip: &[Cell<f64>], stride: usize, rows: Range<usize>, diagonal: &Diagonal) {
    let Diagonal { width, l } = diagonal;
    match width {
        1 => rows_below::<1>(strip, stride, rows, l),
        2 => rows_below::<2>(strip, stride, rows, l),
        3 => rows_below::<3>(strip, stride, rows, l),
        _ => rows_below::<4>(strip, stride, rows, l),
    }
}

/// Rows of L below a diagonal block.
#[inline]
#[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
fn rows_below<const W: usize>(strip: &[Cell<f64>], stride: usize, rows: Range<usize>, l: &[[f64; TILE]; TILE]) {
    let mut columns = strip.chunks(stride);
    let columns: [&[Cell<f64>]; W] =
        std::array::from_fn(|_| columns.next().and_then(|column| column.get(rows.clone())).unwrap_or_default());
    let rows = columns.iter().map(|column| column.len()).min().unwrap_or(0);
    let odd = rows % 2;
    if odd == 1 {
        let mut x = [0.0; W];
        for j in 0..W {
            let known: f64 = (0..j).map(|k| x[k] * l[j][k]).sum();
            x[j] = (columns[j][0].get() - known) * l[j][j];
            columns[j][0].set(x[j]);
        }
    }
    for row in (odd..rows).step_by(2) {
        let mut x = [Pair::both(0.0); W];
        for j in 0..W {
            let Some(numbers) = columns[j][row..].first_chunk::<2>().map(together) else { return };
            let mut entries = Pair::new(numbers.get());
            for k in 0..j {
                entries = entries.sub(x[k].mul(Pair::both(l[j][k])));
            }
            x[j] = entries.mul(Pair::both(l[j][j]));
            numbers.set(x[j].numbers());
        }
    }
}

/// Adds numbers to the places `places[k] - first`.
#[inline(never)]
pub fn add_scattered(places: &[u32], first: u32, numbers: &[f64], target: &mut [f64]) {
    for (&place, number) in places.iter().zip(numbers) {
        target[(place - first) as usize] += number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, of which sums and products have no rounding.
    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|k| (k * 7 % 11) as f64 - 5.0).collect()
    }

    #[test]
    fn products_of_all_widths_and_depths_are_exact_for_whole_numbers() {
        for (rows, cols, depth) in [(4, 1, 1), (8, 2, 3), (8, 7, 64), (12, 4, 65), (16, 13, 200)] {
            let (stride, panel_stride) = (rows + 3, rows + cols + 6);
            let panel = numbers(panel_stride * depth);
            for starts in [false, true] {
                let before = numbers(stride * cols);
                let mut c = before.clone();
                let (a, b) = (2, 5);
                let lower = false;
                subtract_product(
                    cells(&mut c),
                    panel.as_slice().into(),
                    PanelProduct { rows, cols, depth, stride, panel_stride, a, b, starts, lower },
                );
                for column in 0..cols {
                    for row in 0..stride {
                        let place = column * stride + row;
                        let product: f64 = (0..depth)
                            .map(|k| panel[k * panel_stride + a + row] * panel[k * panel_stride + b + column])
                            .sum();
                        let kept = if starts && row < rows { 0.0 } else { before[place] };
                        let expected = if row < rows { kept - product } else { kept };
                        assert_eq!(c[place], expected, "{rows} × {cols}, depth {depth}, starts {starts}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_strip_is_factorised_and_columns_without_a_pivot_are_those_of_the_unit_matrix() {
        // L of whole numbers, and L Lᵀ; the third column of the second matrix depends on the others.
        let l = [[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 2.0, 1.0], [4.0, -2.0, 3.0], [5.0, 1.0, -1.0]];
        let entry = |i: usize, j: usize| (0..3).map(|k| l[i][k] * l[j][k]).sum::<f64>();
        let strip: Vec<f64> = (0..15).map(|k| entry(k % 5, k / 5)).collect();
        let mut whole = strip.clone();
        assert_eq!(factorise_strip(&mut whole, 5, 0, 3, 0.0), Pivots::All);
        for (k, number) in whole.iter().enumerate().filter(|(k, _)| k % 5 >= k / 5) {
            assert_eq!(*number, l[k % 5][k / 5], "place {k}");
        }
        let mut part = strip;
        assert_eq!(factorise_strip(&mut part, 5, 0, 3, 4.5), Pivots::Without([true, false, true, false]));
        assert_eq!(part[..5], [1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(part[12], 1.0);
        assert_eq!(part[13..], [0.0, 0.0]);
    }
}
