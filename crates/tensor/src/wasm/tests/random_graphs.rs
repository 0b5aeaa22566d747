//! Random kernels of operations that are exact or correctly rounded, so that results must be equal.

use proptest::prelude::*;
use residua_ir::graph::Op as Real;

use super::compare::{check, contents};
use super::machine::Random;
use crate::dtype::DType;
use crate::kernel::{Extent, Kernel};
use crate::sample::{Sample, store};
use crate::scalar::{Id, Op, Type};

fn pick<T: Copy>(random: &mut Random, list: &[T]) -> T {
    list[random.below(list.len())]
}

/// A kernel of random operations on elements of several types over two axes, and contents of its buffers.
fn kernel(random: &mut Random) -> (Kernel, Vec<Vec<u8>>) {
    let sizes = [1, 2, 3, 4, 5, 9, 18];
    let shape = [pick(random, &sizes), pick(random, &sizes)];
    let mut buffers: Vec<(DType, bool)> = DType::ALL.iter().map(|dtype| (*dtype, false)).collect();
    let outputs = [pick(random, &DType::ALL), pick(random, &DType::ALL)];
    buffers.extend(outputs.map(|dtype| (dtype, true)));
    let mut sample = Sample::new(&buffers);
    let extents = shape.map(|extent| match random.below(2) {
        0 => Extent::Known(extent as u32),
        _ => sample.word(extent),
    });
    let (row, column) = (sample.coordinate(0), sample.coordinate(1));
    let contiguous = sample.affine(row, extents[1], column);
    let transposed = sample.affine(column, extents[0], row);
    let count = (shape[0] * shape[1]) as usize;
    let mut values: Vec<Id> = vec![row, column];
    for buffer in 0..DType::ALL.len() as u32 {
        let index = pick(random, &[contiguous, transposed, row, column]);
        values.push(sample.load(buffer, index));
    }
    for _ in 0..30 {
        let a = pick(random, &values);
        let ty = sample.graph.ty(a);
        let same: Vec<Id> = values.iter().copied().filter(|id| sample.graph.ty(*id) == ty).collect();
        let (b, c) = (pick(random, &same), pick(random, &same));
        let bools: Vec<Id> = values.iter().copied().filter(|id| sample.graph.ty(*id) == Type::Bool).collect();
        let counts: Vec<Id> = values.iter().copied().filter(|id| sample.graph.ty(*id) == Type::U32).collect();
        let (condition, shift) = (pick(random, &bools), pick(random, &counts));
        let op = match ty {
            Type::F32 => {
                let reals = [Real::Neg, Real::Abs, Real::Sign, Real::Sqrt, Real::Floor, Real::Ceil, Real::Round];
                let binary = [Real::Add, Real::Sub, Real::Mul, Real::Div, Real::Min, Real::Max, Real::GuardedMul];
                match random.below(4) {
                    0 => Op::Real(pick(random, &reals)),
                    1 => pick(random, &[Op::Trunc, Op::Eq, Op::Lt, Op::Le, Op::Select, Op::ToI32, Op::ToU32]),
                    _ => Op::Real(pick(random, &binary)),
                }
            }
            Type::Bool => {
                pick(random, &[Op::And, Op::Or, Op::Xor, Op::Not, Op::Eq, Op::Select, Op::ToF32, Op::ToI32, Op::ToU32])
            }
            Type::I32 | Type::U32 => pick(
                random,
                &[
                    Op::Eq,
                    Op::Lt,
                    Op::Le,
                    Op::Select,
                    Op::IntAdd,
                    Op::IntSub,
                    Op::IntMul,
                    Op::IntDiv,
                    Op::IntRem,
                    Op::IntMin,
                    Op::IntMax,
                    Op::And,
                    Op::Or,
                    Op::Xor,
                    Op::Not,
                    Op::Shl,
                    Op::Shr,
                    Op::ToF32,
                    Op::ToI32,
                    Op::ToU32,
                ],
            ),
        };
        let value = match op {
            Op::Select => sample.apply(op, &[condition, b, c]),
            Op::Shl | Op::Shr => sample.apply(op, &[a, shift]),
            _ => sample.apply(op, &[a, b, c][..op.arity()]),
        };
        values.push(value);
    }
    // A gather by a computed index.
    let limit = sample.word(count as i64);
    let limit = sample.extent(limit);
    let any = pick(random, &values.iter().copied().filter(|id| sample.graph.ty(*id) == Type::U32).collect::<Vec<_>>());
    let index = sample.apply(Op::IntRem, &[any, limit]);
    let gathered = sample.load(0, index);
    let difference = sample.real(Real::Sub, &[gathered, gathered]);
    values.push(gathered);
    values.push(difference);
    let stores = [0, 1].map(|output| {
        let ty = Type::of(outputs[output]);
        let fitting: Vec<Id> = values.iter().copied().filter(|id| sample.graph.ty(*id) == ty).collect();
        // The last of a type is made of many.
        let value = fitting[fitting.len() - 1 - random.below(fitting.len().min(3))];
        let index = pick(random, &[contiguous, transposed]);
        store(DType::ALL.len() as u32 + output as u32, index, value)
    });
    let kernel = sample.elements("random", &extents, stores.to_vec());
    let contents = buffers.iter().map(|(dtype, _)| contents(random, *dtype, count)).collect();
    (kernel, contents)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn random_kernels_do_what_the_interpreter_does(seed in any::<u64>()) {
        let (kernel, contents) = kernel(&mut Random(seed));
        check(&kernel, &contents, &[], 0.0, 0.0, &format!("seed {seed}"));
    }
}
