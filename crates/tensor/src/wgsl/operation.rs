//! Each operation as an expression, on one point or on four.

use residua_base::list::Listed;
use residua_codegen::wgsl::Hidden;
use residua_ir::graph::Op as Real;

use super::layout::type_name;
use super::module::{COMPARE, COMPONENTS, CONVERT, EXPONENTIAL, HIDDEN, HIGH_PRODUCT, Module};
use crate::scalar::{Type, TypedOp};

/// The text of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// A name, a number or an element of a name.
    pub text: String,
    /// Its type, or that of its components.
    pub ty: Type,
    /// Whether it is a vector of the values of four points.
    pub is_vector: bool,
    /// Its bits, if it is a number.
    pub literal: Option<u32>,
}

impl Text {
    /// The value of one of four points.
    pub fn component(&self, lane: usize) -> String {
        if self.is_vector { format!("{}.{}", self.text, COMPONENTS[lane]) } else { self.text.clone() }
    }

    /// The values of four points.
    pub fn vector(&self) -> String {
        if self.is_vector { self.text.clone() } else { format!("vec4<{}>({})", type_name(self.ty), self.text) }
    }
}

/// An operand as it is hidden from compilers.
pub fn hidden(operand: &Text, how: Hidden, module: &mut Module) -> Text {
    let function = match (how, operand.is_vector) {
        (Hidden::No, _) => return operand.clone(),
        (Hidden::ByFactor, false) => "times_one",
        (Hidden::ByFactor, true) => "four_times_one",
        (Hidden::ByBits, true) => "rounded_four",
        (Hidden::ByBits, false) => {
            let text = match operand.literal {
                Some(bits) => module.program.opaque_number(f64::from(f32::from_bits(bits))),
                None => module.program.call("rounded", &[&operand.text]),
            };
            return Text { text, ..operand.clone() };
        }
    };
    module.push_shader(HIDDEN);
    Text { text: format!("{function}({})", operand.text), ..operand.clone() }
}

/// The value of an operation.
pub fn expression(op: TypedOp, operands: &[&Text], module: &mut Module) -> String {
    let is_vector = operands.iter().any(|operand| operand.is_vector);
    let ty = operands[0].ty;
    if let TypedOp::Real(op) = op {
        return real(op, operands, is_vector, module);
    }
    let texts: Vec<String> = operands.iter().map(|operand| whole(operand, is_vector)).list();
    let a = &texts[0];
    let b = texts.get(1).map_or("", String::as_str);
    let literal = operands.get(1).and_then(|operand| operand.literal);
    match op {
        TypedOp::Real(_) => unreachable!("written above"),
        TypedOp::Trunc => format!("trunc({a})"),
        TypedOp::Eq => comparison(Real::Eq, "==", "are_equal", operands, is_vector, module),
        TypedOp::Lt => comparison(Real::Lt, "<", "are_less", operands, is_vector, module),
        TypedOp::Le => comparison(Real::Le, "<=", "are_at_most", operands, is_vector, module),
        TypedOp::Select => format!("select({}, {b}, {})", texts[2], operands[0].text),
        TypedOp::IntAdd => format!("{a} + {b}"),
        TypedOp::IntSub => format!("{a} - {b}"),
        TypedOp::IntMul => format!("{a} * {b}"),
        // WGSL refuses a zero that it knows, and takes another as 1 in quotients and gives 0 as remainder.
        TypedOp::IntDiv | TypedOp::IntRem if literal == Some(0) => splat(number(ty, 0), ty, is_vector),
        TypedOp::IntRem => format!("{a} % {b}"),
        TypedOp::IntDiv if literal.is_some() => format!("{a} / {b}"),
        TypedOp::IntDiv => {
            let zero = splat(number(ty, 0), ty, is_vector);
            format!("select({a} / {b}, {zero}, {b} == {zero})")
        }
        TypedOp::IntMin => format!("min({a}, {b})"),
        TypedOp::IntMax => format!("max({a}, {b})"),
        TypedOp::HighProduct => {
            module.push_shader(HIGH_PRODUCT);
            by_component("high_product", operands, Type::U32, is_vector)
        }
        TypedOp::And => format!("{a} & {b}"),
        TypedOp::Or => format!("{a} | {b}"),
        TypedOp::Xor if ty == Type::Bool => format!("{a} != {b}"),
        TypedOp::Xor => format!("{a} ^ {b}"),
        TypedOp::Not if ty == Type::Bool => format!("!{a}"),
        TypedOp::Not => format!("~{a}"),
        TypedOp::Shl => format!("{a} << {}", shift(operands[1], is_vector)),
        TypedOp::Shr => format!("{a} >> {}", shift(operands[1], is_vector)),
        TypedOp::ToI32 if ty == Type::F32 => {
            module.push_shader(CONVERT);
            by_component("integer_of", operands, Type::I32, is_vector)
        }
        TypedOp::ToU32 if ty == Type::F32 => {
            module.push_shader(CONVERT);
            by_component("unsigned_of", operands, Type::U32, is_vector)
        }
        TypedOp::ToF32 => format!("{}({a})", type_of(Type::F32, is_vector)),
        TypedOp::ToI32 => format!("{}({a})", type_of(Type::I32, is_vector)),
        TypedOp::ToU32 => format!("{}({a})", type_of(Type::U32, is_vector)),
        TypedOp::BitsToF32 => format!("bitcast<{}>({a})", type_of(Type::F32, is_vector)),
        TypedOp::BitsOfF32 => format!("bitcast<{}>({a})", type_of(Type::U32, is_vector)),
        TypedOp::HalfToF32 if is_vector => {
            let halves = COMPONENTS.map(|component| format!("unpack2x16float({a}.{component}).x"));
            format!("vec4<f32>({})", halves.join(", "))
        }
        TypedOp::HalfToF32 => format!("unpack2x16float({a}).x"),
        TypedOp::Level(_) => a.clone(),
    }
}

