//! Operators that select elements by indices.

use residua_tensor::dtype::DType;
use residua_tensor::expr::{Combine, Elementwise, Reduction, Tensor, TensorId, TensorOp};

use crate::recipe::{Builder, sizes};

pub fn build(b: &mut Builder) -> Option<Vec<TensorId>> {
    let case = b.case;
    let combine = match case.text("reduction") {
        "add" => Combine::Add,
        "mul" => Combine::Mul,
        "min" => Combine::Min,
        "max" => Combine::Max,
        _ => Combine::Set,
    };
    let result = match case.op.as_str() {
        "Gather" => {
            let (x, indices) = (b.input(0), b.input(1));
            let axis = b.axis(0, b.rank(x));
            b.expr.gather(x, indices, axis)
        }
        "GatherElements" => {
            let (x, indices) = (b.input(0), b.input(1));
            let axis = b.axis(0, b.rank(x));
            b.expr.gather_elements(x, indices, axis)
        }
        "GatherND" => {
            let (x, indices) = (b.input(0), b.input(1));
            let (flat, places) = flattened(b, x, indices);
            let gathered = b.expr.gather(flat, places, 0);
            b.reshape(gathered, &b.output_shape(0))
        }
        "Scatter" | "ScatterElements" => {
            let (x, indices, source) = (b.input(0), b.input(1), b.input(2));
            let axis = b.axis(0, b.rank(x));
            b.expr.scatter(x, indices, source, axis, combine)
        }
        "ScatterND" => {
            let (x, indices, source) = (b.input(0), b.input(1), b.input(2));
            let (flat, places) = flattened(b, x, indices);
            let rows = [b.shape(places)[0], b.shape(flat)[1]];
            let source = b.reshape(source, &rows);
            let put = b.expr.index_put(flat, places, source, 0, combine);
            b.reshape(put, &b.output_shape(0))
        }
        "OneHot" => {
            let (indices, values) = (b.input(0), b.input(2));
            let shape = b.output_shape(0);
            let axis = b.axis(-1, shape.len() as i64) as usize;
            let is_negative = b.with(Elementwise::Lt, indices, 0.0);
            let from_end = b.with(Elementwise::Add, indices, shape[axis] as f64);
            let indices = b.select(is_negative, from_end, indices);
            let mut column = shape.clone();
            column[axis] = 1;
            let column = b.reshape(indices, &column);
            let places = b.places(axis, &shape);
            let is_one = b.apply(Elementwise::Eq, &[places, column]);
            let [off, on] = [0, 1].map(|place| {
                let value = b.expr.slice(values, sizes(&[place]), vec![1], sizes(&[1]));
                b.reshape(value, &[])
            });
            b.select(is_one, on, off)
        }
        "Compress" => compress(b),
        "TopK" => return Some(largest(b)),
        _ => return None,
    };
    Some(vec![result])
}

/// x with the axes that rows of coordinates name as one, and the places of the rows on it.
fn flattened(b: &mut Builder, x: TensorId, indices: TensorId) -> (TensorId, TensorId) {
    let (shape, indices_shape) = (b.shape(x), b.shape(indices));
    let (count, named) = (indices_shape[0], indices_shape[1] as usize);
    let inner: i64 = shape[named..].iter().product();
    let flat = b.reshape(x, &[shape[..named].iter().product(), inner]);
    let mut places = b.expr.full(0.0, DType::I32, &sizes(&[count]));
    for (column, extent) in shape[..named].iter().enumerate() {
        let coordinate = b.expr.slice(indices, sizes(&[0, column as i64]), vec![1, 1], sizes(&[count, 1]));
        let coordinate = b.reshape(coordinate, &[count]);
        let is_negative = b.with(Elementwise::Lt, coordinate, 0.0);
        let from_end = b.with(Elementwise::Add, coordinate, *extent as f64);
        let coordinate = b.select(is_negative, from_end, coordinate);
        let scaled = b.with(Elementwise::Mul, places, *extent as f64);
        places = b.apply(Elementwise::Add, &[scaled, coordinate]);
    }
    (flat, places)
}

/// The largest integers along an axis, and their places: those of keys that fall where the numbers rise.
fn largest(b: &mut Builder) -> Vec<TensorId> {
    let x = b.input(0);
    let axis = b.axis(-1, b.rank(x));
    let shape = sizes(&b.output_shape(0));
    assert_eq!(axis as usize, shape.len() - 1, "the cases have the last axis");
    let of = b.expr.dtype(x);
    let bits = if of == DType::I32 { b.expr.cast(x, DType::U32) } else { x };
    let sign = b.number(f64::from(if of == DType::I32 { 0x7fff_ffffu32 } else { 0xffff_ffff }), bits);
    let keys = b.apply(Elementwise::Xor, &[bits, sign]);
    let op = TensorOp::Argsort { bits: 32 };
    let places = b.expr.push(Tensor { op, operands: vec![keys], dtype: DType::I32, shape });
    vec![b.expr.gather_elements(x, places, axis), places]
}

/// Slices where a condition holds, to the place that counts those before.
fn compress(b: &mut Builder) -> TensorId {
    let (x, mut condition) = (b.input(0), b.input(1));
    let has_axis = b.case.attributes.get("axis").is_some();
    let x = if has_axis { x } else { b.reshape(x, &[b.shape(x).iter().product()]) };
    let axis = b.axis(0, b.rank(x));
    let extent = b.shape(x)[axis as usize];
    // What the condition does not reach is left out.
    condition = b.expr.pad_with_zeros(condition, sizes(&[0]), &sizes(&[extent]));
    let counted = b.expr.cast(condition, DType::I32);
    let places = b.expr.scan(counted, Reduction::Sum, 0, true, false);
    let beyond = b.number(f64::from(i32::MAX), places);
    let places = b.select(condition, places, beyond);
    let zeros = b.expr.full(0.0, DType::F32, &sizes(&b.output_shape(0)));
    b.expr.index_put(zeros, places, x, axis, Combine::Set)
}
