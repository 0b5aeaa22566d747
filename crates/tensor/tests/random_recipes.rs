//! Random recipes and their derivatives: kernels give what the reference gives.
//!
//! All numbers are integers that f32 holds, or NaN, and operations keep them so: results are limited to a few units before they grow. Elementary
//! functions, quotients of reals and variances, which round, are not among the operations.

#![cfg(not(target_arch = "wasm32"))]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use residua_tensor::dtype::DType;
use residua_tensor::expr::{Border, Combine, Elementwise, Expr, Reduction, Tensor, TensorId, TensorOp, evaluate};
use residua_tensor::fuse::Target;
use residua_tensor::grad::differentiate;
use residua_tensor::plan::Plan;
use residua_tensor::plan::execute::{bytes_of, elements_of, execute};
use residua_tensor::size::Size;
use residua_tensor::tape::{Recipe, write};

/// What the dim is in a run, and at most.
const DIM: u32 = 4;
const MOST_DIM: u32 = 6;
/// What it is where axes that depend on it have no elements.
const NO_DIM: u32 = 0;

/// Most elements of a tensor.
const MOST_ELEMENTS: i64 = 300;

/// Reals stay within so much of 0.
const LIMIT: f64 = 8.0;

/// A step of a recipe: numbers that choose an operation, its operands and its attributes.
type Choice = [u32; 8];

struct Recording {
    expr: Expr,
    /// What later steps take.
    tensors: Vec<TensorId>,
}

fn size(extent: i64) -> Size {
    Size::constant(extent)
}

impl Recording {
    fn pick(&self, choice: u32) -> TensorId {
        // The later ones twice as often, so that chains grow.
        let count = self.tensors.len() as u32;
        let place = choice % (2 * count);
        self.tensors[(if place < count { place } else { count / 2 + place % count.div_ceil(2) }) as usize]
    }

    fn shape(&self, x: TensorId) -> Vec<Size> {
        self.expr.shape(x).to_vec()
    }

    fn elements(shape: &[Size]) -> i64 {
        Size::product(shape).at(&[MOST_DIM])
    }

    fn push(&mut self, op: TensorOp, operands: &[TensorId], dtype: DType, shape: Vec<Size>) -> TensorId {
        self.expr.push(Tensor { op, operands: operands.to_vec(), dtype, shape })
    }

    fn constant(&mut self, number: f64, like: TensorId) -> TensorId {
        let dtype = self.expr.dtype(like);
        self.expr.constant(number, dtype)
    }

    /// A tensor that is computed of nothing.
    fn source(&mut self, choice: u32, dtype: DType, shape: &[Size]) -> TensorId {
        let op = match choice % 3 {
            0 => TensorOp::Constant(f64::from(choice / 3 % 2)),
            1 if dtype != DType::Bool => TensorOp::Iota(shape.len() as u32 - 1),
            2 if dtype != DType::Bool => TensorOp::Extent(Size::dim(0)),
            _ => TensorOp::Constant(1.0),
        };
        self.push(op, &[], dtype, shape.to_vec())
    }

    /// Numbers within a limit; bools as they are.
    fn limited(&mut self, x: TensorId, limit: f64) -> TensorId {
        let dtype = self.expr.dtype(x);
        if dtype == DType::Bool {
            return x;
        }
        let high = self.constant(limit, x);
        let below = self.expr.elementwise(Elementwise::Minimum, &[x, high]);
        if !dtype.is_real() && dtype != DType::I32 {
            return below;
        }
        let low = self.constant(-limit, x);
        self.expr.elementwise(Elementwise::Maximum, &[below, low])
    }

    fn cast(&mut self, x: TensorId, dtype: DType) -> TensorId {
        if self.expr.dtype(x) == dtype {
            return x;
        }
        let x = self.limited(x, LIMIT);
        self.expr.cast(x, dtype)
    }

