//! Shapes of results from those of operands.

use residua_base::list::Listed;

use crate::size::Size;

/// The shape to which shapes broadcast as in NumPy; none if they do not.
pub(super) fn broadcast<'a>(shapes: impl IntoIterator<Item = &'a [Size]>) -> Option<Vec<Size>> {
    let mut common: Vec<Size> = Vec::new();
    for shape in shapes {
        if shape.len() > common.len() {
            let missing = shape.len() - common.len();
            common.splice(..0, shape[..missing].iter().cloned());
        }
        let first = common.len() - shape.len();
        for (own, other) in common[first..].iter_mut().zip(shape) {
            if own.is(1) {
                *own = other.clone();
            } else if !other.is(1) && own != other {
                return None;
            }
        }
    }
    Some(common)
}

/// A shape without some of its axes.
pub(super) fn without(shape: &[Size], axes: &[u32]) -> Vec<Size> {
    let kept = |(axis, _): &(usize, &Size)| !axes.contains(&(*axis as u32));
    shape.iter().enumerate().filter(kept).map(|(_, size)| size.clone()).list()
}

/// A shape with an axis replaced by others.
pub(super) fn replaced(shape: &[Size], axis: u32, by: &[Size]) -> Vec<Size> {
    let axis = axis as usize;
    [&shape[..axis], by, &shape[axis + 1..]].concat()
}

/// The shape of a product of matrices; none if there is none.
pub(super) fn product(a: &[Size], b: &[Size]) -> Option<Vec<Size>> {
    let ([a_batch @ .., rows, depth], [b_batch @ .., other_depth, columns]) = (a, b) else { return None };
    if depth != other_depth {
        return None;
    }
    let mut shape = broadcast([a_batch, b_batch])?;
    shape.extend([rows.clone(), columns.clone()]);
    Some(shape)
}
