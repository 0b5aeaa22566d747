//! Products of matrices in f32, in parts: a caller can do other work between two parts.

use residua_base::threads::{Divided, are_several, for_each_piece, together};

use super::blocks::{DEPTH_BLOCK, clear};
use super::integers_tile::{self, Groups};
use super::pack::pack;
use super::quantised::{BLOCK, Quantised};
use super::tile::{COLUMNS, ROWS, tile};
use super::{Cells, Extents, ProductTarget, Reals, vector};
use crate::format::Minimum;

/// Rows and columns of the packed parts of the factors: 98 kB and 786 kB with blocks of 384 places. Both fit a second cache of 1 MiB or more,
/// not a smaller one.
const ROW_BLOCK: usize = 64;
const COLUMN_BLOCK: usize = 512;
/// Blocks of rows of a part, where threads share it.
const SHARED_ROW_BLOCKS: usize = 16;
/// Columns of a piece of a part: of panels that are packed, and of blocks of rows.
const PIECE: usize = 128;

/// Memory that the parts of a product share. Several products may use it in turns: each has a number of its own, by which a part finds whether
/// the panels are of its product.
#[derive(Debug, Default)]
pub struct Panels {
    numbers: Pair<f32>,
    words: Pair<u32>,
    /// The number of the product that the right panels are of.
    owner: Option<u32>,
    rows: Vec<f32>,
}

/// Panels of both factors.
#[derive(Debug, Default)]
struct Pair<N> {
    left: Vec<[N; ROWS]>,
    right: Vec<[N; COLUMNS]>,
}

/// How factors become panels, and panels a tile.
trait Tiles: Copy + Send + Sync {
    /// What panels consist of.
    type Number: Copy + Default + Send + Sync;
    /// Lines of a panel for so many places.
    fn lines(self, places: usize) -> usize;
    /// Fills panels of the left factor from a row and a place on.
    fn pack_left(self, panels: &mut [[Self::Number; ROWS]], rows: (usize, usize), along: (usize, usize));
    /// Fills panels of the right factor.
    fn pack_right(self, panels: &mut [[Self::Number; COLUMNS]], columns: (usize, usize), along: (usize, usize));
    /// The product of two panels.
    fn tile(self, left: &[[Self::Number; ROWS]], right: &[[Self::Number; COLUMNS]]) -> [[f32; COLUMNS]; ROWS];
}

/// In f32.
#[derive(Clone, Copy)]
struct InSingles<'a> {
    left: &'a Reals<'a>,
    right: &'a Reals<'a>,
}

impl Tiles for InSingles<'_> {
    type Number = f32;

    fn lines(self, places: usize) -> usize {
        places
    }

    fn pack_left(self, panels: &mut [[f32; ROWS]], rows: (usize, usize), along: (usize, usize)) {
        pack(panels, self.left, rows, along);
    }

    fn pack_right(self, panels: &mut [[f32; COLUMNS]], columns: (usize, usize), along: (usize, usize)) {
        pack(panels, self.right, columns, along);
    }

    fn tile(self, left: &[[f32; ROWS]], right: &[[f32; COLUMNS]]) -> [[f32; COLUMNS]; ROWS] {
        tile(left, right)
    }
}

/// In integers: a left factor of bytes.
#[derive(Clone, Copy)]
struct InIntegers<'a> {
    left: &'a Quantised<'a>,
    right: &'a Quantised<'a>,
    groups: Groups,
}

impl Tiles for InIntegers<'_> {
    type Number = u32;

    fn lines(self, places: usize) -> usize {
        integers_tile::lines(places)
    }

    fn pack_left(self, panels: &mut [[u32; ROWS]], rows: (usize, usize), along: (usize, usize)) {
        integers_tile::pack(panels, self.left, rows, along);
    }

    fn pack_right(self, panels: &mut [[u32; COLUMNS]], columns: (usize, usize), along: (usize, usize)) {
        integers_tile::pack(panels, self.right, columns, along);
    }

    fn tile(self, left: &[[u32; ROWS]], right: &[[u32; COLUMNS]]) -> [[f32; COLUMNS]; ROWS] {
        integers_tile::tile(left, right, self.groups)
    }
}

