//! Steps of small problems from their normal equations H δ = −g. H is given by its upper triangle, column after column.

use super::{damped, sum};

fn place(row: usize, column: usize) -> usize {
    column * (column + 1) / 2 + row
}

/// Solves (H + λD) δ = −g by Cholesky factorisation, frozen coordinates left out. D is the diagonal of H, and λD is [`damped`].
/// `false`, and no step, where a pivot is not positive. `factor` is memory.
#[inline(never)]
pub fn damped_step(
    gradient: &[f64],
    triangle: &[f64],
    lambda: f64,
    frozen: &[bool],
    factor: &mut Vec<f64>,
    step: &mut [f64],
) -> bool {
    let n = step.len();
    let (gradient, frozen) = (&gradient[..n], &frozen[..n]);
    factor.clear();
    factor.extend_from_slice(&triangle[..place(0, n)]);
    // H = UᵀU, column after column.
    for column in 0..n {
        let (before, rest) = factor.split_at_mut(place(0, column));
        let own = &mut rest[..=column];
        for (row, entry) in own.iter_mut().enumerate() {
            if frozen[column] || frozen[row] {
                *entry = if row == column { 1.0 } else { 0.0 };
            } else if row == column {
                *entry += damped(lambda, *entry);
            }
        }
        for row in 0..column {
            let other = &before[place(0, row)..][..=row];
            own[row] = (own[row] - sum(&other[..row], &own[..row], |a, b| a * b)) / other[row];
        }
        let rest = own[column] - sum(&own[..column], &own[..column], |a, b| a * b);
        if !(rest > 0.0 && rest.is_finite()) {
            return false;
        }
        own[column] = rest.sqrt();
    }
    for row in 0..n {
        let slope = if frozen[row] { 0.0 } else { -gradient[row] };
        let column = &factor[place(0, row)..][..=row];
        step[row] = (slope - sum(&column[..row], &step[..row], |a, b| a * b)) / column[row];
    }
    for row in (0..n).rev() {
        let mut known = 0.0;
        for k in row + 1..n {
            known += factor[place(row, k)] * step[k];
        }
        step[row] = (step[row] - known) / factor[place(row, row)];
    }
    true
}

/// Whether H − `share`·D is positive definite: no eigenvalue of H is at most `share` where columns have unit length. Frozen coordinates and those of zeros are
/// left out. `rest` is memory.
#[inline(never)]
pub fn is_definite(triangle: &[f64], share: f64, frozen: &[bool], rest: &mut Vec<f64>) -> bool {
    let n = frozen.len();
    rest.clear();
    rest.extend_from_slice(&triangle[..place(0, n)]);
    for k in 0..n {
        rest[place(k, k)] *= 1.0 - share;
    }
    for k in (0..n).filter(|&k| !frozen[k] && triangle[place(k, k)] != 0.0) {
        let pivot = rest[place(k, k)];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        for column in k + 1..n {
            let multiple = rest[place(k, column)] / pivot;
            for row in k + 1..=column {
                rest[place(row, column)] -= multiple * rest[place(k, row)];
            }
        }
    }
    true
}

/// −δᵀg, δᵀHδ, and ‖√D δ‖ with D the diagonal of H.
#[inline(never)]
pub fn descent_square_and_length(gradient: &[f64], triangle: &[f64], step: &[f64]) -> [f64; 3] {
    let n = step.len();
    let (gradient, triangle) = (&gradient[..n], &triangle[..place(0, n)]);
    let (mut descent, mut square, mut length) = (0.0, 0.0, 0.0);
    for row in 0..n {
        let mut slope = 0.0;
        for other in 0..n {
            slope += triangle[place(row.min(other), row.max(other))] * step[other];
        }
        descent -= step[row] * gradient[row];
        square += step[row] * slope;
        length += triangle[place(row, row)] * step[row] * step[row];
    }
    [descent, square, length.sqrt()]
}

/// The largest |gⱼ|/√Dⱼ, Σ Dⱼsⱼ of all coordinates, and √ of the same of those that are not frozen and have a positive Dⱼ, as the first. `squares`: the sⱼ.
#[inline(never)]
pub fn slope_and_sizes(gradient: &[f64], triangle: &[f64], squares: &[f64], frozen: &[bool]) -> [f64; 3] {
    let (mut largest, mut scaled, mut free) = (0.0_f64, 0.0, 0.0);
    for (k, ((slope, square), &frozen)) in gradient.iter().zip(squares).zip(frozen).enumerate() {
        let diagonal = triangle[place(k, k)];
        let square = diagonal * square;
        scaled += square;
        if diagonal > 0.0 && !frozen {
            free += square;
            largest = largest.max(slope.abs() / diagonal.sqrt());
        }
    }
    [largest, scaled, free.sqrt()]
}

/// Writes numbers to a row of a table, whose columns have this many rows.
#[inline(never)]
pub fn write_row(numbers: &[f64], stride: usize, row: usize, table: &mut [f64]) {
    for (column, number) in table.chunks_exact_mut(stride.max(1)).zip(numbers) {
        column[row] = *number;
    }
}

