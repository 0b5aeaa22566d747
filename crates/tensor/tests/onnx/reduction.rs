//! Operators that reduce: sums, extremes, norms, products of matrices, pooling, accumulations.

use residua_tensor::dtype::DType;
use residua_tensor::expr::{Border, Elementwise, Reduction, TensorId, TensorOp};

use crate::recipe::{Builder, sizes};

pub fn build(b: &mut Builder) -> Option<Vec<TensorId>> {
    use Elementwise::{Abs, Add, Div, Exp, Log, Mul, Sub};
    use Reduction::{Max, Min, Prod, Sum};
    let case = b.case;
    Some(match case.op.as_str() {
        "ArgMax" => vec![position(b, Reduction::ArgMax)],
        "ArgMin" => vec![position(b, Reduction::ArgMin)],
        "Hardmax" => {
            let x = b.input(0);
            let axis = b.axis(-1, b.rank(x));
            let first = b.keeping(Reduction::ArgMax, x, &[axis]);
            let places = b.places(axis as usize, &b.shape(x));
            let is_first = b.apply(Elementwise::Eq, &[places, first]);
            vec![b.expr.cast(is_first, DType::F32)]
        }
        "ReduceSum" => reduce(b, |b, x, axes| b.keeping(Sum, x, axes)),
        "ReduceProd" => reduce(b, |b, x, axes| b.keeping(Prod, x, axes)),
        "ReduceMax" => reduce(b, |b, x, axes| b.keeping(Max, x, axes)),
        "ReduceMin" => reduce(b, |b, x, axes| b.keeping(Min, x, axes)),
        "ReduceMean" => reduce(b, |b, x, axes| b.mean(x, axes)),
        "ReduceL1" => reduce(b, |b, x, axes| {
            let size = b.apply(Abs, &[x]);
            b.keeping(Sum, size, axes)
        }),
        "ReduceL2" => reduce(b, length),
        "ReduceSumSquare" => reduce(b, |b, x, axes| {
            let square = b.apply(Mul, &[x, x]);
            b.keeping(Sum, square, axes)
        }),
        "ReduceLogSum" => reduce(b, |b, x, axes| {
            let sum = b.keeping(Sum, x, axes);
            b.apply(Log, &[sum])
        }),
        "ReduceLogSumExp" => reduce(b, |b, x, axes| {
            // Of nothing the largest is −∞, of which a difference would be NaN.
            let largest = b.keeping(Max, x, axes);
            let is_finite = b.apply(Elementwise::IsFinite, &[largest]);
            let zero = b.number(0.0, x);
            let largest = b.select(is_finite, largest, zero);
            let moved = b.apply(Sub, &[x, largest]);
            let exponential = b.apply(Exp, &[moved]);
            let sum = b.keeping(Sum, exponential, axes);
            let logarithm = b.apply(Log, &[sum]);
            b.apply(Add, &[logarithm, largest])
        }),
        "GlobalAveragePool" => {
            let x = b.input(0);
            let axes: Vec<u32> = (2..b.rank(x) as u32).collect();
            vec![b.mean(x, &axes)]
        }
        "GlobalMaxPool" => {
            let x = b.input(0);
            let axes: Vec<u32> = (2..b.rank(x) as u32).collect();
            vec![b.keeping(Max, x, &axes)]
        }
        "AveragePool" => vec![average_pool(b)],
        "MaxPool" => {
            let x = b.input(0);
            vec![pool(b, x, Max, f64::NEG_INFINITY)]
        }
        "Softmax" => {
            let x = b.input(0);
            let axis = b.axis(-1, b.rank(x));
            let exponential = exponential_below_largest(b, x, axis);
            let sum = b.keeping(Sum, exponential, &[axis]);
            vec![b.apply(Div, &[exponential, sum])]
        }
        "LogSoftmax" => {
            let x = b.input(0);
            let axis = b.axis(-1, b.rank(x));
            vec![log_softmax(b, x, axis)]
        }
        "SoftmaxCrossEntropyLoss" => cross_entropy(b),
        "LayerNormalization" => layer_norm(b),
        "RMSNormalization" => {
            let x = b.input(0);
            let axes: Vec<u32> = (b.axis(-1, b.rank(x))..b.rank(x) as u32).collect();
            let square = b.apply(Mul, &[x, x]);
            let mean = b.mean(square, &axes);
            let mean = b.with(Add, mean, case.float("epsilon", 1e-5));
            let root = b.apply(Elementwise::Sqrt, &[mean]);
            let quotient = b.apply(Div, &[x, root]);
            let weight = b.input(1);
            vec![b.apply(Mul, &[quotient, weight])]
        }
        "LpNormalization" => {
            let x = b.input(0);
            let axis = b.axis(-1, b.rank(x));
            let norm = if case.integer("p", 2) == 1 {
                let size = b.apply(Abs, &[x]);
                b.keeping(Sum, size, &[axis])
            } else {
                length(b, x, &[axis])
            };
            // A vector of length 0 stays.
            let is_zero = b.with(Elementwise::Eq, norm, 0.0);
            let one = b.number(1.0, x);
            let norm = b.select(is_zero, one, norm);
            vec![b.apply(Div, &[x, norm])]
        }
        "BatchNormalization" => batch_norm(b),
        "CumSum" => vec![accumulated(b, Sum)],
        "CumProd" => vec![accumulated(b, Prod)],
        "MatMul" => {
            let (x, y) = (b.input(0), b.input(1));
            vec![matmul(b, x, y)]
        }
        "Gemm" => vec![gemm(b)],
        _ => return None,
    })
}