    /// A scalar of a tensor.
    fn scalar(&mut self, x: TensorId) -> TensorId {
        let axes: Vec<u32> = (0..self.shape(x).len() as u32).collect();
        self.expr.reduce(Reduction::Max, x, &axes)
    }

    /// x, or a scalar of it, that broadcasts with another shape.
    fn fitting(&mut self, x: TensorId, shape: &[Size]) -> TensorId {
        let own = self.shape(x);
        let (more, fewer) = if own.len() > shape.len() { (&own[..], shape) } else { (shape, &own[..]) };
        let pairs = more[more.len() - fewer.len()..].iter().zip(fewer);
        let mut extents: Vec<Size> = more[..more.len() - fewer.len()].to_vec();
        let mut fits = true;
        for (a, b) in pairs {
            fits &= a == b || a.is(1) || b.is(1);
            extents.push(if a.is(1) { b.clone() } else { a.clone() });
        }
        if fits && Recording::elements(&extents) <= MOST_ELEMENTS { x } else { self.scalar(x) }
    }

    /// The tensor of a step; none where the choice does not fit.
    fn step(&mut self, c: Choice) -> Option<TensorId> {
        let x = self.pick(c[1]);
        let (shape, dtype) = (self.shape(x), self.expr.dtype(x));
        let rank = shape.len() as u32;
        let axis = c[2] % rank.max(1);
        let extent = shape.get(axis as usize).and_then(Size::known);
        let has_axis = rank > 0;
        Some(match c[0] % 19 {
            0 | 1 => self.binary(x, c),
            2 => self.comparison(x, c),
            3 => self.selection(x, c),
            4 if dtype == DType::Bool => self.expr.elementwise(Elementwise::Not, &[x]),
            4 => {
                let op = [Elementwise::Neg, Elementwise::Abs, Elementwise::Sign][c[3] as usize % 3];
                self.expr.elementwise(op, &[x])
            }
            5 => self.cast(x, DType::ALL[c[3] as usize % 6]),
            6 if rank > 1 => {
                // Two neighbouring axes as one.
                let place = c[3] as usize % (rank as usize - 1);
                let merged = &shape[place] * &shape[place + 1];
                let shape = [&shape[..place], &[merged], &shape[place + 2..]].concat();
                self.expr.reshape(x, &shape)
            }
            6 => {
                let place = c[3] as usize % (rank as usize + 1);
                let shape = [&shape[..place], &[size(1)], &shape[place..]].concat();
                self.expr.reshape(x, &shape)
            }
            7 => {
                let mut axes: Vec<u32> = (0..rank).collect();
                axes.rotate_left((c[3] % rank.max(1)) as usize);
                if c[4].is_multiple_of(2) {
                    axes.reverse();
                }
                self.expr.permute(x, &axes)
            }
            8 if has_axis => self.slice(x, axis as usize, c),
            9 if has_axis => self.pad(x, axis as usize, c)?,
            10 if has_axis && Recording::elements(&shape) * 2 <= MOST_ELEMENTS => {
                let turned = self.slice(x, axis as usize, [0, 0, 0, 0, 0, 0, 0, 0]);
                self.expr.concat(&[x, turned], axis)
            }
            11 if rank < 4 && Recording::elements(&shape) * 2 <= MOST_ELEMENTS => match extent {
                Some(extent @ 3..) => {
                    let (width, step) = (2 + i64::from(c[3] % 2), i64::from(1 + c[4] % 2));
                    let mut shape = shape.clone();
                    shape[axis as usize] = size((extent - width) / step + 1);
                    shape.push(size(width));
                    self.push(TensorOp::Windows { axis, step: step as u32, dilation: 1 }, &[x], dtype, shape)
                }
                _ => self.expr.expand(x, &[&[size(2)], shape.as_slice()].concat()),
            },
            12 if has_axis => {
                let indices = self.indices(c[3]);
                let whole: i64 = Recording::elements(&shape) * Recording::elements(&self.shape(indices));
                if whole > MOST_ELEMENTS * 2 {
                    return None;
                }
                self.expr.gather(x, indices, axis)
            }
            13 if has_axis => {
                let indices = self.cast(x, if c[3].is_multiple_of(2) { DType::I32 } else { DType::U32 });
                self.expr.gather_elements(x, indices, axis)
            }
            14 => self.reduction(x, c),
            15 if has_axis => self.scan(x, axis, c),
            16 if rank > 1 && dtype != DType::Bool => {
                let x = self.limited(x, LIMIT);
                let transposed = self.expr.transpose(x);
                let product = match c[3] % 3 {
                    0 => self.expr.matmul(x, transposed, dtype),
                    // A source as the right or the left factor.
                    1 => {
                        let of = self.source(c[4], dtype, &[shape[rank as usize - 1].clone(), size(2)]);
                        self.expr.matmul(x, of, dtype)
                    }
                    _ => {
                        let of = self.source(c[4], dtype, &[size(2), shape[rank as usize - 1].clone()]);
                        self.expr.matmul(of, transposed, dtype)
                    }
                };
                self.limited(product, LIMIT)
            }
            17 if has_axis => self.put(x, axis, c),
            18 if has_axis => {
                let part = self.slice(x, axis as usize, c);
                let count = self.shape(part)[axis as usize].clone();
                let mut starts = vec![size(0); rank as usize];
                if let Some(left) = (&shape[axis as usize] - &count).known().filter(|left| *left > 0) {
                    starts[axis as usize] = size(i64::from(c[7]) % (left + 1));
                }
                self.expr.set_slice(x, starts, part)
            }
            _ => return None,
        })
    }

