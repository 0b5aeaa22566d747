//! Operators that arrange elements, and sources.

use residua_tensor::dtype::DType;
use residua_tensor::expr::{Border, Elementwise, Reduction, TensorId, TensorOp};

use crate::recipe::{Builder, sizes};

pub fn build(b: &mut Builder) -> Option<Vec<TensorId>> {
    let case = b.case;
    Some(match case.op.as_str() {
        "Flatten" | "Reshape" | "Squeeze" | "Unsqueeze" => {
            let x = b.input(0);
            vec![b.reshape(x, &b.output_shape(0))]
        }
        "Expand" => {
            let x = b.input(0);
            vec![b.expr.expand(x, &sizes(&b.output_shape(0)))]
        }
        "Transpose" => {
            let x = b.input(0);
            let order = case.integers("perm").expect("cases name the order");
            let order: Vec<u32> = order.iter().map(|axis| *axis as u32).collect();
            vec![b.expr.permute(x, &order)]
        }
        "Concat" => {
            let parts: Vec<TensorId> = (0..case.inputs.len()).map(|place| b.input(place)).collect();
            let axis = b.axis(0, b.rank(parts[0]));
            vec![b.expr.concat(&parts, axis)]
        }
        "Split" => split(b),
        "Slice" => vec![slice(b)],
        "Pad" => vec![pad(b)],
        "SpaceToDepth" => {
            let x = b.input(0);
            let size = case.integer("blocksize", 1);
            let [images, channels, height, width] = b.shape(x)[..] else { return None };
            let blocks = b.reshape(x, &[images, channels, height / size, size, width / size, size]);
            let blocks = b.expr.permute(blocks, &[0, 3, 5, 1, 2, 4]);
            vec![b.reshape(blocks, &b.output_shape(0))]
        }
        "ConstantOfShape" => {
            let number = case.attributes["value"]["data"][0].as_f64().unwrap_or(0.0);
            vec![b.expr.full(number, case.outputs[0].dtype, &sizes(&b.output_shape(0)))]
        }
        "EyeLike" => {
            let shape = b.output_shape(0);
            let (rows, columns) = (b.places(0, &shape), b.places(1, &shape));
            let rows = b.with(Elementwise::Add, rows, case.integer("k", 0) as f64);
            let is_diagonal = b.apply(Elementwise::Eq, &[rows, columns]);
            vec![b.expr.cast(is_diagonal, DType::F32)]
        }
        "Trilu" => {
            let x = b.input(0);
            let shape = b.shape(x);
            let diagonal = case.told(1).map_or(0, |numbers| numbers[0]);
            let (rows, columns) = (b.places(shape.len() - 2, &shape), b.places(shape.len() - 1, &shape));
            let rows = b.with(Elementwise::Add, rows, diagonal as f64);
            let is_upper = case.integer("upper", 1) == 1;
            let compare = if is_upper { Elementwise::Ge } else { Elementwise::Le };
            let stays = b.apply(compare, &[columns, rows]);
            let zero = b.number(0.0, x);
            vec![b.select(stays, x, zero)]
        }
        "Range" => {
            let [start, step] = [0, 2].map(|place| case.input(place).expect("a number").numbers[0]);
            let places = b.expr.iota(0, case.outputs[0].dtype, &sizes(&b.output_shape(0)));
            let scaled = b.with(Elementwise::Mul, places, step);
            vec![b.with(Elementwise::Add, scaled, start)]
        }
        "Einsum" => {
            let x = b.input(0);
            if case.text("equation").starts_with("...ii") {
                let shape = b.shape(x);
                let (count, extent) = (shape[0], shape[1]);
                let rows = b.reshape(x, &[count, extent * extent]);
                let steps = vec![1, extent + 1];
                vec![b.expr.slice(rows, sizes(&[0, 0]), steps, sizes(&[count, extent]))]
            } else {
                let y = b.input(1);
                let product = b.apply(Elementwise::Mul, &[x, y]);
                vec![b.expr.reduce(Reduction::Sum, product, &[0])]
            }
        }
        _ => return None,
    })
}

/// Parts after one another along an axis, as large as the outputs.
fn split(b: &mut Builder) -> Vec<TensorId> {
    let x = b.input(0);
    let axis = b.axis(0, b.rank(x)) as usize;
    let mut start = 0;
    let mut parts = Vec::new();
    for output in &b.case.outputs {
        let mut starts = vec![0; output.shape.len()];
        starts[axis] = start;
        start += output.shape[axis];
        let steps = vec![1; output.shape.len()];
        parts.push(b.expr.slice(x, sizes(&starts), steps, sizes(&output.shape)));
    }
    parts
}

fn slice(b: &mut Builder) -> TensorId {
    let case = b.case;
    let x = b.input(0);
    let shape = b.shape(x);
    let [starts_told, ends] = [1, 2].map(|place| case.told(place).expect("both ends"));
    let axes = case.told(3).unwrap_or_else(|| (0..starts_told.len() as i64).collect());
    let steps_told = case.told(4).unwrap_or_else(|| vec![1; axes.len()]);
    let (mut starts, mut steps, mut counts) = (vec![0; shape.len()], vec![1; shape.len()], shape.clone());
    for (place, axis) in axes.iter().enumerate() {
        let axis = axis.rem_euclid(shape.len() as i64) as usize;
        let (extent, step) = (shape[axis], steps_told[place]);
        // Places beyond the ends are cut off: at the last one where it goes backwards.
        let (low, high) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
        let cut = |place: i64| if place < 0 { place + extent } else { place }.clamp(low, high);
        let (start, end) = (cut(starts_told[place]), cut(ends[place]));
        (starts[axis], steps[axis]) = (start, step);
        counts[axis] = ((end - start + step - step.signum()) / step).max(0);
    }
    b.expr.slice(x, sizes(&starts), steps, sizes(&counts))
}

fn pad(b: &mut Builder) -> TensorId {
    let case = b.case;
    let x = b.input(0);
    let mut shape = b.shape(x);
    let rank = shape.len() as i64;
    let axes = case.told(3).unwrap_or_else(|| (0..rank).collect());
    let widths = case.told(1).expect("widths");
    let mut before = vec![0; shape.len()];
    for (place, axis) in axes.iter().enumerate() {
        let axis = axis.rem_euclid(rank) as usize;
        before[axis] = widths[place];
        shape[axis] += widths[place] + widths[place + axes.len()];
    }
    let before = sizes(&before);
    let border = match case.text("mode") {
        "edge" => Border::Clamp,
        "reflect" => Border::Mirror,
        "wrap" => Border::Wrap,
        _ => Border::Constant,
    };
    let operands = if border == Border::Constant { vec![x, b.input(2)] } else { vec![x] };
    b.push(TensorOp::Pad { before, border }, &operands, &shape)
}