/// Reads numbers of a row of a table, whose columns have this many rows.
#[inline(never)]
pub fn read_row(table: &[f64], stride: usize, row: usize, numbers: &mut [f64]) {
    for (column, number) in table.chunks_exact(stride.max(1)).zip(numbers) {
        *number = column[row];
    }
}

/// Appends the numbers at these places.
#[inline(never)]
pub fn gather(numbers: &[f64], places: &[u32], gathered: &mut Vec<f64>) {
    gathered.extend(places.iter().map(|&place| numbers[place as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [4 2 1; 2 5 3; 1 3 6]
    const TRIANGLE: [f64; 6] = [4.0, 2.0, 5.0, 1.0, 3.0, 6.0];
    const GRADIENT: [f64; 3] = [-1.0, 2.0, -3.0];

    fn times(x: [f64; 3], diagonal: f64) -> [f64; 3] {
        let h = [[4.0 * diagonal, 2.0, 1.0], [2.0, 5.0 * diagonal, 3.0], [1.0, 3.0, 6.0 * diagonal]];
        h.map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum())
    }

    #[test]
    fn a_damped_step_solves_its_system_without_frozen_coordinates() {
        let (mut factor, mut step) = (Vec::new(), [9.0; 3]);
        assert!(damped_step(&GRADIENT, &TRIANGLE, 0.5, &[false; 3], &mut factor, &mut step));
        for (product, slope) in times(step, 1.5).into_iter().zip(GRADIENT) {
            // A condition below 10.
            assert!((product + slope).abs() < 1e-14, "{step:?}");
        }
        assert!(damped_step(&GRADIENT, &TRIANGLE, 0.0, &[false, true, false], &mut factor, &mut step));
        let product = times(step, 1.0);
        assert_eq!(step[1], 0.0);
        assert!((product[0] - 1.0).abs() < 1e-14 && (product[2] - 3.0).abs() < 1e-14, "{step:?}");
    }

    #[test]
    fn a_matrix_that_is_not_positive_has_no_step() {
        let solve = |triangle: [f64; 3], lambda| {
            damped_step(&[1.0; 2], &triangle, lambda, &[false; 2], &mut Vec::new(), &mut [0.0; 2])
        };
        assert!(!solve([1.0, 2.0, 1.0], 0.0) && solve([1.0, 2.0, 1.0], 1.5));
        assert!(!solve([0.0; 3], 0.0) && solve([0.0; 3], 1e-3), "zeros take the damping itself");
        assert!(!solve([f64::NAN, 0.0, 1.0], 0.0) && !solve([f64::INFINITY, 0.0, 1.0], 1.0));
    }

    #[test]
    fn a_matrix_is_definite_up_to_its_least_eigenvalue_in_unit_columns() {
        let is_definite =
            |triangle: &[f64], share, frozen: &[bool]| super::is_definite(triangle, share, frozen, &mut Vec::new());
        let none = [false; 3];
        // [1 c; c 1] has the eigenvalue 1 − c, in other units too; a third column has nothing in common with both.
        for (a, b) in [(1.0, 1.0), (1e9, 1e-9)] {
            let triangle = [a * a, 0.75 * a * b, b * b, 0.0, 0.0, 4.0];
            assert!(is_definite(&triangle, 0.24, &none) && !is_definite(&triangle, 0.26, &none));
            assert!(
                is_definite(&triangle, 0.26, &[true, false, false])
                    && is_definite(&triangle, 0.26, &[false, true, false])
            );
            assert!(!is_definite(&triangle, 0.26, &[false, false, true]));
        }
        assert!(is_definite(&[1.0, 0.0, 0.0], 0.5, &[false; 2]), "a column of zeros is left out");
        assert!(is_definite(&TRIANGLE, 0.1, &none) && !is_definite(&TRIANGLE, 0.99, &none));
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(!is_definite(&[bad, 0.0, 1.0], 0.0, &[false; 2]), "{bad}");
        }
    }

    #[test]
    fn the_numbers_of_a_step_are_those_of_its_quadratic_form() {
        let step = [1.0, -2.0, 3.0];
        let square: f64 = times(step, 1.0).iter().zip(step).map(|(a, b)| a * b).sum();
        let found = descent_square_and_length(&GRADIENT, &TRIANGLE, &step);
        assert_eq!(found, [14.0, square, f64::sqrt(4.0 + 20.0 + 54.0)]);
        let sizes = slope_and_sizes(&GRADIENT, &TRIANGLE, &[1.0, 2.0, 3.0], &[false, false, true]);
        assert_eq!(sizes, [2.0 / f64::sqrt(5.0), 4.0 + 10.0 + 18.0, f64::sqrt(14.0)]);
    }

    #[test]
    fn rows_of_a_table_are_read_as_they_were_written() {
        let mut table = [0.0; 6];
        write_row(&[1.0, 2.0], 3, 1, &mut table);
        assert_eq!(table, [0.0, 1.0, 0.0, 0.0, 2.0, 0.0]);
        let mut numbers = [0.0; 2];
        read_row(&table, 3, 1, &mut numbers);
        assert_eq!(numbers, [1.0, 2.0]);
        let mut gathered = vec![7.0];
        gather(&table, &[4, 0, 1], &mut gathered);
        assert_eq!(gathered, [7.0, 2.0, 0.0, 1.0]);
    }
}
