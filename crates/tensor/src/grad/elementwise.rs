//! Rules of elementwise operations.

use super::{Adjoint, PullBack, Shares};
use crate::expr::{Elementwise, TensorId};

/// Whether a rule leaves out elements.
fn selects(op: Elementwise) -> bool {
    use Elementwise::*;
    matches!(op, Minimum | Maximum | GuardedMul | Select)
}

impl PullBack<'_> {
    /// Whether an operation on reals has a derivative.
    pub(super) fn has_rule(op: Elementwise) -> bool {
        use Elementwise::*;
        match op {
            Sign | Floor | Ceil | Round | Trunc | IsNan | IsFinite | Not | StopGradient | Bitcast | Eq | Ne | Lt
            | Le | Gt | Ge | And | Or | Xor | Shl | Shr => false,
            Neg | Abs | Sqrt | Exp | Expm1 | Log | Log1p | Erf | Sin | Cos | Tan | Asin | Acos | Atan | Sinh | Cosh
            | Tanh | Sigmoid | Softplus | Cast | VectorNorm | InverseNorm | Add | Sub | Mul | Div | Mod | FloorMod
            | Pow | Minimum | Maximum | Atan2 | GuardedMul | Select => true,
        }
    }

    pub(super) fn elementwise(&mut self, op: Elementwise) -> Shares {
        let guarded = self.adjoint.guarded || selects(op);
        let mut shares = Vec::new();
        for place in 0..self.operands.len() {
            let share = if self.wanted[place] { self.share(op, place) } else { None };
            shares.push(share.map(|share| Adjoint { node: self.sum_to(share, place), guarded }));
        }
        shares
    }

    /// The adjoint times the partial by the operand at a place, in the shape of the result.
    fn share(&mut self, op: Elementwise, place: usize) -> Option<TensorId> {
        use Elementwise::{Add, Cos, Cosh, Div, Exp, GuardedMul, InverseNorm, Log, Mul, Neg, Pow, Round, Sigmoid};
        use Elementwise::{Sign, Sin, Sinh, Sub};
        let (a, b) = (self.operands[0], self.operands[self.operands.len() - 1]);
        let (adjoint, result, to_first) = (self.adjoint.node, self.result, place == 0);
        Some(match op {
            Neg => self.apply(Neg, &[adjoint]),
            Elementwise::Abs => self.times_of(adjoint, Sign, a),
            // √a′ = 1/(2√a), infinite at 0.
            Elementwise::Sqrt => {
                let quotient = self.over(adjoint, result);
                self.scaled(0.5, quotient)
            }
            Elementwise::VectorNorm => {
                let product = self.times_of(adjoint, InverseNorm, a);
                self.scaled(0.5, product)
            }
            // One factor after the other: the cube of an inverse length may overflow where the product does not.
            InverseNorm => {
                let mut product = self.scaled(-0.5, adjoint);
                for _ in 0..3 {
                    product = self.times(product, result);
                }
                product
            }
            Exp => self.times(adjoint, result),
            Elementwise::Expm1 => self.times_of(adjoint, Exp, a),
            Log => self.over(adjoint, a),
            Elementwise::Log1p => {
                let one = self.number(1.0);
                let sum = self.apply(Add, &[one, a]);
                self.over(adjoint, sum)
            }
            Elementwise::Erf => {
                let square = self.apply(Mul, &[a, a]);
                let negative = self.apply(Neg, &[square]);
                let product = self.times_of(adjoint, Exp, negative);
                self.scaled(std::f64::consts::FRAC_2_SQRT_PI, product)
            }
            Sin => self.times_of(adjoint, Cos, a),
            Cos => {
                let product = self.times_of(adjoint, Sin, a);
                self.apply(Neg, &[product])
            }
            Elementwise::Tan => {
                let partial = self.one_plus_square(result);
                self.times(adjoint, partial)
            }
            Elementwise::Asin => {
                let root = self.unit_complement_root(a);
                self.over(adjoint, root)
            }
            Elementwise::Acos => {
                let root = self.unit_complement_root(a);
                let quotient = self.over(adjoint, root);
                self.apply(Neg, &[quotient])
            }
            Elementwise::Atan => {
                let divisor = self.one_plus_square(a);
                self.over(adjoint, divisor)
            }
            Sinh => self.times_of(adjoint, Cosh, a),
            Cosh => self.times_of(adjoint, Sinh, a),
            Elementwise::Tanh => {
                let partial = self.unit_complement(result);
                self.times(adjoint, partial)
            }
            Sigmoid => {
                let one = self.number(1.0);
                let complement = self.apply(Sub, &[one, result]);
                let partial = self.apply(Mul, &[result, complement]);
                self.times(adjoint, partial)
            }
            Elementwise::Softplus => self.times_of(adjoint, Sigmoid, a),
            Elementwise::Cast => {
                let dtype = self.sweep.expr.dtype(a);
                self.expr().cast(adjoint, dtype)
            }
            Add => adjoint,
            Sub if to_first => adjoint,
            Sub => self.apply(Neg, &[adjoint]),
            // Of a square, once.
            Mul if a == b && !to_first => return None,
            Mul if a == b => {
                let twice = self.scaled(2.0, adjoint);
                self.times(twice, a)
            }
            Mul => self.times(adjoint, if to_first { b } else { a }),
            // (a/b)′ = −(a/b)/b
            Div => {
                let quotient = self.over(adjoint, b);
                if to_first {
                    return Some(quotient);
                }
                let product = self.times(quotient, result);
                self.apply(Neg, &[product])
            }
            // The guard keeps 0·∞ out of a⁰ at a = 0. With b − 1 in the exponent a may be 0, where aᵇ/a would be NaN.
            Pow if to_first => {
                let one = self.number(1.0);
                let exponent = self.apply(Sub, &[b, one]);
                let power = self.apply(Pow, &[a, exponent]);
                let partial = self.apply(GuardedMul, &[b, power]);
                self.times(adjoint, partial)
            }
            // 0ᵇ is 0 for all b > 0, whatever the logarithm of 0.
            Pow => {
                let logarithm = self.apply(Log, &[a]);
                let partial = self.apply(GuardedMul, &[result, logarithm]);
                self.times(adjoint, partial)
            }
            Elementwise::Mod | Elementwise::FloorMod if to_first => adjoint,
            // The remainder is a − b·n with a whole n; rounding takes off what the division left of it.
            Elementwise::Mod | Elementwise::FloorMod => {
                let multiple = self.apply(Sub, &[a, result]);
                let quotient = self.apply(Div, &[multiple, b]);
                let product = self.times_of(adjoint, Round, quotient);
                self.apply(Neg, &[product])
            }
            // The angle of (x, y), operands in the order y, x: ∂/∂y = x/(x² + y²), ∂/∂x = −y/(x² + y²).
            Elementwise::Atan2 => {
                let (y_square, x_square) = (self.apply(Mul, &[a, a]), self.apply(Mul, &[b, b]));
                let square = self.apply(Add, &[y_square, x_square]);
                let quotient = self.over(adjoint, square);
                if to_first {
                    self.times(quotient, b)
                } else {
                    let product = self.times(quotient, a);
                    self.apply(Neg, &[product])
                }
            }
            // Of an operand with itself, twice the half.
            Elementwise::Minimum if to_first => self.where_less(a, b),
            Elementwise::Minimum => self.where_less(b, a),
            Elementwise::Maximum if to_first => self.where_less(b, a),
            Elementwise::Maximum => self.where_less(a, b),
            GuardedMul if to_first => self.times(adjoint, b),
            GuardedMul => self.apply(GuardedMul, &[a, adjoint]),
            Elementwise::Select if place == 1 => self.where_holds(a, adjoint),
            Elementwise::Select => {
                let zero = self.number(0.0);
                self.apply(Elementwise::Select, &[a, zero, adjoint])
            }
            Sign
            | Round
            | Elementwise::Floor
            | Elementwise::Ceil
            | Elementwise::Trunc
            | Elementwise::IsNan
            | Elementwise::IsFinite
            | Elementwise::Not
            | Elementwise::StopGradient
            | Elementwise::Bitcast
            | Elementwise::Eq
            | Elementwise::Ne
            | Elementwise::Lt
            | Elementwise::Le
            | Elementwise::Gt
            | Elementwise::Ge
            | Elementwise::And
            | Elementwise::Or
            | Elementwise::Xor
            | Elementwise::Shl
            | Elementwise::Shr => return None,
        })
    }

    /// What comes of the adjoint, times a function of a tensor.
    fn times_of(&mut self, adjoint: TensorId, function: Elementwise, x: TensorId) -> TensorId {
        let factor = self.apply(function, &[x]);
        self.times(adjoint, factor)
    }

    /// What comes of the adjoint, by a divisor.
    fn over(&mut self, adjoint: TensorId, divisor: TensorId) -> TensorId {
        if !self.adjoint.guarded {
            return self.apply(Elementwise::Div, &[adjoint, divisor]);
        }
        let one = self.number(1.0);
        let reciprocal = self.apply(Elementwise::Div, &[one, divisor]);
        self.times(adjoint, reciprocal)
    }

    fn one_plus_square(&mut self, x: TensorId) -> TensorId {
        let one = self.number(1.0);
        let square = self.apply(Elementwise::Mul, &[x, x]);
        self.apply(Elementwise::Add, &[one, square])
    }

    /// 1 − x² as (1 − x)(1 + x), which loses nothing near x = ±1.
    fn unit_complement(&mut self, x: TensorId) -> TensorId {
        let one = self.number(1.0);
        let below = self.apply(Elementwise::Sub, &[one, x]);
        let above = self.apply(Elementwise::Add, &[one, x]);
        self.apply(Elementwise::Mul, &[below, above])
    }

    fn unit_complement_root(&mut self, x: TensorId) -> TensorId {
        let complement = self.unit_complement(x);
        self.apply(Elementwise::Sqrt, &[complement])
    }

    /// The adjoint where `one < other`, half of it where both are equal.
    fn where_less(&mut self, one: TensorId, other: TensorId) -> TensorId {
        let half = self.scaled(0.5, self.adjoint.node);
        let tie = self.apply(Elementwise::Eq, &[one, other]);
        let shared = self.where_holds(tie, half);
        let less = self.apply(Elementwise::Lt, &[one, other]);
        self.apply(Elementwise::Select, &[less, self.adjoint.node, shared])
    }
}
