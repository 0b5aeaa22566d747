//! A table of kernels and inputs: operations, layouts and sizes.

use std::rc::Rc;

use residua_ir::graph::{Graph as ScalarGraph, InputId, Op as Real};

use crate::dtype::DType;
use crate::expr::Rule;
use crate::half::bits_of_half;
use crate::kernel::{Body, Combine, Extent, Fold, Kernel, Rows, Scan};
use crate::sample::{Sample, fold, reduction, scan, softmax, store};
use crate::scalar::{Id, Op, Type};

/// A kernel and how many elements each of its buffers has.
pub struct Case {
    pub kernel: Kernel,
    pub name: String,
    pub lengths: Vec<usize>,
    /// Largest error of a real, relative to 1 and the value.
    pub tolerance: f64,
    /// Whether inputs have NaNs, infinities and zeros.
    pub special: bool,
}

impl Case {
    pub fn new(kernel: Kernel, name: String, lengths: &[usize]) -> Case {
        Case { kernel, name, lengths: lengths.to_vec(), tolerance: 4e-6, special: false }
    }

    /// The bytes of a buffer, padded to 16.
    pub fn bytes(&self, buffer: usize) -> Vec<u8> {
        let mut seed = buffer as u32 * 77 + 1;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed >> 8
        };
        // Angles are reduced up to some thousands alone.
        let far = if matches!(self.name.split(' ').next(), Some("Sin" | "Cos" | "Tan")) { 3e3 } else { 3e9 };
        let special = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, far, -far, 0.5];
        let mut bytes = Vec::new();
        for _ in 0..self.lengths[buffer] {
            let bits = random();
            let number = match self.special && bits.is_multiple_of(7) {
                true => special[(bits / 7 % 8) as usize],
                false => (bits % 4001) as f32 / 1000.0 - 2.0,
            };
            match self.kernel.buffers[buffer].dtype {
                DType::F32 => bytes.extend(number.to_le_bytes()),
                DType::F16 => bytes.extend(bits_of_half(number).to_le_bytes()),
                DType::I32 => bytes.extend((bits as i32 % 23 - 11).to_le_bytes()),
                DType::U32 => bytes.extend((bits % 41).to_le_bytes()),
                DType::U8 => bytes.push((bits >> 3) as u8),
                DType::Bool => bytes.push((bits >> 3) as u8 & 1),
            }
        }
        bytes.resize(bytes.len().next_multiple_of(16).max(16), 0);
        bytes
    }

    pub fn words(&self) -> Vec<u32> {
        self.kernel.sizes.iter().map(|size| size.at(&[0]) as u32).collect()
    }
}

pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    maps(&mut cases);
    layouts(&mut cases);
    integers(&mut cases);
    reductions(&mut cases);
    rows(&mut cases);
    scans(&mut cases);
    cases.extend(super::products::all());
    cases
}

