//! Rotary embeddings by tables, which in ONNX's own cases are of numbers that are no cosines and sines.

use residua_tensor::expr::{Elementwise, TensorId, TensorOp};

use crate::recipe::{Builder, sizes};

pub fn build(b: &mut Builder) -> Option<Vec<TensorId>> {
    if b.case.op != "RotaryEmbedding" {
        return None;
    }
    let (x, shape) = (b.input(0), b.output_shape(0));
    let mut heads = x;
    if shape.len() == 3 {
        let count = b.case.integer("num_heads", 1);
        heads = b.reshape(x, &[shape[0], shape[1], count, shape[2] / count]);
        heads = exchanged(b, heads);
    }
    let outer = b.shape(heads)[..3].to_vec();
    let whole = b.shape(heads)[3];
    let size = match b.case.integer("rotary_embedding_dim", 0) {
        0 => whole,
        part => part,
    };
    let [cosines, sines] = [1, 2].map(|place| {
        let mut table = b.input(place);
        if b.has(3) {
            let positions = b.input(3);
            table = b.expr.gather(table, positions, 0);
        }
        b.reshape(table, &[outer[0], 1, outer[2], size / 2])
    });
    // The numbers of a pair: neighbours, or the same place of both halves.
    let is_interleaved = b.case.integer("interleaved", 0) == 1;
    let parts = [0, 1].map(|place| {
        let (start, step) = if is_interleaved { (place, 2) } else { (place * size / 2, 1) };
        let shape = [outer.as_slice(), &[size / 2]].concat();
        b.expr.slice(heads, sizes(&[0, 0, 0, start]), vec![1, 1, 1, step], sizes(&shape))
    });
    let mut turned = |first: (TensorId, TensorId), second: (TensorId, TensorId), op| {
        let products = [first, second].map(|(x, table)| b.apply(Elementwise::Mul, &[x, table]));
        b.apply(op, &products)
    };
    let turned = [
        turned((parts[0], cosines), (parts[1], sines), Elementwise::Sub),
        turned((parts[0], sines), (parts[1], cosines), Elementwise::Add),
    ];
    let axis = if is_interleaved { 4 } else { 3 };
    let mut column = [outer.as_slice(), &[size / 2]].concat();
    column.insert(axis, 1);
    let columns = turned.map(|part| b.reshape(part, &column));
    let together = b.expr.concat(&columns, axis as u32);
    let turned = b.reshape(together, &[outer.as_slice(), &[size]].concat());
    let rest = [outer.as_slice(), &[whole - size]].concat();
    let rest = b.expr.slice(heads, sizes(&[0, 0, 0, size]), vec![1; 4], sizes(&rest));
    let mut result = b.expr.concat(&[turned, rest], 3);
    if shape.len() == 3 {
        result = exchanged(b, result);
        result = b.reshape(result, &shape);
    }
    Some(vec![result])
}

/// Axes 1 and 2 exchanged.
fn exchanged(b: &mut Builder, x: TensorId) -> TensorId {
    let shape = b.shape(x);
    b.push(TensorOp::Permute(vec![0, 2, 1, 3]), &[x], &[shape[0], shape[2], shape[1], shape[3]])
}
