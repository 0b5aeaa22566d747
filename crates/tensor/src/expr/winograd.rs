//! Convolutions with windows of 3 × 3 elements, one apart, in tiles: the algorithms F(2 × 2, 3 × 3) and F(4 × 4, 3 × 3) of Lavin and Gray, Fast Algorithms
//! for Convolutional Neural Networks, 2015. A tile d becomes Bᵀ d B, a weight g becomes G g Gᵀ, products of matrices add over the channels for each place
//! of a tile, and of their results m the tile Aᵀ m A is what is wanted: 4 × 4 results take 36 products of numbers in place of 144, 2 × 2 take 16 of 36.
//!
//! With u = 2⁻²⁴ a result is off by at most c (n + 36) u Σ max |x| max |w|: the sum is over the n channels, the maxima are of a tile and of a window, and c
//! is the largest (|Aᵀ| (|Bᵀ| 1 ∘ |G| 1))²: 64 of 2 × 2 results, 752 of 4 × 4. Random numbers give u Σ |x| |w| and a few of it, direct sums 2 of it.

use residua_base::list::Listed;

use super::{Border, Elementwise, Expr, Tensor, TensorId, TensorOp};
use crate::dtype::DType;
use crate::size::Size;

/// For each element of a transform, the factors of the elements that it is of.
type Transform = &'static [&'static [f64]];

/// An algorithm.
#[derive(Debug, PartialEq)]
pub struct Tiles {
    /// Bᵀ
    picture: Transform,
    /// G
    weight: Transform,
    /// Aᵀ
    result: Transform,
}

impl Tiles {
    /// Results along an axis.
    fn results(&self) -> i64 {
        self.result.len() as i64
    }

    /// Elements along an axis.
    fn elements(&self) -> i64 {
        self.picture.len() as i64
    }
}

/// Tiles of 2 × 2 results, of the points 0, ±1 and ∞.
pub const SMALL: Tiles = Tiles {
    picture: &[&[1.0, 0.0, -1.0, 0.0], &[0.0, 1.0, 1.0, 0.0], &[0.0, -1.0, 1.0, 0.0], &[0.0, 1.0, 0.0, -1.0]],
    weight: &[&[1.0, 0.0, 0.0], &[0.5, 0.5, 0.5], &[0.5, -0.5, 0.5], &[0.0, 0.0, 1.0]],
    result: &[&[1.0, 1.0, 1.0, 0.0], &[0.0, 1.0, -1.0, -1.0]],
};

/// Tiles of 4 × 4 results, of the points 0, ±3/4, ±3/2 and ∞, whose errors are less than half of those of 0, ±1, ±2 and ∞: of what points do to errors see
/// Barabasz, Anderson, Soodhalter and Gregg, Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks, 2020.
pub const LARGE: Tiles = Tiles {
    picture: &[
        &[81.0 / 64.0, 0.0, -45.0 / 16.0, 0.0, 1.0, 0.0],
        &[0.0, 27.0 / 16.0, 9.0 / 4.0, -0.75, -1.0, 0.0],
        &[0.0, -27.0 / 16.0, 9.0 / 4.0, 0.75, -1.0, 0.0],
        &[0.0, -27.0 / 32.0, -9.0 / 16.0, 1.5, 1.0, 0.0],
        &[0.0, 27.0 / 32.0, -9.0 / 16.0, -1.5, 1.0, 0.0],
        &[0.0, 81.0 / 64.0, 0.0, -45.0 / 16.0, 0.0, 1.0],
    ],
    weight: &[
        &[64.0 / 81.0, 0.0, 0.0],
        &[128.0 / 243.0, 32.0 / 81.0, 8.0 / 27.0],
        &[128.0 / 243.0, -32.0 / 81.0, 8.0 / 27.0],
        &[32.0 / 243.0, 16.0 / 81.0, 8.0 / 27.0],
        &[32.0 / 243.0, -16.0 / 81.0, 8.0 / 27.0],
        &[0.0, 0.0, 1.0],
    ],
    result: &[
        &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
        &[0.0, 0.75, -0.75, 1.5, -1.5, 0.0],
        &[0.0, 0.5625, 0.5625, 2.25, 2.25, 0.0],
        &[0.0, 27.0 / 64.0, -27.0 / 64.0, 27.0 / 8.0, -27.0 / 8.0, 1.0],
    ],
};