/// Elementwise functions and casts over sizes.
fn maps(cases: &mut Vec<Case>) {
    for length in [0, 1, 3, 4, 5, 255, 1023, 1024, 1025, 4095, 4096, 4097] {
        for (from, to) in [
            (DType::F32, DType::F32),
            (DType::F16, DType::F32),
            (DType::F32, DType::F16),
            (DType::F16, DType::F16),
            (DType::U8, DType::F32),
            (DType::F32, DType::U8),
            (DType::U8, DType::U8),
            (DType::F32, DType::Bool),
            (DType::Bool, DType::F32),
            (DType::F32, DType::I32),
            (DType::I32, DType::F32),
            (DType::F32, DType::U32),
        ] {
            let mut sample = Sample::new(&[(from, false), (to, true)]);
            let extent = if length % 2 == 0 { sample.word(length) } else { Extent::Known(length as u32) };
            let index = sample.coordinate(0);
            let mut x = sample.load(0, index);
            if Type::of(from) == Type::F32 {
                let half = sample.graph.f32(1.5);
                x = sample.real(Real::Mul, &[x, half]);
            }
            let y = cast(&mut sample, x, to);
            let kernel = sample.elements("map", &[extent], vec![store(1, index, y)]);
            let name = format!("map {} to {} of {length}", from.name(), to.name());
            let mut case = Case::new(kernel, name, &[length as usize; 2]);
            case.special = length > 5;
            cases.push(case);
        }
    }
    for op in Real::ALL {
        let is_excluded = matches!(
            op,
            Real::Eq | Real::Ne | Real::Lt | Real::Le | Real::Gt | Real::Ge | Real::Select | Real::StopGradient
        );
        for special in [false, true] {
            if is_excluded {
                continue;
            }
            for width in [1, 4] {
                let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
                let extent = sample.word(320);
                let index = sample.coordinate(0);
                let factor = sample.u32(if width == 4 { 1 } else { 2 });
                let first = sample.apply(Op::IntMul, &[index, factor]);
                let offset = sample.u32(640);
                let second = sample.apply(Op::IntAdd, &[first, offset]);
                let operands: Vec<Id> = [first, second].map(|index| sample.load(0, index))[..op.arity()].to_vec();
                let y = sample.real(*op, &operands);
                let target = sample.apply(Op::IntMul, &[index, factor]);
                let kernel = sample.elements("map", &[extent], vec![store(1, target, y)]);
                let mut case = Case::new(kernel, format!("{op:?} by {width}, special {special}"), &[1280, 640]);
                (case.special, case.tolerance) = (special, 1e-5);
                cases.push(case);
            }
        }
    }
}

/// A value as an element of a type.
fn cast(sample: &mut Sample, x: Id, to: DType) -> Id {
    match (sample.graph.ty(x), Type::of(to)) {
        (from, to) if from == to => x,
        (Type::F32, Type::Bool) => {
            let zero = sample.graph.f32(0.25);
            sample.apply(Op::Lt, &[zero, x])
        }
        (_, Type::F32) => sample.apply(Op::ToF32, &[x]),
        (_, Type::I32) => sample.apply(Op::ToI32, &[x]),
        (_, _) => sample.apply(Op::ToU32, &[x]),
    }
}

/// Broadcasts, transposes, parts of buffers, gathers and in-place updates.
fn layouts(cases: &mut Vec<Case>) {
    for [rows, columns] in [[1, 1], [7, 3], [3, 4], [5, 8], [9, 33], [65, 64]] {
        let lengths = [(rows * columns) as usize, columns as usize, (rows * columns) as usize];
        let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, false), (DType::F32, true)]);
        let extents = [sample.word(rows), sample.word(columns)];
        let (index, column) = (sample.address(&extents), sample.coordinate(1));
        let (a, b) = (sample.load(0, index), sample.load(1, column));
        let sum = sample.real(Real::Add, &[a, b]);
        let kernel = sample.elements("broadcast", &extents, vec![store(2, index, sum)]);
        cases.push(Case::new(kernel, format!("broadcast [{rows}, {columns}]"), &lengths));

        for dtype in [DType::F32, DType::U8, DType::F16] {
            let mut sample = Sample::new(&[(dtype, false), (dtype, true)]);
            let extents = [sample.word(rows), sample.word(columns)];
            let (index, row, column) = (sample.address(&extents), sample.coordinate(0), sample.coordinate(1));
            let other = sample.affine(column, extents[0], row);
            let x = sample.load(0, other);
            let kernel = sample.elements("transpose", &extents, vec![store(1, index, x)]);
            let lengths = [(rows * columns) as usize; 2];
            cases.push(Case::new(kernel, format!("transpose [{rows}, {columns}] of {}", dtype.name()), &lengths));
        }
    }
    for dtype in [DType::F32, DType::U8, DType::F16, DType::Bool] {
        for (length, offset) in [(6, 6), (5, 0), (8, 4), (8, 3), (100, 11)] {
            let mut sample = Sample::new(&[(dtype, false), (dtype, true)]);
            let extent = sample.word(length);
            let (index, offset_id) = (sample.coordinate(0), sample.u32(offset));
            let target = sample.apply(Op::IntAdd, &[index, offset_id]);
            let x = sample.load(0, index);
            let kernel = sample.elements("part", &[extent], vec![store(1, target, x)]);
            let lengths = [length as usize, length as usize + 2 * offset as usize + 3];
            cases.push(Case::new(kernel, format!("part {length} from {offset} of {}", dtype.name()), &lengths));
        }
    }
    let mut sample = Sample::new(&[(DType::F32, false), (DType::U32, false), (DType::F32, true)]);
    let extent = sample.word(101);
    let index = sample.coordinate(0);
    let place = sample.load(1, index);
    let x = sample.load(0, place);
    let y = sample.load(0, index);
    let sum = sample.real(Real::Sub, &[x, y]);
    let kernel = sample.elements("gather", &[extent], vec![store(2, index, sum)]);
    cases.push(Case::new(kernel, "gather".to_owned(), &[101, 101, 101]));

    for dtype in [DType::F32, DType::U8] {
        let mut sample = Sample::new(&[(dtype, true)]);
        let extent = sample.word(102);
        let index = sample.coordinate(0);
        let x = sample.load(0, index);
        let y = if dtype == DType::F32 { sample.real(Real::Add, &[x, x]) } else { sample.apply(Op::IntAdd, &[x, x]) };
        let kernel = sample.elements("double", &[extent], vec![store(0, index, y)]);
        cases.push(Case::new(kernel, format!("in place of {}", dtype.name()), &[102]));
    }
}