/// A product of two matrices.
///
/// Products and sums are rounded to f32. Sums of at most 384 terms are added up, so the error of an element is at most
/// (384 + ⌈depth / 384⌉) · 2⁻²⁴ · Σ|aᵢbᵢ| to first order. With few rows and a quantised factor it is at most
/// (12 + depth / 32) · 2⁻²⁴ · Σ|aᵢbᵢ|. From five rows on, of a left factor of bytes and a quantised right
/// one, groups of 16 or 32 terms are added up exactly.
#[derive(Clone, Copy, Debug)]
pub struct MatrixProduct<'a> {
    extents: Extents,
    left: Reals<'a>,
    right: Reals<'a>,
    is_transposed: bool,
    has_few_rows: bool,
}

impl<'a> MatrixProduct<'a> {
    /// The product of two factors.
    pub fn new(extents: Extents, left: Reals<'a>, right: Reals<'a>) -> MatrixProduct<'a> {
        let Extents { rows, columns, .. } = extents;
        if columns <= vector::FEW && columns < rows {
            let transposed = MatrixProduct::new(extents.transposed(), right, left);
            return MatrixProduct { is_transposed: true, ..transposed };
        }
        let has_few_rows = vector::suits(extents, &right);
        MatrixProduct { extents, left, right, is_transposed: false, has_few_rows }
    }

    /// How many parts it has.
    pub fn parts(&self) -> usize {
        let Extents { rows, columns, depth } = self.extents;
        if rows == 0 || columns == 0 {
            0
        } else if depth == 0 {
            1
        } else if self.has_few_rows {
            columns.div_ceil(vector::part_columns(self.extents, &self.right))
        } else {
            columns.div_ceil(COLUMN_BLOCK) * depth.div_ceil(DEPTH_BLOCK) * rows.div_ceil(part_rows())
        }
    }

    /// Computes a part. Parts are computed in order, all with the same panels, the same number and the same target.
    ///
    /// # Panics
    /// If an element of a factor or of the target is not within its slice.
    #[inline(never)]
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    pub fn part(&self, part: usize, target: &mut ProductTarget<f32>, panels: &mut Panels, owner: u32) {
        let mut target = target.reborrowed(self.is_transposed);
        let target = &mut target;
        if self.extents.depth == 0 {
            clear(self.extents, target);
        } else if self.has_few_rows {
            let columns = vector::part_columns(self.extents, &self.right);
            let first = part * columns;
            let range = first..(first + columns).min(self.extents.columns);
            vector::product(self.extents, range, &self.left, &self.right, target, &mut panels.rows);
        } else {
            let is_owner = panels.owner.replace(owner) == Some(owner);
            match (&self.left, &self.right) {
                (Reals::Quantised(left), Reals::Quantised(right)) if left.is_of_bytes() => {
                    let format = right.format;
                    let have_minima = format.minimum != Minimum::None;
                    let groups = Groups { count: BLOCK / format.group as usize, have_minima };
                    self.tiles(part, target, &mut panels.words, is_owner, InIntegers { left, right, groups });
                }
                (left, right) => self.tiles(part, target, &mut panels.numbers, is_owner, InSingles { left, right }),
            }
        }
    }

    /// A part in tiles: parts count blocks of rows, after them blocks of the depth, after them blocks of columns.
    #[cfg_attr(target_arch = "wasm32", target_feature(enable = "simd128"))]
    fn tiles<T: Tiles>(
        &self,
        part: usize,
        target: &mut ProductTarget<f32>,
        panels: &mut Pair<T::Number>,
        is_owner: bool,
        tiles: T,
    ) {
        let Extents { rows, columns, depth } = self.extents;
        let (row_parts, depth_blocks) = (rows.div_ceil(part_rows()), depth.div_ceil(DEPTH_BLOCK));
        let first_row = part % row_parts * part_rows();
        let first_depth = part / row_parts % depth_blocks * DEPTH_BLOCK;
        let first_column = part / row_parts / depth_blocks * COLUMN_BLOCK;
        let height = part_rows().min(rows - first_row);
        let length = DEPTH_BLOCK.min(depth - first_depth);
        let width = COLUMN_BLOCK.min(columns - first_column);
        let along = (first_depth, length);
        let row_blocks = height.div_ceil(ROW_BLOCK);
        let column_pieces = width.div_ceil(PIECE);

        let is_packed = first_row > 0 && is_owner;
        let lines = tiles.lines(length);
        panels.left.resize(height.div_ceil(ROWS) * lines, [T::Number::default(); ROWS]);
        panels.right.resize(width.div_ceil(COLUMNS) * lines, [T::Number::default(); COLUMNS]);
        let (left, right) = (Divided::new(&mut panels.left), Divided::new(&mut panels.right));
        for_each_piece(row_blocks + if is_packed { 0 } else { column_pieces }, |piece| {
            if let Some(piece) = piece.checked_sub(row_blocks) {
                let (first, count) = piece_of(piece, PIECE, width);
                // SAFETY: each piece has the panels of its own columns.
                let panels = unsafe { right.part(panels_of::<COLUMNS>(first, count, lines)) };
                tiles.pack_right(panels, (first_column + first, count), along);
            } else {
                let (first, count) = piece_of(piece, ROW_BLOCK, height);
                // SAFETY: each piece has the panels of its own rows.
                let panels = unsafe { left.part(panels_of::<ROWS>(first, count, lines)) };
                tiles.pack_left(panels, (first_row + first, count), along);
            }
        });

        let (left, right) = (&panels.left, &panels.right);
        let ProductTarget { row_stride, column_stride, .. } = *target;
        let count = target.values.len();
        let values = Divided::new(target.values);
        for_each_piece(row_blocks * column_pieces, |piece| {
            let (first_of_rows, rows) = piece_of(piece / column_pieces, ROW_BLOCK, height);
            let (first_of_columns, columns) = piece_of(piece % column_pieces, PIECE, width);
            // SAFETY: each piece writes the elements of its own rows and columns.
            let values = unsafe { values.cells(0..count) };
            let target = Cells { values, row_stride, column_stride };
            let right = right[panels_of::<COLUMNS>(first_of_columns, columns, lines)].chunks_exact(lines);
            for (right_panel, column) in right.zip((0..).step_by(COLUMNS)) {
                let left = left[panels_of::<ROWS>(first_of_rows, rows, lines)].chunks_exact(lines);
                for (left_panel, row) in left.zip((0..).step_by(ROWS)) {
                    let sums = tiles.tile(left_panel, right_panel);
                    let place = [first_row + first_of_rows + row, first_column + first_of_columns + column];
                    let extent = [ROWS.min(rows - row), COLUMNS.min(columns - column)];
                    put(target, &sums, place, extent, first_depth == 0);
                }
            }
        });
    }
}

