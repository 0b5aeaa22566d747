//! Constructors with the names of the ops, for the rooms that write formulas: each is [`Graph::apply`], and so simplifies.

use super::{Graph, NodeId, Op};

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident($($operand:ident),+) = $op:ident;)+) => {
        impl Graph {
            $($(#[$doc])*
            pub fn $name(&mut self, $($operand: NodeId),+) -> NodeId {
                self.apply(Op::$op, &[$($operand),+])
            })+
        }
    };
}

constructors! {
    /// −a
    neg(a) = Neg;
    /// |a|
    abs(a) = Abs;
    /// −1, 0 or 1
    sign(a) = Sign;
    /// √a
    sqrt(a) = Sqrt;
    /// 1/√a, and 0 at 0
    inverse_norm(a) = InverseNorm;
    /// eᵃ
    exp(a) = Exp;
    /// Natural logarithm
    log(a) = Log;
    /// Sine
    sin(a) = Sin;
    /// Cosine
    cos(a) = Cos;
    /// Arc tangent
    atan(a) = Atan;
    /// Hyperbolic sine
    sinh(a) = Sinh;
    /// Hyperbolic cosine
    cosh(a) = Cosh;
    /// 1/(1 + e⁻ᵃ)
    sigmoid(a) = Sigmoid;
    /// log(1 + eᵃ)
    softplus(a) = Softplus;
    /// Nearest integer
    round(a) = Round;
    /// a + b
    add(a, b) = Add;
    /// a − b
    sub(a, b) = Sub;
    /// a · b
    mul(a, b) = Mul;
    /// a / b
    div(a, b) = Div;
    /// aᵇ
    pow(a, b) = Pow;
    /// 1 if a = b, else 0
    eq(a, b) = Eq;
    /// 1 if a < b, else 0
    lt(a, b) = Lt;
    /// 1 if a ≤ b, else 0
    le(a, b) = Le;
    /// a · b, and 0 where a is 0
    guarded_mul(a, b) = GuardedMul;
    /// a where the condition is not 0, else b
    select(condition, a, b) = Select;
}