/// Operations on integers and comparisons.
fn integers(cases: &mut Vec<Case>) {
    let binary = [
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
        Op::Eq,
        Op::Lt,
        Op::Le,
    ];
    for dtype in [DType::I32, DType::U32, DType::F32, DType::Bool] {
        let ops = binary.iter().filter(|op| match dtype {
            DType::F32 => matches!(op, Op::Eq | Op::Lt | Op::Le),
            DType::Bool => matches!(op, Op::And | Op::Or | Op::Xor | Op::Eq),
            _ => true,
        });
        for op in ops {
            for by_four in [true, false] {
                let ty = Type::of(dtype);
                let result = match op.result([ty; 3]) {
                    Type::Bool => DType::Bool,
                    _ => dtype,
                };
                let mut sample = Sample::new(&[(dtype, false), (dtype, false), (result, true)]);
                let extent = sample.word(203);
                let index = sample.coordinate(0);
                let three = sample.u32(if by_four { 1 } else { 3 });
                let place = sample.apply(Op::IntMul, &[index, three]);
                let (a, b) = (sample.load(0, place), sample.load(1, place));
                let y = sample.apply(*op, &[a, b]);
                let kernel = sample.elements("integers", &[extent], vec![store(2, place, y)]);
                let name = format!("{op:?} of {}, by four {by_four}", dtype.name());
                let mut case = Case::new(kernel, name, &[609; 3]);
                case.special = true;
                cases.push(case);
            }
        }
    }
    let mut sample = Sample::new(&[(DType::U32, false), (DType::U32, true), (DType::I32, true)]);
    let extent = sample.word(77);
    let index = sample.coordinate(0);
    let x = sample.load(0, index);
    let factor = sample.u32(0x9e37_79b9);
    let mixed = sample.apply(Op::IntMul, &[x, factor]);
    let shift = sample.u32(13);
    let high = sample.apply(Op::HighProduct, &[mixed, factor]);
    let left = sample.apply(Op::Shl, &[mixed, x]);
    let right = sample.apply(Op::Shr, &[mixed, shift]);
    let either = sample.apply(Op::Or, &[left, right]);
    let not = sample.apply(Op::Not, &[high]);
    let y = sample.apply(Op::Xor, &[either, not]);
    let signed = sample.apply(Op::ToI32, &[mixed]);
    let z = sample.apply(Op::Shr, &[signed, x]);
    let kernel = sample.elements("bits", &[extent], vec![store(1, index, y), store(2, index, z)]);
    cases.push(Case::new(kernel, "bits".to_owned(), &[77; 3]));
}