/// The position of an extreme: the first, or the last by a reversed axis.
fn position(b: &mut Builder, reduction: Reduction) -> TensorId {
    let case = b.case;
    let mut x = b.input(0);
    let shape = b.shape(x);
    let axis = b.axis(0, b.rank(x));
    let last = shape[axis as usize] - 1;
    let is_reversed = case.integer("select_last_index", 0) == 1;
    if is_reversed {
        let (mut starts, mut steps) = (vec![0; shape.len()], vec![1; shape.len()]);
        (starts[axis as usize], steps[axis as usize]) = (last, -1);
        x = b.expr.slice(x, sizes(&starts), steps, sizes(&shape));
    }
    let mut found = b.expr.reduce(reduction, x, &[axis]);
    if is_reversed {
        let last = b.number(last as f64, found);
        found = b.apply(Elementwise::Sub, &[last, found]);
    }
    b.reshape(found, &b.output_shape(0))
}

/// A reduction over the axes that the case tells, by what keeps them.
fn reduce(b: &mut Builder, keeping: impl FnOnce(&mut Builder, TensorId, &[u32]) -> TensorId) -> Vec<TensorId> {
    let case = b.case;
    let x = b.input(0);
    let rank = b.rank(x);
    let mut axes: Vec<u32> = case.told(1).unwrap_or_default().iter().map(|axis| axis.rem_euclid(rank) as u32).collect();
    axes.sort_unstable();
    if axes.is_empty() && case.integer("noop_with_empty_axes", 0) == 0 {
        axes = (0..rank as u32).collect();
    }
    let reduced = keeping(b, x, &axes);
    vec![b.reshape(reduced, &b.output_shape(0))]
}

/// The Euclidean length of vectors.
fn length(b: &mut Builder, x: TensorId, axes: &[u32]) -> TensorId {
    let square = b.apply(Elementwise::Mul, &[x, x]);
    let sum = b.keeping(Reduction::Sum, square, axes);
    b.apply(Elementwise::VectorNorm, &[sum])
}

fn exponential_below_largest(b: &mut Builder, x: TensorId, axis: u32) -> TensorId {
    let largest = b.keeping(Reduction::Max, x, &[axis]);
    let moved = b.apply(Elementwise::Sub, &[x, largest]);
    b.apply(Elementwise::Exp, &[moved])
}

fn log_softmax(b: &mut Builder, x: TensorId, axis: u32) -> TensorId {
    let largest = b.keeping(Reduction::Max, x, &[axis]);
    let moved = b.apply(Elementwise::Sub, &[x, largest]);
    let exponential = b.apply(Elementwise::Exp, &[moved]);
    let sum = b.keeping(Reduction::Sum, exponential, &[axis]);
    let logarithm = b.apply(Elementwise::Log, &[sum]);
    b.apply(Elementwise::Sub, &[moved, logarithm])
}

