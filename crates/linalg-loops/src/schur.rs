//! Products with a Schur complement that is not formed: with C = L Lᵀ the eliminated diagonal blocks and W = L⁻¹ Eᵀ what couples them with
//! the others, S = B − Wᵀ W.

/// W by eliminated blocks. Each has a part for every other block that it is coupled with.
#[derive(Clone, Copy, Debug)]
pub struct Couplings<'a> {
    /// How many coordinates each eliminated block has.
    pub dims: &'a [u32],
    /// Where the parts of each begin among `parts`.
    pub offsets: &'a [u32],
    /// The first coordinate of the other block, and how many it has.
    pub parts: &'a [(u32, u32)],
    /// Part after part, for each coordinate of the other block a column.
    pub weights: &'a [f64],
}

impl<'a> Couplings<'a> {
    /// For each eliminated block its number of coordinates, its parts and their numbers.
    fn blocks(self) -> impl Iterator<Item = (usize, &'a [(u32, u32)], &'a [f64])> {
        let mut rest = self.weights;
        self.dims.iter().zip(self.offsets.windows(2)).map(move |(&dim, ends)| {
            let parts = &self.parts[ends[0] as usize..ends[1] as usize];
            let width: u32 = parts.iter().map(|(_, count)| *count).sum();
            let (own, others) = rest.split_at(width as usize * dim as usize);
            rest = others;
            (dim as usize, parts, own)
        })
    }
}

/// Adds W p to u, block after block, and then subtracts Wᵀu from `product`.
#[inline(never)]
pub fn couple(couplings: Couplings, p: &[f64], u: &mut [f64], product: &mut [f64]) {
    let mut rest = u;
    for (dim, parts, weights) in couplings.blocks() {
        let (image, others) = rest.split_at_mut(dim);
        rest = others;
        if let Ok(image) = <&mut [f64; 3]>::try_from(&mut *image) {
            couple_3(parts, weights, p, image, product);
            continue;
        }
        for (coordinate, column) in columns(dim, parts, weights) {
            image.iter_mut().zip(column).for_each(|(image, weight)| *image += weight * p[coordinate]);
        }
        for (coordinate, column) in columns(dim, parts, weights) {
            let along: f64 = image.iter().zip(column).map(|(image, weight)| image * weight).sum();
            product[coordinate] -= along;
        }
    }
}

