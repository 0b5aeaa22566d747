//! Elementwise kernels: operations, element types, layouts and sizes.

use residua_ir::graph::Op as Real;
use residua_portable::Random;

use super::compare::{check, contents};
use crate::dtype::DType;
use crate::kernel::{Extent, TensorKernel};
use crate::sample::{Sample, store};
use crate::scalar::{Id, Type, TypedOp};

/// How a matrix of rows and columns stands in a buffer.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Contiguous,
    Transposed,
    Sliced,
    Flipped,
    OneRow,
    OneColumn,
    Permuted,
}

const LAYOUTS: [Layout; 7] = [
    Layout::Contiguous,
    Layout::Transposed,
    Layout::Sliced,
    Layout::Flipped,
    Layout::OneRow,
    Layout::OneColumn,
    Layout::Permuted,
];

/// Rows and columns: none, fewer than lanes, as many, more, several vectors.
const SIZES: [(i64, i64); 10] = [(0, 3), (3, 0), (1, 1), (2, 3), (1, 4), (3, 5), (2, 31), (4, 64), (1, 1000), (33, 2)];

impl Layout {
    /// The index of an element, and how many elements the buffer has.
    fn index(self, sample: &mut Sample, (rows, columns): (i64, i64), extents: [Extent; 2]) -> (Id, usize) {
        let (row, column) = (sample.coordinate(0), sample.coordinate(1));
        let all = (rows * columns) as usize;
        match self {
            Layout::Contiguous => (sample.affine(row, extents[1], column), all),
            Layout::Transposed => (sample.affine(column, extents[0], row), all),
            Layout::Sliced => {
                let stride = sample.word(2 * columns + 3);
                let (two, one) = (sample.u32(2), sample.u32(1));
                let twice = sample.apply(TypedOp::IntMul, &[column, two]);
                let within = sample.apply(TypedOp::IntAdd, &[twice, one]);
                (sample.affine(row, stride, within), (rows * (2 * columns + 3)) as usize)
            }
            Layout::Flipped => {
                let last = sample.word(columns - 1);
                let last = sample.extent(last);
                let opposite = sample.apply(TypedOp::IntSub, &[last, column]);
                (sample.affine(row, extents[1], opposite), all)
            }
            Layout::OneRow => (column, columns as usize),
            Layout::OneColumn => (row, rows as usize),
            Layout::Permuted => {
                let (count, seven) = (sample.word(rows * columns), sample.u32(7));
                let (count, linear) = (sample.extent(count), sample.affine(row, extents[1], column));
                let far = sample.apply(TypedOp::IntMul, &[linear, seven]);
                (sample.apply(TypedOp::IntRem, &[far, count]), all)
            }
        }
    }
}

/// An operation on the elements of a matrix of a type.
fn changed(sample: &mut Sample, dtype: DType, x: Id) -> Id {
    match Type::of(dtype) {
        Type::F32 => {
            let half = sample.f32(0.5);
            sample.real(Real::Mul, &[x, half])
        }
        Type::I32 => sample.apply(TypedOp::IntAdd, &[x, x]),
        Type::U32 => {
            let three = sample.u32(3);
            sample.apply(TypedOp::IntAdd, &[x, three])
        }
        Type::Bool => sample.apply(TypedOp::Not, &[x]),
    }
}

fn kernel(dtype: DType, layout: Layout, size: (i64, i64), known: bool, transposes: bool) -> (TensorKernel, usize) {
    let mut sample = Sample::new(&[(dtype, false), (dtype, true)]);
    let extents = [size.0, size.1].map(|extent| match known {
        true => Extent::Known(extent as u32),
        false => sample.word(extent),
    });
    let (index, count) = layout.index(&mut sample, size, extents);
    let x = sample.load(0, index);
    let value = changed(&mut sample, dtype, x);
    let to = if transposes { Layout::Transposed } else { Layout::Contiguous };
    let (to, _) = to.index(&mut sample, size, extents);
    (sample.elements("elements", &extents, vec![store(1, to, value)]), count)
}

#[test]
fn every_layout_type_and_size_is_read_and_written() {
    let mut random = Random(1);
    for dtype in DType::ALL {
        for layout in LAYOUTS {
            for size in SIZES {
                for (known, transposes) in [(false, false), (true, false), (false, true)] {
                    let (kernel, count) = kernel(dtype, layout, size, known, transposes);
                    let out = contents(&mut random, dtype, (size.0 * size.1) as usize);
                    let buffers = [contents(&mut random, dtype, count), out];
                    let about = format!("{} {layout:?} {size:?} {known} {transposes}", dtype.name());
                    check(&kernel, &buffers, &[], 0.0, 0.0, &about);
                }
            }
        }
    }
}

