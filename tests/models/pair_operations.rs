//! Operations on pairs, each in a kernel of its own, with operands over the op's domain and the bounds of their errors.
// Not every test file needs all of it.
#![allow(dead_code)]

use residua_codegen::wgsl::{Dispatch, PairForm, ProgramText, Resource};
use residua_ir::graph::{Op, evaluate};

/// An f64 as a pair: the nearest f32, and the nearest to what is left.
pub fn split(value: f64) -> [f32; 2] {
    let high = value as f32;
    [high, if high.is_finite() { (value - f64::from(high)) as f32 } else { 0.0 }]
}

/// The number that a pair is. Where the first part is not finite, the second means nothing.
pub fn joined([high, low]: [f32; 2]) -> f64 {
    if high.is_finite() { f64::from(high) + f64::from(low) } else { f64::from(high) }
}

/// The resources of [`kernel`]: three pairs an instance, a pair an instance, the guard's word, the uniform [`Dispatch`].
pub fn resources() -> Vec<Resource> {
    vec![
        Resource::read("operands", "vec2<f32>"),
        Resource::read_write("results", "vec2<f32>"),
        Resource::read("zero", "u32"),
        Resource::uniform("dispatch", &Dispatch::STRUCTURE),
    ]
}

/// A kernel that applies an op. `guard` is the expression of the guard's zero; `zero[0]` is one that compilers cannot derive.
pub fn kernel(op: Op, form: PairForm, guard: &str) -> String {
    let mut program = ProgramText::new();
    program.declare(&[&Dispatch::STRUCTURE], &resources());
    program.read_guard_from(guard);
    program.set_pair_form(form);
    let first = if op == Op::Select { "!(a.x == 0.0)" } else { "a" };
    let value = program.pair_operation(op, &[first, "b", "c"][..op.arity()]);
    program.push(&format!(
        "
@compute @workgroup_size(64)
fn operation(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
    let instance = group.x * 64u + lane;
    if instance >= dispatch.count {{
        return;
    }}
    let a = operands[3u * instance];
    let b = operands[3u * instance + 1u];
    let c = operands[3u * instance + 2u];
    results[instance] = {value};
}}
"
    ));
    program.finish()
}

/// How the error of an op is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// The result is that of f64, to the last bit of both parts.
    Exact,
    /// Relative to the result.
    Relative,
    /// As it is: where results are near 0 between others that are not, the error of the operand's reduction is absolute.
    Absolute,
    /// Relative to the largest operand: a difference of pairs, which are rounded themselves, has an error of theirs.
    OfOperands,
}

/// What holds for the error of an op over its domain. A pair's own rounding is 2^-48, 3.6e-15.
pub fn bound(op: Op) -> (Measure, f64) {
    match op {
        Op::Neg
        | Op::Abs
        | Op::Sign
        | Op::Floor
        | Op::Ceil
        | Op::Round
        | Op::StopGradient
        | Op::Min
        | Op::Max
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge
        | Op::Select => (Measure::Exact, 0.0),
        Op::Add | Op::Sub | Op::Mod => (Measure::OfOperands, 4e-14),
        Op::Mul | Op::Div | Op::Sqrt | Op::Norm | Op::InverseNorm | Op::GuardedMul => (Measure::Relative, 4e-14),
        Op::Sin | Op::Cos => (Measure::Absolute, 1e-13),
        Op::Exp
        | Op::Log
        | Op::Tan
        | Op::Asin
        | Op::Acos
        | Op::Atan
        | Op::Atan2
        | Op::Sinh
        | Op::Cosh
        | Op::Tanh
        | Op::Sigmoid
        | Op::Softplus
        | Op::Erf => (Measure::Relative, 1e-13),
        // The exponent y log x has an error of some 2^-47 of itself, which is up to 14 here.
        Op::Pow => (Measure::Relative, 3e-13),
        Op::Lookup => unreachable!("it is no function of its operands"),
    }
}

/// Numbers spread evenly over [0, 1), the same in every run: multiples of an irrational number, one for each sequence.
fn fraction(position: usize, sequence: usize) -> f64 {
    let step = [0.618_033_988_749_895, 0.754_877_666_246_693, 0.569_840_290_998_053][sequence];
    ((position as f64 + 0.5) * step).fract()
}

/// Operands that are pairs, over the domain of an op; those of arithmetic and roots over many magnitudes.
pub fn operands(op: Op, count: usize) -> Vec<[f64; 3]> {
    let wide = matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::GuardedMul);
    let roots = matches!(op, Op::Sqrt | Op::Norm | Op::InverseNorm | Op::Log);
    (0..count)
        .map(|i| {
            [0, 1, 2].map(|k| {
                let (low, high) = op.domain().get(k).copied().unwrap_or((0.0, 1.0));
                let evenly = low + (high - low) * fraction(i, k);
                let value = if wide {
                    // The first is of any size. The second is of any size too, or else so near to the first that a sum cancels.
                    let size = 10f64.powf(6.0 * (fraction(i, if i % 2 == 0 { 0 } else { k }) - 0.5));
                    evenly.signum() * size * (1.0 + 1e-3 * fraction(i, 2 - k.min(1)))
                } else if roots && i % 2 == 0 {
                    10f64.powf(12.0 * (fraction(i, k) - 0.5))
                } else {
                    evenly
                };
                joined(split(value))
            })
        })
        .collect()
}