/// Every combination over axes and lengths.
fn reductions(cases: &mut Vec<Case>) {
    let shapes: [[i64; 2]; 16] = [
        [3, 0],
        [0, 3],
        [1, 1],
        [5, 3],
        [70, 8],
        [5, 31],
        [4, 32],
        [3, 100],
        [9, 101],
        [2, 1000],
        [2, 1023],
        [2, 1024],
        [3, 1025],
        [1, 5000],
        [2, 4099],
        [600, 6],
    ];
    let real = [Combine::Sum, Combine::Prod, Combine::Min, Combine::Max, Combine::Variance];
    for shape in shapes {
        for axis in [0, 1] {
            let count = (shape[0] * shape[1]) as usize;
            let lengths = [count, shape[1 - axis] as usize];
            let mut push = |combine: &Combine, from, to, special| {
                let kernel = reduction(shape, axis, combine.clone(), from, to);
                let name = format!("{combine:?} of {shape:?} along {axis}, {} to {}", from.name(), to.name());
                let mut case = Case::new(kernel, name, &lengths);
                case.special = special;
                cases.push(case);
            };
            for combine in &real {
                push(combine, DType::F32, DType::F32, false);
            }
            push(&Combine::Sum, DType::F16, DType::F16, false);
            push(&Combine::Max, DType::F32, DType::F32, true);
            push(&Combine::Min, DType::F32, DType::F32, true);
            push(&Combine::Max, DType::Bool, DType::Bool, false);
            push(&Combine::IntSum, DType::I32, DType::I32, false);
            push(&Combine::Min, DType::I32, DType::I32, false);
            push(&Combine::Max, DType::U8, DType::U8, false);
            for special in [false, true] {
                push(&Combine::ArgMin, DType::F32, DType::I32, special);
                push(&Combine::ArgMax, DType::F32, DType::I32, special);
            }
            push(&Combine::ArgMax, DType::I32, DType::I32, false);
        }
    }
}

/// The composition of maps x ↦ a·x + b, which is associative and does not commute.
pub fn composition() -> Rc<Rule> {
    let mut graph = ScalarGraph::new();
    let [a, b, c, d] = [0, 1, 2, 3].map(|input| graph.input(InputId(input)));
    let product = graph.apply_raw(Real::Mul, &[c, a]);
    let shifted = graph.apply_raw(Real::Mul, &[c, b]);
    let sum = graph.apply_raw(Real::Add, &[shifted, d]);
    let merge = graph.check(4).expect("operands stand before their users");
    Rc::new(Rule { identity: vec![1.0, 0.0], merge, results: vec![product, sum] })
}

/// Factors near 1 and a summand of a load.
fn map_of(sample: &mut Sample, x: Id) -> Vec<Id> {
    let (small, one) = (sample.graph.f32(0.001), sample.graph.f32(1.0));
    let part = sample.real(Real::Mul, &[x, small]);
    vec![sample.real(Real::Add, &[part, one]), x]
}

/// Normalisations, rules of users, states, blocks, several axes.
fn rows(cases: &mut Vec<Case>) {
    for shape in [[3, 1], [70, 10], [5, 64], [4, 300], [3, 1000], [2, 1024], [2, 4096], [2, 5000], [1, 17000]] {
        let count = (shape[0] * shape[1]) as usize;
        for dtype in [DType::F32, DType::F16] {
            let name = format!("softmax of {shape:?} to {}", dtype.name());
            cases.push(Case::new(softmax(shape[0], shape[1], dtype), name, &[count; 2]));
        }
        cases.push(normalised(shape, count));
        cases.push(softmax_of_columns(shape, count));
        for axis in [0, 1] {
            cases.push(composed(shape, axis));
        }
        cases.push(blocks(shape));
    }
    for shape in [[2, 3, 5], [3, 4, 8], [40, 2, 12]] {
        cases.push(two_axes(shape));
    }
}

