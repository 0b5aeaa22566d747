//! Each op on pairs as a WGSL expression. A pair is a `vec2<f32>` of a number, rounded, and what the rounding lost; where the first is not
//! finite, the second means nothing. Errors of the functions stand beside them, in `shaders/common/pair_*.wgsl`.

use super::import::Imports;
use super::literal;
use residua_base::decimal;
use residua_ir::elementary;
use residua_ir::graph::Op;

/// The value of an op, from the texts of its operands, as a pair. A selection takes its condition as a `bool`.
pub(super) fn expression(op: Op, operands: &[&str], imports: &mut Imports) -> String {
    let a = operands[0];
    let b = operands.get(1).copied().unwrap_or_default();
    match op {
        Op::Neg => format!("-{a}"),
        Op::Abs => imports.call("pair_size", operands),
        Op::Sign => imports.call("pair_sign", operands),
        Op::Sqrt => imports.call("pair_square_root", operands),
        Op::Norm => imports.call("pair_norm", operands),
        Op::InverseNorm => imports.call("pair_inverse_norm", operands),
        elementary!(Op) => imports.call(&format!("pair_{}", op.function().word), operands),
        Op::Floor => imports.call("pair_floor", operands),
        Op::Ceil => imports.call("pair_ceiling", operands),
        Op::Round => imports.call("pair_nearest_integer", operands),
        Op::StopGradient => a.to_owned(),
        Op::Add => imports.call("pair_sum", operands),
        Op::Sub => imports.call("pair_difference", operands),
        Op::Mul => imports.call("pair_product", operands),
        Op::Div => imports.call("pair_quotient", operands),
        Op::Pow => imports.call("pair_power", operands),
        Op::Mod => imports.call("pair_remainder", operands),
        Op::Min => imports.call("pair_minimum", operands),
        Op::Max => imports.call("pair_maximum", operands),
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
            format!("vec2<f32>(select(0.0, 1.0, {}), 0.0)", comparison(op, a, b, imports))
        }
        Op::GuardedMul => imports.call("pair_guarded_product", operands),
        Op::Select => format!("select({}, {b}, {a})", operands[2]),
        Op::Lookup => unreachable!("it is no function of its operands, see `Body::look_up`"),
    }
}

/// The comparisons: the function of each, whether it takes its operands in reverse, and whether its outcome is negated.
const COMPARISONS: [(Op, &str, bool, bool); 6] = [
    (Op::Eq, "pair_is_equal", false, false),
    (Op::Ne, "pair_is_equal", false, true),
    (Op::Lt, "pair_is_less", false, false),
    (Op::Le, "pair_is_at_most", false, false),
    (Op::Gt, "pair_is_less", true, false),
    (Op::Ge, "pair_is_at_most", true, false),
];

/// A comparison of pairs as a `bool`: by the rounded numbers, then by their errors. With a NaN all but `Ne` are false.
pub(super) fn comparison(op: Op, a: &str, b: &str, imports: &mut Imports) -> String {
    let (_, function, reversed, negated) = *COMPARISONS
        .iter()
        .find(|(comparison, ..)| *comparison == op)
        .expect("callers ask operation::is_comparison first");
    let call = imports.call(function, &if reversed { [b, a] } else { [a, b] });
    if negated { format!("!{call}") } else { call }
}

/// Sine and cosine of an angle with one range reduction: a `vec4<f32>` of the pairs `xy` and `zw`.
pub(super) fn sine_cosine(angle: &str, imports: &mut Imports) -> String {
    imports.call("pair_sine_cosine", &[angle])
}

/// A number as a pair: 48 bits and more of its 53.
pub(super) fn literal(value: f64, imports: &mut Imports) -> String {
    let low = decimal::shortest_single(low_part(value));
    format!("vec2<f32>({}, {low})", literal::text(value, imports))
}

/// A number as a pair that the compiler does not take for a constant: for operations on nothing but literals.
pub(super) fn opaque(value: f64, imports: &mut Imports) -> String {
    let low = decimal::shortest_single(low_part(value));
    format!("vec2<f32>({}, {low})", literal::opaque(value, imports))
}

/// What the rounding of a number to f32 loses; 0 where it is not finite.
fn low_part(value: f64) -> f32 {
    let high = value as f32;
    if high.is_finite() { (value - f64::from(high)) as f32 } else { 0.0 }
}

/// A product, normalised or not, by a cheaper way where there is one: of a pair and itself (`same`), or with a factor that is a literal.
pub(super) fn product(
    [a, b]: [&str; 2],
    literals: [Option<f64>; 2],
    same: bool,
    normalised: bool,
    imports: &mut Imports,
) -> String {
    let [square, scaled, product] = if normalised {
        ["pair_square", "pair_scaled", "pair_product"]
    } else {
        ["unnormalised_square", "unnormalised_scaled", "unnormalised_product"]
    };
    if same {
        return imports.call(square, &[a]);
    }
    match literals {
        [None, Some(factor)] if is_single(factor) => by_number(a, factor, scaled, imports),
        [Some(factor), None] if is_single(factor) => by_number(b, factor, scaled, imports),
        _ => imports.call(product, &[a, b]),
    }
}

