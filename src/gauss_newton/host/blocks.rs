//! The blocks of tangent coordinates, by which linear systems are ordered and preconditioned.

use crate::model::{ArrayInfo, Model};
use residua_base::list::Listed;
use residua_linalg::CoordinateBlocks;

/// The diagonal blocks of a preconditioner have so many rows at most: an inverse takes the third power of them.
const MOST_WIDE: usize = 64;

/// The tangent coordinates of each block of parameters, in pieces where there are more than [`MOST_WIDE`], and of those that were named for
/// elimination.
pub fn blocks(model: &Model) -> CoordinateBlocks {
    let of_array = |array: &ArrayInfo| {
        let (offset, dim) = (array.offset as usize, array.dim as usize);
        let tangents = array.manifold.tangent_dim(array.dim) as usize;
        (0..array.count as usize).flat_map(move |block| {
            let pieces = (0..tangents).step_by(MOST_WIDE);
            pieces.map(move |first| (offset + block * dim + first, MOST_WIDE.min(tangents - first)))
        })
    };
    let named = model.eliminated.iter().flat_map(|&array| of_array(&model.arrays[array as usize])).list();
    CoordinateBlocks { ranges: model.arrays.iter().flat_map(of_array).list(), named }
}