/// A convolution with windows of 3 × 3 elements, one apart.
pub struct Convolution {
    /// The pictures [images, 1, channels, height, width], without the zeros around them.
    pub pictures: TensorId,
    images: Size,
    /// The rows of the weight, [1, out, channels · 9].
    rows: TensorId,
    channels: i64,
    out: i64,
    /// Zeros before the height and the width.
    before: [i64; 2],
    /// Height and width of the pictures.
    from: [i64; 2],
    /// Height and width of a result.
    to: [i64; 2],
}

/// Stands for the number of images in a shape.
const IMAGES: i64 = -1;

impl Convolution {
    /// The convolution that a product of real numbers is; none if it is another product, or its factor says that products are to be added as they are
    /// by a permutation that changes nothing.
    pub fn of(expr: &Expr, product: &Tensor, operands: &[TensorId]) -> Option<Convolution> {
        let [rows, columns] = *operands else { return None };
        let are_singles = [product.dtype, expr.dtype(rows), expr.dtype(columns)] == [DType::F32; 3];
        let is_direct = matches!(expr.tensor(rows).op, TensorOp::Permute(_));
        if is_direct || !are_singles || expr.shape(rows).len() != 3 || product.shape.len() != 4 {
            return None;
        }
        // From the columns to what they are windows of.
        let mut id = columns;
        for step in 0..4 {
            let tensor = expr.tensor(id);
            let is_next = match &tensor.op {
                TensorOp::Reshape => step == 0,
                TensorOp::Permute(axes) => step == 1 && axes == &[0, 1, 2, 5, 6, 3, 4],
                TensorOp::Windows { axis, step: 1, dilation: 1 } => {
                    *axis + step == 6 && tensor.shape.last().is_some_and(|size| size.is(3))
                }
                _ => false,
            };
            if !is_next {
                return None;
            }
            id = tensor.operands[0];
        }
        let known = |id: TensorId, axis: usize| expr.shape(id)[axis].known();
        let to = [known(id, 3)? - 2, known(id, 4)? - 2];
        let (mut pictures, mut before) = (id, [0; 2]);
        let tensor = expr.tensor(id);
        if let TensorOp::Pad { before: zeros, border: Border::Constant } = &tensor.op
            && expr.tensor(tensor.operands[1]).op == TensorOp::Constant(0.0)
            && expr.shape(tensor.operands[0])[..3] == tensor.shape[..3]
        {
            (pictures, before) = (tensor.operands[0], [zeros[3].known()?, zeros[4].known()?]);
        }
        let convolution = Convolution {
            pictures,
            images: expr.shape(id)[0].clone(),
            rows,
            channels: known(id, 2)?,
            out: known(rows, 1)?,
            before,
            from: [known(pictures, 3)?, known(pictures, 4)?],
            to,
        };
        (known(id, 1)? == 1 && known(rows, 0)? == 1).then_some(convolution)
    }

    /// The tiles in which a device computes it in less time; none where it takes longer.
    pub fn tiles(&self, most_dims: &[u32]) -> Option<Tiles> {
        tiles(self.images.at(most_dims), [self.channels, self.out], self.to)
    }

    /// The same of the derivative by the pictures.
    pub fn tiles_turned(&self, most_dims: &[u32]) -> Option<Tiles> {
        tiles(self.images.at(most_dims), [self.channels, self.out], self.from)
    }

    /// A shape of numbers and the number of images.
    fn shape(&self, extents: &[i64]) -> Vec<Size> {
        extents
            .iter()
            .map(|extent| if *extent == IMAGES { self.images.clone() } else { Size::constant(*extent) })
            .list()
    }

