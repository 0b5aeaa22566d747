//! The ops that WebAssembly has no instruction for: generated modules import them from the solver module, one number at a time.
//!
//! Each is the reference evaluation itself, so that compiled and interpreted kernels agree to the last bit.

use residua_ir::elementary;
use residua_ir::graph::{Op, evaluate};

/// A function that a generated module imports from module `math` under the name of its op.
#[derive(Clone, Copy, Debug)]
pub enum MathFunction {
    /// Of one number.
    Unary(extern "C" fn(f64) -> f64),
    /// Of two.
    Binary(extern "C" fn(f64, f64) -> f64),
}

macro_rules! binary {
    ($op:ident) => {{
        extern "C" fn function(a: f64, b: f64) -> f64 {
            evaluate(Op::$op, &[a, b])
        }
        Some(MathFunction::Binary(function))
    }};
}

/// The function that computes an op, or `None` where instructions do.
pub fn math_function(op: Op) -> Option<MathFunction> {
    match op {
        Op::Pow => binary!(Pow),
        Op::Mod => binary!(Mod),
        Op::Atan2 => binary!(Atan2),
        Op::Exp | Op::Sigmoid => None,
        elementary!(Op) => Some(MathFunction::Unary(op.function().value)),
        _ => None,
    }
}
