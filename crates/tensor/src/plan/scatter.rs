//! Large scatters by a sort: the sources of each place become neighbours, in their order, and are combined by a scan.
//!
//! A scatter that goes through all sources for each place does elements × sources of work. This one sorts the sources by
//! the numbers of their places. Sums follow the order of the sources, as there, and are not compensated.

use std::rc::Rc;

use residua_base::list::Listed;
use residua_ir::graph::{Graph, InputId, Op as Real};

use super::sort::{Where, sorted};
use crate::dtype::DType;
use crate::expr::{Combine, Elementwise, Expr, Reduction, Rule, Tensor, TensorId, TensorOp};
use crate::fuse::Target;
use crate::size::Size;

/// Steps of the direct way that take as long as a sort, on a device and on the host.
const MOST_STEPS: (f64, f64) = (1e8, 1e6);

/// Whether a scatter is so large that a sort is faster, and one that the sort can do.
pub fn is_shorter_by_sort(
    expr: &Expr,
    operands: &[TensorId],
    tensor: &Tensor,
    target: &Target,
    most_dims: &[u32],
) -> bool {
    let (TensorOp::Scatter(axis, how) | TensorOp::IndexPut(axis, how)) = tensor.op else { return false };
    let count = |sizes: &[Size]| Size::product(sizes).at(most_dims).max(0) as f64;
    let along = expr.shape(operands[2])[axis as usize].at(most_dims).max(0) as f64;
    let steps = count(&tensor.shape) * along;
    let is_able = match how {
        Combine::Set => tensor.dtype.bytes() == 4 || tensor.dtype.is_real(),
        Combine::Add => tensor.dtype != DType::Bool,
        Combine::Mul | Combine::Min | Combine::Max => tensor.dtype.is_real(),
    };
    is_able && steps > if target.is_host { MOST_STEPS.1 } else { MOST_STEPS.0 }
}

/// A scatter of elements, or of slices, as other operations.
pub fn by_sort(
    expr: &mut Expr,
    operands: &[TensorId],
    axis: u32,
    how: Combine,
    is_of_elements: bool,
    on: Where,
) -> TensorId {
    let [base, indices, source] = [operands[0], operands[1], operands[2]];
    let shape = expr.shape(base).to_vec();
    if is_of_elements {
        // Every element has a place of its own in the result as a vector.
        let count = Size::product(&shape);
        let own = expr.shape(source).to_vec();
        let mut place = expr.constant(0.0, DType::U32);
        let (key, extent) = key(expr, indices, &shape[axis as usize]);
        let is_within = expr.elementwise(Elementwise::Lt, &[key, extent]);
        for (other, extent) in (0..).zip(&shape) {
            let coordinate = if other == axis { key } else { expr.iota(other, DType::U32, &own) };
            let extent = expr.extent(extent, DType::U32);
            let product = expr.elementwise(Elementwise::Mul, &[place, extent]);
            place = expr.elementwise(Elementwise::Add, &[product, coordinate]);
        }
        let beyond = expr.extent(&count, DType::U32);
        let place = expr.elementwise(Elementwise::Select, &[is_within, place, beyond]);
        let whole = expr.expand(place, &own);
        let flat = [Size::product(&own)];
        let keys = expr.reshape(whole, &flat);
        let source = expr.reshape(source, &flat);
        let base = expr.reshape(base, &[count]);
        let result = put(expr, base, keys, source, how, on);
        return expr.reshape(result, &shape);
    }
    // The axis goes first.
    let rank = shape.len() as u32;
    let order: Vec<u32> = std::iter::once(axis).chain((0..rank).filter(|other| *other != axis)).list();
    let first = |expr: &mut Expr, x: TensorId| {
        let moved = expr.permute(x, &order);
        let shape = expr.shape(moved).to_vec();
        expr.reshape(moved, &[shape[0].clone(), Size::product(&shape[1..])])
    };
    let moved: Vec<Size> = order.iter().map(|from| shape[*from as usize].clone()).list();
    let (keys, _) = key(expr, indices, &shape[axis as usize]);
    let (base, source) = (first(expr, base), first(expr, source));
    let result = put(expr, base, keys, source, how, on);
    let result = expr.reshape(result, &moved);
    expr.permute_back(result, &order)
}