    fn binary(&mut self, x: TensorId, c: Choice) -> TensorId {
        use Elementwise::{Add, And, Div, FloorMod, Maximum, Minimum, Mod, Mul, Or, Pow, Shl, Shr, Sub, Xor};
        let dtype = self.expr.dtype(x);
        let y = self.pick(c[3]);
        let y = self.cast(y, dtype);
        let y = self.fitting(y, &self.shape(x));
        let ops: &[Elementwise] = match dtype {
            DType::Bool => &[And, Or, Xor],
            DType::F32 | DType::F16 => &[Add, Sub, Mul, Minimum, Maximum, Mod, FloorMod],
            DType::I32 | DType::U32 | DType::U8 => {
                &[Add, Sub, Mul, Minimum, Maximum, Mod, FloorMod, Div, Pow, Shl, Shr, And, Or, Xor]
            }
        };
        let result = self.expr.elementwise(ops[c[4] as usize % ops.len()], &[x, y]);
        if dtype.is_real() { self.limited(result, LIMIT) } else { result }
    }

    fn comparison(&mut self, x: TensorId, c: Choice) -> TensorId {
        use Elementwise::{Eq, Ge, Gt, Le, Lt, Ne};
        let y = self.pick(c[3]);
        let y = self.cast(y, self.expr.dtype(x));
        let y = self.fitting(y, &self.shape(x));
        self.expr.elementwise([Eq, Ne, Lt, Le, Gt, Ge][c[4] as usize % 6], &[x, y])
    }

    fn selection(&mut self, x: TensorId, c: Choice) -> TensorId {
        let [condition, y] = [c[3], c[4]].map(|choice| self.pick(choice));
        let condition = self.cast(condition, DType::Bool);
        let condition = self.fitting(condition, &self.shape(x));
        let either = self.expr.elementwise(Elementwise::Select, &[condition, x, x]);
        let y = self.cast(y, self.expr.dtype(x));
        let y = self.fitting(y, &self.shape(either));
        self.expr.elementwise(Elementwise::Select, &[condition, x, y])
    }

