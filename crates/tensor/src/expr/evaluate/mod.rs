//! The meaning of every operation, in f64 with plain loops: what kernels are measured against.
//!
//! Elements are f64 whatever their type. Reals are not rounded: an f32 or f16 that is read is exactly what is stored, and everything after is in
//! f64. Integers are exact: 32-bit ones wrap, a u8 keeps its low 8 bits. A bool is 0 or 1.

use crate::dtype::DType;
use crate::expr::{Border, Expr, Linalg, Tensor, TensorId, TensorOp};
use crate::half::number_of_half;
use crate::quantised::{CURVE, Form, Level, Minimum};
use crate::size::Size;
use residua_base::list::Listed;

mod accumulate;
mod attention;
mod elementwise;
mod fourier;
mod random;
mod selection;

/// Elements in C order, with the extents of their axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Extent of each axis, the outermost first.
    pub shape: Vec<usize>,
    /// The elements.
    pub data: Vec<f64>,
}

/// The values of all nodes, where the dims and the contents of slots are given.
///
/// # Panics
/// If the graph is not as [`Expr::check`] wants it, an extent is negative for these dims, a slot has another number of elements than its node, or a
/// gradient has not been replaced.
pub fn evaluate(expr: &Expr, dims: &[u32], inputs: &[Vec<f64>]) -> Vec<Array> {
    let mut values: Vec<Array> = Vec::with_capacity(expr.nodes.len());
    for tensor in &expr.nodes {
        let node = Node { expr, tensor, dims, values: &values };
        values.push(node.evaluate(inputs));
    }
    values
}

/// A number as an element type holds it: integers by their low bits, a bool as 0 or 1.
pub(crate) fn stored(dtype: DType, integer: i64) -> f64 {
    match dtype {
        DType::F32 | DType::F16 => integer as f64,
        DType::I32 => f64::from(integer as i32),
        DType::U32 => f64::from(integer as u32),
        DType::U8 => f64::from(integer as u8),
        DType::Bool => f64::from(u8::from(integer != 0)),
    }
}

/// Visits all points of a shape in C order.
fn visit(shape: &[usize], mut each: impl FnMut(&[usize])) {
    let mut at = vec![0; shape.len()];
    for _ in 0..shape.iter().product() {
        each(&at);
        for (coordinate, extent) in at.iter_mut().zip(shape).rev() {
            *coordinate += 1;
            if *coordinate < *extent {
                break;
            }
            *coordinate = 0;
        }
    }
}

/// The position of a point in C order.
fn linear(shape: &[usize], at: &[usize]) -> usize {
    at.iter().zip(shape).fold(0, |sum, (coordinate, extent)| sum * extent + coordinate)
}

impl Array {
    fn at(&self, at: &[usize]) -> f64 {
        self.data[linear(&self.shape, at)]
    }

    /// The element at a point of a shape that this one broadcasts to.
    fn broadcast_at(&self, at: &[usize]) -> f64 {
        let at = at[at.len() - self.shape.len()..].iter().zip(&self.shape);
        let place = at.fold(0, |sum, (at, extent)| if *extent == 1 { sum } else { sum * extent + at });
        self.data[place]
    }

    /// The elements of a shape, each by its point.
    fn of(shape: Vec<usize>, mut element: impl FnMut(&[usize]) -> f64) -> Array {
        let mut data = Vec::with_capacity(shape.iter().product());
        visit(&shape, |at| data.push(element(at)));
        Array { shape, data }
    }
}

/// A node, with the values of those before it.
struct Node<'a> {
    expr: &'a Expr,
    tensor: &'a Tensor,
    dims: &'a [u32],
    values: &'a [Array],
}