#[test]
fn one_axis_is_read_and_written_at_every_size() {
    let mut random = Random(2);
    for size in [0, 1, 3, 4, 5, 31, 64, 1000] {
        for dtype in DType::ALL {
            let mut sample = Sample::new(&[(dtype, false), (dtype, true)]);
            let (extent, index) = (sample.word(size), sample.coordinate(0));
            let x = sample.load(0, index);
            let value = changed(&mut sample, dtype, x);
            let kernel = sample.elements("elements", &[extent], vec![store(1, index, value)]);
            let buffers = [0; 2].map(|_| contents(&mut random, dtype, size as usize));
            check(&kernel, &buffers, &[], 0.0, 0.0, &format!("{} {size}", dtype.name()));
        }
    }
}

#[test]
fn bounds_that_are_zero_keep_their_sign() {
    let numbers = [-1.5f32, 2.5, 0.0, -0.0, f32::NAN, -1e-40, f32::INFINITY];
    let input: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    for (op, bound) in [(Real::Max, 0.0), (Real::Max, -0.0), (Real::Min, 0.0), (Real::Min, -0.0)] {
        let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
        let (extent, index) = (sample.word(numbers.len() as i64), sample.coordinate(0));
        let (x, bound_id, one) = (sample.load(0, index), sample.f32(bound), sample.f32(1.0));
        let bounded = sample.real(op, &[x, bound_id]);
        // The reciprocals of both zeros differ.
        let value = sample.real(Real::Div, &[one, bounded]);
        let kernel = sample.elements("bound", &[extent], vec![store(1, index, value)]);
        check(&kernel, &[input.clone(), vec![0; input.len()]], &[], 0.0, 0.0, &format!("{op:?} {bound:?}"));
    }
}

#[test]
fn every_type_converts_to_every_other() {
    let mut random = Random(3);
    for from in DType::ALL {
        for to in DType::ALL {
            let mut sample = Sample::new(&[(from, false), (to, true)]);
            let (extent, index) = (sample.word(37), sample.coordinate(0));
            let x = sample.load(0, index);
            let value = match Type::of(to) {
                Type::F32 if from.is_real() => x,
                Type::F32 => sample.apply(TypedOp::ToF32, &[x]),
                Type::I32 => sample.apply(TypedOp::ToI32, &[x]),
                Type::U32 => sample.apply(TypedOp::ToU32, &[x]),
                Type::Bool if from == DType::Bool => x,
                Type::Bool => sample.apply(TypedOp::Le, &[x, x]),
            };
            let kernel = sample.elements("convert", &[extent], vec![store(1, index, value)]);
            let buffers = [contents(&mut random, from, 37), contents(&mut random, to, 37)];
            check(&kernel, &buffers, &[], 0.0, 0.0, &format!("{} to {}", from.name(), to.name()));
        }
    }
}

#[test]
fn halves_are_converted_exactly_and_rounded_to_even() {
    // Every half, and beside each the reals a little more and less than half way to the next.
    let halves: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let mut sample = Sample::new(&[(DType::F16, false), (DType::F32, true)]);
    let (extent, index) = (sample.word(1 << 16), sample.coordinate(0));
    let x = sample.load(0, index);
    let kernel = sample.elements("from", &[extent], vec![store(1, index, x)]);
    check(&kernel, &[halves, vec![0; 4 << 16]], &[], 0.0, 0.0, "from halves");

    let near = (0..0x7c00u16).flat_map(|half| {
        let [this, next] = [half, half + 1].map(crate::half::number_of_half);
        let next = if next.is_finite() { next } else { 65536.0 };
        let middle = f32::midpoint(this, next);
        [
            this,
            f32::from_bits(middle.to_bits() - u32::from(middle > 0.0)),
            middle,
            -f32::from_bits(middle.to_bits() + 1),
        ]
    });
    let near: Vec<u8> = near.chain([f32::NAN, f32::INFINITY, -1e30, -0.0]).flat_map(f32::to_le_bytes).collect();
    let count = near.len() / 4;
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F16, true)]);
    let (extent, index) = (sample.word(count as i64), sample.coordinate(0));
    let x = sample.load(0, index);
    let kernel = sample.elements("to", &[extent], vec![store(1, index, x)]);
    check(&kernel, &[near, vec![0; 2 * count]], &[], 0.0, 0.0, "to halves");
}

