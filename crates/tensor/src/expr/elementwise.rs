//! The table of elementwise operations, one line each. Those that mean a scalar op have its rules; for an operation that tensors alone have, the evaluation, the
//! lowering and the derivative of tensors have an arm.

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

/// Declares [`Elementwise`] from one line per operation: what scalar operations are of reals, with name, scalar operation, name in plans and errors, and
/// types; what tensors alone have, with code on the tape, names, number of operands and types; and the elementary functions.
macro_rules! elementwise {
    (
        { $($(#[$doc:meta])* $name:ident = $op:ident $text:literal $takes:ident;)+ }
        { $($(#[$own_doc:meta])* $own:ident $own_code:literal $own_text:literal $own_arity:literal $own_takes:ident;)+ }
        $($(#[$f_doc:meta])* $f_name:ident $f_code:literal $f_text:literal $word:ident [$($domain:tt)+];)+
    ) => {
        /// An operation on the elements of one, two or three tensors that broadcast.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Elementwise {
            $($(#[$f_doc])* $f_name = $f_code,)+
            $($(#[$doc])* $name = Op::$op as u8,)+
            $($(#[$own_doc])* $own = $own_code,)+
        }

        impl Elementwise {
            /// All of them.
            pub const ALL: &'static [Elementwise] =
                &[$(Elementwise::$f_name,)+ $(Elementwise::$name,)+ $(Elementwise::$own,)+];

            /// The operation of a code on the tape.
            pub fn from_code(code: u32) -> Option<Elementwise> {
                Elementwise::ALL.iter().copied().find(|op| *op as u32 == code)
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Elementwise::$f_name => $f_text,)+
                    $(Elementwise::$name => $text,)+
                    $(Elementwise::$own => $own_text,)+
                }
            }

            /// How many operands it takes.
            pub fn arity(self) -> usize {
                match self {
                    $(Elementwise::$f_name => Op::$f_name.arity(),)+
                    $(Elementwise::$name => Op::$op.arity(),)+
                    $(Elementwise::$own => $own_arity,)+
                }
            }

            /// Which element types it takes.
            pub fn takes(self) -> Takes {
                match self {
                    $(Elementwise::$f_name)|+ => Takes::Reals,
                    $(Elementwise::$name => Takes::$takes,)+
                    $(Elementwise::$own => Takes::$own_takes,)+
                }
            }

            /// The scalar operation that it is of reals.
            pub fn real(self) -> Option<Op> {
                match self {
                    $(Elementwise::$f_name => Some(Op::$f_name),)+
                    $(Elementwise::$name => Some(Op::$op),)+
                    $(Elementwise::$own)|+ => None,
                }
            }
        }
    };
}

residua_ir::elementary_functions!(elementwise, {
        /// −a; wraps for integers.
        Neg = Neg "neg" Numbers;
        /// |a|
        Abs = Abs "abs" Numbers;
        /// −1, 0 or 1; NaN for a NaN.
        Sign = Sign "sign" Numbers;
        /// √a; NaN below 0.
        Sqrt = Sqrt "sqrt" Reals;
        /// Largest integer not above a.
        Floor = Floor "floor" Reals;
        /// Smallest integer not below a.
        Ceil = Ceil "ceil" Reals;
        /// Nearest integer, halves upward, as JavaScript's Math.round.
        Round = Round "round" Reals;
        /// a, as a constant for differentiation.
        StopGradient = StopGradient "stopGradient" Any;
        /// √a as the length of a vector whose squared length is a: its derivative at 0 is 0.
        VectorNorm = Norm "vectorNorm" Reals;
        /// 1/√a, and 0 at 0; its derivative at 0 is 0.
        InverseNorm = InverseNorm "inverseNorm" Reals;
        /// a + b
        Add = Add "add" Numbers;
        /// a − b
        Sub = Sub "sub" Numbers;
        /// a · b
        Mul = Mul "mul" Numbers;
        /// a / b; of integers toward zero, and 0 where b is 0.
        Div = Div "div" Numbers;
        /// Remainder with the sign of a; of integers 0 where b is 0.
        Mod = Mod "mod" Numbers;
        /// aᵇ as JavaScript's Math.pow; of integers by repeated squares, with a negative b as a division of 1.
        Pow = Pow "pow" Numbers;
        /// The smaller; NaN if either is.
        Minimum = Min "minimum" Numbers;
        /// The larger; NaN if either is.
        Maximum = Max "maximum" Numbers;
        /// a = b
        Eq = Eq "eq" Any;
        /// a ≠ b, so with a NaN.
        Ne = Ne "neq" Any;
        /// a < b
        Lt = Lt "lt" Any;
        /// a ≤ b
        Le = Le "lte" Any;
        /// a > b
        Gt = Gt "gt" Any;
        /// a ≥ b
        Ge = Ge "gte" Any;
        /// a · b, and 0 where a is 0 whatever b is.
        GuardedMul = GuardedMul "guardedMul" Reals;
        /// b where the bool a holds, else c; what is not selected never leaks, be it NaN.
        Select = Select "where" Any;
} {
        /// eᵃ − 1, accurate near 0.
        Expm1 128 "expm1" 1 Reals;
        /// log(1 + a), accurate near 0.
        Log1p 129 "log1p" 1 Reals;
        /// The integer part, toward 0.
        Trunc 130 "trunc" 1 Reals;
        /// Whether a is NaN.
        IsNan 131 "isNaN" 1 Reals;
        /// Whether a is neither NaN nor infinite.
        IsFinite 132 "isFinite" 1 Reals;
        /// ¬a of a truth value; ~a of an integer.
        Not 133 "not" 1 Bits;
        /// a as another type: to reals the nearest; to integers toward zero, clamped, NaN as 0; to bool a ≠ 0. Integers to narrower ones keep
        /// their low bits.
        Cast 134 "cast" 1 Any;
        /// The same 32 bits as another type of 32 bits.
        Bitcast 135 "bitcast" 1 Any;
        /// Remainder with the sign of b; of integers 0 where b is 0.
        FloorMod 136 "floorMod" 2 Numbers;
        /// a ∧ b, bit by bit of integers.
        And 137 "and" 2 Bits;
        /// a ∨ b, bit by bit of integers.
        Or 138 "or" 2 Bits;
        /// Exclusive or, bit by bit of integers.
        Xor 139 "xor" 2 Bits;
        /// a · 2ᵇ by shifting bits; b counts modulo 32.
        Shl 140 "shl" 2 Integers;
        /// ⌊a / 2ᵇ⌋ by shifting bits, which keeps the sign of an i32; b counts modulo 32.
        Shr 141 "shr" 2 Integers;
        /// 1 − erf a, accurate where that is small.
        Erfc 142 "erfc" 1 Reals;
});
