//! Sparse Cholesky factorisation of J̃ᵀJ̃ + diag(d): the ordering and the pattern once, the numbers at every step.
//!
//! The order is [`super::ordering`]'s. The pattern of the factor and its numbers come up-looking, row after row of the factor, by ways up
//! the elimination tree (Davis, Direct Methods for Sparse Linear Systems, 2006, §4.1 to §4.7).

use crate::loops::subtract_scattered;
use residua_base::list::Listed;

use super::choice::grouped;
use super::ordering;
use super::sparse::Columns;
use super::{SparseMatrix, System, Trouble};
use residua_base::error::{Error, ErrorCode, Result};

/// What the pattern of J̃ says of a Cholesky factorisation before it is made: the order of elimination and the size of the factor.
pub struct Analysis {
    columns: Columns,
    /// `order[p]` is the column that is eliminated as number `p`; `place` is the inverse.
    order: Vec<u32>,
    place: Vec<u32>,
    /// The upper half of J̃ᵀJ̃ in the new order, by columns, unsorted within them.
    offsets: Vec<u32>,
    indices: Vec<u32>,
    tree: Vec<u32>,
    /// How many entries each column of the factor has.
    counts: Vec<u32>,
}

/// So many products may forming J̃ᵀJ̃ take: some seconds.
const MOST_PRODUCTS: u64 = 1_000_000_000;
/// So many entries may J̃ᵀJ̃ have, by the bound that is known before it is formed.
const MOST_ENTRIES: u64 = 200_000_000;

/// Why J̃ᵀJ̃ of this pattern is not formed, if it is too large for that: a residual of thousands of parameters makes it so.
pub fn too_large(cols: usize, row_offsets: &[u32]) -> Option<String> {
    let products: u64 = row_offsets.windows(2).map(|ends| u64::from(ends[1] - ends[0]).pow(2)).sum();
    let entries = products.min((cols as u64).pow(2));
    let (count, most, what) = if products > MOST_PRODUCTS {
        (products, MOST_PRODUCTS, "products")
    } else if entries > MOST_ENTRIES {
        (entries, MOST_ENTRIES, "entries")
    } else {
        return None;
    };
    Some(format!("JᵀJ would take {} {what}, and sparse Cholesky takes up to {}", grouped(count), grouped(most)))
}

impl Analysis {
    /// Orders the columns of a pattern and counts the entries of the factor.
    pub fn new(cols: usize, row_offsets: &[u32], col_indices: &[u32]) -> Result<Analysis> {
        if let Some(why) = too_large(cols, row_offsets) {
            return Err(Error::new(ErrorCode::LimitExceeded, why));
        }
        let columns = Columns::of(cols, row_offsets, col_indices);
        let (below_offsets, below) = lower_half(cols, row_offsets, col_indices, &columns);
        let order = ordering::order(&below_offsets, &below);
        let mut place = vec![0u32; cols];
        for (position, &column) in (0..).zip(&order) {
            place[column as usize] = position;
        }
        let (offsets, indices) = permuted_upper_half(&below_offsets, &below, &place);
        let tree = elimination_tree(&offsets, &indices);
        let mut counts = vec![1u32; cols];
        each_row(&offsets, &indices, &tree, |_, columns| columns.iter().for_each(|&j| counts[j as usize] += 1));
        Ok(Analysis { columns, order, place, offsets, indices, tree, counts })
    }