#[test]
fn every_operation_on_integers_and_bools_is_that_of_the_interpreter() {
    const INTEGERS: [TypedOp; 18] = [
        TypedOp::Eq,
        TypedOp::Lt,
        TypedOp::Le,
        TypedOp::IntAdd,
        TypedOp::IntSub,
        TypedOp::IntMul,
        TypedOp::IntDiv,
        TypedOp::IntRem,
        TypedOp::IntMin,
        TypedOp::IntMax,
        TypedOp::HighProduct,
        TypedOp::And,
        TypedOp::Or,
        TypedOp::Xor,
        TypedOp::Not,
        TypedOp::Shl,
        TypedOp::Shr,
        TypedOp::ToF32,
    ];
    let words: Vec<u32> =
        vec![0, 1, 2, 3, 7, 31, 32, 1000, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, !0, !1, !6, 0x1234_5678, 0xfedc_ba98];
    for (dtype, ty) in [(DType::U32, Type::U32), (DType::I32, Type::I32), (DType::Bool, Type::Bool)] {
        for op in INTEGERS {
            let takes = match op {
                TypedOp::Eq | TypedOp::And | TypedOp::Or | TypedOp::Xor | TypedOp::Not | TypedOp::ToF32 => true,
                TypedOp::HighProduct => ty == Type::U32,
                _ => ty != Type::Bool,
            };
            if !takes {
                continue;
            }
            // Once with both operands in vectors, once with the second uniform, once with both.
            for form in 0..3 {
                let of_count = if matches!(op, TypedOp::Shl | TypedOp::Shr) { DType::U32 } else { dtype };
                let result = op.result([ty; 3]);
                let out = match result {
                    Type::F32 => DType::F32,
                    Type::I32 => DType::I32,
                    Type::U32 => DType::U32,
                    Type::Bool => DType::Bool,
                };
                let mut sample = Sample::new(&[(dtype, false), (of_count, false), (out, true)]);
                let extent = sample.word(words.len() as i64);
                let (row, column) = (sample.coordinate(0), sample.coordinate(1));
                let a = sample.load(0, if form == 2 { row } else { column });
                let b = sample.load(1, row);
                let b = if form == 0 {
                    // Equal to b but not uniform.
                    let zero = sample.u32(0);
                    let nothing = sample.apply(TypedOp::IntMul, &[column, zero]);
                    let index = sample.apply(TypedOp::IntAdd, &[row, nothing]);
                    sample.load(1, index)
                } else {
                    b
                };
                let operands = [a, b];
                let value = sample.apply(op, &operands[..op.arity()]);
                let index = sample.affine(row, extent, column);
                let kernel = sample.elements("integers", &[extent, extent], vec![store(2, index, value)]);
                let bytes = |dtype: DType| -> Vec<u8> {
                    match dtype {
                        DType::Bool => words.iter().map(|word| (word % 2) as u8).collect(),
                        _ => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
                    }
                };
                let size = out.bytes() as usize * words.len() * words.len();
                let buffers = [bytes(dtype), bytes(of_count), vec![0; size]];
                check(&kernel, &buffers, &[], 0.0, 0.0, &format!("{op:?} of {} in form {form}", dtype.name()));
            }
        }
    }
}

#[test]
fn small_whole_powers_are_products() {
    let points = [0.0, -0.0, 1.5, -3.0, 1e-30, -1e30, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for exponent in [2.0, 3.0, 2.5, -1.0] {
        let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
        let (extent, index, b) = (sample.word(9), sample.coordinate(0), sample.f32(exponent));
        let x = sample.load(0, index);
        let value = sample.real(Real::Pow, &[x, b]);
        let kernel = sample.elements("pow", &[extent], vec![store(1, index, value)]);
        // A cube is rounded twice.
        check(&kernel, &[super::machine::reals(&points), vec![0; 36]], &[], 1.2e-7, 0.0, &exponent.to_string());
    }
}

#[test]
fn a_long_chain_takes_little_stack_and_one_too_long_is_refused() {
    let chain = |length: usize| {
        let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
        let (extent, index) = (sample.word(6), sample.coordinate(0));
        let x = sample.load(0, index);
        let value = (0..length).fold(x, |value, _| sample.real(Real::Sub, &[x, value]));
        sample.elements("chain", &[extent], vec![store(1, index, value)])
    };
    // A page's stack is 1 MB.
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    let refused = thread.spawn(move || {
        assert!(crate::wasm::module(&[chain(10_000)]).is_ok());
        crate::wasm::module(&[chain(100_000)]).unwrap_err()
    });
    assert_eq!(refused.unwrap().join().unwrap().code, residua_base::error::ErrorCode::LimitExceeded);
}
