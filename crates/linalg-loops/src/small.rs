//! Numbers of small problems from their normal equations H δ = −g. H is given by its upper triangle, column after column.

use super::sum;

fn place(row: usize, column: usize) -> usize {
    column * (column + 1) / 2 + row
}

/// A diagonal entry of H relative to its D² of which the column has as good as vanished.
const VANISHED: f64 = 1e-26;
/// Diagonal entries between which no product of two overflows or vanishes.
const SQUARES: std::ops::Range<f64> = 1e-250..1e250;

/// Solves H δ = −g by Cholesky factorisation with columns of unit length, frozen coordinates left out. Gives −½δᵀg; ‖Dδ‖, of D² in `scale`; and a number that
/// is at least the trace of the inverse of the scaled matrix, as [`super::dense::inverse_squares_bound`]. `None`, and no step, where a pivot is not positive or
/// a column has vanished.
/// `memory` is memory.
#[inline(never)]
pub fn undamped_step(
    gradient: &[f64],
    triangle: &[f64],
    scale: &[f64],
    frozen: &[bool],
    memory: &mut Vec<f64>,
    step: &mut [f64],
) -> Option<[f64; 3]> {
    let n = step.len();
    let (gradient, scale, frozen) = (&gradient[..n], &scale[..n], &frozen[..n]);
    memory.clear();
    memory.extend_from_slice(&triangle[..place(0, n)]);
    memory.resize(place(0, n) + 2 * n, 0.0);
    let (factor, units) = memory.split_at_mut(place(0, n));
    let (units, sums) = units.split_at_mut(n);
    let mut trace = 0.0;
    // The scaled matrix is UᵀU, column after column; diagonal entries of U are stored inverse.
    for column in 0..n {
        let (before, rest) = factor.split_at_mut(place(0, column));
        let own = &mut rest[..=column];
        let diagonal = own[column];
        if frozen[column] {
            own[..column].fill(0.0);
            own[column] = 1.0;
        } else {
            if !SQUARES.contains(&diagonal) || diagonal <= VANISHED * scale[column] {
                return None;
            }
            units[column] = diagonal.sqrt().recip();
            for row in 0..column {
                let other = &before[place(0, row)..][..=row];
                let entry = own[row] * (units[row] * units[column]);
                own[row] = (entry - sum(&other[..row], &own[..row], |a, b| a * b)) * other[row];
            }
            let pivot = 1.0 - sum(&own[..column], &own[..column], |a, b| a * b);
            if pivot.is_nan() || pivot <= 0.0 {
                return None;
            }
            own[column] = pivot.sqrt().recip();
        }
        sums[column] = (1.0 + sum(&own[..column], &sums[..column], |a, b| a.abs() * b)) * own[column];
        trace += sums[column] * sums[column];
    }
    let mut square = 0.0;
    for row in 0..n {
        let column = &factor[place(0, row)..][..=row];
        let rest = -gradient[row] * units[row] - sum(&column[..row], &step[..row], |a, b| a * b);
        step[row] = rest * column[row];
        square += step[row] * step[row];
    }
    let mut length = 0.0;
    for row in (0..n).rev() {
        let mut known = 0.0;
        for k in row + 1..n {
            known += factor[place(row, k)] * step[k];
        }
        step[row] = (step[row] - known) * factor[place(row, row)];
    }
    for ((step, unit), scale) in step.iter_mut().zip(&*units).zip(scale) {
        *step *= unit;
        length += scale * *step * *step;
    }
    Some([0.5 * square, length.sqrt(), trace])
}

