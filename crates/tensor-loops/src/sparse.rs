//! Sparse triangular systems, by a pattern that says in which order rows are solved.
//!
//! ```text
//! pattern = levels, rows, then for each level and after the last one: a position, from 0 to rows
//!           for each position: a row
//!           for each position and after the last one: its first entry
//!           for each entry: the place of its value, its column
//! ```
//!
//! Rows of a level depend on rows of earlier ones alone. Entries on the diagonal add up to the pivot; a place beyond all values stands for 1.

/// Solves in the place of right sides [rows, columns]. A pattern that is none ends it.
#[inline(never)]
pub fn solve(pattern: &[u32], values: &[f64], x: &mut [f64], columns: usize) {
    let mut sums = vec![0.0; columns];
    if let [levels, rows, ..] = *pattern {
        let order = levels as usize + 3;
        for position in 0..rows as usize {
            if solve_row(pattern, [order, rows as usize, position], values, x, &mut sums).is_none() {
                return;
            }
        }
    }
}

/// Solves the row of a position.
fn solve_row(
    pattern: &[u32],
    [order, rows, position]: [usize; 3],
    values: &[f64],
    x: &mut [f64],
    sums: &mut [f64],
) -> Option<()> {
    let (offsets, columns) = (order + rows, sums.len());
    let part = |row: u32| row as usize * columns..(row as usize + 1) * columns;
    let row = *pattern.get(order + position)?;
    let [first, end] = *pattern.get(offsets + position..)?.first_chunk::<2>()?;
    sums.copy_from_slice(x.get(part(row))?);
    let mut pivot = 0.0;
    let entries = pattern.get(offsets + rows + 1..)?.as_chunks::<2>().0;
    for [place, column] in entries.get(first as usize..end as usize)? {
        let value = values.get(*place as usize).copied().unwrap_or(1.0);
        if *column == row {
            pivot += value;
            continue;
        }
        for (sum, x) in sums.iter_mut().zip(x.get(part(*column))?) {
            *sum -= value * x;
        }
    }
    for (x, sum) in x.get_mut(part(row))?.iter_mut().zip(sums) {
        *x = *sum / pivot;
    }
    Some(())
}