    /// How many numbers the factor has.
    pub fn factor_len(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// How many multiplications a factorisation takes: half the sum of the squared lengths of the factor's columns.
    pub fn multiplications(&self) -> f64 {
        self.counts.iter().map(|&count| 0.5 * f64::from(count) * f64::from(count)).sum()
    }
}

/// The strict lower half of JᵀJ by columns, rows ascending.
fn lower_half(cols: usize, row_offsets: &[u32], col_indices: &[u32], columns: &Columns) -> (Vec<u32>, Vec<u32>) {
    // Column `k` of the upper half is who shares a row with `k` and stands before it; filing `k` under each, `k` ascending, sorts.
    let mut seen = vec![u32::MAX; cols];
    let mut each_before = |visit: &mut dyn FnMut(usize, u32)| {
        seen.fill(u32::MAX);
        for k in 0..cols as u32 {
            for (row, _) in columns.column(k as usize) {
                for &j in &col_indices[row_offsets[row] as usize..row_offsets[row + 1] as usize] {
                    if j < k && seen[j as usize] != k {
                        seen[j as usize] = k;
                        visit(j as usize, k);
                    }
                }
            }
        }
    };
    let mut offsets = vec![0u32; cols + 1];
    each_before(&mut |j, _| offsets[j + 1] += 1);
    for column in 0..cols {
        offsets[column + 1] += offsets[column];
    }
    let mut next = offsets.clone();
    let mut rows = vec![0u32; offsets[cols] as usize];
    each_before(&mut |j, k| {
        rows[next[j] as usize] = k;
        next[j] += 1;
    });
    (offsets, rows)
}

/// The upper half with its diagonal, after columns and rows have gone to their new places.
fn permuted_upper_half(below_offsets: &[u32], below: &[u32], place: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let cols = place.len();
    let entries = || {
        (0..cols).flat_map(|j| {
            let others = below[below_offsets[j] as usize..below_offsets[j + 1] as usize].iter();
            let p = place[j];
            std::iter::once((p, p)).chain(others.map(move |&k| {
                let q = place[k as usize];
                (p.min(q), p.max(q))
            }))
        })
    };
    let mut offsets = vec![0u32; cols + 1];
    for (_, column) in entries() {
        offsets[column as usize + 1] += 1;
    }
    for column in 0..cols {
        offsets[column + 1] += offsets[column];
    }
    let mut next = offsets.clone();
    let mut indices = vec![0u32; offsets[cols] as usize];
    for (row, column) in entries() {
        let place = &mut next[column as usize];
        indices[*place as usize] = row;
        *place += 1;
    }
    (offsets, indices)
}

/// A factorisation L Lᵀ of the permuted J̃ᵀJ̃ + diag(d).
pub struct SparseCholesky {
    analysis: Analysis,
    /// Where each column of L begins, and the rows of its entries: its diagonal first, then ascending.
    starts: Vec<u32>,
    rows: Vec<u32>,
    /// The numbers of the upper half of J̃ᵀJ̃ + diag(d), and of L.
    upper: Vec<f64>,
    factor: Vec<f64>,
    /// A column of sums, zeros between calls.
    sums: Vec<f64>,
    elimination: Elimination,
}

/// How far a factorisation is.
#[derive(Default)]
struct Elimination {
    /// The row of L that comes next.
    next: usize,
    /// How far each column of L has come; who was visited for which row; the columns that a row of L has entries in.
    ends: Vec<u32>,
    visited: Vec<u32>,
    reach: Vec<u32>,
    /// Columns that had no pivot.
    left_out: Vec<usize>,
}

impl SparseCholesky {
    /// Lays out the factor. 'out-of-memory' or 'limit-exceeded' if that is too much.
    pub fn new(analysis: Analysis) -> Result<SparseCholesky> {
        let cols = analysis.order.len();
        let Ok(length) = u32::try_from(analysis.factor_len()) else {
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                "the Cholesky factor has more entries than 32 bits can count",
            ));
        };
        let mut starts = Vec::with_capacity(cols + 1);
        let mut start = 0;
        for count in &analysis.counts {
            starts.push(start);
            start += count;
        }
        starts.push(start);
        let (mut rows, mut factor) = (Vec::new(), Vec::new());
        let out_of_memory = |_| Error::new(ErrorCode::OutOfMemory, "there is no memory for the Cholesky factor");
        rows.try_reserve_exact(length as usize).map_err(out_of_memory)?;
        factor.try_reserve_exact(length as usize).map_err(out_of_memory)?;
        rows.resize(length as usize, 0u32);
        factor.resize(length as usize, 0.0);
        let mut next = starts.clone();
        let mut enter = |row: u32, column: u32| {
            let place = &mut next[column as usize];
            rows[*place as usize] = row;
            *place += 1;
        };
        each_row(&analysis.offsets, &analysis.indices, &analysis.tree, |row, columns| {
            columns.iter().for_each(|&column| enter(row, column));
            enter(row, row);
        });
        let upper = vec![0.0; analysis.indices.len()];
        Ok(SparseCholesky {
            analysis,
            starts,
            rows,
            upper,
            factor,
            sums: vec![0.0; cols],
            elimination: Elimination::default(),
        })
    }

    /// How many numbers the factor has.
    pub fn factor_len(&self) -> usize {
        self.factor.len()
    }

    /// Factorises J̃ᵀJ̃ + diag(d). Frozen columns, and those of zeros with a damping of 0, count as unit vectors: no other column depends on them, and
    /// a solve leaves their part of the right side as it is.
    pub fn factorise(
        &mut self,
        jacobian: &SparseMatrix,
        damping: &[f64],
        frozen: &[bool],
    ) -> Result<Factorisation<'_>, Trouble> {
        self.begin(jacobian, damping, frozen);
        self.advance(f64::INFINITY).unwrap_or(Ok(()))?;
        Ok(self.factorisation())
    }

    /// Factorises J̃ᵀJ̃ of columns of unit length as far as it goes: a column whose pivot is at most `least` is left out, as if it were
    /// frozen. Tells which these are.
    pub fn factorise_independent(&mut self, jacobian: &SparseMatrix, frozen: &[bool], least: f64) -> Vec<usize> {
        self.begin(jacobian, &vec![0.0; jacobian.cols], frozen);
        self.eliminate(least, f64::INFINITY);
        std::mem::take(&mut self.elimination.left_out)
    }

    /// The factor as the last call left it.
    pub fn factorisation(&self) -> Factorisation<'_> {
        Factorisation { offsets: &self.starts, rows: &self.rows, values: &self.factor, order: &self.analysis.order }
    }

    /// Begins to factorise J̃ᵀJ̃ + diag(d), for [`SparseCholesky::advance`].
    pub fn begin(&mut self, jacobian: &SparseMatrix, damping: &[f64], frozen: &[bool]) {
        self.form(jacobian, damping, frozen);
        self.begin_elimination();
    }

    /// Goes on for about so many multiplications; says when the factor is there, or that there is none.
    pub fn advance(&mut self, multiplications: f64) -> Option<Result<(), Trouble>> {
        if !self.eliminate(0.0, multiplications) {
            return None;
        }
        Some(if self.elimination.left_out.is_empty() { Ok(()) } else { Err(Trouble::NotPositiveDefinite) })
    }

    fn begin_elimination(&mut self) {
        let cols = self.analysis.order.len();
        let Elimination { next, ends, visited, reach, left_out } = &mut self.elimination;
        *next = 0;
        ends.clear();
        ends.extend(self.starts[..cols].iter().map(|start| start + 1));
        visited.clear();
        visited.resize(cols, NONE);
        reach.resize(cols, 0);
        left_out.clear();
    }

    /// L from the upper half, on for so many multiplications; whether all of it is there. Columns whose pivot is not above `least` are
    /// noted, and left out of the rest: their rows and columns of L are those of the unit matrix. With 0 the first of them ends it.
    fn eliminate(&mut self, least: f64, multiplications: f64) -> bool {
        let Analysis { offsets, indices, tree, order, place, .. } = &self.analysis;
        let Elimination { next, ends, visited, reach, left_out } = &mut self.elimination;
        let (starts, rows) = (self.starts.as_slice(), self.rows.as_slice());
        // Slices: a vector's index operator is a call of its own in a module that is optimised for size.
        let (factor, x) = (self.factor.as_mut_slice(), self.sums.as_mut_slice());
        let cols = tree.len();
        let mut work = 0;
        while *next < cols && (work as f64) < multiplications {
            let k = *next;
            *next += 1;
            let range = offsets[k] as usize..offsets[k + 1] as usize;
            let first = self::reach(tree, &indices[range.clone()], k, visited, reach);
            for (&i, &value) in indices[range.clone()].iter().zip(&self.upper[range]) {
                x[i as usize] = value;
            }
            let mut pivot = std::mem::take(&mut x[k]);
            for &j in &reach[first..] {
                let j = j as usize;
                let (start, end) = (starts[j] as usize, ends[j] as usize);
                let entry = std::mem::take(&mut x[j]) / factor[start];
                subtract_scattered(entry, &rows[start + 1..end], &factor[start + 1..end], x);
                work += end - start;
                pivot -= entry * entry;
                factor[end] = entry;
                ends[j] += 1;
            }
            if pivot > least && pivot.is_finite() {
                factor[starts[k] as usize] = pivot.sqrt();
                continue;
            }
            left_out.push(order[k] as usize);
            if least == 0.0 {
                *next = cols;
            }
            for &j in &reach[first..] {
                factor[ends[j as usize] as usize - 1] = 0.0;
            }
            // So that whatever later rows divide by it is 0.
            factor[starts[k] as usize] = f64::INFINITY;
        }
        if *next < cols {
            return false;
        }
        for &k in left_out.iter() {
            factor[starts[place[k] as usize] as usize] = 1.0;
        }
        x.fill(0.0);
        true
    }

    /// Solves into `step`.
    pub fn solve(&mut self, system: &System, step: &mut [f64]) -> Result<(), Trouble> {
        system.right_side(step);
        self.factorise(&system.jacobian, system.damping, system.frozen)?.solve(step);
        Ok(())
    }

    /// The upper half of J̃ᵀJ̃ + diag(d).
    fn form(&mut self, jacobian: &SparseMatrix, damping: &[f64], frozen: &[bool]) {
        let Analysis { columns, order, place, offsets, indices, .. } = &self.analysis;
        let (place, sums) = (place.as_slice(), self.sums.as_mut_slice());
        for (q, &k) in order.iter().enumerate() {
            let k = k as usize;
            if !frozen[k] {
                for (row, position) in columns.column(k) {
                    let factor = jacobian.values[position];
                    for (j, value) in jacobian.row(row) {
                        sums[place[j] as usize] += factor * value;
                    }
                }
            }
            let range = offsets[q] as usize..offsets[q + 1] as usize;
            for (target, &p) in self.upper[range.clone()].iter_mut().zip(&indices[range]) {
                let sum = sums[p as usize];
                *target = if p as usize == q {
                    let pivot = sum + damping[k];
                    if frozen[k] || pivot == 0.0 { 1.0 } else { pivot }
                } else if frozen[order[p as usize] as usize] {
                    0.0
                } else {
                    sum
                };
            }
            if !frozen[k] {
                for (row, _) in columns.column(k) {
                    for &j in &jacobian.col_indices[jacobian.range(row)] {
                        sums[place[j as usize] as usize] = 0.0;
                    }
                }
            }
        }
    }
}

