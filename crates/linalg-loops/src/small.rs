//! Numbers of small problems from their normal equations H δ = −g. H is given by its upper triangle, column after column.

fn place(row: usize, column: usize) -> usize {
    column * (column + 1) / 2 + row
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

/// The largest |gⱼ|/√Dⱼ and √ of the sum of their squares, of coordinates that are not frozen and have a positive Dⱼ; Σ Dⱼsⱼ of all coordinates, and √ of it of the
/// former; how many these are. `squares`: the sⱼ.
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
