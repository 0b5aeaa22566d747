//! Random kernels of operations that are exact or correctly rounded, so that results must be equal.

use proptest::prelude::*;
use residua_ir::graph::Op as Real;
use residua_portable::Random;

use super::compare::{check, contents};
use crate::dtype::DType;
use crate::kernel::{Body, Combine, Extent, Fold, Rows, Store, TensorKernel};
use crate::sample::{Sample, store};
use crate::scalar::{Id, Type, TypedOp};

fn pick<T: Copy>(random: &mut Random, list: &[T]) -> T {
    list[random.below(list.len())]
}

/// Buffers that are read, one of each type, and two that are written.
const INPUTS: u32 = DType::ALL.len() as u32;

/// A kernel under construction: its axes, and values at each point.
struct Recipe<'r> {
    random: &'r mut Random,
    sample: Sample,
    extents: Vec<Extent>,
    count: i64,
    values: Vec<Id>,
    outputs: [DType; 2],
}

impl Recipe<'_> {
    /// Elements of all inputs in several layouts over axes of random extents.
    fn new(random: &mut Random, axes: usize) -> Recipe<'_> {
        let outputs = [pick(random, &DType::ALL), pick(random, &DType::ALL)];
        let mut buffers: Vec<(DType, bool)> = DType::ALL.iter().map(|dtype| (*dtype, false)).collect();
        buffers.extend(outputs.map(|dtype| (dtype, true)));
        let mut sample = Sample::new(&buffers);
        let shape: Vec<i64> = (0..axes).map(|_| pick(random, &[1, 2, 3, 4, 5, 9, 18])).collect();
        let extents: Vec<Extent> = shape
            .iter()
            .map(|extent| match random.below(2) {
                0 => Extent::Known(*extent as u32),
                _ => sample.word(*extent),
            })
            .collect();
        let mut recipe = Recipe { random, sample, extents, count: shape.iter().product(), values: Vec::new(), outputs };
        for axis in 0..axes as u32 {
            let coordinate = recipe.sample.coordinate(axis);
            recipe.values.push(coordinate);
        }
        for buffer in 0..INPUTS {
            let index = recipe.index();
            let value = recipe.sample.load(buffer, index);
            recipe.values.push(value);
        }
        recipe
    }

    /// The index of a point in C order of some of the axes, in any order of them.
    fn index(&mut self) -> Id {
        let axes = self.extents.len();
        let mut order: Vec<usize> = (0..axes).collect();
        if self.random.below(2) == 0 {
            order.reverse();
        }
        if self.random.below(3) == 0 {
            order.truncate(1);
        }
        self.index_of(&order)
    }

    fn index_of(&mut self, order: &[usize]) -> Id {
        let mut index = self.sample.u32(0);
        for axis in order {
            let coordinate = self.sample.coordinate(*axis as u32);
            index = self.sample.affine(index, self.extents[*axis], coordinate);
        }
        index
    }

    fn of_type(&self, ty: Type) -> Vec<Id> {
        self.values.iter().copied().filter(|id| self.sample.graph.ty(*id) == ty).collect()
    }

    /// Adds random operations on the values.
    fn compute(&mut self, operations: usize) {
        for _ in 0..operations {
            let a = pick(self.random, &self.values);
            let ty = self.sample.graph.ty(a);
            let mut same = self.of_type(ty);
            let number = match ty {
                Type::F32 => pick(self.random, &[0.0, -0.0, 1.5, -2.0, f32::INFINITY, f32::NAN]).to_bits(),
                Type::Bool => self.random.below(2) as u32,
                Type::I32 | Type::U32 => pick(self.random, &[0, 1, 2, 3, 31, !0, 1 << 31]),
            };
            same.push(self.sample.graph.literal(ty, number));
            let (b, c) = (pick(self.random, &same), pick(self.random, &same));
            let (conditions, counts) = (self.of_type(Type::Bool), self.of_type(Type::U32));
            let (condition, shift) = (pick(self.random, &conditions), pick(self.random, &counts));
            let op = self.operation(ty);
            let value = match op {
                TypedOp::Select => self.sample.apply(op, &[condition, b, c]),
                TypedOp::Shl | TypedOp::Shr => self.sample.apply(op, &[a, shift]),
                _ => self.sample.apply(op, &[a, b, c][..op.arity()]),
            };
            self.values.push(value);
        }
    }

    fn operation(&mut self, ty: Type) -> TypedOp {
        let real = [Real::Neg, Real::Abs, Real::Sign, Real::Sqrt, Real::Floor, Real::Ceil, Real::Round];
        let binary = [Real::Add, Real::Sub, Real::Mul, Real::Div, Real::Min, Real::Max, Real::GuardedMul];
        let mixed =
            [TypedOp::Trunc, TypedOp::Eq, TypedOp::Lt, TypedOp::Le, TypedOp::Select, TypedOp::ToI32, TypedOp::ToU32];
        let of_bools = [
            TypedOp::And,
            TypedOp::Or,
            TypedOp::Xor,
            TypedOp::Not,
            TypedOp::Eq,
            TypedOp::Select,
            TypedOp::ToF32,
            TypedOp::ToI32,
            TypedOp::ToU32,
        ];
        let of_integers = [
            TypedOp::Eq,
            TypedOp::Lt,
            TypedOp::Le,
            TypedOp::Select,
            TypedOp::IntAdd,
            TypedOp::IntSub,
            TypedOp::IntMul,
            TypedOp::IntDiv,
            TypedOp::IntRem,
            TypedOp::IntMin,
            TypedOp::IntMax,
            TypedOp::And,
            TypedOp::Or,
            TypedOp::Xor,
            TypedOp::Not,
            TypedOp::Shl,
            TypedOp::Shr,
            TypedOp::ToF32,
            TypedOp::ToI32,
            TypedOp::ToU32,
        ];
        match ty {
            Type::F32 => match self.random.below(4) {
                0 => TypedOp::Real(pick(self.random, &real)),
                1 => pick(self.random, &mixed),
                _ => TypedOp::Real(pick(self.random, &binary)),
            },
            Type::Bool => pick(self.random, &of_bools),
            Type::I32 | Type::U32 => pick(self.random, &of_integers),
        }
    }

    /// An element at a computed index.
    fn gather(&mut self) {
        let limit = self.sample.word(self.count);
        let limit = self.sample.extent(limit);
        let any = self.of_type(Type::U32);
        let any = pick(self.random, &any);
        let index = self.sample.apply(TypedOp::IntRem, &[any, limit]);
        let value = self.sample.load(pick(self.random, &[0, 2, 4]), index);
        self.values.push(value);
    }

    /// One of the last values of an output's type.
    fn result(&mut self, output: usize) -> Id {
        let fitting = self.of_type(Type::of(self.outputs[output]));
        // The last of a type is made of many.
        fitting[fitting.len() - 1 - self.random.below(fitting.len().min(3))]
    }

    fn contents(&mut self) -> Vec<Vec<u8>> {
        let count = self.count as usize;
        let dtypes = self.sample.buffers.iter().map(|buffer| buffer.dtype).collect::<Vec<_>>();
        // One axis alone may be longer than a product of all has elements for.
        dtypes.into_iter().map(|dtype| contents(self.random, dtype, count)).collect()
    }
}