/// The place that each index means, and the extent for one that is out of range; both u32.
fn key(expr: &mut Expr, indices: TensorId, extent: &Size) -> (TensorId, TensorId) {
    let size = expr.extent(extent, DType::U32);
    let place = expr.cast(indices, DType::U32);
    let place = if expr.dtype(indices) == DType::I32 {
        let zero = expr.constant(0.0, DType::I32);
        let is_negative = expr.elementwise(Elementwise::Lt, &[indices, zero]);
        let from_end = expr.elementwise(Elementwise::Add, &[place, size]);
        expr.elementwise(Elementwise::Select, &[is_negative, from_end, place])
    } else {
        place
    };
    (expr.elementwise(Elementwise::Minimum, &[place, size]), size)
}

/// Rows of `source` (or elements, of a vector) combined into those of `base` that the keys name.
fn put(expr: &mut Expr, base: TensorId, keys: TensorId, source: TensorId, how: Combine, on: Where) -> TensorId {
    let shape = expr.shape(base).to_vec();
    let (count, sources) = (shape[0].clone(), expr.shape(keys)[0].clone());
    // Enough bits for a place and for the extent itself.
    let bits = count.known().map_or(32, |count| 64 - (count as u64).leading_zeros());
    let (sorted_keys, places) = sorted(expr, keys, bits, on);
    let rows = expr.gather(source, places, 0);
    let one = expr.constant(1.0, DType::U32);
    // Sources before each place, by bisection: where the sources of a place begin, and where they end.
    let starts = expr.iota(0, DType::U32, &[&count + &Size::constant(1)]);
    let bounds = bounds(expr, sorted_keys, starts, &sources);
    let part =
        |expr: &mut Expr, start: i64| expr.slice(bounds, vec![Size::constant(start)], vec![1], vec![count.clone()]);
    let (begin, end) = (part(expr, 0), part(expr, 1));
    let last = expr.elementwise(Elementwise::Sub, &[end, one]);
    let dtype = expr.dtype(base);
    let of_place = |expr: &mut Expr, x: TensorId| {
        let ones = vec![Size::constant(1); shape.len() - 1];
        expr.reshape(x, &[std::slice::from_ref(&count), &ones].concat())
    };
    let combined = match how {
        Combine::Set => expr.gather(rows, last, 0),
        Combine::Add if !dtype.is_real() => {
            // Sums that wrap may be had as differences.
            let sums = expr.scan(rows, Reduction::Sum, 0, false, false);
            let to = expr.gather(sums, last, 0);
            let before = expr.elementwise(Elementwise::Sub, &[begin, one]);
            // Before the first source there is none: an index beyond the sources reads 0.
            let from = expr.gather(sums, before, 0);
            let sum = expr.elementwise(Elementwise::Sub, &[to, from]);
            let base = expr.elementwise(Elementwise::Add, &[base, sum]);
            return base;
        }
        Combine::Add | Combine::Mul | Combine::Min | Combine::Max => {
            let rows = expr.cast(rows, DType::F32);
            let totals = totals(expr, sorted_keys, rows, how);
            let total = expr.gather(totals, last, 0);
            let total = expr.cast(total, dtype);
            expr.elementwise(elementwise_of(how), &[base, total])
        }
    };
    let is_any = expr.elementwise(Elementwise::Lt, &[begin, end]);
    let is_any = of_place(expr, is_any);
    let is_any = expr.expand(is_any, &shape);
    expr.elementwise(Elementwise::Select, &[is_any, combined, base])
}

/// For each number how many of the sorted keys are smaller.
fn bounds(expr: &mut Expr, keys: TensorId, numbers: TensorId, sources: &Size) -> TensorId {
    let (one, count) = (expr.constant(1.0, DType::U32), expr.extent(sources, DType::U32));
    let shape = expr.shape(numbers).to_vec();
    let mut found = expr.full(0.0, DType::U32, &shape);
    let bits = sources.known().map_or(32, |sources| 64 - (sources as u64).leading_zeros());
    for bit in (0..bits).rev() {
        let step = expr.constant(f64::from(1u32 << bit), DType::U32);
        let next = expr.elementwise(Elementwise::Add, &[found, step]);
        let place = expr.elementwise(Elementwise::Sub, &[next, one]);
        let key = expr.gather(keys, place, 0);
        let is_smaller = expr.elementwise(Elementwise::Lt, &[key, numbers]);
        let is_within = expr.elementwise(Elementwise::Le, &[next, count]);
        let moves = expr.elementwise(Elementwise::And, &[is_smaller, is_within]);
        found = expr.elementwise(Elementwise::Select, &[moves, next, found]);
    }
    found
}

