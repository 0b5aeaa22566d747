//! The op table: every operation that an expression can hold, one line each.
//!
//! What an op *means* is its case in [`super::evaluate`]; its derivative, WGSL and CPU code follow in other modules by matches
//! without a wildcard arm, so that a line added here makes the compiler name every room to visit. An elementary function is in all of these rooms but
//! that of derivatives by its name in words.

use super::elementary;

/// The elementary functions of one or two real numbers, one line each: name, code on the tape, name on the tape and in plans, name in words, and for
/// each operand the interval that tests draw it from. The name in words is that of its meaning in [`super::elementary`] and of the function of
/// `shaders/common` that computes it in single numbers; `pair_` and the name is the one of pairs.
///
/// Hands the lines to a macro, after what is given: [`Op`] and the elementwise operations of tensors are made of them.
#[macro_export]
macro_rules! elementary_functions {
    ($macro:path, $($given:tt)*) => { $macro! { $($given)*
        /// eᵃ
        Exp 22 "exp" exponential [-20.0 .. 20.0];
        /// Natural logarithm; −∞ at 0, NaN below.
        Log 23 "log" logarithm [0.001 .. 1000.0];
        /// Sine of an angle in radians.
        Sin 24 "sin" sine [-100.0 .. 100.0];
        /// Cosine of an angle in radians.
        Cos 25 "cos" cosine [-100.0 .. 100.0];
        /// Tangent of an angle in radians.
        Tan 26 "tan" tangent [-1.5 .. 1.5];
        /// Arc sine in [−π/2, π/2]; NaN outside [−1, 1].
        Asin 27 "asin" arc_sine [-0.99 .. 0.99];
        /// Arc cosine in [0, π]; NaN outside [−1, 1].
        Acos 28 "acos" arc_cosine [-0.99 .. 0.99];
        /// Arc tangent in [−π/2, π/2].
        Atan 29 "atan" arc_tangent [-100.0 .. 100.0];
        /// Hyperbolic sine.
        Sinh 30 "sinh" hyperbolic_sine [-10.0 .. 10.0];
        /// Hyperbolic cosine.
        Cosh 31 "cosh" hyperbolic_cosine [-10.0 .. 10.0];
        /// Hyperbolic tangent.
        Tanh 32 "tanh" hyperbolic_tangent [-10.0 .. 10.0];
        /// 1/(1 + e⁻ᵃ)
        Sigmoid 33 "sigmoid" sigmoid [-20.0 .. 20.0];
        /// log(1 + eᵃ), without overflow.
        Softplus 34 "softplus" softplus [-20.0 .. 20.0];
        /// Error function 2/√π ∫₀ᵃ e^(−t²) dt, between −1 and 1.
        Erf 39 "erf" error_function [-4.0 .. 4.0];
        /// Angle of the point (b, a) in (−π, π]: operands in the order y, x.
        Atan2 70 "atan2" arc_tangent_of [-10.0 .. 10.0, -10.0 .. 10.0];
    } };
}