/// A kernel of elements.
fn elements(random: &mut Random) -> (TensorKernel, Vec<Vec<u8>>) {
    let axes = 1 + random.below(3);
    let mut recipe = Recipe::new(random, axes);
    recipe.compute(20);
    recipe.gather();
    recipe.compute(10);
    let order: Vec<usize> = (0..axes).collect();
    let reversed: Vec<usize> = order.iter().rev().copied().collect();
    let stores: Vec<Store> = [&order, &reversed]
        .into_iter()
        .enumerate()
        .map(|(output, order)| {
            let (value, index) = (recipe.result(output), recipe.index_of(order));
            store(INPUTS + output as u32, index, value)
        })
        .collect();
    let contents = recipe.contents();
    let extents = recipe.extents.clone();
    (recipe.sample.elements("random", &extents, stores), contents)
}

/// A kernel of rows with two reductions, of which the second may need the first.
fn rows(random: &mut Random) -> (TensorKernel, Vec<Vec<u8>>) {
    let (outer, row) = (random.below(3), 1 + random.below(2));
    let mut recipe = Recipe::new(random, outer + row);
    recipe.compute(10);
    let mut folds = Vec::new();
    for fold in 0..2 {
        recipe.compute(5);
        let value = pick(recipe.random, &recipe.values);
        let ty = recipe.sample.graph.ty(value);
        let inner: Vec<usize> = (outer..outer + row).collect();
        let place = recipe.index_of(&inner);
        let (combine, operands, result) = match (recipe.random.below(4), ty) {
            (0, Type::I32 | Type::U32) => (Combine::PlainSum, vec![value], ty),
            (0 | 1, _) => (Combine::Min, vec![value], ty),
            (3, Type::F32 | Type::I32 | Type::U32) => (Combine::ArgMin, vec![value, place], Type::I32),
            _ => (Combine::Max, vec![value], ty),
        };
        folds.push(Fold { combine, operands, merges_states: false, keeps_state: false });
        let result = recipe.sample.folded(fold, 0, result);
        recipe.values.push(result);
    }
    recipe.compute(10);
    let order: Vec<usize> = (0..outer + row).collect();
    let (value, index) = (recipe.result(0), recipe.index_of(&order));
    let elements = vec![store(INPUTS, index, value)];
    // What is written once a row depends on the row and its results.
    let index = recipe.index_of(&order[..outer]);
    let results: Vec<Id> = recipe
        .values
        .iter()
        .copied()
        .filter(|id| matches!(recipe.sample.graph.node(*id), crate::scalar::TypedNode::Folded { .. }))
        .collect();
    let of_type = results.into_iter().find(|id| recipe.sample.graph.ty(*id) == Type::of(recipe.outputs[1]));
    let results = of_type.map(|value| store(INPUTS + 1, index, value)).into_iter().collect();
    let contents = recipe.contents();
    let (outer, row) = (recipe.extents[..outer].to_vec(), recipe.extents[outer..].to_vec());
    let rows = Rows { outer, row, valid: None, folds, elements, results };
    (recipe.sample.kernel("random", Body::Rows(rows)), contents)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn random_kernels_do_what_the_interpreter_does(seed in any::<u64>()) {
        let (kernel, contents) = elements(&mut Random(seed));
        check(&kernel, &contents, &[], 0.0, 0.0, &format!("seed {seed}"));
    }

    #[test]
    fn random_rows_do_what_the_interpreter_does(seed in any::<u64>()) {
        let (kernel, contents) = rows(&mut Random(seed));
        check(&kernel, &contents, &[], 0.0, 0.0, &format!("seed {seed}"));
    }
}