/// The combination of all rows with one key up to each: a scan that starts again where the key changes.
fn totals(expr: &mut Expr, keys: TensorId, rows: TensorId, how: Combine) -> TensorId {
    let shape = expr.shape(rows).to_vec();
    let of_keys = expr.shape(keys).to_vec();
    let (own, one) = (expr.iota(0, DType::U32, &of_keys), expr.constant(1.0, DType::U32));
    let before = expr.elementwise(Elementwise::Sub, &[own, one]);
    let key_before = expr.gather(keys, before, 0);
    let zero = expr.constant(0.0, DType::U32);
    let is_first = expr.elementwise(Elementwise::Eq, &[own, zero]);
    let differs = expr.elementwise(Elementwise::Ne, &[keys, key_before]);
    let begins = expr.elementwise(Elementwise::Or, &[is_first, differs]);
    let begins = expr.cast(begins, DType::F32);
    let mut long = of_keys;
    long.resize(shape.len(), Size::constant(1));
    let begins = expr.reshape(begins, &long);
    let begins = expr.expand(begins, &shape);
    let op = TensorOp::ScanBy { rule: rule(how), axis: 0, exclusive: false, reverse: false, result: 1 };
    expr.push(Tensor { op, operands: vec![begins, rows], dtype: DType::F32, shape })
}

/// States are (whether the sources of a place begin within, their combination since): those of the place before do not count.
fn rule(how: Combine) -> Rc<Rule> {
    let mut graph = Graph::new();
    let [flag, value, next_flag, next] = [0, 1, 2, 3].map(|input| graph.input(InputId(input)));
    let (op, neutral) = match how {
        Combine::Add | Combine::Set => (Real::Add, 0.0),
        Combine::Mul => (Real::Mul, 1.0),
        Combine::Min => (Real::Min, f64::INFINITY),
        Combine::Max => (Real::Max, f64::NEG_INFINITY),
    };
    let begins = graph.apply(Real::Max, &[flag, next_flag]);
    let both = graph.apply(op, &[value, next]);
    let result = graph.apply(Real::Select, &[next_flag, next, both]);
    let merge = graph.check(4).expect("its inputs are those of two states");
    Rc::new(Rule { identity: vec![0.0, neutral], merge, results: vec![begins, result] })
}

fn elementwise_of(how: Combine) -> Elementwise {
    match how {
        Combine::Add | Combine::Set => Elementwise::Add,
        Combine::Mul => Elementwise::Mul,
        Combine::Min => Elementwise::Minimum,
        Combine::Max => Elementwise::Maximum,
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;
    use crate::expr::evaluate;

    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|k| ((k * 37 % 101) as f64) / 8.0 - 3.0).collect()
    }

    #[test]
    fn a_sort_gives_what_the_direct_way_gives() {
        let size = |extents: &[i64]| -> Vec<Size> { extents.iter().map(|extent| Size::constant(*extent)).collect() };
        for dtype in [DType::F32, DType::I32] {
            for how in [Combine::Set, Combine::Add, Combine::Mul, Combine::Min, Combine::Max] {
                if dtype == DType::I32 && !matches!(how, Combine::Set | Combine::Add) {
                    continue;
                }
                for is_of_elements in [false, true] {
                    let mut expr = Expr::default();
                    let base = expr.input(0, dtype, &size(&[3, 5]));
                    let indices = expr.input(1, DType::I32, &size(if is_of_elements { &[3, 7] } else { &[7] }));
                    let source = expr.input(2, dtype, &size(&[3, 7]));
                    let operands = [base, indices, source];
                    let expected = if is_of_elements {
                        expr.scatter(base, indices, source, 1, how)
                    } else {
                        expr.index_put(base, indices, source, 1, how)
                    };
                    let target = Target { is_host: false, most_buffers: 8 };
                    let on = Where { target: &target, most_dims: &[] };
                    let found = by_sort(&mut expr, &operands, 1, how, is_of_elements, on);
                    expr.check().unwrap();
                    let count = if is_of_elements { 21 } else { 7 };
                    let places = (0..count).map(|k| f64::from([2, -1, 2, 9, 0, -7, 2, 4][k % 8])).collect();
                    let whole =
                        |values: Vec<f64>| values.into_iter().map(|x| if dtype == DType::I32 { x.floor() } else { x });
                    let inputs = [whole(numbers(15)).collect(), places, whole(numbers(21)).collect()];
                    let values = evaluate(&expr, &[], &inputs);
                    let [expected, found] = [expected, found].map(|id| values[id.0 as usize].clone());
                    assert_eq!(found, expected, "{dtype:?} {how:?} of elements: {is_of_elements}");
                }
            }
        }
    }
}