/// Mean and variance of a row in one stage.
fn normalised(shape: [i64; 2], count: usize) -> Case {
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true), (DType::F32, true)]);
    let (outer, row) = (sample.word(shape[0]), sample.word(shape[1]));
    let index = sample.address(&[outer, row]);
    let (x, place) = (sample.load(0, index), sample.coordinate(0));
    let (sum, variance) = (sample.folded(0, 0, Type::F32), sample.folded(1, 0, Type::F32));
    let length = sample.extent(row);
    let length = sample.apply(Op::ToF32, &[length]);
    let mean = sample.real(Real::Div, &[sum, length]);
    let difference = sample.real(Real::Sub, &[x, mean]);
    let small = sample.graph.f32(0.5);
    let variance = sample.real(Real::Add, &[variance, small]);
    let root = sample.real(Real::Sqrt, &[variance]);
    let y = sample.real(Real::Div, &[difference, root]);
    let rows = Rows {
        outer: vec![outer],
        row: vec![row],
        valid: None,
        folds: vec![fold(Combine::Sum, vec![x]), fold(Combine::Variance, vec![x])],
        elements: vec![store(1, index, y)],
        results: vec![store(2, place, mean)],
    };
    let kernel = sample.kernel("normalise", Body::Rows(rows));
    Case::new(kernel, format!("normalised {shape:?}"), &[count, count, shape[0] as usize])
}

/// A softmax along the outer axis.
fn softmax_of_columns(shape: [i64; 2], count: usize) -> Case {
    let [columns, length] = shape;
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
    let (outer, row) = (sample.word(columns), sample.word(length));
    let (place, along) = (sample.coordinate(0), sample.coordinate(1));
    let index = sample.affine(along, outer, place);
    let x = sample.load(0, index);
    let largest = sample.folded(0, 0, Type::F32);
    let difference = sample.real(Real::Sub, &[x, largest]);
    let e = sample.real(Real::Exp, &[difference]);
    let sum = sample.folded(1, 0, Type::F32);
    let quotient = sample.real(Real::Div, &[e, sum]);
    let rows = Rows {
        outer: vec![outer],
        row: vec![row],
        valid: None,
        folds: vec![fold(Combine::Max, vec![x]), fold(Combine::Sum, vec![e])],
        elements: vec![store(1, index, quotient)],
        results: vec![],
    };
    let kernel = sample.kernel("softmax", Body::Rows(rows));
    Case::new(kernel, format!("softmax of columns {shape:?}"), &[count; 2])
}

/// A rule of the user along an axis.
fn composed(shape: [i64; 2], axis: usize) -> Case {
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true)]);
    let extents = shape.map(|extent| sample.word(extent));
    let (outer, row) = (extents[1 - axis], extents[axis]);
    let (place, along) = (sample.coordinate(0), sample.coordinate(1));
    let index = if axis == 1 { sample.affine(place, row, along) } else { sample.affine(along, outer, place) };
    let x = sample.load(0, index);
    let operands = map_of(&mut sample, x);
    let (factor, summand) = (sample.folded(0, 0, Type::F32), sample.folded(0, 1, Type::F32));
    let y = sample.real(Real::Sub, &[summand, factor]);
    let rows = Rows {
        outer: vec![outer],
        row: vec![row],
        valid: None,
        folds: vec![fold(Combine::By(composition()), operands)],
        elements: vec![],
        results: vec![store(1, place, y)],
    };
    let kernel = sample.kernel("composed", Body::Rows(rows));
    let name = format!("composed {shape:?} along {axis}");
    let lengths = [(shape[0] * shape[1]) as usize, shape[1 - axis] as usize];
    Case { tolerance: 1e-4, ..Case::new(kernel, name, &lengths) }
}