impl Node<'_> {
    fn size(&self, size: &Size) -> i64 {
        size.at(self.dims)
    }

    fn operand(&self, place: usize) -> &Array {
        &self.values[self.tensor.operands[place].0 as usize]
    }

    fn shape(&self) -> Vec<usize> {
        let extent = |size: &Size| usize::try_from(self.size(size)).expect("no extent is negative");
        self.tensor.shape.iter().map(extent).list()
    }

    fn evaluate(&self, inputs: &[Vec<f64>]) -> Array {
        let (shape, dtype) = (self.shape(), self.tensor.dtype);
        match &self.tensor.op {
            TensorOp::Input(slot) => {
                let data = inputs[*slot as usize].clone();
                assert_eq!(data.len(), shape.iter().product::<usize>(), "slot {slot} holds another number of elements");
                Array { shape, data }
            }
            TensorOp::Constant(number) => self.constant(shape, *number),
            TensorOp::Extent(size) => {
                let size = stored(dtype, self.size(size));
                Array::of(shape, |_| size)
            }
            TensorOp::Number(bits) => {
                let bits = bits.word(self.dims);
                let number = match dtype {
                    DType::F32 | DType::F16 => f64::from(f32::from_bits(bits)),
                    DType::I32 => f64::from(bits as i32),
                    DType::U32 | DType::U8 | DType::Bool => f64::from(bits),
                };
                self.constant(shape, number)
            }
            TensorOp::Iota(axis) => Array::of(shape, |at| stored(dtype, at[*axis as usize] as i64)),
            TensorOp::RandomBits(stream) => {
                let [low, high, run] = [0, 1, 2].map(|word| self.operand(0).data[word] as u32);
                let key = [low, high.wrapping_add(*stream)];
                let bits = |element: usize| f64::from(random::threefry([element as u32, run], key)[0]);
                let count = shape.iter().product();
                Array { shape, data: (0..count).map(bits).list() }
            }
            TensorOp::Elementwise(op) => self.elementwise(shape, *op),
            TensorOp::Reshape => Array { shape, data: self.operand(0).data.clone() },
            TensorOp::Expand => Array::of(shape, |at| self.operand(0).broadcast_at(at)),
            TensorOp::Permute(axes) => Array::of(shape, |at| {
                let mut from = vec![0; at.len()];
                for (coordinate, axis) in at.iter().zip(axes) {
                    from[*axis as usize] = *coordinate;
                }
                self.operand(0).at(&from)
            }),
            TensorOp::Slice { starts, steps } => Array::of(shape, |at| {
                let places = at.iter().zip(starts).zip(steps);
                let from: Vec<usize> =
                    places.map(|((at, start), step)| (self.size(start) + *at as i64 * step) as usize).list();
                self.operand(0).at(&from)
            }),
            TensorOp::Pad { before, border } => Array::of(shape, |at| self.padded(at, before, *border)),
            TensorOp::Concat(axis) => Array::of(shape, |at| self.concatenated(at.to_vec(), *axis as usize)),
            TensorOp::Windows { axis, step, dilation } => Array::of(shape, |at| {
                let mut at = at.to_vec();
                let within = at.pop().expect("windows have an axis");
                let place = &mut at[*axis as usize];
                *place = *place * *step as usize + within * *dilation as usize;
                self.operand(0).at(&at)
            }),
            TensorOp::Gather(axis) => self.gather(shape, *axis as usize),
            TensorOp::GatherElements(axis) => self.gather_elements(shape, *axis as usize),
            TensorOp::Reduce(reduction, axes) => self.reduce(shape, *reduction, axes),
            TensorOp::Scan { reduction, axis, exclusive, reverse } => {
                self.scan(shape, *reduction, *axis as usize, [*exclusive, *reverse])
            }
            TensorOp::Fold { rule, axes, result } => self.fold(shape, rule, axes, *result as usize),
            TensorOp::ScanBy { rule, axis, exclusive, reverse, result } => {
                self.scan_by(shape, rule, *axis as usize, [*exclusive, *reverse], *result as usize)
            }
            TensorOp::MatMul => self.product(shape),
            TensorOp::Attention(attention) => self.attention(shape, attention),
            TensorOp::Scatter(axis, combine) => self.scatter(*axis as usize, *combine),
            TensorOp::IndexPut(axis, combine) => self.index_put(*axis as usize, *combine),
            TensorOp::SetSlice { starts, .. } => {
                let starts: Vec<i64> = starts.iter().map(|start| self.size(start)).list();
                Array::of(shape, |at| {
                    let part = self.operand(1);
                    let within = at.iter().zip(&starts).map(|(at, start)| usize::try_from(*at as i64 - start));
                    match within.list_or_error() {
                        Ok(within) if within.iter().zip(&part.shape).all(|(at, extent)| at < extent) => {
                            part.at(&within)
                        }
                        _ => self.operand(0).at(at),
                    }
                })
            }
            TensorOp::Argsort { .. } => self.argsort(shape),
            TensorOp::Fourier(fourier) => self.fourier(shape, fourier),
            TensorOp::Roots(length) => self.roots(shape, *length),
            TensorOp::Dequantize(form) => self.dequantized(shape, *form),
            TensorOp::Linalg(kind) => self.linalg(shape, *kind),
            TensorOp::SparseProduct => self.sparse_product(shape),
            TensorOp::RangeSum(_) => self.range_sum(shape),
            TensorOp::DigitCounts(digit) => self.digit_counts(shape, *digit),
            TensorOp::DigitSort(digit) => self.digit_sort(shape, *digit),
            TensorOp::Gradient | TensorOp::CustomGradient => panic!("gradients are replaced before evaluation"),
        }
    }

    /// Sums over the entries of each row. An index out of range reads 0.
    fn sparse_product(&self, shape: Vec<usize>) -> Array {
        let [offsets, columns, values, x] = [0, 1, 2, 3].map(|place| self.operand(place));
        let entries = columns.data.len();
        Array::of(shape, |at| {
            let [begin, end] = [0, 1].map(|next| (offsets.data[at[0] + next] as usize).min(entries));
            let mut of = at.to_vec();
            let term = |entry: usize| {
                of[0] = entry;
                let value = values.at(&of[..values.shape.len()]);
                of[0] = columns.data[entry] as usize;
                if of[0] < x.shape[0] { value * x.at(&of) } else { value * 0.0 }
            };
            (begin..end).map(term).sum()
        })
    }

    fn range_sum(&self, shape: Vec<usize>) -> Array {
        Array::of(shape, |at| {
            let mut sum = 0.0;
            for part in 0..self.tensor.operands.len() / 3 {
                let [x, begin, end] = [0, 1, 2].map(|place| self.operand(3 * part + place));
                let mut of = at.to_vec();
                for place in begin.data[at[0]] as usize..end.data[at[0]] as usize {
                    of[0] = place;
                    sum += x.at(&of);
                }
            }
            sum
        })
    }

    /// Of each matrix of a batch.
    fn linalg(&self, shape: Vec<usize>, kind: Linalg) -> Array {
        let a = self.operand(0);
        if kind == Linalg::SparseSolve {
            let pattern = self.operand(2).data.iter().map(|number| *number as u32).list();
            let mut data = a.data.clone();
            residua_tensor_loops::sparse::solve(&pattern, &self.operand(1).data, &mut data, shape[1]);
            return Array { data, shape };
        }
        let batch = a.shape.len() - 2;
        let second = self.tensor.operands.get(1).map(|id| &self.values[id.0 as usize]);
        let width = second.and_then(|second| second.shape.last()).copied().unwrap_or(1);
        let extents = [a.shape[batch], a.shape[batch + 1], width];
        let matrix = |of: &Array, place: usize| {
            let size = of.shape[batch] * of.shape[batch + 1];
            of.data[place * size..][..size].to_vec()
        };
        let computed = |place: usize| {
            if kind == Linalg::PseudoInverse {
                return super::linalg::pseudo_inverse(matrix(a, place), extents, self.operand(1).data[0]);
            }
            kind.computed(extents, matrix(a, place), second.map(|second| matrix(second, place)).unwrap_or_default())
        };
        Array { data: (0..a.shape[..batch].iter().product()).flat_map(computed).list(), shape }
    }

    /// An element of the first operand, or what stands beyond its border.
    fn padded(&self, at: &[usize], before: &[Size], border: Border) -> f64 {
        let x = self.operand(0);
        let mut from = Vec::with_capacity(at.len());
        for ((at, before), extent) in at.iter().zip(before).zip(&x.shape) {
            let (place, extent) = (*at as i64 - self.size(before), *extent as i64);
            if extent == 0 && border != Border::Constant {
                return 0.0;
            }
            let place = match border {
                Border::Constant if (0..extent).contains(&place) => place,
                Border::Constant => return self.operand(1).data[0],
                Border::Clamp => place.clamp(0, extent - 1),
                Border::Wrap => place.rem_euclid(extent),
                Border::Mirror => {
                    let period = (2 * (extent - 1)).max(1);
                    let there = place.rem_euclid(period);
                    there.min(period - there).min(extent - 1)
                }
            };
            from.push(place as usize);
        }
        x.at(&from)
    }

    /// Numbers from words and the side, whose rows lie as those of the result do.
    fn dequantized(&self, shape: Vec<usize>, form: Form) -> Array {
        let (words, side) = (self.operand(0), self.operand(1));
        let last = |array: &Array| array.shape.last().copied().unwrap_or_default();
        let columns = last(&Array { shape: shape.clone(), data: Vec::new() });
        let number = |place: usize| {
            let (row, place) = (place / columns.max(1), (place % columns.max(1)) as u32);
            let words = &words.data[row * last(words)..];
            let side = &side.data[row * last(side)..];
            let integer = |words: &[f64], bits: u32, place: u32| {
                let (word, shift) = match bits {
                    8 => (place / 4, 8 * (place % 4)),
                    _ => (place * bits / 32, 4 * (place % 8) + bits * (place / 8 % (4 / bits))),
                };
                (words[word as usize] as u32 >> shift) & ((1 << bits) - 1)
            };
            let mut bits = integer(words, form.low, place);
            let (mut scale, mut minimum) = (side[(place / form.span) as usize], 0.0);
            if form.record > 0 {
                let record = side[(place / form.span * form.record) as usize..].iter().take(form.record as usize);
                let (floats, record): (Vec<f64>, Vec<u32>) = record.map(|word| (*word, *word as u32)).unzip();
                let (within, group) = (place % form.span, place % form.span / form.group);
                if form.high > 0 {
                    bits |= integer(&floats[form.high_at as usize..], form.high, within) << form.low;
                }
                let half = |half: u32| f64::from(number_of_half((record[0] >> (16 * half)) as u16));
                scale = half(within / form.half);
                scale *= form.scales.map_or(1.0, |field| f64::from(field.integer(&record, group)));
                minimum = match form.minimum {
                    Minimum::None => 0.0,
                    Minimum::Opposite => -half(1),
                    Minimum::Times(field) => half(1) * f64::from(field.integer(&record, group)),
                };
            }
            let level = match form.level {
                Level::Less(zero) => f64::from(bits) - f64::from(zero),
                Level::Signed => f64::from(bits as i8),
                Level::Curve => f64::from(CURVE[bits as usize]),
            };
            scale * level - minimum
        };
        Array { data: (0..shape.iter().product()).map(number).list(), shape }
    }

    fn concatenated(&self, mut at: Vec<usize>, axis: usize) -> f64 {
        for TensorId(part) in &self.tensor.operands {
            let part = &self.values[*part as usize];
            if at[axis] < part.shape[axis] {
                return part.at(&at);
            }
            at[axis] -= part.shape[axis];
        }
        unreachable!("the extent is the sum of those of the parts")
    }

    /// Sums of products along the depth.
    fn product(&self, shape: Vec<usize>) -> Array {
        let (a, b, dtype) = (self.operand(0), self.operand(1), self.tensor.dtype);
        let depth = a.shape[a.shape.len() - 1];
        Array::of(shape, |at| {
            let (batch, [row, column]) = at.split_at(at.len() - 2) else { unreachable!("products have two axes") };
            let factors =
                (0..depth).map(|k| (a.broadcast_matrix(batch, [*row, k]), b.broadcast_matrix(batch, [k, *column])));
            if dtype.is_real() {
                factors.map(|(a, b)| a * b).sum()
            } else {
                let products = factors.map(|(a, b)| (a as i64).wrapping_mul(b as i64));
                stored(dtype, products.fold(0, i64::wrapping_add))
            }
        })
    }
}

impl Array {
    /// An element of a batch of matrices whose leading axes broadcast.
    fn broadcast_matrix(&self, batch: &[usize], element: [usize; 2]) -> f64 {
        let (leading, matrix) = self.shape.split_at(self.shape.len() - 2);
        let batch = batch[batch.len() - leading.len()..].iter().zip(leading);
        let which = batch.fold(0, |sum, (at, extent)| if *extent == 1 { sum } else { sum * extent + at });
        self.data[(which * matrix[0] + element[0]) * matrix[1] + element[1]]
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
