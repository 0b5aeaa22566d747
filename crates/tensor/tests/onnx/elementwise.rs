//! Operators of elements.

use residua_tensor::dtype::DType;
use residua_tensor::expr::{Elementwise, Tensor, TensorId, TensorOp};

use crate::recipe::{Builder, sizes};

/// Operators that are operations.
fn direct(op: &str) -> Option<Elementwise> {
    Some(match op {
        "Abs" => Elementwise::Abs,
        "Acos" => Elementwise::Acos,
        "Add" => Elementwise::Add,
        "And" | "BitwiseAnd" => Elementwise::And,
        "Asin" => Elementwise::Asin,
        "Atan" => Elementwise::Atan,
        "BitwiseNot" | "Not" => Elementwise::Not,
        "BitwiseOr" | "Or" => Elementwise::Or,
        "BitwiseXor" | "Xor" => Elementwise::Xor,
        "Div" => Elementwise::Div,
        "Equal" => Elementwise::Eq,
        "Erf" => Elementwise::Erf,
        "Exp" => Elementwise::Exp,
        "Floor" => Elementwise::Floor,
        "Greater" => Elementwise::Gt,
        "GreaterOrEqual" => Elementwise::Ge,
        "IsNaN" => Elementwise::IsNan,
        "Less" => Elementwise::Lt,
        "LessOrEqual" => Elementwise::Le,
        "Log" => Elementwise::Log,
        "Mul" => Elementwise::Mul,
        "Neg" => Elementwise::Neg,
        "Sigmoid" => Elementwise::Sigmoid,
        "Sin" => Elementwise::Sin,
        "Sqrt" => Elementwise::Sqrt,
        "Sub" => Elementwise::Sub,
        "Tan" => Elementwise::Tan,
        "Tanh" => Elementwise::Tanh,
        "Where" => Elementwise::Select,
        _ => return None,
    })
}

pub fn build(b: &mut Builder) -> Option<Vec<TensorId>> {
    use Elementwise::{Abs, Add, Div, Expm1, Gt, Lt, Maximum, Minimum, Mul, Sub};
    let case = b.case;
    let count = case.inputs.len();
    if let Some(op) = direct(&case.op) {
        let operands: Vec<TensorId> = (0..count).map(|place| b.input(place)).collect();
        return Some(vec![b.apply(op, &operands)]);
    }
    let result = match case.op.as_str() {
        "Max" => of_all(b, Maximum),
        "Min" => of_all(b, Minimum),
        "Sum" => of_all(b, Add),
        "Mean" => {
            let sum = of_all(b, Add);
            b.with(Div, sum, count as f64)
        }
        "BitShift" => {
            let op = if case.text("direction") == "LEFT" { Elementwise::Shl } else { Elementwise::Shr };
            let operands = [b.input(0), b.input(1)];
            b.apply(op, &operands)
        }
        "BitCast" => {
            let x = b.input(0);
            let shape = sizes(&b.shape(x));
            let op = TensorOp::Elementwise(Elementwise::Bitcast);
            b.expr.push(Tensor { op, operands: vec![x], dtype: case.outputs[0].dtype, shape })
        }
        "Cast" => {
            let x = b.input(0);
            b.expr.cast(x, case.outputs[0].dtype)
        }
        "Mod" => {
            let op = if case.integer("fmod", 0) == 1 { Elementwise::Mod } else { Elementwise::FloorMod };
            let operands = [b.input(0), b.input(1)];
            b.apply(op, &operands)
        }
        "Pow" => {
            let operands = [b.input(0), b.input(1)];
            let types = operands.map(|id| b.expr.dtype(id));
            let common = if types[0] == types[1] { types[0] } else { DType::F32 };
            let operands = operands.map(|id| b.expr.cast(id, common));
            let power = b.apply(Elementwise::Pow, &operands);
            b.expr.cast(power, types[0])
        }
        "Clip" => {
            let mut x = b.input(0);
            for (place, op) in [(1, Maximum), (2, Minimum)] {
                if b.has(place) {
                    let limit = b.input(place);
                    x = b.apply(op, &[x, limit]);
                }
            }
            x
        }
        "IsInf" => {
            let x = b.input(0);
            let [is_nan, is_finite] = [Elementwise::IsNan, Elementwise::IsFinite].map(|op| b.apply(op, &[x]));
            let either = b.apply(Elementwise::Or, &[is_nan, is_finite]);
            b.apply(Elementwise::Not, &[either])
        }
        "Reciprocal" => {
            let x = b.input(0);
            let one = b.number(1.0, x);
            b.apply(Div, &[one, x])
        }
        "Celu" => {
            let alpha = case.float("alpha", 1.0);
            negative_part(b, |b, x| {
                let quotient = b.with(Div, x, alpha);
                let exponential = b.apply(Expm1, &[quotient]);
                b.with(Mul, exponential, alpha)
            })
        }
        "Elu" => negative_part(b, |b, x| {
            let exponential = b.apply(Expm1, &[x]);
            b.with(Mul, exponential, b.case.float("alpha", 1.0))
        }),
        "LeakyRelu" => negative_part(b, |b, x| b.with(Mul, x, b.case.float("alpha", 0.01))),
        "PRelu" => negative_part(b, |b, x| {
            let slope = b.input(1);
            b.apply(Mul, &[x, slope])
        }),
        // The constants of ONNX's default attributes.
        "Selu" => {
            let alpha = case.float("alpha", 1.673_263_2);
            let selected = negative_part(b, |b, x| {
                let exponential = b.apply(Expm1, &[x]);
                b.with(Mul, exponential, alpha)
            });
            b.with(Mul, selected, case.float("gamma", 1.050_701))
        }
        "HardSigmoid" => {
            let x = b.input(0);
            let scaled = b.with(Mul, x, case.float("alpha", 0.2));
            let moved = b.with(Add, scaled, case.float("beta", 0.5));
            let above = b.with(Maximum, moved, 0.0);
            b.with(Minimum, above, 1.0)
        }
        "Softsign" => {
            let x = b.input(0);
            let size = b.apply(Abs, &[x]);
            let divisor = b.with(Add, size, 1.0);
            b.apply(Div, &[x, divisor])
        }
        "Mish" => {
            let x = b.input(0);
            let softplus = b.apply(Elementwise::Softplus, &[x]);
            let tanh = b.apply(Elementwise::Tanh, &[softplus]);
            b.apply(Mul, &[x, tanh])
        }
        "Gelu" => gelu(b),
        "SwiGLU" => {
            let (x, y) = (b.input(0), b.input(1));
            let scaled = b.with(Mul, x, case.float("alpha", 1.0));
            let gate = b.apply(Elementwise::Sigmoid, &[scaled]);
            let gated = b.apply(Mul, &[x, gate]);
            b.apply(Mul, &[gated, y])
        }
        "Shrink" => {
            let x = b.input(0);
            let (bias, limit) = (case.float("bias", 0.0), case.float("lambd", 0.5));
            let (below, above) = (b.with(Add, x, bias), b.with(Sub, x, bias));
            let (is_below, is_above) = (b.with(Lt, x, -limit), b.with(Gt, x, limit));
            let zero = b.number(0.0, x);
            let upper = b.select(is_above, above, zero);
            b.select(is_below, below, upper)
        }
        "BlackmanWindow" => window(b, &[0.42, -0.5, 0.08]),
        "HammingWindow" => window(b, &[25.0 / 46.0, -21.0 / 46.0]),
        "HannWindow" => window(b, &[0.5, -0.5]),
        _ => return None,
    };
    Some(vec![result])
}