fn cross_entropy(b: &mut Builder) -> Vec<TensorId> {
    let (x, labels) = (b.input(0), b.input(1));
    let logarithms = log_softmax(b, x, 1);
    let count = b.shape(labels)[0];
    let column = b.reshape(labels, &[count, 1]);
    let chosen = b.expr.gather_elements(logarithms, column, 1);
    let losses = b.apply(Elementwise::Neg, &[chosen]);
    let sum = b.expr.reduce(Reduction::Sum, losses, &[0, 1]);
    let is_mean = b.case.text("reduction") == "mean";
    let loss = if is_mean { b.with(Elementwise::Div, sum, count as f64) } else { sum };
    vec![loss, logarithms]
}

fn layer_norm(b: &mut Builder) -> Vec<TensorId> {
    use Elementwise::{Add, Div, Mul, Sqrt, Sub};
    let x = b.input(0);
    let axes: Vec<u32> = (b.axis(-1, b.rank(x))..b.rank(x) as u32).collect();
    let mean = b.mean(x, &axes);
    let variance = b.keeping(Reduction::Variance, x, &axes);
    let variance = b.with(Add, variance, b.case.float("epsilon", 1e-5));
    let deviation = b.apply(Sqrt, &[variance]);
    let one = b.number(1.0, x);
    let inverse = b.apply(Div, &[one, deviation]);
    let centred = b.apply(Sub, &[x, mean]);
    let normal = b.apply(Mul, &[centred, inverse]);
    let (weight, bias) = (b.input(1), b.input(2));
    let weighted = b.apply(Mul, &[normal, weight]);
    vec![b.apply(Add, &[weighted, bias]), mean, inverse]
}

/// Of training: by the statistics of the batch, which move the running ones.
fn batch_norm(b: &mut Builder) -> Vec<TensorId> {
    use Elementwise::{Add, Div, Mul, Sqrt, Sub};
    let x = b.input(0);
    let channels = b.shape(x)[1];
    let axes: Vec<u32> = (0..b.rank(x) as u32).filter(|axis| *axis != 1).collect();
    let mut wide = vec![1; b.rank(x) as usize];
    wide[1] = channels;
    let [weight, bias, old_mean, old_variance] = [1, 2, 3, 4].map(|place| b.input(place));
    let [weight, bias] = [weight, bias].map(|id| b.reshape(id, &wide));
    let mean = b.mean(x, &axes);
    let variance = b.keeping(Reduction::Variance, x, &axes);
    let raised = b.with(Add, variance, b.case.float("epsilon", 1e-5));
    let deviation = b.apply(Sqrt, &[raised]);
    let centred = b.apply(Sub, &[x, mean]);
    let normal = b.apply(Div, &[centred, deviation]);
    let weighted = b.apply(Mul, &[normal, weight]);
    let y = b.apply(Add, &[weighted, bias]);
    let momentum = b.case.float("momentum", 0.9);
    let mut moved = |old: TensorId, new: TensorId| {
        let new = b.reshape(new, &[channels]);
        let (old, new) = (b.with(Mul, old, momentum), b.with(Mul, new, 1.0 - momentum));
        b.apply(Add, &[old, new])
    };
    vec![y, moved(old_mean, mean), moved(old_variance, variance)]
}

fn accumulated(b: &mut Builder, reduction: Reduction) -> TensorId {
    let case = b.case;
    let x = b.input(0);
    let axis = case.told(1).expect("an axis")[0].rem_euclid(b.rank(x)) as u32;
    let flag = |name: &str| case.integer(name, 0) == 1;
    b.expr.scan(x, reduction, axis, flag("exclusive"), flag("reverse"))
}

/// A product, of vectors too.
fn matmul(b: &mut Builder, x: TensorId, y: TensorId) -> TensorId {
    let (x_shape, y_shape) = (b.shape(x), b.shape(y));
    let x = if x_shape.len() == 1 { b.reshape(x, &[1, x_shape[0]]) } else { x };
    let y = if y_shape.len() == 1 { b.reshape(y, &[y_shape[0], 1]) } else { y };
    let dtype = b.expr.dtype(x);
    let product = b.expr.matmul(x, y, dtype);
    b.reshape(product, &b.output_shape(0))
}

