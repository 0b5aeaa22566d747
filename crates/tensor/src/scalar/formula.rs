//! Formulas: scalar graphs that are written with Rust's operators.

use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use residua_ir::graph::Op as Real;

use super::{Id, Type, TypedGraph, TypedNode, TypedOp};

/// A function as a scalar graph: its parameters are results of folds by number.
pub struct Formula {
    graph: TypedGraph,
    result: Id,
}

impl Formula {
    /// The graph.
    pub fn graph(&self) -> &TypedGraph {
        &self.graph
    }

    /// The function's value.
    pub fn result(&self) -> Id {
        self.result
    }

    /// A function of one value.
    pub fn unary(ty: Type, body: impl FnOnce(Value) -> Value) -> Formula {
        Formula::of([ty], |[x]| body(x))
    }

    /// A function of some values.
    pub fn of<const N: usize>(types: [Type; N], body: impl FnOnce([Value; N]) -> Value) -> Formula {
        let mut graph = TypedGraph::default();
        let mut fold = 0;
        let parameters = types.map(|ty| {
            let node = TypedNode::Folded { fold, result: 0 };
            fold += 1;
            graph.intern(node, ty)
        });
        let result = graph.written(false, parameters, body);
        Formula { graph, result }
    }
}

impl TypedGraph {
    /// A formula of some nodes, simplified.
    pub fn formula<const N: usize>(&mut self, operands: [Id; N], body: impl FnOnce([Value; N]) -> Value) -> Id {
        self.written(true, operands, body)
    }

    fn written<const N: usize>(
        &mut self,
        is_simplified: bool,
        operands: [Id; N],
        body: impl FnOnce([Value; N]) -> Value,
    ) -> Id {
        let writer = Writer { graph: RefCell::new(std::mem::take(self)), is_simplified };
        let result = body(operands.map(|id| Value { writer: &writer, id })).id;
        *self = writer.graph.into_inner();
        result
    }
}

/// Adds nodes to a graph.
struct Writer {
    graph: RefCell<TypedGraph>,
    is_simplified: bool,
}

/// A value of a formula.
#[derive(Clone, Copy)]
pub struct Value<'g> {
    writer: &'g Writer,
    id: Id,
}

impl<'g> Value<'g> {
    fn apply(self, op: TypedOp, others: &[Value<'g>]) -> Value<'g> {
        let mut operands = [self.id; 3];
        operands.iter_mut().skip(1).zip(others).for_each(|(operand, other)| *operand = other.id);
        let mut graph = self.writer.graph.borrow_mut();
        let id = if self.writer.is_simplified {
            graph.apply(op, &operands[..op.arity()])
        } else {
            let types = operands.map(|operand| graph.ty(operand));
            graph.intern(TypedNode::Apply(op, operands), op.result(types))
        };
        Value { id, ..self }
    }

    /// Its type.
    pub fn ty(self) -> Type {
        self.writer.graph.borrow().ty(self.id)
    }

    fn literal(self, ty: Type, bits: u32) -> Value<'g> {
        let id = self.writer.graph.borrow_mut().literal(ty, bits);
        Value { id, ..self }
    }

    /// A number in f32.
    pub fn number(self, value: f32) -> Value<'g> {
        self.literal(Type::F32, value.to_bits())
    }