/// An associative operation on all inputs.
fn of_all(b: &mut Builder, op: Elementwise) -> TensorId {
    let first = b.input(0);
    (1..b.case.inputs.len()).fold(first, |sum, place| {
        let next = b.input(place);
        b.apply(op, &[sum, next])
    })
}

/// The first input where it is not negative, else what is made of it.
fn negative_part(b: &mut Builder, below: impl FnOnce(&mut Builder, TensorId) -> TensorId) -> TensorId {
    let x = b.input(0);
    let is_negative = b.with(Elementwise::Lt, x, 0.0);
    let below = below(b, x);
    b.select(is_negative, below, x)
}

fn gelu(b: &mut Builder) -> TensorId {
    use Elementwise::{Add, Erf, Mul, Tanh};
    let x = b.input(0);
    let step = if b.case.text("approximate") == "tanh" {
        let square = b.apply(Mul, &[x, x]);
        let cube = b.apply(Mul, &[square, x]);
        let small = b.with(Mul, cube, 0.044715);
        let sum = b.apply(Add, &[x, small]);
        let scaled = b.with(Mul, sum, (2.0 / std::f64::consts::PI).sqrt());
        b.apply(Tanh, &[scaled])
    } else {
        let scaled = b.with(Mul, x, std::f64::consts::FRAC_1_SQRT_2);
        b.apply(Erf, &[scaled])
    };
    let sum = b.with(Add, step, 1.0);
    let half = b.with(Mul, sum, 0.5);
    b.apply(Mul, &[x, half])
}

/// A sum of cosines of the multiples of an angle that goes around once.
fn window(b: &mut Builder, factors: &[f64]) -> TensorId {
    use Elementwise::{Add, Cos, Mul};
    let count = b.case.told(0).expect("how many")[0];
    let period = count - (1 - b.case.integer("periodic", 1));
    let places = b.expr.iota(0, DType::F32, &sizes(&[count]));
    let mut sum = b.with(Mul, places, 0.0);
    for (multiple, factor) in factors.iter().enumerate() {
        let angle = b.with(Mul, places, std::f64::consts::TAU * multiple as f64 / period as f64);
        let cosine = b.apply(Cos, &[angle]);
        let term = b.with(Mul, cosine, *factor);
        sum = b.apply(Add, &[sum, term]);
    }
    sum
}
