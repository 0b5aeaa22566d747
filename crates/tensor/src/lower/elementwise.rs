//! Elementwise operations at a point: which scalar operations they are, by the type of their operands.

use residua_base::error::Result;
use residua_ir::elementary;
use residua_ir::graph::Op as Real;

use super::{ElementIndex, Lowering};
use crate::dtype::DType;
use crate::expr::{Elementwise, TensorId};
use crate::scalar::{Id, Type, TypedOp};

impl Lowering<'_> {
    /// The value of an elementwise operation at a point.
    pub(super) fn elementwise(&mut self, id: TensorId, index: &ElementIndex, op: Elementwise) -> Result<Id> {
        let tensor = self.expr.tensor(id);
        let (operands, to) = (tensor.operands.clone(), tensor.dtype);
        let mut values = Vec::with_capacity(operands.len());
        for operand in &operands {
            values.push(self.broadcast(*operand, id, index)?);
        }
        let from = self.expr.tensor(operands[0]).dtype;
        let value = match op {
            Elementwise::Cast => self.converted(values[0], from, to),
            Elementwise::Bitcast => self.bitcast(values[0], Type::of(to)),
            Elementwise::Select => self.graph.apply(TypedOp::Select, &values),
            _ => self.apply(op, Type::of(from), &values),
        };
        // Bytes are computed as words, of which the low 8 bits count.
        let is_byte_that_may_exceed = to == DType::U8
            && matches!(
                op,
                Elementwise::Neg
                    | Elementwise::Not
                    | Elementwise::Add
                    | Elementwise::Sub
                    | Elementwise::Mul
                    | Elementwise::Pow
                    | Elementwise::Shl
            );
        Ok(if is_byte_that_may_exceed { self.low_byte(value) } else { value })
    }

    /// An integer as an element type keeps it: a byte its low 8 bits.
    pub fn kept(&mut self, value: Id, dtype: DType) -> Id {
        if dtype == DType::U8 { self.low_byte(value) } else { value }
    }

    fn low_byte(&mut self, value: Id) -> Id {
        let mask = self.graph.u32(0xff);
        self.graph.apply(TypedOp::And, &[value, mask])
    }

    pub(super) fn bitcast(&mut self, value: Id, to: Type) -> Id {
        match (self.graph.ty(value), to) {
            (Type::F32, Type::F32) => value,
            (Type::F32, Type::I32) => {
                let bits = self.graph.apply(TypedOp::BitsOfF32, &[value]);
                self.graph.apply(TypedOp::ToI32, &[bits])
            }
            (Type::F32, Type::U32 | Type::Bool) => self.graph.apply(TypedOp::BitsOfF32, &[value]),
            (_, Type::F32) => self.graph.apply(TypedOp::BitsToF32, &[value]),
            (_, Type::I32) => self.graph.apply(TypedOp::ToI32, &[value]),
            (_, Type::U32 | Type::Bool) => self.graph.apply(TypedOp::ToU32, &[value]),
        }
    }

    /// A value of one element type as another.
    pub fn converted(&mut self, value: Id, from: DType, to: DType) -> Id {
        match to {
            DType::F32 => self.graph.apply(TypedOp::ToF32, &[value]),
            DType::F16 if from == DType::F16 => value,
            DType::F16 => {
                let value = self.graph.apply(TypedOp::ToF32, &[value]);
                self.graph.round_to_f16(value)
            }
            DType::I32 => self.graph.apply(TypedOp::ToI32, &[value]),
            DType::U32 => self.graph.apply(TypedOp::ToU32, &[value]),
            DType::U8 => {
                let is_real = from.is_real();
                let value = self.graph.apply(TypedOp::ToU32, &[value]);
                if is_real {
                    let most = self.graph.u32(0xff);
                    self.graph.apply(TypedOp::IntMin, &[value, most])
                } else {
                    self.low_byte(value)
                }
            }
            DType::Bool if from == DType::Bool => value,
            DType::Bool => {
                let zero = self.graph.literal(Type::of(from), 0);
                let is_zero = self.graph.apply(TypedOp::Eq, &[value, zero]);
                self.graph.apply(TypedOp::Not, &[is_zero])
            }
        }
    }

    /// An operation on values of one type.
    fn apply(&mut self, op: Elementwise, ty: Type, values: &[Id]) -> Id {
        let graph = &mut self.graph;
        let is_real = ty == Type::F32;
        let (a, b) = (values[0], *values.last().unwrap_or(&values[0]));
        // Of reals the scalar graph has its own comparisons, selections, guarded products and error function.
        let has_own = |real: &Real| {
            matches!(
                real,
                Real::Eq
                    | Real::Ne
                    | Real::Lt
                    | Real::Le
                    | Real::Gt
                    | Real::Ge
                    | Real::GuardedMul
                    | Real::Select
                    | Real::Erf
            )
        };
        match op.real().filter(|real| is_real && !has_own(real)) {
            Some(Real::StopGradient) => return a,
            Some(real) => return graph.real(real, values),
            None => {}
        }
        let op = match op {
            Elementwise::Neg => {
                let zero = graph.literal(ty, 0);
                return graph.apply(TypedOp::IntSub, &[zero, a]);
            }
            Elementwise::Abs if ty == Type::I32 => {
                let zero = graph.i32(0);
                let negative = graph.apply(TypedOp::IntSub, &[zero, a]);
                return graph.apply(TypedOp::IntMax, &[a, negative]);
            }
            Elementwise::Sign if ty == Type::I32 => {
                let (one, minus_one) = (graph.i32(1), graph.i32(-1));
                let below = graph.apply(TypedOp::IntMin, &[a, one]);
                return graph.apply(TypedOp::IntMax, &[below, minus_one]);
            }
            Elementwise::Sign => {
                let one = graph.literal(ty, 1);
                return graph.apply(TypedOp::IntMin, &[a, one]);
            }
            Elementwise::Abs | Elementwise::StopGradient => return a,
            Elementwise::Expm1 => return graph.expm1(a),
            Elementwise::Log1p => return graph.log1p(a),
            Elementwise::Erf => return graph.erf(a),
            Elementwise::Erfc => return graph.erfc(a),
            Elementwise::Trunc => TypedOp::Trunc,
            Elementwise::IsNan => return graph.is_nan(a),
            Elementwise::IsFinite => return graph.is_finite(a),
            Elementwise::Not => TypedOp::Not,
            Elementwise::Add => TypedOp::IntAdd,
            Elementwise::Sub => TypedOp::IntSub,
            Elementwise::Mul => TypedOp::IntMul,
            Elementwise::Div => TypedOp::IntDiv,
            Elementwise::Mod => TypedOp::IntRem,
            Elementwise::FloorMod => return self.floor_mod(ty, a, b),
            Elementwise::Pow => return graph.integer_power(a, b),
            Elementwise::Minimum => TypedOp::IntMin,
            Elementwise::Maximum => TypedOp::IntMax,
            Elementwise::Eq => TypedOp::Eq,
            Elementwise::Ne => {
                let equal = graph.apply(TypedOp::Eq, &[a, b]);
                return graph.apply(TypedOp::Not, &[equal]);
            }
            Elementwise::Lt | Elementwise::Le | Elementwise::Gt | Elementwise::Ge => {
                return self.ordered(op, ty, a, b);
            }
            Elementwise::And => TypedOp::And,
            Elementwise::Or => TypedOp::Or,
            Elementwise::Xor => TypedOp::Xor,
            Elementwise::Shl | Elementwise::Shr => {
                let count = graph.apply(TypedOp::ToU32, &[b]);
                let op = if op == Elementwise::Shl { TypedOp::Shl } else { TypedOp::Shr };
                return graph.apply(op, &[a, count]);
            }
            Elementwise::GuardedMul => {
                let zero = graph.f32(0.0);
                let is_zero = graph.apply(TypedOp::Eq, &[a, zero]);
                let product = graph.real(Real::Mul, &[a, b]);
                return graph.apply(TypedOp::Select, &[is_zero, zero, product]);
            }
            Elementwise::Cast | Elementwise::Bitcast | Elementwise::Select => {
                unreachable!("these depend on more than the type of their first operand")
            }
            Elementwise::Sqrt
            | Elementwise::VectorNorm
            | Elementwise::InverseNorm
            | Elementwise::Floor
            | Elementwise::Ceil
            | Elementwise::Round => unreachable!("{} takes no integers", op.name()),
            elementary!(Elementwise) => unreachable!("{} takes no integers", op.name()),
        };
        graph.apply(op, values)
    }

    /// The comparisons that have an order; of bools false is before true.
    fn ordered(&mut self, op: Elementwise, ty: Type, a: Id, b: Id) -> Id {
        let graph = &mut self.graph;
        let (a, b) = match ty {
            Type::Bool => (graph.apply(TypedOp::ToU32, &[a]), graph.apply(TypedOp::ToU32, &[b])),
            Type::F32 | Type::I32 | Type::U32 => (a, b),
        };
        match op {
            Elementwise::Lt => graph.apply(TypedOp::Lt, &[a, b]),
            Elementwise::Le => graph.apply(TypedOp::Le, &[a, b]),
            Elementwise::Gt => graph.apply(TypedOp::Lt, &[b, a]),
            _ => graph.apply(TypedOp::Le, &[b, a]),
        }
    }

    /// The remainder with the sign of b.
    fn floor_mod(&mut self, ty: Type, a: Id, b: Id) -> Id {
        let graph = &mut self.graph;
        if ty == Type::U32 {
            return graph.apply(TypedOp::IntRem, &[a, b]);
        }
        let (rem, add) = if ty == Type::F32 {
            (TypedOp::Real(Real::Mod), TypedOp::Real(Real::Add))
        } else {
            (TypedOp::IntRem, TypedOp::IntAdd)
        };
        let zero = graph.literal(ty, 0);
        let remainder = graph.apply(rem, &[a, b]);
        let is_zero = graph.apply(TypedOp::Eq, &[remainder, zero]);
        let (negative, b_negative) =
            (graph.apply(TypedOp::Lt, &[remainder, zero]), graph.apply(TypedOp::Lt, &[b, zero]));
        let differ = graph.apply(TypedOp::Xor, &[negative, b_negative]);
        let sum = graph.apply(add, &[remainder, b]);
        let not_zero = graph.apply(TypedOp::Not, &[is_zero]);
        let moves = graph.apply(TypedOp::And, &[differ, not_zero]);
        graph.apply(TypedOp::Select, &[moves, sum, remainder])
    }
}