    /// An integer of this value's type.
    pub fn integer(self, value: u32) -> Value<'g> {
        self.literal(self.ty(), value)
    }

    /// An operation that is not among the operators.
    pub fn real(self, op: Real, others: &[Value<'g>]) -> Value<'g> {
        self.apply(TypedOp::Real(op), others)
    }

    /// |x|
    pub fn abs(self) -> Value<'g> {
        self.real(Real::Abs, &[])
    }

    /// √x
    pub fn sqrt(self) -> Value<'g> {
        self.real(Real::Sqrt, &[])
    }

    /// ⌊x⌋
    pub fn floor(self) -> Value<'g> {
        self.real(Real::Floor, &[])
    }

    /// This value where it is below a number, else the number; a NaN stays.
    pub fn at_most(self, bound: f32) -> Value<'g> {
        self.real(Real::Min, &[self.number(bound)])
    }

    /// This value where it is above a number, else the number; a NaN stays.
    pub fn at_least(self, bound: f32) -> Value<'g> {
        self.real(Real::Max, &[self.number(bound)])
    }

    /// a < b
    pub fn lt(self, other: Value<'g>) -> Value<'g> {
        self.apply(TypedOp::Lt, &[other])
    }

    /// a ≤ b
    pub fn le(self, other: Value<'g>) -> Value<'g> {
        self.apply(TypedOp::Le, &[other])
    }

    /// a = b
    pub fn is(self, other: Value<'g>) -> Value<'g> {
        self.apply(TypedOp::Eq, &[other])
    }

    /// Whether it is NaN.
    pub fn is_nan(self) -> Value<'g> {
        !self.is(self)
    }

    /// One of two values, by this bool.
    pub fn select(self, yes: Value<'g>, no: Value<'g>) -> Value<'g> {
        self.apply(TypedOp::Select, &[yes, no])
    }

    /// The bits of a real as a u32.
    pub fn bits(self) -> Value<'g> {
        self.apply(TypedOp::BitsOfF32, &[])
    }

    /// An integer's bits as a real.
    pub fn as_real(self) -> Value<'g> {
        self.apply(TypedOp::BitsToF32, &[])
    }

    /// The nearest real.
    pub fn to_real(self) -> Value<'g> {
        self.apply(TypedOp::ToF32, &[])
    }

    /// The integer part as an i32, or the same bits.
    pub fn to_i32(self) -> Value<'g> {
        self.apply(TypedOp::ToI32, &[])
    }

    /// The integer part as a u32, or the same bits.
    pub fn to_u32(self) -> Value<'g> {
        self.apply(TypedOp::ToU32, &[])
    }

    /// The high word of the product of two u32.
    pub fn high_product(self, other: Value<'g>) -> Value<'g> {
        self.apply(TypedOp::HighProduct, &[other])
    }

    /// The sign bit of a real.
    pub fn sign_bit(self) -> Value<'g> {
        let bits = self.bits();
        bits & bits.integer(1 << 31)
    }

    /// A real without a sign, with a sign bit.
    pub fn with_sign_bit(self, sign: Value<'g>) -> Value<'g> {
        (self.bits() ^ sign).as_real()
    }

    /// Σ cₖ xᵏ by Horner's rule, the constant first.
    pub fn polynomial(self, coefficients: &[f32]) -> Value<'g> {
        let (last, others) = coefficients.split_last().expect("a polynomial has a coefficient");
        others.iter().rev().fold(self.number(*last), |sum, coefficient| self.number(*coefficient) + self * sum)
    }
}

/// Binary operators: on reals, on integers.
macro_rules! operators {
    ($($trait:ident $method:ident $op:expr;)+) => {
        $(impl<'g> $trait for Value<'g> {
            type Output = Value<'g>;

            fn $method(self, other: Value<'g>) -> Value<'g> {
                let op: fn(bool) -> TypedOp = $op;
                self.apply(op(self.ty() == Type::F32), &[other])
            }
        })+
    };
}

operators! {
    Add add |real| if real { TypedOp::Real(Real::Add) } else { TypedOp::IntAdd };
    Sub sub |real| if real { TypedOp::Real(Real::Sub) } else { TypedOp::IntSub };
    Mul mul |real| if real { TypedOp::Real(Real::Mul) } else { TypedOp::IntMul };
    Div div |real| if real { TypedOp::Real(Real::Div) } else { TypedOp::IntDiv };
    BitAnd bitand |_| TypedOp::And;
    BitOr bitor |_| TypedOp::Or;
    BitXor bitxor |_| TypedOp::Xor;
}

/// Binary operators with a number on the right.
macro_rules! with_number {
    ($($trait:ident $method:ident;)+) => {
        $(impl<'g> $trait<f32> for Value<'g> {
            type Output = Value<'g>;

            fn $method(self, other: f32) -> Value<'g> {
                let other = self.number(other);
                $trait::$method(self, other)
            }
        })+
    };
}

with_number! {
    Add add;
    Sub sub;
    Mul mul;
}

impl<'g> Shl<u32> for Value<'g> {
    type Output = Value<'g>;

    fn shl(self, count: u32) -> Value<'g> {
        let count = self.literal(Type::U32, count);
        self.apply(TypedOp::Shl, &[count])
    }
}

impl<'g> Shr<u32> for Value<'g> {
    type Output = Value<'g>;

    fn shr(self, count: u32) -> Value<'g> {
        let count = self.literal(Type::U32, count);
        self.apply(TypedOp::Shr, &[count])
    }
}

impl<'g> Neg for Value<'g> {
    type Output = Value<'g>;

    fn neg(self) -> Value<'g> {
        self.real(Real::Neg, &[])
    }
}

impl<'g> Not for Value<'g> {
    type Output = Value<'g>;

    fn not(self) -> Value<'g> {
        self.apply(TypedOp::Not, &[])
    }
}