/// No parent in the elimination tree, and nobody who visited.
const NONE: u32 = u32::MAX;

/// The elimination tree: above each column the first of those that its elimination changes (J. Liu, "The Role of Elimination Trees in Sparse
/// Factorization", 1990). `offsets` and `indices` are the upper half.
fn elimination_tree(offsets: &[u32], indices: &[u32]) -> Vec<u32> {
    let cols = offsets.len() - 1;
    let mut tree = vec![NONE; cols];
    // The way up, without the steps that were taken before.
    let mut shortcut = vec![NONE; cols];
    for k in 0..cols {
        for &entry in &indices[offsets[k] as usize..offsets[k + 1] as usize] {
            let mut node = entry as usize;
            while node < k {
                let next = std::mem::replace(&mut shortcut[node], k as u32);
                if next == NONE {
                    tree[node] = k as u32;
                    break;
                }
                node = next as usize;
            }
        }
    }
    tree
}

/// For each row of L, the columns in which it has entries beside the diagonal.
fn each_row(offsets: &[u32], indices: &[u32], tree: &[u32], mut visit: impl FnMut(u32, &[u32])) {
    let cols = tree.len();
    let mut visited = vec![NONE; cols];
    let mut columns = vec![0u32; cols];
    for k in 0..cols {
        let entries = &indices[offsets[k] as usize..offsets[k + 1] as usize];
        let first = reach(tree, entries, k, &mut visited, &mut columns);
        visit(k as u32, &columns[first..]);
    }
}

