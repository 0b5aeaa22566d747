//! Each op as a WGSL expression. Where WGSL's own function is inaccurate, or undefined for operands on which the reference
//! evaluation has an answer, the expression calls a function of `shaders/common`.

use crate::wgsl::import::Imports;
use residua_base::list::{Listed, PushAll};
use residua_ir::elementary;
use residua_ir::graph::Op;

/// The value of an op, from the texts of its operands. A selection takes its condition as a `bool`.
pub(super) fn expression(op: Op, operands: &[&str], imports: &mut Imports) -> String {
    let a = operands[0];
    let b = operands.get(1).copied().unwrap_or_default();
    match op {
        Op::Neg => format!("-{a}"),
        Op::Abs => format!("abs({a})"),
        Op::Sign => imports.call("sign_of", operands),
        Op::Sqrt => imports.call("square_root", operands),
        Op::Norm => imports.call("vector_norm", operands),
        Op::InverseNorm => imports.call("inverse_norm", operands),
        elementary!(Op) => imports.call(op.function().word, operands),
        Op::Floor => format!("floor({a})"),
        Op::Ceil => format!("ceil({a})"),
        Op::Round => imports.call("nearest_integer", operands),
        Op::StopGradient => a.to_owned(),
        Op::Add => format!("{a} + {b}"),
        Op::Sub => format!("{a} - {b}"),
        Op::Mul => format!("{a} * {b}"),
        Op::Div => format!("{a} / {b}"),
        Op::Pow => imports.call("power", operands),
        Op::Mod => imports.call("remainder", operands),
        Op::Min => imports.call("minimum", operands),
        Op::Max => imports.call("maximum", operands),
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
            format!("select(0.0, 1.0, {})", comparison(op, a, b, imports))
        }
        Op::GuardedMul => imports.call("guarded_product", operands),
        Op::Select => format!("select({}, {b}, {a})", operands[2]),
        Op::Lookup => unreachable!("it is no function of its operands, see `Body::look_up`"),
    }
}

/// The comparisons: how WGSL writes them (that of `Ne` is negated), and whether they hold between equals.
const COMPARISONS: [(Op, &str, bool); 6] = [
    (Op::Eq, "==", true),
    (Op::Ne, "==", false),
    (Op::Lt, "<", false),
    (Op::Le, "<=", true),
    (Op::Gt, ">", false),
    (Op::Ge, ">=", true),
];

/// Whether an op is a comparison, which a selection can take as it is.
pub(super) fn is_comparison(op: Op) -> bool {
    COMPARISONS.iter().any(|(comparison, ..)| *comparison == op)
}

/// A comparison as a `bool`. Compilers that assume there are no NaNs turn `a <= b` into `!(a > b)`, which is true for a NaN (seen on
/// NVIDIA), so operands that can be one are tested by their bits. WGSL's `!=` is false for NaNs in Chromium, so `Ne` is the
/// negation of `Eq`.
pub(super) fn comparison(op: Op, a: &str, b: &str, imports: &mut Imports) -> String {
    let (_, symbol, holds_between_equals) =
        *COMPARISONS.iter().find(|(comparison, ..)| *comparison == op).expect("callers ask is_comparison first");
    // Operands are names or numbers, and a number is no NaN: those are written by their bits.
    let is_number = |operand: &str| operand.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    let mut can_be_nan: Vec<&str> = [a, b].into_iter().filter(|operand| !is_number(operand)).list();
    can_be_nan.dedup();
    let mut terms = if a == b { vec![] } else { vec![format!("({a} {symbol} {b})")] };
    terms.push_all(can_be_nan.into_iter().map(|operand| format!("!{}", imports.call("is_nan", &[operand]))));
    if terms.is_empty() {
        terms.push("true".to_owned());
    }
    // `&` and not `&&`, which is a branch: some compilers take time exponential in the branches of a loop (SwiftShader).
    match (a == b, op == Op::Ne) {
        (true, false) if !holds_between_equals => "false".to_owned(),
        (_, false) => terms.join(" & "),
        (_, true) => format!("!({})", terms.join(" & ")),
    }
}