    /// Elements in a shape.
    fn reshaped(&self, expr: &mut Expr, x: TensorId, extents: &[i64]) -> TensorId {
        let shape = self.shape(extents);
        expr.reshape(x, &shape)
    }

    /// Windows of so many elements over the height and the width of [images, 1, channels, height, width], of which there are these numbers, a step apart.
    fn windows(&self, expr: &mut Expr, mut x: TensorId, counts: [i64; 2], size: i64, step: u32) -> TensorId {
        for (axis, count) in (3..).zip(counts) {
            let mut shape = expr.shape(x).to_vec();
            shape[axis as usize] = Size::constant(count);
            shape.push(Size::constant(size));
            let op = TensorOp::Windows { axis, step, dilation: 1 };
            x = expr.push(Tensor { op, operands: vec![x], dtype: DType::F32, shape });
        }
        x
    }

    /// The convolution in tiles, [images, 1, out, places].
    pub fn in_tiles(&self, expr: &mut Expr, tiles: &Tiles) -> TensorId {
        let (size, step) = (tiles.elements(), tiles.results());
        let [high, wide] = self.to.map(|extent| counted(extent, step));
        let Convolution { channels, out, before, to, .. } = *self;
        let before = self.shape(&[0, 0, 0, before[0], before[1]]);
        let shape = self.shape(&[IMAGES, 1, channels, high * step + 2, wide * step + 2]);
        let mut x = expr.pad_with_zeros(self.pictures, before, &shape);
        x = self.windows(expr, x, [high, wide], size, step as u32);
        x = expr.permute(x, &[5, 6, 1, 2, 0, 3, 4]);
        x = self.reshaped(expr, x, &[size, size, channels, IMAGES, high, wide]);
        x = transformed(expr, x, [0, 1], tiles.picture);
        let mut shape = self.shape(&[size * size, channels, high * wide]);
        shape[2] = &shape[2] * &self.images;
        x = expr.reshape(x, &shape);
        let mut weight = self.reshaped(expr, self.rows, &[out, channels, 3, 3]);
        weight = expr.permute(weight, &[2, 3, 0, 1]);
        weight = transformed(expr, weight, [0, 1], tiles.weight);
        weight = self.reshaped(expr, weight, &[size * size, out, channels]);
        let mut y = expr.matmul(weight, x, DType::F32);
        y = self.reshaped(expr, y, &[size, size, out, IMAGES, high, wide]);
        y = expr.permute(y, &[3, 2, 4, 0, 5, 1]);
        y = transformed(expr, y, [3, 5], tiles.result);
        y = self.reshaped(expr, y, &[IMAGES, 1, out, high * step, wide * step]);
        let zeros = self.shape(&[0; 5]);
        let shape = self.shape(&[IMAGES, 1, out, to[0], to[1]]);
        if expr.shape(y) != shape {
            y = expr.slice(y, zeros, vec![1; 5], shape);
        }
        self.reshaped(expr, y, &[IMAGES, 1, out, to[0] * to[1]])
    }

    /// The derivative by the pictures, a convolution of the adjoint of the result [images, 1, out, places] with the weight turned around.
    pub fn by_pictures(&self, expr: &mut Expr, adjoint: TensorId) -> TensorId {
        let Convolution { channels, out, before, from, to, .. } = *self;
        let mut x = self.reshaped(expr, adjoint, &[IMAGES, 1, out, to[0], to[1]]);
        let before = self.shape(&[0, 0, 0, 2 - before[0], 2 - before[1]]);
        let shape = self.shape(&[IMAGES, 1, out, from[0] + 2, from[1] + 2]);
        x = expr.pad_with_zeros(x, before, &shape);
        x = self.windows(expr, x, from, 3, 1);
        x = expr.permute(x, &[0, 1, 2, 5, 6, 3, 4]);
        x = self.reshaped(expr, x, &[IMAGES, 1, out * 9, from[0] * from[1]]);
        let mut weight = self.reshaped(expr, self.rows, &[out, channels, 3, 3]);
        weight = expr.permute(weight, &[1, 0, 2, 3]);
        let [starts, turned] = [[0, 0, 2, 2], [channels, out, 3, 3]].map(|numbers| self.shape(&numbers));
        weight = expr.slice(weight, starts, vec![1, 1, -1, -1], turned);
        weight = self.reshaped(expr, weight, &[1, channels, out * 9]);
        let product = expr.matmul(weight, x, DType::F32);
        self.reshaped(expr, product, &[IMAGES, 1, channels, from[0], from[1]])
    }
}