/// Rows of a part.
fn part_rows() -> usize {
    if are_several() { SHARED_ROW_BLOCKS * ROW_BLOCK } else { ROW_BLOCK }
}

/// Where a piece begins, and how much it has.
fn piece_of(piece: usize, size: usize, all: usize) -> (usize, usize) {
    let first = piece * size;
    (first, size.min(all - first))
}

/// The panels of `W` outer positions of some positions, of which the first is a multiple of `W`.
fn panels_of<const W: usize>(first: usize, count: usize, length: usize) -> std::ops::Range<usize> {
    first / W * length..(first + count).div_ceil(W) * length
}

/// A row of a tile that is not whole. It is a function of its own since beside it V8 keeps fewer numbers in registers.
#[inline(never)]
fn put_part(target: Cells, row: usize, column: usize, sums: &[f32], is_first: bool) {
    target.put(row, column, sums, is_first);
}

/// Writes the part of a tile that lies within the result, or adds it to what is there.
#[inline]
fn put(target: Cells, sums: &[[f32; COLUMNS]; ROWS], place: [usize; 2], extent: [usize; 2], is_first: bool) {
    let start = place[0] * target.row_stride + place[1] * target.column_stride;
    let is_whole = target.column_stride == 1 && extent[1] == COLUMNS;
    for (row, sums) in sums.iter().enumerate().take(extent[0]) {
        if !is_whole {
            put_part(target, place[0] + row, place[1], &sums[..extent[1]], is_first);
        } else if let Some(cells) = target.values[start + row * target.row_stride..].first_chunk::<COLUMNS>() {
            let numbers = together(cells);
            if is_first {
                numbers.set(*sums);
            } else {
                let before = numbers.get();
                numbers.set(std::array::from_fn(|k| before[k] + sums[k]));
            }
        }
    }
}
