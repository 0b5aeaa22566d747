//! Fronts of a multifrontal factorisation: the columns that are eliminated are a panel, and the others, of which the lower half counts, an update matrix. The
//! last row of both is the right side, which has no column.

/// A front: where its columns stand.
#[derive(Debug)]
pub struct Front<'a> {
    /// The columns that are eliminated.
    pub panel: &'a mut [f64],
    /// The others, from their diagonal's rows on.
    pub update: &'a mut [f64],
    /// How many columns the panel has.
    pub width: usize,
    /// From column to column of the panel.
    pub stride: usize,
    /// From column to column of the update matrix.
    pub update_stride: usize,
}

impl Front<'_> {
    #[inline(always)]
    fn add(&mut self, row: usize, column: usize, number: f64) {
        let (row, column) = (row.max(column), row.min(column));
        if column < self.width {
            self.panel[column * self.stride + row] += number;
        } else {
            self.update[(column - self.width) * self.update_stride + row - self.width] += number;
        }
    }

    /// Adds AᵀA of columns of `rows` numbers, of which the last is the right side: column k of A is row and column `places[k]`.
    #[inline(never)]
    pub fn add_products(&mut self, columns: &[f64], rows: usize, places: &[u32]) {
        let last = places.len().saturating_sub(1);
        for (j, &column) in places[..last].iter().enumerate() {
            let of_column = &columns[j * rows..(j + 1) * rows];
            for (&row, of_row) in places[j..].iter().zip(columns[j * rows..].chunks_exact(rows)) {
                let product = of_row.iter().zip(of_column).map(|(a, b)| a * b).sum();
                self.add(row as usize, column as usize, product);
            }
        }
    }

    /// Adds the lower half of another front's update matrix, with its right side: its row k is row `places[k]` here.
    #[inline(never)]
    pub fn add_update(&mut self, update: &[f64], update_stride: usize, places: &[u32]) {
        let last = places.len().saturating_sub(1);
        for (j, &column) in places[..last].iter().enumerate() {
            let numbers = &update[j * update_stride + j..][..places.len() - j];
            for (&row, &number) in places[j..].iter().zip(numbers) {
                self.add(row as usize, column as usize, number);
            }
        }
    }
}

/// Solves L x = b for the `width` columns of a panel, of as many rows at least.
#[inline(never)]
pub fn solve_lower(panel: &[f64], stride: usize, width: usize, x: &mut [f64]) {
    for k in 0..width {
        let column = &panel[k * stride..(k + 1) * stride];
        x[k] /= column[k];
        let known = x[k];
        for (x, l) in x[k + 1..width].iter_mut().zip(&column[k + 1..width]) {
            *x -= l * known;
        }
    }
}

/// Solves Lᵀ x = b − Bᵀ y for the `width` columns of a panel, where B are the rows below.
#[inline(never)]
pub fn solve_upper(panel: &[f64], stride: usize, width: usize, y: &[f64], x: &mut [f64]) {
    for k in (0..width).rev() {
        let column = &panel[k * stride..(k + 1) * stride];
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let known = dot(&column[k + 1..width], &x[k + 1..width]) + dot(&column[width..width + y.len()], y);
        x[k] = (x[k] - known) / column[k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_front_is_the_sum_of_products_and_of_updates_wherever_their_rows_go() {
        // Two columns in the panel, two in the update matrix, and the right side.
        let (mut panel, mut update) = ([0.0; 12], [0.0; 8]);
        let mut front = Front { panel: &mut panel, update: &mut update, width: 2, stride: 6, update_stride: 4 };
        // Columns (1, 2), (3, 4) and the right side (5, 6) go to 3, 0 and 4.
        front.add_products(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, &[3, 0, 4]);
        // The lower half of [[7, ·], [8, 9]] with the right side [10, 11], to 2 and 1.
        front.add_update(&[7.0, 8.0, 10.0, -1.0, 9.0, 11.0], 3, &[2, 1, 4]);
        assert_eq!(panel, [25.0, 0.0, 0.0, 11.0, 39.0, 0.0, 0.0, 9.0, 8.0, 0.0, 11.0, 0.0]);
        assert_eq!(update, [7.0, 0.0, 10.0, 0.0, 0.0, 5.0, 17.0, 0.0]);
    }

    #[test]
    fn triangles_are_solved_with_what_is_below_them() {
        let panel = [2.0, 1.0, 3.0, 0.0, 4.0, -1.0];
        let mut x = [4.0, 10.0];
        solve_lower(&panel, 3, 2, &mut x);
        assert_eq!(x, [2.0, 2.0]);
        // 4 x₁ = 7 + 5, 2 x₀ = 20 − x₁ − 3 · 5
        let mut x = [20.0, 7.0];
        solve_upper(&panel, 3, 2, &[5.0], &mut x);
        assert_eq!(x, [1.0, 3.0]);
    }
}