fn gemm(b: &mut Builder) -> TensorId {
    use Elementwise::{Add, Mul};
    let case = b.case;
    let [x, y] = [(0, "transA"), (1, "transB")].map(|(place, name)| {
        let x = b.input(place);
        if case.integer(name, 0) == 1 { b.expr.transpose(x) } else { x }
    });
    let product = matmul(b, x, y);
    let product = b.with(Mul, product, case.float("alpha", 1.0));
    if !b.has(2) {
        return product;
    }
    let bias = b.input(2);
    let bias = b.with(Mul, bias, case.float("beta", 1.0));
    b.apply(Add, &[product, bias])
}

/// Along each axis: padding before, padding after that counts, and what more the last window needs.
fn pads(b: &Builder, extents: &[i64]) -> Vec<[i64; 3]> {
    let case = b.case;
    let kernel = case.integers("kernel_shape").expect("a kernel");
    let ones = vec![1; kernel.len()];
    let strides = case.integers("strides").unwrap_or_else(|| ones.clone());
    let dilations = case.integers("dilations").unwrap_or(ones);
    let told = case.integers("pads").unwrap_or_else(|| vec![0; 2 * kernel.len()]);
    let counts = &case.outputs[0].shape[2..];
    let of_axis = |axis: usize| {
        let needed = (counts[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1;
        let missing = (needed - extents[axis]).max(0);
        let [before, after] = match case.text("auto_pad") {
            "SAME_UPPER" => [missing / 2, missing - missing / 2],
            "SAME_LOWER" => [missing - missing / 2, missing / 2],
            _ => [told[axis], told[axis + kernel.len()]],
        };
        [before, after, needed - before - extents[axis] - after]
    };
    (0..kernel.len()).map(of_axis).collect()
}

/// x with more elements before and after along the axes from the third on; fewer where negative.
fn padded(b: &mut Builder, x: TensorId, widths: &[[i64; 2]], value: f64) -> TensorId {
    let mut shape = b.shape(x);
    let mut before = vec![0; 2];
    for (axis, [left, right]) in widths.iter().enumerate() {
        shape[axis + 2] += left + right;
        before.push(*left);
    }
    let value = b.number(value, x);
    b.push(TensorOp::Pad { before: sizes(&before), border: Border::Constant }, &[x, value], &shape)
}

/// A reduction over the windows of the case.
fn pool(b: &mut Builder, x: TensorId, reduction: Reduction, beyond: f64) -> TensorId {
    let extents = b.shape(x)[2..].to_vec();
    let widths: Vec<[i64; 2]> = pads(b, &extents).iter().map(|[before, after, more]| [*before, after + more]).collect();
    let padded = padded(b, x, &widths, beyond);
    windows(b, padded, reduction)
}

fn windows(b: &mut Builder, mut x: TensorId, reduction: Reduction) -> TensorId {
    let case = b.case;
    let kernel = case.integers("kernel_shape").expect("a kernel");
    let rank = b.rank(x) as u32;
    let of = |name: &str, axis: usize| case.integers(name).map_or(1, |numbers| numbers[axis]) as u32;
    for (axis, size) in kernel.iter().enumerate() {
        let mut shape = b.shape(x);
        shape[axis + 2] = case.outputs[0].shape[axis + 2];
        shape.push(*size);
        let op =
            TensorOp::Windows { axis: axis as u32 + 2, step: of("strides", axis), dilation: of("dilations", axis) };
        x = b.push(op, &[x], &shape);
    }
    let axes: Vec<u32> = (rank..rank + kernel.len() as u32).collect();
    b.expr.reduce(reduction, x, &axes)
}

/// Sums over windows by how many of their elements count.
fn average_pool(b: &mut Builder) -> TensorId {
    let x = b.input(0);
    let extents = b.shape(x)[2..].to_vec();
    let pads = pads(b, &extents);
    let sum = pool(b, x, Reduction::Sum, 0.0);
    let counts_pads = b.case.integer("count_include_pad", 0) == 1;
    let ones = b.expr.full(1.0, DType::F32, &sizes(&b.shape(x)));
    let inner: Vec<[i64; 2]> = pads.iter().map(|[before, after, _]| [*before, *after]).collect();
    let ones = padded(b, ones, &inner, if counts_pads { 1.0 } else { 0.0 });
    let more: Vec<[i64; 2]> = pads.iter().map(|[.., more]| [0, *more]).collect();
    let ones = padded(b, ones, &more, 0.0);
    let count = windows(b, ones, Reduction::Sum);
    b.apply(Elementwise::Div, &[sum, count])
}