/// Fewest channels, in and out: a transform moves a number for each place of a tile and channel, which take as long as the products that are saved for
/// some 20 channels.
const FEWEST_CHANNELS: i64 = 32;

/// Fewest products and sums of the direct convolution: four kernels stand in place of one or two, and begin one after the other.
const FEWEST_PRODUCTS: i64 = 100_000_000;

/// Fewest large tiles that are chosen: with fewer the small ones are about as fast, and more accurate.
const FEWEST_LARGE: i64 = 1024;

/// Most elements of a transform: as many as every device binds.
const MOST_ELEMENTS: i64 = 1 << 25;

/// The tiles for a convolution of images with these channels, in and out, and this height and width of its results. On a large device (64 channels at
/// 256 × 256) they take 2/3 of the time of direct products, of more channels down to 2/5.
fn tiles(images: i64, [channels, out]: [i64; 2], extents: [i64; 2]) -> Option<Tiles> {
    let count = |tiles: &Tiles| {
        let places = extents.map(|extent| counted(extent, tiles.results()));
        places.into_iter().fold(images, i64::saturating_mul)
    };
    let products =
        [channels, out, extents[0], extents[1]].into_iter().fold(images.saturating_mul(9), i64::saturating_mul);
    let chosen = if count(&LARGE) >= FEWEST_LARGE { LARGE } else { SMALL };
    let elements = count(&chosen).saturating_mul(chosen.elements().pow(2)).saturating_mul(channels.max(out));
    let is_faster = channels.min(out) >= FEWEST_CHANNELS && products >= FEWEST_PRODUCTS && elements <= MOST_ELEMENTS;
    is_faster.then_some(chosen)
}

/// Tiles along an axis.
fn counted(extent: i64, results: i64) -> i64 {
    (extent + results - 1).div_euclid(results)
}

/// A transform along two axes, as stacks of stacks.
fn transformed(expr: &mut Expr, x: TensorId, axes: [u32; 2], transform: Transform) -> TensorId {
    axes.into_iter().fold(x, |x, axis| {
        let mut shape = expr.shape(x).to_vec();
        shape[axis as usize] = Size::constant(1);
        let part = |place: usize| {
            let mut starts = vec![Size::constant(0); shape.len()];
            starts[axis as usize] = Size::constant(place as i64);
            expr.slice(x, starts, vec![1; shape.len()], shape.clone())
        };
        let parts: Vec<TensorId> = (0..transform[0].len()).map(part).list();
        let sums = transform.iter().map(|factors| sum(expr, &parts, factors)).list();
        expr.concat(&sums, axis)
    })
}

/// The sum of parts with their factors, in their order.
fn sum(expr: &mut Expr, parts: &[TensorId], factors: &[f64]) -> TensorId {
    let mut sum = None;
    for (part, factor) in parts.iter().zip(factors).filter(|(_, factor)| **factor != 0.0) {
        // The first factor has its sign.
        let size = if sum.is_some() { factor.abs() } else { *factor };
        let constant = expr.constant(size, DType::F32);
        let term = if size == 1.0 { *part } else { expr.elementwise(Elementwise::Mul, &[constant, *part]) };
        let op = if *factor > 0.0 { Elementwise::Add } else { Elementwise::Sub };
        sum = Some(sum.map_or(term, |sum| expr.elementwise(op, &[sum, term])));
    }
    sum.unwrap_or(parts[0])
}
