//! What WGSL's operators and functions do to values, in f32 as IEEE 754 rounds it.

use naga::{BinaryOperator, Literal, MathFunction, ScalarKind, UnaryOperator};

/// A WGSL value; vectors and structures are composites.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    F32(f32),
    U32(u32),
    I32(i32),
    Bool(bool),
    Composite(Vec<Value>),
}

use Value::{Bool, Composite, F32, I32, U32};

impl Value {
    pub fn of_literal(literal: Literal) -> Value {
        match literal {
            Literal::F32(value) => F32(value),
            Literal::U32(value) => U32(value),
            Literal::I32(value) => I32(value),
            Literal::Bool(value) => Bool(value),
            other => panic!("no literal of these shaders: {other:?}"),
        }
    }

    pub fn of_bits(kind: ScalarKind, bits: u32) -> Value {
        match kind {
            ScalarKind::Float => F32(f32::from_bits(bits)),
            ScalarKind::Uint => U32(bits),
            ScalarKind::Sint => I32(bits as i32),
            other => panic!("no scalar of these shaders: {other:?}"),
        }
    }

    pub fn bits(&self) -> u32 {
        match self {
            F32(value) => value.to_bits(),
            U32(value) => *value,
            I32(value) => *value as u32,
            Bool(_) | Composite(_) => panic!("has no bits of its own: {self:?}"),
        }
    }

    /// The components of a vector, or a scalar itself.
    pub fn into_scalars(self) -> Vec<Value> {
        match self {
            Composite(components) => components,
            scalar => vec![scalar],
        }
    }

    /// Reinterpreted as a kind of scalar, or of a vector's components.
    pub fn reinterpreted(&self, kind: ScalarKind) -> Value {
        match self {
            Composite(components) => Composite(components.iter().map(|value| value.reinterpreted(kind)).collect()),
            scalar => Value::of_bits(kind, scalar.bits()),
        }
    }

    pub fn truth(&self) -> bool {
        matches!(self, Bool(true))
    }

    /// Converted to a kind of scalar, as `f32(x)` and the like do.
    pub fn converted(&self, kind: ScalarKind) -> Value {
        match (kind, self) {
            (ScalarKind::Float, U32(value)) => F32(*value as f32),
            (ScalarKind::Float, I32(value)) => F32(*value as f32),
            (ScalarKind::Float, F32(value)) => F32(*value),
            (ScalarKind::Uint, F32(value)) => U32(*value as u32),
            (ScalarKind::Uint, I32(value)) => U32(*value as u32),
            (ScalarKind::Uint, U32(value)) => U32(*value),
            (ScalarKind::Sint, F32(value)) => I32(*value as i32),
            (ScalarKind::Sint, U32(value)) => I32(*value as i32),
            (ScalarKind::Sint, I32(value)) => I32(*value),
            other => panic!("no conversion of these shaders: {other:?}"),
        }
    }
}

pub fn unary(op: UnaryOperator, value: &Value) -> Value {
    match (op, value) {
        (UnaryOperator::Negate, F32(value)) => F32(-value),
        (UnaryOperator::Negate, I32(value)) => I32(value.wrapping_neg()),
        (UnaryOperator::LogicalNot, Bool(value)) => Bool(!value),
        (op, Composite(components)) => Composite(components.iter().map(|value| unary(op, value)).collect()),
        other => panic!("no operation of these shaders: {other:?}"),
    }
}