/// The type of a value of one point or of four.
pub fn type_of(ty: Type, is_vector: bool) -> String {
    if is_vector { format!("vec4<{}>", type_name(ty)) } else { type_name(ty).to_owned() }
}

/// A number of a type that is no real.
pub fn number(ty: Type, bits: u32) -> String {
    match ty {
        Type::F32 => unreachable!("reals are written by the program"),
        Type::I32 if bits as i32 == i32::MIN => "bitcast<i32>(0x80000000u)".to_owned(),
        Type::I32 if (bits as i32) < 0 => format!("({}i)", bits as i32),
        Type::I32 => format!("{bits}i"),
        Type::U32 => format!("{bits}u"),
        Type::Bool => (bits != 0).to_string(),
    }
}

fn whole(operand: &Text, is_vector: bool) -> String {
    if is_vector { operand.vector() } else { operand.text.clone() }
}

fn splat(text: String, ty: Type, is_vector: bool) -> String {
    if is_vector { format!("vec4<{}>({text})", type_name(ty)) } else { text }
}

fn shift(operand: &Text, is_vector: bool) -> String {
    match operand.literal {
        Some(bits) => splat(format!("{}u", bits % 32), Type::U32, is_vector),
        None => format!("({} & {})", whole(operand, is_vector), splat("31u".to_owned(), Type::U32, is_vector)),
    }
}

/// A call of a function of one point for one or for each of four.
fn by_component(function: &str, operands: &[&Text], result: Type, is_vector: bool) -> String {
    let call = |lane: usize| {
        let arguments: Vec<String> = operands.iter().map(|operand| operand.component(lane)).list();
        format!("{function}({})", arguments.join(", "))
    };
    if is_vector { format!("vec4<{}>({})", type_name(result), [0, 1, 2, 3].map(call).join(", ")) } else { call(0) }
}

fn comparison(
    op: Real,
    symbol: &str,
    function: &str,
    operands: &[&Text],
    is_vector: bool,
    module: &mut Module,
) -> String {
    let (a, b) = (whole(operands[0], is_vector), whole(operands[1], is_vector));
    if operands[0].ty != Type::F32 {
        return format!("{a} {symbol} {b}");
    }
    if !is_vector {
        return module.program.comparison(op, &a, &b);
    }
    module.push_shader(COMPARE);
    format!("{function}({a}, {b})")
}

/// An operation on reals. What is no operator of vectors is done for each point.
fn real(op: Real, operands: &[&Text], is_vector: bool, module: &mut Module) -> String {
    let mut operands: Vec<Text> = operands.iter().map(|operand| (*operand).clone()).list();
    if operands.iter().all(|operand| operand.literal.is_some()) {
        let bits = operands[0].literal.unwrap_or_default();
        operands[0].text = module.program.opaque_number(f64::from(f32::from_bits(bits)));
    }
    // Cheaper forms than those of the library.
    let function = match op {
        Real::Exp => Some("exponential_of"),
        Real::Sigmoid => Some("logistic_of"),
        Real::Tanh => Some("hyperbolic_tangent_of"),
        _ => None,
    };
    if let Some(function) = function {
        module.push_shader(EXPONENTIAL);
        let operands: Vec<&Text> = operands.iter().list();
        return by_component(function, &operands, Type::F32, is_vector);
    }
    if !is_vector {
        let texts: Vec<&str> = operands.iter().map(|operand| operand.text.as_str()).list();
        return module.program.operation(op, &texts);
    }
    let is_operator =
        matches!(op, Real::Neg | Real::Abs | Real::Floor | Real::Ceil | Real::Add | Real::Sub | Real::Mul | Real::Div);
    if is_operator {
        let texts: Vec<String> = operands.iter().map(Text::vector).list();
        let texts: Vec<&str> = texts.iter().map(String::as_str).list();
        return module.program.operation(op, &texts);
    }
    let values = [0, 1, 2, 3].map(|lane| {
        let texts: Vec<String> = operands.iter().map(|operand| operand.component(lane)).list();
        let texts: Vec<&str> = texts.iter().map(String::as_str).list();
        module.program.operation(op, &texts)
    });
    format!("vec4<f32>({})", values.join(", "))
}