/// Rows in three blocks, of which the last is shorter, whose states of sums, moments and extrema are kept and of which sums are merged.
fn blocks(shape: [i64; 2]) -> Case {
    let [count, length] = shape;
    let block = (length + 2) / 3;
    let mut sample = Sample::new(&[
        (DType::F32, false),
        (DType::F32, true),
        (DType::F32, true),
        (DType::I32, true),
        (DType::F32, false),
    ]);
    let (outer, three, row, whole) = (sample.word(count), Extent::Known(3), sample.word(block), sample.word(length));
    let [instance, part, along] = [0, 1, 2].map(|axis| sample.coordinate(axis));
    let place = sample.affine(part, row, along);
    let end = sample.extent(whole);
    let valid = sample.apply(Op::Lt, &[place, end]);
    let index = sample.affine(instance, whole, place);
    let x = sample.load(0, index);
    let target = sample.affine(instance, three, part);
    let position = sample.load(4, target);
    let kept = |combine, operands| Fold { keeps_state: true, ..fold(combine, operands) };
    let merged = Fold { merges_states: true, ..fold(Combine::Sum, vec![x, position]) };
    let value = sample.folded(1, 1, Type::F32);
    let squares = sample.folded(1, 2, Type::F32);
    let total = sample.real(Real::Add, &[value, squares]);
    let first = sample.folded(2, 1, Type::U32);
    let first = sample.apply(Op::ToI32, &[first]);
    let sum = sample.folded(3, 0, Type::F32);
    let difference = sample.real(Real::Sub, &[x, total]);
    let states = [sample.folded(0, 0, Type::F32), sample.folded(0, 1, Type::F32)];
    let exact = sample.real(Real::Add, &states);
    let both = sample.real(Real::Sub, &[sum, exact]);
    let rows = Rows {
        outer: vec![outer, three],
        row: vec![row],
        valid: Some(valid),
        folds: vec![
            kept(Combine::Sum, vec![x]),
            kept(Combine::Variance, vec![x]),
            kept(Combine::ArgMax, vec![x, place]),
            merged,
        ],
        elements: vec![store(1, index, difference)],
        results: vec![store(2, target, both), store(3, target, first)],
    };
    let kernel = sample.kernel("blocks", Body::Rows(rows));
    let (all, parts) = ((count * length) as usize, count as usize * 3);
    let lengths = [all.max((count * block * 3) as usize), all, parts, parts, parts];
    Case { tolerance: 2e-5, ..Case::new(kernel, format!("blocks of {shape:?}"), &lengths) }
}

/// A sum over the first and the last axis.
fn two_axes(shape: [i64; 3]) -> Case {
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, true), (DType::F32, true)]);
    let [a, b, c] = shape.map(|extent| sample.word(extent));
    let [middle, first, last] = [0, 1, 2].map(|axis| sample.coordinate(axis));
    let index = sample.affine(first, b, middle);
    let index = sample.affine(index, c, last);
    let x = sample.load(0, index);
    let sum = sample.folded(0, 0, Type::F32);
    let difference = sample.real(Real::Sub, &[x, sum]);
    let rows = Rows {
        outer: vec![b],
        row: vec![a, c],
        valid: None,
        folds: vec![fold(Combine::Sum, vec![x])],
        elements: vec![store(1, index, difference)],
        results: vec![store(2, middle, sum)],
    };
    let kernel = sample.kernel("axes", Body::Rows(rows));
    let count = shape.iter().product::<i64>() as usize;
    Case::new(kernel, format!("first and last axis of {shape:?}"), &[count, count, shape[1] as usize])
}

fn scans(cases: &mut Vec<Case>) {
    for shape in [[3, 0], [2, 1], [5, 7], [70, 32], [3, 33], [2, 100], [3, 255], [1, 4095], [2, 4096], [1, 4097]] {
        let count = (shape[0] * shape[1]) as usize;
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            for combine in [Combine::Sum, Combine::Max, Combine::Min] {
                let name = format!("scan {combine:?} of {shape:?}, exclusive {exclusive}, reverse {reverse}");
                let kernel = scan(shape[0], shape[1], combine, exclusive, reverse);
                cases.push(Case::new(kernel, name, &[count; 2]));
            }
            cases.push(composed_scan(shape, exclusive, reverse));
            cases.push(column_scan(shape, exclusive, reverse));
        }
    }
}