/// The elementary functions of an enumeration that is made of them, as a pattern.
#[macro_export]
macro_rules! elementary {
    ($enum:ident) => { $crate::elementary_functions!($crate::elementary, @ $enum) };
    (@ $enum:ident $($(#[$doc:meta])* $name:ident $code:literal $text:literal $word:ident [$($domain:tt)+];)+) => {
        $($enum::$name)|+
    };
}

/// An elementary function.
#[derive(Clone, Copy, Debug)]
pub struct ElementaryFunction {
    /// Its name in words.
    pub word: &'static str,
    /// Its value.
    pub value: MathFunction,
}

/// A function of numbers, as generated modules import it.
#[derive(Clone, Copy, Debug)]
pub enum MathFunction {
    /// Of one number.
    Unary(extern "C" fn(f64) -> f64),
    /// Of two.
    Binary(extern "C" fn(f64, f64) -> f64),
}

/// The value of an elementary function by its name in words and the intervals of its operands.
macro_rules! value {
    ($word:ident $a:literal .. $b:literal) => {{
        extern "C" fn value(a: f64) -> f64 {
            elementary::$word(a)
        }
        MathFunction::Unary(value)
    }};
    ($word:ident $a:literal .. $b:literal, $c:literal .. $d:literal) => {{
        extern "C" fn value(a: f64, b: f64) -> f64 {
            elementary::$word(a, b)
        }
        MathFunction::Binary(value)
    }};
}

/// Declares [`Op`] and its table from one line per op: name, number of operands, name on the wire and in generated code, and
/// for each operand the interval that tests draw it from. The elementary functions follow.
macro_rules! ops {
    (
        { $($(#[$doc:meta])* $name:ident $code:literal $text:literal [$($low:literal .. $high:literal),+];)+ }
        $($(#[$f_doc:meta])* $f_name:ident $f_code:literal $f_text:literal $word:ident [$($f_low:literal .. $f_high:literal),+];)+
    ) => {
        /// An operation on one, two or three numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Op {
            $($(#[$doc])* $name = $code,)+
            $($(#[$f_doc])* $f_name = $f_code,)+
            /// The number at place ⌊a⌋ of a table, which begins at place b of all tables and has c numbers. A place before or after those of the table is its
            /// first or last, a NaN any of them. b and c are literals; the derivative is 0.
            Lookup = 113,
        }

        impl Op {
            /// All but [`Op::Lookup`], in the order of the table: functions of their operands alone.
            pub const ALL: &'static [Op] = &[$(Op::$name,)+ $(Op::$f_name),+];

            /// The op of a code on the tape.
            pub fn from_code(code: u8) -> Option<Op> {
                match code { $($code => Some(Op::$name),)+ $($f_code => Some(Op::$f_name),)+ 113 => Some(Op::Lookup), _ => None }
            }

            /// Its name, as tapes and generated code write it.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$name => $text,)+ $(Op::$f_name => $f_text,)+ Op::Lookup => "lookup" }
            }

            /// For each operand the interval from which tests draw it: where GPU and CPU must agree.
            pub fn domain(self) -> &'static [(f64, f64)] {
                match self {
                    $(Op::$name => &[$(($low, $high)),+],)+
                    $(Op::$f_name => &[$(($f_low, $f_high)),+],)+
                    Op::Lookup => &[(0.0, 100.0), (0.0, 0.0), (100.0, 100.0)],
                }
            }

            /// How many operands it takes: 1, 2 or 3.
            pub fn arity(self) -> usize {
                self.domain().len()
            }

            /// The elementary function that it is.
            ///
            /// # Panics
            /// If it is none: [`elementary!`](crate::elementary) matches those that are.
            pub fn function(self) -> ElementaryFunction {
                match self {
                    $(Op::$f_name => {
                        ElementaryFunction { word: stringify!($word), value: value!($word $($f_low .. $f_high),+) }
                    })+
                    $(Op::$name)|+ | Op::Lookup => unreachable!("{} is no elementary function", self.name()),
                }
            }
        }
    };
}

elementary_functions!(ops, {
    /// −a
    Neg 16 "neg" [-100.0 .. 100.0];
    /// |a|; its derivative at 0 is 0.
    Abs 17 "abs" [-100.0 .. 100.0];
    /// −1, 0 or 1; its derivative is 0.
    Sign 18 "sign" [-100.0 .. 100.0];
    /// √a; NaN below 0, its derivative at 0 is infinite.
    Sqrt 19 "sqrt" [0.001 .. 1000.0];
    /// √a, as the length of a vector whose squared length is a: its derivative at 0 is 0.
    Norm 20 "norm" [0.001 .. 1000.0];
    /// 1/√a, and 0 at 0: the factor that normalises a vector whose squared length is a. Its derivative at 0 is 0.
    InverseNorm 21 "inverseNorm" [0.001 .. 1000.0];
    /// Largest integer not above a.
    Floor 35 "floor" [-100.0 .. 100.0];
    /// Smallest integer not below a.
    Ceil 36 "ceil" [-100.0 .. 100.0];
    /// Nearest integer, halves upward, as JavaScript's Math.round.
    Round 37 "round" [-100.0 .. 100.0];
    /// a, as a constant for differentiation.
    StopGradient 38 "stopGradient" [-100.0 .. 100.0];

    /// a + b
    Add 64 "add" [-100.0 .. 100.0, -100.0 .. 100.0];
    /// a − b
    Sub 65 "sub" [-100.0 .. 100.0, -100.0 .. 100.0];
    /// a · b
    Mul 66 "mul" [-100.0 .. 100.0, -100.0 .. 100.0];
    /// a / b
    Div 67 "div" [-100.0 .. 100.0, 0.1 .. 100.0];
    /// aᵇ as JavaScript's Math.pow: a negative base takes integer exponents alone.
    Pow 68 "pow" [0.01 .. 10.0, -3.0 .. 3.0];
    /// Remainder with the sign of a, as JavaScript's %.
    Mod 69 "mod" [-100.0 .. 100.0, 0.5 .. 10.0];
    /// The smaller; NaN if either is. Where both are equal each gets half of the derivative.
    Min 71 "min" [-100.0 .. 100.0, -100.0 .. 100.0];
    /// The larger; NaN if either is. Where both are equal each gets half of the derivative.
    Max 72 "max" [-100.0 .. 100.0, -100.0 .. 100.0];
    /// 1 if a = b, else 0.
    Eq 73 "eq" [-100.0 .. 100.0, -100.0 .. 100.0];
    /// 1 if a ≠ b (so with a NaN), else 0.
    Ne 74 "neq" [-100.0 .. 100.0, -100.0 .. 100.0];
    /// 1 if a < b, else 0.
    Lt 75 "lt" [-100.0 .. 100.0, -100.0 .. 100.0];
    /// 1 if a ≤ b, else 0.
    Le 76 "lte" [-100.0 .. 100.0, -100.0 .. 100.0];
    /// 1 if a > b, else 0.
    Gt 77 "gt" [-100.0 .. 100.0, -100.0 .. 100.0];
    /// 1 if a ≥ b, else 0.
    Ge 78 "gte" [-100.0 .. 100.0, -100.0 .. 100.0];
    /// a · b, and 0 where a is 0 whatever b is: the product of an adjoint that a selection may have made 0.
    GuardedMul 79 "guardedMul" [-100.0 .. 100.0, -100.0 .. 100.0];

    /// b where a is not 0, else c; what is not selected never leaks, be it NaN.
    Select 112 "select" [-1.0 .. 1.0, -100.0 .. 100.0, -100.0 .. 100.0];
});

/// Codes of a tape's leaves, and of what loops are made of; those of operations are [`Op`]'s, from 16 on.
pub mod leaf {
    /// A number that the library wrote: it stays in the kernel, and so shapes it.
    pub const LITERAL: u8 = 0;
    /// A number of the user's: it becomes data of the instance.
    pub const CONSTANT: u8 = 1;
    /// A number that may be solved for.
    pub const PARAMETER: u8 = 2;
    /// A number of an instance that is not solved for.
    pub const DATA: u8 = 3;

    /// The counter of a loop, by the number of its body.
    pub const COUNTER: u8 = 4;
    /// A number of a loop's state during a step: the body's number, and which.
    pub const STATE: u8 = 5;
    /// A list of entries: the last one, and 1 more than the position of the list of those before it, or 0.
    pub const LINK: u8 = 6;
    /// A loop: the body's number, the list of start, count and initial state, and that of the next state, each as a link has it.
    pub const LOOP: u8 = 7;
    /// A number of a loop's final state: the loop, and which.
    pub const RESULT: u8 = 8;

    /// All of them, with their names.
    pub const ALL: &[(&str, u8)] = &[
        ("literal", LITERAL),
        ("constant", CONSTANT),
        ("parameter", PARAMETER),
        ("data", DATA),
        ("counter", COUNTER),
        ("state", STATE),
        ("link", LINK),
        ("loop", LOOP),
        ("result", RESULT),
    ];
}
