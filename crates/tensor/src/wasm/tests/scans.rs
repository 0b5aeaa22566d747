//! Scans: rules, axes, directions and sizes.

use residua_portable::Random;

use super::compare::{check, contents};
use crate::dtype::DType;
use crate::kernel::{Body, Combine, Scan, TensorKernel};
use crate::sample::{Lines, Sample, composition, fold, store};
use crate::scalar::{Type, TypedOp};

/// A scan of a matrix along an axis, in blocks of rows if the length is cut.
fn kernel(
    shape: [i64; 2],
    axis: usize,
    combine: &Combine,
    dtype: DType,
    [exclusive, reverse, cut]: [bool; 3],
) -> TensorKernel {
    let mut sample = Sample::new(&[(dtype, false), (dtype, true)]);
    let Lines { outer, row: length, along, index, .. } = sample.lines(shape, axis);
    let x = sample.load(0, index);
    let valid = cut.then(|| {
        let end = sample.u32(7);
        sample.apply(TypedOp::Lt, &[along, end])
    });
    let is_rule = matches!(combine, Combine::By(_));
    let operands = if is_rule { vec![x, x] } else { vec![x] };
    let folded = sample.folded(0, u32::from(is_rule), Type::of(dtype));
    let initial = cut.then(|| match combine {
        Combine::Sum | Combine::Prod if dtype == DType::F32 => vec![sample.f32(2.0), sample.f32(0.0)],
        Combine::By(_) => vec![sample.f32(0.5), sample.f32(0.25)],
        _ => vec![sample.graph.literal(Type::of(dtype), 3)],
    });
    let fold = fold(combine.clone(), operands);
    let elements = vec![store(1, index, folded)];
    let scan = Scan { outer: vec![outer], length, valid, fold, initial, exclusive, reverse, elements };
    sample.kernel("scan", Body::Scan(scan))
}

#[test]
fn every_rule_accumulates_along_each_axis_in_each_direction() {
    let mut random = Random(9);
    let rules = [
        (Combine::Sum, DType::F32),
        (Combine::PlainSum, DType::I32),
        (Combine::Prod, DType::U32),
        (Combine::Prod, DType::F32),
        (Combine::Max, DType::F32),
        (Combine::Min, DType::U8),
        (Combine::By(composition()), DType::F32),
    ];
    for (combine, dtype) in rules {
        for shape in [[0, 3], [3, 0], [1, 1], [3, 4], [4, 3], [5, 5], [2, 31], [31, 9], [1, 300]] {
            for axis in [0, 1] {
                for flags in 0..8 {
                    let flags = [flags & 1 != 0, flags & 2 != 0, flags & 4 != 0];
                    let kernel = kernel(shape, axis, &combine, dtype, flags);
                    let count = (shape[0] * shape[1]) as usize;
                    let mut values = contents(&mut random, dtype, count);
                    if matches!(combine, Combine::By(_) | Combine::Prod) && dtype == DType::F32 {
                        // Factors below 1, so that products stay in range.
                        values = (0..count).flat_map(|_| (random.between((-0.9, 0.9)) as f32).to_le_bytes()).collect();
                    }
                    let buffers = [values, contents(&mut random, dtype, count)];
                    let about = format!("{combine:?} of {} {shape:?} along {axis}, {flags:?}", dtype.name());
                    check(&kernel, &buffers, &[], 1e-6, 1e-6, &about);
                }
            }
        }
    }
}