/// A scan by a rule with an initial state of each row, of points up to a place.
fn composed_scan(shape: [i64; 2], exclusive: bool, reverse: bool) -> Case {
    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, false), (DType::F32, true)]);
    let (outer, length) = (sample.word(shape[0]), sample.word(shape[1]));
    let (index, row, along) = (sample.address(&[outer, length]), sample.coordinate(0), sample.coordinate(1));
    let x = sample.load(0, index);
    let end = sample.u32(shape[1] as u32 * 3 / 4 + 1);
    let valid = sample.apply(Op::Lt, &[along, end]);
    let initial = vec![sample.load(1, row), sample.graph.f32(0.5)];
    let operands = map_of(&mut sample, x);
    let (factor, summand) = (sample.folded(0, 0, Type::F32), sample.folded(0, 1, Type::F32));
    let difference = sample.real(Real::Sub, &[summand, factor]);
    let y = sample.real(Real::Sub, &[difference, x]);
    let scan = Scan {
        outer: vec![outer],
        length,
        valid: Some(valid),
        fold: fold(Combine::By(composition()), operands),
        initial: Some(initial),
        exclusive,
        reverse,
        elements: vec![store(2, index, y)],
    };
    let kernel = sample.kernel("composed_scan", Body::Scan(scan));
    let count = (shape[0] * shape[1]) as usize;
    let name = format!("composed scan of {shape:?}, exclusive {exclusive}, reverse {reverse}");
    Case { tolerance: 2e-4, ..Case::new(kernel, name, &[count, shape[0] as usize, count]) }
}

/// A scan along the outer axis.
fn column_scan(shape: [i64; 2], exclusive: bool, reverse: bool) -> Case {
    let mut sample = Sample::new(&[(DType::I32, false), (DType::I32, true)]);
    let (outer, length) = (sample.word(shape[0]), sample.word(shape[1]));
    let (place, along) = (sample.coordinate(0), sample.coordinate(1));
    let index = sample.affine(along, outer, place);
    let x = sample.load(0, index);
    let y = sample.folded(0, 0, Type::I32);
    let fold = fold(Combine::IntSum, vec![x]);
    let elements = vec![store(1, index, y)];
    let scan = Scan { outer: vec![outer], length, valid: None, fold, initial: None, exclusive, reverse, elements };
    let kernel = sample.kernel("column_scan", Body::Scan(scan));
    let count = (shape[0] * shape[1]) as usize;
    let name = format!("scan of columns {shape:?}, exclusive {exclusive}, reverse {reverse}");
    Case::new(kernel, name, &[count; 2])
}

/// Some kernels whose texts are kept, by the names of files.
pub fn golden() -> Vec<(&'static str, Kernel)> {
    let mut sample = Sample::new(&[(DType::U8, false), (DType::U8, true)]);
    let extent = sample.word(1000);
    let index = sample.coordinate(0);
    let x = sample.load(0, index);
    let all = sample.u32(255);
    let y = sample.apply(Op::IntSub, &[all, x]);
    let inverted = sample.elements("inverted", &[extent], vec![store(1, index, y)]);

    let mut sample = Sample::new(&[(DType::F32, false), (DType::F32, false), (DType::F32, true)]);
    let extents = [sample.word(30), sample.word(40)];
    let (index, column) = (sample.address(&extents), sample.coordinate(1));
    let row = sample.coordinate(0);
    let (a, b, c) = (sample.load(0, index), sample.load(1, column), sample.load(1, row));
    let sum = sample.real(Real::Add, &[a, b]);
    let scaled = sample.real(Real::Mul, &[sum, c]);
    let y = sample.real(Real::Tanh, &[scaled]);
    let broadcast = sample.elements("broadcast", &extents, vec![store(2, index, y)]);
    vec![
        ("inverted", inverted),
        ("broadcast", broadcast),
        ("softmax", softmax(4096, 4096, DType::F32)),
        ("column_sums", reduction([1000, 4096], 0, Combine::Sum, DType::F32, DType::F32)),
        ("argmax", reduction([1000, 100], 1, Combine::ArgMax, DType::F32, DType::I32)),
        ("scan", scan(10, 4096, Combine::Sum, false, false)),
    ]
}
