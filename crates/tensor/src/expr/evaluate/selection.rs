//! Elements by indices: gathers, and what is put at places.

use super::{Array, Node, linear, stored, visit};
use crate::dtype::DType;
use crate::expr::{Combine, Digit};
use residua_base::list::Listed;

/// The place along an axis that an index means: negative ones count from the end. None if it is out of range.
fn place(index: f64, extent: usize) -> Option<usize> {
    let (index, extent) = (index as i64, extent as i64);
    let place = if index < 0 { index + extent } else { index };
    (0..extent).contains(&place).then_some(place as usize)
}

/// A value at a place with one of a source.
fn combine(dtype: DType, how: Combine, old: f64, new: f64) -> f64 {
    let exact = |integer: i64| stored(dtype, integer);
    match how {
        Combine::Set => new,
        Combine::Add if dtype.is_real() => old + new,
        Combine::Add => exact(old as i64 + new as i64),
        Combine::Mul if dtype.is_real() => old * new,
        Combine::Mul => exact((old as i64).wrapping_mul(new as i64)),
        Combine::Min | Combine::Max if old.is_nan() || new.is_nan() => f64::NAN,
        Combine::Min => old.min(new),
        Combine::Max => old.max(new),
    }
}

impl Node<'_> {
    pub(super) fn gather(&self, shape: Vec<usize>, axis: usize) -> Array {
        let (x, indices) = (self.operand(0), self.operand(1));
        let rank = indices.shape.len();
        Array::of(shape, |at| {
            let index = indices.at(&at[axis..axis + rank]);
            let Some(place) = place(index, x.shape[axis]) else { return 0.0 };
            x.at(&[&at[..axis], &[place], &at[axis + rank..]].concat())
        })
    }

    pub(super) fn gather_elements(&self, shape: Vec<usize>, axis: usize) -> Array {
        let (x, indices) = (self.operand(0), self.operand(1));
        Array::of(shape, |at| {
            let Some(place) = place(indices.at(at), x.shape[axis]) else { return 0.0 };
            let mut at = at.to_vec();
            at[axis] = place;
            x.at(&at)
        })
    }

    /// The places of the smallest numbers of each row.
    pub(super) fn argsort(&self, shape: Vec<usize>) -> Array {
        let keys = self.operand(0);
        let (length, kept) = (keys.shape[keys.shape.len() - 1], shape[shape.len() - 1]);
        let mut data = Vec::with_capacity(shape.iter().product());
        for row in keys.data.chunks_exact(length.max(1)) {
            let mut places: Vec<usize> = (0..length).list();
            places.sort_by(|a, b| row[*a].total_cmp(&row[*b]));
            data.extend(places[..kept].iter().map(|place| *place as f64));
        }
        Array { shape, data }
    }

    /// How often each digit occurs in each block.
    pub(super) fn digit_counts(&self, shape: Vec<usize>, digit: Digit) -> Array {
        let keys = self.operand(0);
        let blocks = shape[2];
        let mut data = vec![0.0; shape.iter().product()];
        for (row, keys) in keys.data.chunks_exact(keys.shape[1].max(1)).enumerate() {
            for (place, key) in keys.iter().enumerate() {
                let of_digit = row * shape[1] + digit.of(*key as u32) as usize;
                data[of_digit * blocks + place / Digit::BLOCK as usize] += 1.0;
            }
        }
        Array { shape, data }
    }

    /// The places of keys in ascending order of a digit.
    pub(super) fn digit_sort(&self, shape: Vec<usize>, digit: Digit) -> Array {
        let mut data = Vec::with_capacity(shape.iter().product());
        for row in self.operand(0).data.chunks_exact(shape[1].max(1)) {
            let mut places: Vec<usize> = (0..shape[1]).list();
            places.sort_by_key(|place| digit.of(row[*place] as u32));
            data.extend(places.into_iter().map(|place| place as f64));
        }
        Array { shape, data }
    }

    pub(super) fn scatter(&self, axis: usize, how: Combine) -> Array {
        let indices = self.operand(1);
        self.put(axis, how, |at| indices.at(at))
    }

    pub(super) fn index_put(&self, axis: usize, how: Combine) -> Array {
        let indices = self.operand(1);
        self.put(axis, how, |at| indices.at(&[at[axis]]))
    }

    /// The first operand with the elements of the third, in C order, at the places along an axis that `index` gives.
    fn put(&self, axis: usize, how: Combine, index: impl Fn(&[usize]) -> f64) -> Array {
        let mut result = self.operand(0).clone();
        let source = self.operand(2);
        visit(&source.shape, |at| {
            let new = source.at(at);
            let Some(place) = place(index(at), result.shape[axis]) else { return };
            let mut at = at.to_vec();
            at[axis] = place;
            let element = linear(&result.shape, &at);
            result.data[element] = combine(self.tensor.dtype, how, result.data[element], new);
        });
        result
    }
}