pub fn binary(op: BinaryOperator, left: &Value, right: &Value) -> Value {
    use BinaryOperator as B;
    match (left, right) {
        (F32(a), F32(b)) => match op {
            B::Add => F32(a + b),
            B::Subtract => F32(a - b),
            B::Multiply => F32(a * b),
            B::Divide => F32(a / b),
            _ => Bool(compare(op, a, b)),
        },
        (U32(a), U32(b)) => match op {
            B::Add => U32(a.wrapping_add(*b)),
            B::Subtract => U32(a.wrapping_sub(*b)),
            B::Multiply => U32(a.wrapping_mul(*b)),
            B::Divide => U32(a / b),
            B::Modulo => U32(a % b),
            B::And => U32(a & b),
            B::ExclusiveOr => U32(a ^ b),
            B::InclusiveOr => U32(a | b),
            B::ShiftLeft => U32(a << b),
            B::ShiftRight => U32(a >> b),
            _ => Bool(compare(op, a, b)),
        },
        (I32(a), U32(b)) if op == B::ShiftRight => I32(a >> b),
        // Vectors are combined by components, and with a scalar each of them.
        (Composite(a), Composite(b)) => Composite(a.iter().zip(b).map(|(a, b)| binary(op, a, b)).collect()),
        (Composite(a), scalar) => Composite(a.iter().map(|a| binary(op, a, scalar)).collect()),
        (scalar, Composite(b)) => Composite(b.iter().map(|b| binary(op, scalar, b)).collect()),
        (I32(a), I32(b)) => match op {
            B::Add => I32(a.wrapping_add(*b)),
            B::Subtract => I32(a.wrapping_sub(*b)),
            B::And => I32(a & b),
            _ => Bool(compare(op, a, b)),
        },
        (Bool(a), Bool(b)) => match op {
            B::LogicalAnd | B::And => Bool(*a && *b),
            B::LogicalOr | B::InclusiveOr => Bool(*a || *b),
            _ => Bool(compare(op, a, b)),
        },
        other => panic!("no operands of these shaders: {op:?} {other:?}"),
    }
}

fn compare<T: PartialOrd>(op: BinaryOperator, a: &T, b: &T) -> bool {
    match op {
        BinaryOperator::Equal => a == b,
        // What WGSL's != does with a NaN is not to be relied on; this is what Chromium does.
        BinaryOperator::NotEqual => a.partial_cmp(b).is_some_and(std::cmp::Ordering::is_ne),
        BinaryOperator::Less => a < b,
        BinaryOperator::LessEqual => a <= b,
        BinaryOperator::Greater => a > b,
        BinaryOperator::GreaterEqual => a >= b,
        other => panic!("no comparison of these shaders: {other:?}"),
    }
}

pub fn math(function: MathFunction, arguments: &[Value]) -> Value {
    use MathFunction as M;
    match (function, arguments) {
        (M::Abs, [F32(x)]) => F32(x.abs()),
        (M::Floor, [F32(x)]) => F32(x.floor()),
        (M::Ceil, [F32(x)]) => F32(x.ceil()),
        (M::Sqrt, [F32(x)]) => F32(x.sqrt()),
        (M::InverseSqrt, [F32(x)]) => F32(1.0 / x.sqrt()),
        (M::Sign, [F32(x)]) => F32(if *x == 0.0 { 0.0 } else { x.signum() }),
        (M::Min, [F32(a), F32(b)]) => F32(a.min(*b)),
        (M::Max, [F32(a), F32(b)]) => F32(a.max(*b)),
        (M::Min, [U32(a), U32(b)]) => U32(*a.min(b)),
        (M::Max, [U32(a), U32(b)]) => U32(*a.max(b)),
        (M::Clamp, [U32(x), U32(low), U32(high)]) => U32(*x.max(low).min(high)),
        (M::Clamp, [F32(x), F32(low), F32(high)]) => F32(x.max(*low).min(*high)),
        (M::Fma, [F32(a), F32(b), F32(c)]) => F32(a.mul_add(*b, *c)),
        (M::Clamp, [Composite(x), Composite(low), Composite(high)]) => {
            let bounds = low.iter().zip(high);
            let component =
                |(x, (low, high)): (&Value, (&Value, &Value))| math(function, &[x.clone(), low.clone(), high.clone()]);
            Composite(x.iter().zip(bounds).map(component).collect())
        }
        (M::CountLeadingZeros, [U32(x)]) => U32(x.leading_zeros()),
        other => panic!("no function of these shaders: {other:?}"),
    }
}