/// The product with a number that is an f32, by a function where it is not exact.
fn by_number(a: &str, factor: f64, scaled: &str, imports: &mut Imports) -> String {
    let factor = factor as f32;
    let text = decimal::shortest_single(factor);
    // Exact, but for what leaves f32's range.
    if is_power_of_two(factor) { format!("{a} * {text}") } else { imports.call(scaled, &[a, &text]) }
}

/// Whether a number is finite and the same in f32.
fn is_single(value: f64) -> bool {
    value.is_finite() && f64::from(value as f32) == value
}

/// Whether a number is a power of two, or the negative of one, and normal.
fn is_power_of_two(value: f32) -> bool {
    value.is_normal() && value.to_bits().trailing_zeros() >= 23
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::super::{Dispatch, PairForm, Resource, declare_resources};
    use super::*;

    /// A module that stores one pair, computed from the pairs `a`, `b` and `c` in a buffer.
    fn module(form: PairForm, expression: impl FnOnce(&mut Imports) -> String) -> String {
        let dispatch = Resource::uniform("dispatch", &Dispatch::STRUCTURE);
        let resources = [Resource::read_write("numbers", "vec2<f32>"), Resource::read("zero", "u32"), dispatch];
        let mut imports = Imports::default();
        imports.read_guard_from("zero[0]");
        imports.set_pair_form(form);
        let stored = expression(&mut imports);
        format!(
            "{}{}@compute @workgroup_size(64)\nfn main() {{\n    let a = numbers[0];\n    let b = numbers[1];\n    \
             let c = numbers[2];\n    numbers[3] = {stored};\n}}\n{}",
            Dispatch::STRUCTURE.declaration(),
            declare_resources(&resources),
            imports.text(),
        )
    }

    fn apply(op: Op, [a, b, c]: [&str; 3], imports: &mut Imports) -> String {
        let condition = format!("!({a}.x == 0.0)");
        let a = if op == Op::Select { &condition } else { a };
        expression(op, &[a, b, c][..op.arity()], imports)
    }

    #[test]
    fn every_op_is_valid_in_both_forms() {
        for op in Op::ALL {
            for form in [PairForm::Fused, PairForm::Split] {
                let text = module(form, |imports| apply(*op, ["a", "b", "c"], imports));
                residua_portable::assert_guard_reads_storage(&residua_portable::validated(&text));
                assert!(!text.contains("fma(") || form == PairForm::Fused, "{}", op.name());
            }
        }
    }

    #[test]
    fn operations_on_literals_are_no_constant_expressions() {
        for op in Op::ALL {
            for value in [0.0, 1.0 / 3.0, 3.4e38, 1e300, 1e-40, f64::NEG_INFINITY, f64::NAN] {
                residua_portable::validated(&module(PairForm::Split, |imports| {
                    let (first, other) = (opaque(value, imports), literal(value, imports));
                    apply(*op, [&first, &other, &other], imports)
                }));
            }
        }
    }

    #[test]
    fn literals_have_both_parts() {
        let mut imports = Imports::default();
        assert_eq!(literal(0.1, &mut imports), "vec2<f32>(0.1, -1.4901161e-9)");
        assert_eq!(literal(-3.0, &mut imports), "vec2<f32>(-3.0, 0.0)");
        assert_eq!(literal(f64::INFINITY, &mut imports), "vec2<f32>(bitcast<f32>(0x7f800000u | guard_zero()), 0.0)");
        assert_eq!(literal(1e300, &mut imports), "vec2<f32>(bitcast<f32>(0x7f800000u | guard_zero()), 0.0)");
        for value in [0.1, std::f64::consts::PI, -1e10 / 3.0] {
            let pair = f64::from(value as f32) + f64::from(low_part(value));
            assert!((pair - value).abs() <= value.abs() * 2f64.powi(-48));
        }
    }

    #[test]
    fn products_by_literals_and_squares_take_the_cheaper_way() {
        let mut imports = Imports::default();
        let mut of = |literals, same| product(["a", "b"], literals, same, true, &mut imports);
        assert_eq!(of([None, None], false), "pair_product(a, b)");
        assert_eq!(of([None, None], true), "pair_square(a)");
        assert_eq!(of([None, Some(-0.25)], false), "a * -0.25");
        assert_eq!(of([Some(2.0), None], false), "b * 2.0");
        assert_eq!(of([Some(3.0), None], false), "pair_scaled(b, 3.0)");
        assert_eq!(of([None, Some(0.0)], false), "pair_scaled(a, 0.0)");
        assert_eq!(of([None, Some(0.1)], false), "pair_product(a, b)");
        assert_eq!(of([None, Some(f64::INFINITY)], false), "pair_product(a, b)");
        assert_eq!(of([Some(2.0), Some(3.0)], false), "pair_product(a, b)");
        let mut unnormalised = |literals, same| product(["a", "b"], literals, same, false, &mut imports);
        assert_eq!(unnormalised([None, None], false), "unnormalised_product(a, b)");
        assert_eq!(unnormalised([None, None], true), "unnormalised_square(a)");
        assert_eq!(unnormalised([None, Some(-0.25)], false), "a * -0.25");
        assert_eq!(unnormalised([Some(3.0), None], false), "unnormalised_scaled(b, 3.0)");
    }
}
