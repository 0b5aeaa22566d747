//! The table of elementwise operations, one line each. A match that defines them has no wildcard arm, so the compiler names each place
//! that a new one must define.

use residua_ir::graph::Op;

/// Which element types an operation takes. All operands have one type, but for the condition of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Real numbers.
    Reals,
    /// Real numbers and integers.
    Numbers,
    /// Integers and truth values.
    Bits,
    /// Integers.
    Integers,
    /// Every type.
    Any,
}

/// Declares [`Elementwise`] from one line per operation: name, code on the tape, name in plans and errors, number of operands, types, and the scalar
/// operation that it is of reals, if there is one.
macro_rules! elementwise {
    ($($(#[$doc:meta])* $name:ident $code:literal $text:literal $arity:literal $takes:ident $($real:ident)?;)+) => {
        /// An operation on the elements of one, two or three tensors that broadcast.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Elementwise { $($(#[$doc])* $name = $code,)+ }

        impl Elementwise {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Elementwise] = &[$(Elementwise::$name),+];

            /// The operation of a code on the tape.
            pub fn from_code(code: u32) -> Option<Elementwise> {
                match code { $($code => Some(Elementwise::$name),)+ _ => None }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Elementwise::$name => $text,)+ }
            }

            /// How many operands it takes.
            pub fn arity(self) -> usize {
                match self { $(Elementwise::$name => $arity,)+ }
            }

            /// Which element types it takes.
            pub fn takes(self) -> Takes {
                match self { $(Elementwise::$name => Takes::$takes,)+ }
            }

            /// The scalar operation that it is of reals.
            pub fn real(self) -> Option<Op> {
                match self { $(Elementwise::$name => None$(.or(Some(Op::$real)))?,)+ }
            }
        }
    };
}

elementwise! {
    /// −a; wraps for integers.
    Neg 1 "neg" 1 Numbers Neg;
    /// |a|
    Abs 2 "abs" 1 Numbers Abs;
    /// −1, 0 or 1; NaN for a NaN.
    Sign 3 "sign" 1 Numbers Sign;
    /// √a; NaN below 0.
    Sqrt 4 "sqrt" 1 Reals Sqrt;
    /// eᵃ
    Exp 5 "exp" 1 Reals Exp;
    /// eᵃ − 1, accurate near 0.
    Expm1 6 "expm1" 1 Reals;
    /// Natural logarithm; −∞ at 0, NaN below.
    Log 7 "log" 1 Reals Log;
    /// log(1 + a), accurate near 0.
    Log1p 8 "log1p" 1 Reals;
    /// Error function 2/√π ∫₀ᵃ e^(−t²) dt.
    Erf 9 "erf" 1 Reals;
    /// Sine of an angle in radians.
    Sin 10 "sin" 1 Reals Sin;
    /// Cosine of an angle in radians.
    Cos 11 "cos" 1 Reals Cos;
    /// Tangent of an angle in radians.
    Tan 12 "tan" 1 Reals Tan;
    /// Arc sine.
    Asin 13 "asin" 1 Reals Asin;
    /// Arc cosine.
    Acos 14 "acos" 1 Reals Acos;
    /// Arc tangent.
    Atan 15 "atan" 1 Reals Atan;
    /// Hyperbolic sine.
    Sinh 16 "sinh" 1 Reals Sinh;
    /// Hyperbolic cosine.
    Cosh 17 "cosh" 1 Reals Cosh;
    /// Hyperbolic tangent.
    Tanh 18 "tanh" 1 Reals Tanh;
    /// 1/(1 + e⁻ᵃ)
    Sigmoid 19 "sigmoid" 1 Reals Sigmoid;
    /// log(1 + eᵃ), without overflow.
    Softplus 20 "softplus" 1 Reals Softplus;
    /// Largest integer not above a.
    Floor 21 "floor" 1 Reals Floor;
    /// Smallest integer not below a.
    Ceil 22 "ceil" 1 Reals Ceil;
    /// Nearest integer, halves upward, as JavaScript's Math.round.
    Round 23 "round" 1 Reals Round;
    /// The integer part, toward 0.
    Trunc 24 "trunc" 1 Reals;
    /// Whether a is NaN.
    IsNan 25 "isNaN" 1 Reals;
    /// Whether a is neither NaN nor infinite.
    IsFinite 26 "isFinite" 1 Reals;
    /// ¬a of a truth value; ~a of an integer.
    Not 27 "not" 1 Bits;
    /// a, as a constant for differentiation.
    StopGradient 28 "stopGradient" 1 Any StopGradient;
    /// a as another type: to reals the nearest; to integers toward zero, clamped, NaN as 0; to bool a ≠ 0. Integers to narrower ones keep
    /// their low bits.
    Cast 29 "cast" 1 Any;
    /// The same 32 bits as another type of 32 bits.
    Bitcast 30 "bitcast" 1 Any;
    /// √a as the length of a vector whose squared length is a: its derivative at 0 is 0.
    VectorNorm 31 "vectorNorm" 1 Reals Norm;
    /// 1/√a, and 0 at 0; its derivative at 0 is 0.
    InverseNorm 32 "inverseNorm" 1 Reals InverseNorm;

    /// a + b
    Add 64 "add" 2 Numbers Add;
    /// a − b
    Sub 65 "sub" 2 Numbers Sub;
    /// a · b
    Mul 66 "mul" 2 Numbers Mul;
    /// a / b; of integers toward zero, and 0 where b is 0.
    Div 67 "div" 2 Numbers Div;
    /// Remainder with the sign of a; of integers 0 where b is 0.
    Mod 68 "mod" 2 Numbers Mod;
    /// Remainder with the sign of b; of integers 0 where b is 0.
    FloorMod 69 "floorMod" 2 Numbers;
    /// aᵇ as JavaScript's Math.pow; of integers by repeated squares, with a negative b as a division of 1.
    Pow 70 "pow" 2 Numbers Pow;
    /// The smaller; NaN if either is.
    Minimum 71 "minimum" 2 Numbers Min;
    /// The larger; NaN if either is.
    Maximum 72 "maximum" 2 Numbers Max;
    /// Angle of the point (b, a) in (−π, π].
    Atan2 73 "atan2" 2 Reals Atan2;
    /// a = b
    Eq 74 "eq" 2 Any Eq;
    /// a ≠ b, so with a NaN.
    Ne 75 "neq" 2 Any Ne;
    /// a < b
    Lt 76 "lt" 2 Any Lt;
    /// a ≤ b
    Le 77 "lte" 2 Any Le;
    /// a > b
    Gt 78 "gt" 2 Any Gt;
    /// a ≥ b
    Ge 79 "gte" 2 Any Ge;
    /// a ∧ b, bit by bit of integers.
    And 80 "and" 2 Bits;
    /// a ∨ b, bit by bit of integers.
    Or 81 "or" 2 Bits;
    /// Exclusive or, bit by bit of integers.
    Xor 82 "xor" 2 Bits;
    /// a · 2ᵇ by shifting bits; b counts modulo 32.
    Shl 83 "shl" 2 Integers;
    /// ⌊a / 2ᵇ⌋ by shifting bits, which keeps the sign of an i32; b counts modulo 32.
    Shr 84 "shr" 2 Integers;
    /// a · b, and 0 where a is 0 whatever b is.
    GuardedMul 85 "guardedMul" 2 Reals GuardedMul;

    /// b where the bool a holds, else c; what is not selected never leaks, be it NaN.
    Select 112 "where" 3 Any Select;
}
