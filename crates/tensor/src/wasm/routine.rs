//! The functions of vectors that a module may hold.

use residua_ir::graph::Op as Real;

/// A function of the module, from vectors to a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Routine {
    /// An elementary function.
    Real(Real),
    /// Quotient of integers toward zero; 0 where the divisor is 0.
    Quotient { signed: bool },
    /// Shift to the left by as many places as each lane says.
    ShiftLeft,
    /// Shift to the right by as many places as each lane says.
    ShiftRight { signed: bool },
    /// Reals from halves in the low 16 bits of each lane.
    FromHalf,
    /// Halves in the low 16 bits of each lane, rounded to nearest, ties to even.
    ToHalf,
}

impl Routine {
    /// How many vectors it takes.
    pub fn arity(self) -> usize {
        match self {
            Routine::Real(op) => op.arity(),
            Routine::Quotient { .. } | Routine::ShiftLeft | Routine::ShiftRight { .. } => 2,
            Routine::FromHalf | Routine::ToHalf => 1,
        }
    }
}