    /// A part of an axis, or the axis turned around.
    fn slice(&mut self, x: TensorId, axis: usize, c: Choice) -> TensorId {
        let mut shape = self.shape(x);
        let (mut starts, mut steps) = (vec![size(0); shape.len()], vec![1; shape.len()]);
        match shape[axis].known() {
            Some(extent) if c[3] % 2 == 1 => {
                let (start, step) = (i64::from(c[4]) % extent, i64::from(c[5] % 3) + 1);
                let step = if c[6].is_multiple_of(2) { step } else { -step };
                let count = if step > 0 { (extent - 1 - start) / step } else { start / -step } + 1;
                (starts[axis], steps[axis], shape[axis]) = (size(start), step, size(count));
            }
            _ => (starts[axis], steps[axis]) = (&shape[axis] - &size(1), -1),
        }
        self.expr.slice(x, starts, steps, shape)
    }

    fn pad(&mut self, x: TensorId, axis: usize, c: Choice) -> Option<TensorId> {
        let mut shape = self.shape(x);
        let [before, after] = [c[3], c[4]].map(|choice| i64::from(choice % 4) - 1);
        shape[axis] = &shape[axis] + &size(before + after);
        let border = [Border::Constant, Border::Clamp, Border::Wrap, Border::Mirror][c[5] as usize % 4];
        let is_empty = shape[axis].at(&[0]) < 0 || shape[axis].is(0);
        if is_empty || Recording::elements(&shape) > MOST_ELEMENTS {
            return None;
        }
        let mut befores = vec![size(0); shape.len()];
        befores[axis] = size(before);
        let mut operands = vec![x];
        if border == Border::Constant {
            operands.push(self.constant(1.0, x));
        }
        let dtype = self.expr.dtype(x);
        Some(self.push(TensorOp::Pad { before: befores, border }, &operands, dtype, shape))
    }

    /// Some integers, a few of them out of range.
    fn indices(&mut self, choice: u32) -> TensorId {
        let x = self.pick(choice);
        self.cast(x, DType::I32)
    }

    /// Numbers whose products stay small.
    fn for_reduction(&mut self, x: TensorId, reduction: Reduction) -> TensorId {
        match reduction {
            Reduction::Prod => self.limited(x, 1.0),
            _ if self.expr.dtype(x).is_real() => self.limited(x, LIMIT),
            _ => x,
        }
    }

    fn reduction(&mut self, x: TensorId, c: Choice) -> TensorId {
        use Reduction::{ArgMax, ArgMin, Max, Min, Prod, Sum};
        let all = [Max, Min, Sum, Prod, ArgMin, ArgMax];
        let count = if self.expr.dtype(x) == DType::Bool { 2 } else { 6 };
        let reduction = all[c[3] as usize % count];
        let axes: Vec<u32> = (0..self.shape(x).len() as u32).filter(|axis| c[4] >> axis & 1 == 1).collect();
        let x = self.for_reduction(x, reduction);
        let reduced = self.expr.reduce(reduction, x, &axes);
        if self.expr.dtype(reduced).is_real() { self.limited(reduced, LIMIT) } else { reduced }
    }

    fn scan(&mut self, x: TensorId, axis: u32, c: Choice) -> TensorId {
        use Reduction::{Max, Min, Prod, Sum};
        let count = if self.expr.dtype(x) == DType::Bool { 2 } else { 4 };
        let reduction = [Max, Min, Sum, Prod][c[3] as usize % count];
        let x = self.for_reduction(x, reduction);
        let scanned = self.expr.scan(x, reduction, axis, c[4] % 2 == 1, c[5] % 2 == 1);
        if self.expr.dtype(scanned).is_real() { self.limited(scanned, LIMIT) } else { scanned }
    }

