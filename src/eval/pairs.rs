//! Numbers as a device holds them: one of single precision, or a *pair* of such, of which the second is what rounding to the first lost.
//!
//! A vector of n numbers in pairs is `[hi 0..n | padding | lo 0..n]`, a table of c columns has the low columns after all others.
//! So the front of either is what it is in single precision.

use residua_base::list::{Listed, PushAll};
use residua_codegen::Width;

/// The low parts of a vector start at a multiple of so many numbers, which is what offsets of bindings are aligned to.
const PADDING: u64 = 64;

/// A number as two of single precision: the nearest, and what that lacks. Without a finite one there is no low part.
pub fn split(number: f64) -> [f32; 2] {
    let high = number as f32;
    [high, if high.is_finite() { (number - f64::from(high)) as f32 } else { 0.0 }]
}

/// The number that is a pair.
pub fn join([high, low]: [f32; 2]) -> f64 {
    f64::from(high) + f64::from(low)
}

/// Where the low part of the first of `numbers` stands in a vector of pairs, in numbers.
pub fn distance_to_low(numbers: u64) -> u64 {
    numbers.next_multiple_of(PADDING)
}

/// How many numbers of single precision a vector takes.
pub fn vector_len(width: Width, numbers: u64) -> u64 {
    match width {
        Width::Single => numbers,
        Width::Pair => distance_to_low(numbers) + numbers,
    }
}

/// How many numbers of single precision a table takes that has so many, or a sum.
pub fn table_len(width: Width, numbers: u64) -> u64 {
    match width {
        Width::Single => numbers,
        Width::Pair => 2 * numbers,
    }
}

/// Numbers of single precision.
pub fn to_f32<'a>(numbers: impl Iterator<Item = &'a f64>) -> Vec<f32> {
    numbers.map(|&number| number as f32).list()
}

/// What numbers of single precision lack.
pub fn low_parts<'a>(numbers: impl Iterator<Item = &'a f64>) -> Vec<f32> {
    numbers.map(|&number| split(number)[1]).list()
}

/// A vector as the device takes it.
pub fn to_vector(width: Width, numbers: &[f64]) -> Vec<f32> {
    let mut vector = to_f32(numbers.iter());
    if width == Width::Pair {
        vector.resize(distance_to_low(numbers.len() as u64) as usize, 0.0);
        vector.push_all(low_parts(numbers.iter()));
    }
    vector
}

/// A table as the device takes it: all its columns in order.
pub fn to_table(width: Width, numbers: &[f64]) -> Vec<f32> {
    let mut table = to_f32(numbers.iter());
    if width == Width::Pair {
        table.push_all(low_parts(numbers.iter()));
    }
    table
}

/// The numbers of a vector that came from the device.
pub fn from_vector(width: Width, vector: &[f32], numbers: usize) -> Vec<f64> {
    from_parts(width, vector, numbers, distance_to_low(numbers as u64) as usize)
}

/// The numbers of a table that came from the device.
pub fn from_table(width: Width, table: &[f32]) -> Vec<f64> {
    let numbers = table.len() / table_len(width, 1) as usize;
    from_parts(width, table, numbers, numbers)
}

fn from_parts(width: Width, parts: &[f32], numbers: usize, low: usize) -> Vec<f64> {
    match width {
        Width::Single => parts.iter().copied().map(f64::from).list(),
        Width::Pair => parts[..numbers].iter().zip(&parts[low..]).map(|(&high, &low)| join([high, low])).list(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_right_to_48_bits() {
        for number in [0.1, -1e6 / 3.0, std::f64::consts::PI, 1e-20, -1e30] {
            let [high, low] = split(number);
            assert_eq!(high, number as f32);
            // The low part, at most half a unit in the last place of the high one, is rounded to 24 bits.
            assert!((join([high, low]) - number).abs() <= number.abs() * 2f64.powi(-49), "{number}");
        }
        assert_eq!(split(1e300), [f32::INFINITY, 0.0]);
        assert!(split(f64::NAN)[0].is_nan() && split(f64::NAN)[1] == 0.0);
    }

    #[test]
    fn vectors_and_tables_come_back_and_begin_with_single_precision() {
        let numbers: Vec<f64> = (0..70).map(|i| 1.0 / f64::from(3 + i)).collect();
        for width in [Width::Single, Width::Pair] {
            let (vector, table) = (to_vector(width, &numbers), to_table(width, &numbers));
            assert_eq!(vector.len() as u64, vector_len(width, 70));
            assert_eq!(table.len() as u64, table_len(width, 70));
            assert_eq!(vector[..70], to_f32(numbers.iter()));
            assert_eq!(table[..70], vector[..70]);
            let rounded: Vec<f64> = match width {
                Width::Single => numbers.iter().map(|&number| f64::from(number as f32)).collect(),
                Width::Pair => numbers.iter().map(|&number| join(split(number))).collect(),
            };
            assert_eq!(from_vector(width, &vector, 70), rounded);
            assert_eq!(from_table(width, &table), rounded);
        }
    }
}