/// The columns in which row `k` of L has entries, each after those that it depends on: `reach` from the position returned on. They are
/// the ways up the elimination tree from where column `k` of the upper half has entries.
fn reach(tree: &[u32], entries: &[u32], k: usize, visited: &mut [u32], reach: &mut [u32]) -> usize {
    let mut top = reach.len();
    visited[k] = k as u32;
    for &entry in entries {
        let mut node = entry as usize;
        let mut length = 0;
        while visited[node] != k as u32 {
            visited[node] = k as u32;
            reach[length] = node as u32;
            length += 1;
            node = tree[node] as usize;
        }
        // A way up goes in front of those found before, in its own order.
        top -= length;
        reach.copy_within(..length, top);
    }
    top
}

/// The factor of the last [`SparseCholesky::factorise`].
pub struct Factorisation<'a> {
    offsets: &'a [u32],
    rows: &'a [u32],
    values: &'a [f64],
    order: &'a [u32],
}

impl Factorisation<'_> {
    /// Replaces the right side by the solution.
    pub fn solve(&self, x: &mut [f64]) {
        let mut sorted: Vec<f64> = self.order.iter().map(|&k| x[k as usize]).list();
        let y = sorted.as_mut_slice();
        for k in 0..y.len() {
            let (pivot, below) = self.column(k);
            y[k] /= pivot;
            let value = y[k];
            if value != 0.0 {
                for (row, entry) in below {
                    y[row] -= entry * value;
                }
            }
        }
        for k in (0..y.len()).rev() {
            let (pivot, below) = self.column(k);
            let known: f64 = below.map(|(row, entry)| entry * y[row]).sum();
            y[k] = (y[k] - known) / pivot;
        }
        for (value, &k) in sorted.iter().zip(self.order) {
            x[k as usize] = *value;
        }
    }

    /// Lₖₖ and what stands below it.
    fn column(&self, k: usize) -> (f64, impl Iterator<Item = (usize, f64)> + '_) {
        let (start, end) = (self.offsets[k] as usize, self.offsets[k + 1] as usize);
        let below = self.rows[start + 1..end].iter().zip(&self.values[start + 1..end]);
        (self.values[start], below.map(|(&row, &value)| (row as usize, value)))
    }
}