/// The lower half of H, row after row, in a table of n² numbers.
#[inline(never)]
pub fn spread(triangle: &[f64], n: usize, table: &mut [f64]) {
    for row in 0..n {
        table[row * n..][..=row].copy_from_slice(&triangle[place(0, row)..][..=row]);
    }
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

/// The largest |gⱼ|/√Dⱼ and √ of the sum of their squares, of coordinates that are not frozen and have a positive Dⱼ; Σ Dⱼsⱼ of all coordinates, and √ of it of
/// the former; how many these are. `squares`: the sⱼ.
#[inline(never)]
pub fn slopes_and_sizes(gradient: &[f64], triangle: &[f64], squares: &[f64], frozen: &[bool]) -> [f64; 5] {
    let (mut largest, mut slopes, mut scaled, mut free, mut count) = (0.0_f64, 0.0, 0.0, 0.0, 0.0);
    for (k, ((slope, square), &frozen)) in gradient.iter().zip(squares).zip(frozen).enumerate() {
        let diagonal = triangle[place(k, k)];
        let square = diagonal * square;
        scaled += square;
        if diagonal > 0.0 && !frozen {
            free += square;
            let slope = slope.abs() / diagonal.sqrt();
            slopes += slope * slope;
            largest = largest.max(slope);
            count += 1.0;
        }
    }
    [largest, slopes.sqrt(), scaled, free.sqrt(), count]
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
    fn a_step_solves_its_system_without_frozen_coordinates() {
        let (mut memory, mut step, scale) = (Vec::new(), [9.0; 3], [4.0, 5.0, 24.0]);
        let [promise, length, trace] =
            undamped_step(&GRADIENT, &TRIANGLE, &scale, &[false; 3], &mut memory, &mut step).unwrap();
        for (product, slope) in times(step, 1.0).into_iter().zip(GRADIENT) {
            // A condition below 10.
            assert!((product + slope).abs() < 1e-14, "{step:?}");
        }
        let descent: f64 = step.iter().zip(GRADIENT).map(|(step, slope)| -step * slope).sum();
        let square: f64 = step.iter().zip(scale).map(|(step, scale)| scale * step * step).sum();
        assert!((promise - 0.5 * descent).abs() < 1e-14 && (length - square.sqrt()).abs() < 1e-14);
        // The trace of the inverse with unit columns is (1 − 9/30 + 1 − 1/24 + 1 − 4/20)/det, det = 43/120.
        let exact = (3.0 - 9.0 / 30.0 - 1.0 / 24.0 - 0.2) / (43.0 / 120.0);
        assert!((exact - 1e-12..2.0 * exact).contains(&trace), "{trace} {exact}");
        undamped_step(&GRADIENT, &TRIANGLE, &scale, &[false, true, false], &mut memory, &mut step).unwrap();
        let product = times(step, 1.0);
        assert_eq!(step[1], 0.0);
        assert!((product[0] - 1.0).abs() < 1e-14 && (product[2] - 3.0).abs() < 1e-14, "{step:?}");
    }

    #[test]
    fn a_matrix_that_is_not_positive_has_no_step() {
        let has_step = |triangle: [f64; 3], scale: f64| {
            undamped_step(&[1.0; 2], &triangle, &[scale; 2], &[false; 2], &mut Vec::new(), &mut [0.0; 2]).is_some()
        };
        assert!(has_step([1.0, 0.5, 1.0], 1.0) && !has_step([1.0, 2.0, 1.0], 1.0));
        assert!(!has_step([1.0, 0.5, 1.0], 1e30), "a column that has vanished");
        for bad in [0.0, -1.0, 1e300, f64::NAN, f64::INFINITY] {
            assert!(!has_step([bad, 0.0, 1.0], 1.0) && !has_step([1.0, 0.0, bad], 1.0), "{bad}");
        }
    }

    #[test]
    fn the_numbers_of_a_step_are_those_of_its_quadratic_form() {
        let step = [1.0, -2.0, 3.0];
        let square: f64 = times(step, 1.0).iter().zip(step).map(|(a, b)| a * b).sum();
        let found = descent_square_and_length(&GRADIENT, &TRIANGLE, &step);
        assert_eq!(found, [14.0, square, f64::sqrt(4.0 + 20.0 + 54.0)]);
        let sizes = slopes_and_sizes(&GRADIENT, &TRIANGLE, &[1.0, 2.0, 3.0], &[false, false, true]);
        let slope = 2.0 / f64::sqrt(5.0);
        assert_eq!(sizes, [slope, f64::sqrt(0.25 + slope * slope), 4.0 + 10.0 + 18.0, f64::sqrt(14.0), 2.0]);
        let mut table = [0.0; 9];
        spread(&TRIANGLE, 3, &mut table);
        assert_eq!(table, [4.0, 0.0, 0.0, 2.0, 5.0, 0.0, 1.0, 3.0, 6.0]);
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