    fn put(&mut self, x: TensorId, axis: u32, c: Choice) -> TensorId {
        use Combine::{Add, Max, Min, Mul, Set};
        let dtype = self.expr.dtype(x);
        let how = match dtype {
            DType::Bool => [Set, Min, Max][c[3] as usize % 3],
            _ => [Set, Add, Mul, Min, Max][c[3] as usize % 5],
        };
        let x = if how == Mul { self.limited(x, 1.0) } else { x };
        let turned = self.slice(x, axis as usize, [0; 8]);
        let put = if c[4].is_multiple_of(2) {
            let indices = self.cast(turned, DType::I32);
            self.expr.scatter(x, indices, turned, axis, how)
        } else {
            let extent = self.shape(x)[axis as usize].clone();
            let places = self.expr.iota(0, DType::I32, std::slice::from_ref(&extent));
            let three = self.constant(3.0, places);
            let some = self.expr.elementwise(Elementwise::Mod, &[places, three]);
            self.expr.index_put(x, some, turned, axis, how)
        };
        if dtype.is_real() { self.limited(put, LIMIT) } else { put }
    }
}

/// The inputs of every recipe: a type and a shape each.
fn inputs() -> Vec<(DType, Vec<Size>)> {
    let dim = Size::dim(0);
    vec![
        (DType::F32, vec![dim.clone(), size(3)]),
        (DType::F32, vec![size(2), size(3), size(5)]),
        (DType::F16, vec![size(5)]),
        (DType::I32, vec![size(3)]),
        (DType::I32, vec![dim, size(1)]),
        (DType::U32, vec![size(2), size(1)]),
        (DType::U8, vec![size(5), size(3)]),
        (DType::Bool, vec![size(3), size(1)]),
    ]
}

/// An element of a type from random bits.
fn element(dtype: DType, bits: u32) -> f64 {
    let small = f64::from(bits % 9) - 4.0;
    match dtype {
        DType::F32 | DType::F16 => small,
        DType::I32 => f64::from(if bits.is_multiple_of(16) { bits as i32 } else { small as i32 }),
        DType::U32 => f64::from(if bits.is_multiple_of(16) { bits } else { bits >> 8 & 7 }),
        DType::U8 => f64::from(bits as u8),
        DType::Bool => f64::from(bits & 1),
    }
}

/// A recipe of some choices, and what its slots hold.
fn recorded(choices: &[Choice], bits: &[u32], dim: u32) -> (Recording, Vec<Vec<f64>>) {
    let mut recording = Recording { expr: Expr::default(), tensors: Vec::new() };
    let mut contents: Vec<Vec<f64>> = Vec::new();
    let mut bits = bits.iter().cycle();
    for (slot, (dtype, shape)) in inputs().into_iter().enumerate() {
        recording.tensors.push(recording.expr.input(slot as u32, dtype, &shape));
        let count = Size::product(&shape).at(&[dim]) as usize;
        contents.push((0..count).map(|_| element(dtype, *bits.next().expect("bits repeat"))).collect());
    }
    for (choice, (dtype, shape)) in (0..).zip(inputs()) {
        let source = recording.source(choice, dtype, &shape);
        recording.tensors.push(source);
    }
    for choice in choices {
        if let Some(tensor) = recording.step(*choice) {
            recording.tensors.push(tensor);
        }
    }
    (recording, contents)
}

/// Compares the results of a recipe for both targets with the reference. Without a tolerance they are equal; with one, reals may differ by it
/// times the largest of a result.
fn compare(recipe: &Recipe, contents: &[Vec<f64>], dim: u32, tolerance: f64) -> Result<(), TestCaseError> {
    let expected = evaluate(&recipe.expr, &[dim], contents);
    let slots: Vec<Vec<u8>> =
        inputs().iter().zip(contents).map(|((dtype, _), numbers)| bytes_of(*dtype, numbers)).collect();
    for is_host in [false, true] {
        let target = Target { is_host, most_buffers: 8 };
        let fail = |error: residua_base::error::Error| {
            TestCaseError::fail(format!("host {is_host}: {error}\n{}", listing(recipe)))
        };
        let plan = Plan::new(recipe, &target).map_err(fail)?;
        let found = execute(&plan, &[dim], &mut slots.clone()).map_err(fail)?;
        for (bytes, id) in found.iter().zip(&recipe.results) {
            let expected = &expected[id.0 as usize].data;
            let found = elements_of(recipe.expr.dtype(*id), bytes, expected.len());
            let largest = expected.iter().filter(|x| x.is_finite()).fold(1.0, |most: f64, x| most.max(x.abs()));
            let is_same = |(a, b): (&f64, &f64)| {
                a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * largest && tolerance > 0.0
            };
            prop_assert!(
                found.len() == expected.len() && found.iter().zip(expected).all(is_same),
                "host {}: tensor {} is\n{:?}, not\n{:?}\n{}{}",
                is_host,
                id.0,
                found,
                expected,
                listing(recipe),
                plan
            );
        }
    }
    Ok(())
}