/// The columns of each part, with the number of the coordinate that each belongs to.
fn columns<'a>(
    dim: usize,
    parts: &'a [(u32, u32)],
    weights: &'a [f64],
) -> impl Iterator<Item = (usize, &'a [f64])> + 'a {
    let coordinates = parts.iter().flat_map(|&(first, count)| first as usize..(first + count) as usize);
    coordinates.zip(weights.chunks_exact(dim.max(1)))
}

#[inline(always)]
fn couple_3(parts: &[(u32, u32)], weights: &[f64], p: &[f64], image: &mut [f64; 3], product: &mut [f64]) {
    let weights = weights.as_chunks::<3>().0;
    let mut rest = weights;
    for &(first, count) in parts {
        let (own, others) = rest.split_at(count as usize);
        for (p, column) in p[first as usize..].iter().zip(own) {
            for k in 0..3 {
                image[k] += column[k] * p;
            }
        }
        rest = others;
    }
    let [x, y, z] = *image;
    rest = weights;
    for &(first, count) in parts {
        let (own, others) = rest.split_at(count as usize);
        for (product, [a, b, c]) in product[first as usize..].iter_mut().zip(own) {
            *product -= a * x + b * y + c * z;
        }
        rest = others;
    }
}

/// Subtracts the diagonal blocks of WᵀW from those of a matrix; `starts` says for each coordinate where its block stands, row after row, of
/// which the lower half counts.
#[inline(never)]
pub fn subtract_diagonal_blocks(couplings: Couplings, starts: &[u32], blocks: &mut [f64]) {
    for (dim, parts, weights) in couplings.blocks() {
        let mut rest = weights;
        for &(first, count) in parts {
            let (own, others) = rest.split_at(count as usize * dim);
            let block = &mut blocks[starts[first as usize] as usize..];
            for (i, row) in own.chunks_exact(dim.max(1)).enumerate() {
                for (j, column) in own.chunks_exact(dim.max(1)).take(i + 1).enumerate() {
                    let along: f64 = row.iter().zip(column).map(|(a, b)| a * b).sum();
                    block[i * count as usize + j] -= along;
                }
            }
            rest = others;
        }
    }
}

/// Adds A p to `product` for a symmetric matrix of blocks, of which one of the halves and the diagonal blocks are there: for each its first row
/// and column, how many of both it has and where its numbers begin, column after column.
#[inline(never)]
pub fn add_symmetric_product(blocks: &[[u32; 5]], values: &[f64], p: &[f64], product: &mut [f64]) {
    for &block in blocks {
        let [row, column, rows, cols, start] = block.map(|number| number as usize);
        let numbers = &values[start..start + rows * cols];
        for (k, numbers) in numbers.chunks_exact(rows.max(1)).enumerate() {
            let of_column = p[column + k];
            let own = &mut product[row..row + rows];
            own.iter_mut().zip(numbers).for_each(|(product, number)| *product += number * of_column);
            if row != column {
                let along: f64 = p[row..].iter().zip(numbers).map(|(p, number)| p * number).sum();
                product[column + k] += along;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two eliminated blocks, of 3 coordinates and of 2, coupled with blocks of one and two coordinates.
    const DIMS: [u32; 2] = [3, 2];
    const OFFSETS: [u32; 3] = [0, 2, 3];
    const PARTS: [(u32, u32); 3] = [(0, 1), (1, 2), (1, 2)];
    const WEIGHTS: [f64; 13] = [1.0, 2.0, 3.0, -1.0, 0.0, 1.0, 4.0, 1.0, -2.0, 2.0, 1.0, 3.0, -1.0];
    /// W, row after row.
    const DENSE: [[f64; 3]; 5] =
        [[1.0, -1.0, 4.0], [2.0, 0.0, 1.0], [3.0, 1.0, -2.0], [0.0, 2.0, 3.0], [0.0, 1.0, -1.0]];

    fn couplings() -> Couplings<'static> {
        Couplings { dims: &DIMS, offsets: &OFFSETS, parts: &PARTS, weights: &WEIGHTS }
    }

    #[test]
    fn products_are_those_with_the_dense_matrix() {
        let p = [2.0, -3.0, 5.0];
        let image = DENSE.map(|row| row.iter().zip(p).map(|(w, p)| w * p).sum::<f64>());
        let back = |u: &[f64; 5]| [0, 1, 2].map(|j| (0..5).map(|i| DENSE[i][j] * u[i]).sum::<f64>());
        let (mut u, mut product) = ([1.0; 5], [7.0; 3]);
        couple(couplings(), &p, &mut u, &mut product);
        assert_eq!(u, image.map(|image| image + 1.0));
        assert_eq!(product, back(&u).map(|back| 7.0 - back));
        let mut blocks = [0.0; 5];
        subtract_diagonal_blocks(couplings(), &[0, 1, 1], &mut blocks);
        let gram = |i: usize, j: usize| DENSE.iter().map(|row| row[i] * row[j]).sum::<f64>();
        assert_eq!(blocks, [-gram(0, 0), -gram(1, 1), 0.0, -gram(2, 1), -gram(2, 2)]);
    }

    #[test]
    fn a_symmetric_matrix_of_blocks_counts_both_halves() {
        // [2 3 4; 3 1 5; 4 5 6], with blocks of 1 and 2.
        let values = [2.0, 3.0, 4.0, 1.0, 5.0, 5.0, 6.0];
        let blocks = [[0, 0, 1, 1, 0], [1, 0, 2, 1, 1], [1, 1, 2, 2, 3]];
        let mut product = [100.0, 0.0, 0.0];
        add_symmetric_product(&blocks, &values, &[1.0, 10.0, -1.0], &mut product);
        assert_eq!(product, [128.0, 8.0, 48.0]);
    }
}
