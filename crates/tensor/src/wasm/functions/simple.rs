//! Functions of a few instructions.

use residua_ir::graph::Op as Real;

use crate::scalar::{Formula, Type::F32};

/// −1, 0 or 1; a NaN and a zero with its sign stay.
pub fn sign() -> Formula {
    Formula::unary(F32, |x| {
        let (zero, one) = (x.number(0.0), x.number(1.0));
        zero.lt(x).select(one, x.lt(zero).select(-one, x))
    })
}

/// 1/√x, and 0 at 0.
pub fn inverse_norm() -> Formula {
    Formula::unary(F32, |x| {
        let zero = x.number(0.0);
        x.is(zero).select(zero, x.number(1.0) / x.sqrt())
    })
}

/// Nearest integer, halves upward, with the sign of x. x + 1/2 would round 0.49999997 up.
pub fn round() -> Formula {
    Formula::unary(F32, |x| {
        let (below, half) = (x.floor(), x.number(0.5));
        let nearest = half.le(x - below).select(below + 1.0, below);
        (nearest.bits() | x.sign_bit()).as_real()
    })
}

/// a · b, and 0 where a is 0.
pub fn guarded_product() -> Formula {
    Formula::of([F32, F32], |[a, b]| {
        let zero = a.number(0.0);
        a.is(zero).select(zero, a * b)
    })
}

/// 1 where a comparison holds, else 0: in the rules of users, whose values are all real.
pub fn comparison(op: Real) -> Formula {
    Formula::of([F32, F32], |[a, b]| {
        let holds = match op {
            Real::Eq => a.is(b),
            Real::Ne => !a.is(b),
            Real::Lt => a.lt(b),
            Real::Le => a.le(b),
            Real::Gt => b.lt(a),
            _ => b.le(a),
        };
        holds.to_real()
    })
}

/// b where a is not 0, else c; a NaN is not 0.
pub fn selection() -> Formula {
    Formula::of([F32, F32, F32], |[a, b, c]| a.is(a.number(0.0)).select(c, b))
}

/// An op that has an instruction, by itself.
pub fn instruction(op: Real) -> Formula {
    match op.arity() {
        1 => Formula::unary(F32, |a| a.real(op, &[])),
        _ => Formula::of([F32, F32], |[a, b]| a.real(op, &[b])),
    }
}