fn check(choices: &[Choice], bits: &[u32], dim: u32) -> Result<(), TestCaseError> {
    let (recording, contents) = recorded(choices, bits, dim);
    let results: Vec<TensorId> = recording.tensors.iter().rev().take(3).copied().collect();
    let recipe = Recipe { expr: recording.expr, dims: vec![MOST_DIM], results, assignments: Vec::new() };
    let recipe = Recipe::decode(&write(&recipe)).map_err(|error| TestCaseError::fail(error.to_string()))?;
    compare(&recipe, &contents, dim, 0.0)
}

/// The same of derivatives of the last real tensor by the inputs of f32. Shares of ties round, and products of factors up to 8 cancel.
fn check_derivatives(choices: &[Choice], bits: &[u32]) -> Result<(), TestCaseError> {
    let (mut recording, contents) = recorded(choices, bits, DIM);
    let last = recording.tensors.iter().rev().find(|id| recording.expr.dtype(**id) == DType::F32);
    let last = *last.expect("inputs are of f32");
    let axes: Vec<u32> = (0..recording.shape(last).len() as u32).collect();
    let scalar = recording.expr.reduce(Reduction::Sum, last, &axes);
    let results = [0, 1].map(|input| recording.expr.gradient(scalar, TensorId(input))).to_vec();
    let mut recipe = Recipe { expr: recording.expr, dims: vec![MOST_DIM], results, assignments: Vec::new() };
    differentiate(&mut recipe).map_err(|error| TestCaseError::fail(error.to_string()))?;
    recipe.expr.check().map_err(|error| TestCaseError::fail(format!("{error}\n{}", listing(&recipe))))?;
    compare(&recipe, &contents, DIM, 1e-4)
}

/// A line for each tensor that the results need.
fn listing(recipe: &Recipe) -> String {
    let nodes = &recipe.expr.nodes;
    let mut needed = vec![false; nodes.len()];
    recipe.results.iter().for_each(|id| needed[id.0 as usize] = true);
    for position in (0..nodes.len()).rev() {
        if needed[position] {
            nodes[position].operands.iter().for_each(|id| needed[id.0 as usize] = true);
        }
    }
    let mut text = format!("results {:?}\n", recipe.results);
    for (position, Tensor { op, operands, dtype, shape }) in nodes.iter().enumerate().filter(|(k, _)| needed[*k]) {
        let shape: Vec<String> = shape.iter().map(|size| size.known().map_or("n".into(), |k| k.to_string())).collect();
        text += &format!("{position}: {op:?} {operands:?} {} {shape:?}\n", dtype.name());
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(16), failure_persistence: None, max_shrink_iters: 40000, ..ProptestConfig::default() })]

    #[test]
    fn kernels_give_what_the_reference_gives(
        choices in vec(any::<Choice>(), 1..30),
        bits in vec(any::<u32>(), 64),
    ) {
        check(&choices, &bits, DIM)?;
    }

    #[test]
    fn kernels_read_no_elements_of_empty_axes(
        choices in vec(any::<Choice>(), 1..20),
        bits in vec(any::<u32>(), 64),
    ) {
        check(&choices, &bits, NO_DIM)?;
    }

    #[test]
    fn kernels_of_derivatives_give_what_the_reference_gives(
        choices in vec(any::<Choice>(), 1..20),
        bits in vec(any::<u32>(), 64),
    ) {
        check_derivatives(&choices, &bits)?;
    }
}