/// The operands without what rounding them to f32 loses.
pub fn rounded(operands: &[[f64; 3]]) -> Vec<[f64; 3]> {
    operands.iter().map(|operands| operands.map(|x| f64::from(x as f32))).collect()
}

/// The words of the operands' buffer.
pub fn words(operands: &[[f64; 3]]) -> Vec<u32> {
    operands.iter().flatten().flat_map(|value| split(*value)).map(f32::to_bits).collect()
}

/// The largest error of the results, and the operands that have it.
pub fn worst(op: Op, operands: &[[f64; 3]], results: &[u32]) -> (f64, [f64; 3]) {
    let mut worst = (0.0f64, [0.0; 3]);
    for (operands, result) in operands.iter().zip(results.chunks_exact(2)) {
        let exact = evaluate(op, &operands[..op.arity()]);
        let got = joined([f32::from_bits(result[0]), f32::from_bits(result[1])]);
        let size = match bound(op).0 {
            Measure::Exact | Measure::Absolute => 1.0,
            Measure::Relative => exact.abs(),
            Measure::OfOperands => operands[..op.arity()].iter().fold(0.0f64, |size, x| size.max(x.abs())),
        };
        let difference = (got - exact).abs();
        let error = if difference == 0.0 { 0.0 } else { difference / size };
        // A NaN is the worst of all.
        if error > worst.0 || error.is_nan() {
            worst = (error, *operands);
        }
    }
    worst
}

/// Operands at which functions have no value, an infinite one, or one of another kind than nearby.
pub const SINGULAR: [f64; 26] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    1.5,
    1e-30,
    -1e-30,
    1e30,
    -1e30,
    // Some units of a pair's last place above 1, and below 1/2 and 3.
    1.0 + 1.0 / (1u64 << 46) as f64,
    0.5 - 1.0 / (1u64 << 48) as f64,
    3.0 - 1.0 / (1u64 << 45) as f64,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    100.0,
    -100.0,
    // The largest and the smallest normal f32, and a subnormal one.
    f32::MAX as f64,
    f32::MIN_POSITIVE as f64,
    1e-40,
];

/// All combinations of the singular operands, as many as the op takes.
pub fn singular(op: Op) -> Vec<[f64; 3]> {
    let count = SINGULAR.len();
    (0..count.pow(op.arity() as u32))
        .map(|i| [0, 1, 2].map(|k| joined(split(SINGULAR[i / count.pow(k) % count]))))
        .collect()
}

/// Whether a result is of the reference's kind (NaN, infinity, 0, another number), and near it if it is a number. What f32 has no normal
/// number for is 0 or infinite, also on the way there.
pub fn agrees(op: Op, operands: &[f64; 3], result: [f32; 2]) -> bool {
    let flushed = operands.map(|x| if x.abs() < f64::from(f32::MIN_POSITIVE) { 0.0 } else { x });
    agrees_at(op, operands, result) || agrees_at(op, &flushed, result)
}

fn agrees_at(op: Op, operands: &[f64; 3], result: [f32; 2]) -> bool {
    let operands = &operands[..op.arity()];
    let exact = evaluate(op, operands);
    let single = exact as f32;
    let got = joined(result);
    if matches!(op, Op::Sin | Op::Cos | Op::Tan) && operands[0].abs() > 1e5 {
        return got.is_finite() || exact.is_nan();
    }
    if got.is_infinite() && single.abs() == f32::MAX {
        return true;
    }
    if !single.is_finite() || got.is_nan() || got.is_infinite() {
        return result[0] == single || (result[0].is_nan() && single.is_nan());
    }
    if single.abs() < 2.0 * f32::MIN_POSITIVE {
        return got.abs() < 2.0 * f64::from(f32::MIN_POSITIVE);
    }
    let size = match bound(op).0 {
        Measure::Relative | Measure::Exact => exact.abs(),
        Measure::Absolute => 1.0,
        Measure::OfOperands => operands.iter().fold(0.0f64, |size, x| size.max(x.abs())),
    };
    // Errors of numbers below 1e-30 leave f32's range, and so do products with its largest.
    let is_extreme = |x: f64| x.abs() < 1e-29 || x.abs() > 1e38;
    let is_rough = is_extreme(exact) || operands.iter().any(|x| is_extreme(*x));
    (got - exact).abs() <= if is_rough { 4e-7 } else { 1e-12 } * size
}
