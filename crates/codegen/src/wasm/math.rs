//! The ops that WebAssembly has no instruction for: generated modules import them from the solver module, one number at a time.
//!
//! Each is the reference evaluation itself, so that compiled and interpreted kernels agree to the last bit.

use residua_ir::elementary;
use residua_ir::graph::{MathFunction, Op, evaluate};

macro_rules! binary {
    ($op:ident) => {{
        extern "C" fn function(a: f64, b: f64) -> f64 {
            evaluate(Op::$op, &[a, b])
        }
        Some(MathFunction::Binary(function))
    }};
}

/// The function that a generated module imports from module `math` under the name of an op, or `None` where instructions do.
pub fn math_function(op: Op) -> Option<MathFunction> {
    match op {
        Op::Pow => binary!(Pow),
        Op::Mod => binary!(Mod),
        Op::Exp | Op::Sigmoid => None,
        elementary!(Op) => Some(op.function().value),
        _ => None,
    }
}
