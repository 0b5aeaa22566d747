//! Robust losses, as graphs, so that both engines get them from one definition.
//!
//! A loss ρ maps the squared norm s of an instance's residuals to its share of the cost, ½ Σ weight · ρ(s), so that outliers
//! count less than by their square. Kinds, formulas and scales are those of Ceres Solver (*Modeling Non-linear Least Squares*,
//! section *LossFunction*, and loss_function.h), so that a setting found there has the same meaning here. ρ(0) = 0 for all, and
//! ρ′(0) = 1 but for [`LossKind::Tolerant`].
//!
//! [`function()`] takes a kind's number as its selector: changing kind or scale recompiles nothing.

use residua_base::decimal;
use residua_base::error::{Error, Result};

mod graphs;
#[cfg(test)]
mod graphs_test;

pub use graphs::{bend, derivatives, evaluate, evaluate_bend, function, slopes};

/// Which loss; as a number, the selector of [`function()`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum LossKind {
    /// ρ(s) = s
    #[default]
    Squared = 0,
    /// ρ(s) = s for s ≤ a², else 2a√s − a²: linear in the residual beyond a.
    Huber = 1,
    /// ρ(s) = 2a²(√(1 + s/a²) − 1): as Huber's, and smooth.
    SoftL1 = 2,
    /// ρ(s) = a² log(1 + s/a²)
    Cauchy = 3,
    /// ρ(s) = a atan(s/a); at most aπ/2.
    Arctan = 4,
    /// ρ(s) = (a²/3)(1 − (1 − s/a²)³) for s ≤ a², else a²/3: what lies beyond a has no influence.
    Tukey = 5,
    /// ρ(s) = b log(1 + e^((s − a)/b)) − b log(1 + e^(−a/b)): almost nothing up to s = a, then s − a, with a bend of width b.
    Tolerant = 6,
}

impl LossKind {
    /// All of them, by number.
    pub const ALL: [LossKind; 7] = [
        LossKind::Squared,
        LossKind::Huber,
        LossKind::SoftL1,
        LossKind::Cauchy,
        LossKind::Arctan,
        LossKind::Tukey,
        LossKind::Tolerant,
    ];

    /// Whether ρ″ is positive anywhere: every other kind grows ever more slowly.
    pub fn can_be_convex(self) -> bool {
        match self {
            LossKind::Tolerant => true,
            LossKind::Squared
            | LossKind::Huber
            | LossKind::SoftL1
            | LossKind::Cauchy
            | LossKind::Arctan
            | LossKind::Tukey => false,
        }
    }

    /// The name that the public contract gives it.
    pub fn name(self) -> &'static str {
        match self {
            LossKind::Squared => "squared",
            LossKind::Huber => "huber",
            LossKind::SoftL1 => "softL1",
            LossKind::Cauchy => "cauchy",
            LossKind::Arctan => "arctan",
            LossKind::Tukey => "tukey",
            LossKind::Tolerant => "tolerant",
        }
    }
}

/// A loss with its scales, as a block of residuals has it. By default the squared loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossParameters {
    /// Which loss.
    pub kind: LossKind,
    /// Its first parameter; 1 where it takes none.
    pub a: f64,
    /// Its second parameter; 1 where it takes none.
    pub b: f64,
    /// Multiplies ρ and ρ′, outside [`function()`].
    pub factor: f64,
}

impl Default for LossParameters {
    fn default() -> LossParameters {
        LossParameters::squared()
    }
}

impl LossParameters {
    /// The squared loss: none, that is.
    pub fn squared() -> LossParameters {
        LossParameters { kind: LossKind::Squared, a: 1.0, b: 1.0, factor: 1.0 }
    }

    /// The loss of a name with its parameters, those that it does not take ignored.
    ///
    /// # Errors
    ///
    /// `invalid-argument` if the name is none of [`LossKind::name`], if a scale is not finite and positive (tolerant's a may be
    /// 0), or if the factor is not finite or is negative.
    pub fn new(kind: &str, a: f64, b: f64, factor: f64) -> Result<LossParameters> {
        let kind = LossKind::ALL.into_iter().find(|known| known.name() == kind).ok_or_else(|| {
            let names = LossKind::ALL.map(LossKind::name).join(", ");
            Error::invalid_argument(format!("loss: there is no kind '{kind}'; it takes one of {names}"))
        })?;
        let positive = |name: &str, value: f64| {
            let valid = value.is_finite() && value > 0.0;
            let got = || decimal::shortest(value);
            let message = || format!("loss.{}: {name} is {}; it takes a finite number above 0", kind.name(), got());
            if valid { Ok(value) } else { Err(Error::invalid_argument(message())) }
        };
        let not_negative = |name: &str, value: f64| {
            let valid = value.is_finite() && value >= 0.0;
            let message = || format!("{name} is {}; it takes a finite number, 0 or above", decimal::shortest(value));
            if valid { Ok(value) } else { Err(Error::invalid_argument(message())) }
        };
        let (a, b) = match kind {
            LossKind::Squared => (1.0, 1.0),
            LossKind::Huber => (positive("delta", a)?, 1.0),
            LossKind::SoftL1 | LossKind::Cauchy | LossKind::Arctan | LossKind::Tukey => (positive("scale", a)?, 1.0),
            LossKind::Tolerant => (not_negative("loss.tolerant: a", a)?, positive("b", b)?),
        };
        let factor = not_negative("loss.scaled: factor", factor)?;
        Ok(LossParameters { kind, a, b, factor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use residua_base::error::ErrorCode;

    #[test]
    fn a_kind_is_found_by_name_and_stands_at_its_number() {
        for (number, kind) in LossKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(LossParameters::new(kind.name(), 2.0, 3.0, 4.0).unwrap().kind, kind);
        }
    }

    #[test]
    fn a_wrong_parameter_is_named_with_its_value() {
        let table = [
            ("hubre", 1.0, 1.0, 1.0, "'hubre'"),
            ("huber", 0.0, 1.0, 1.0, "loss.huber: delta is 0"),
            ("cauchy", -1.0, 1.0, 1.0, "loss.cauchy: scale is -1"),
            ("tukey", f64::NAN, 1.0, 1.0, "loss.tukey: scale is NaN"),
            ("softL1", f64::INFINITY, 1.0, 1.0, "loss.softL1: scale is inf"),
            ("tolerant", -0.5, 1.0, 1.0, "loss.tolerant: a is -0.5"),
            ("tolerant", 1.0, 0.0, 1.0, "loss.tolerant: b is 0"),
            ("squared", 1.0, 1.0, f64::NAN, "loss.scaled: factor is NaN"),
            ("huber", 1.0, 1.0, -2.0, "loss.scaled: factor is -2"),
        ];
        for (kind, a, b, factor, words) in table {
            let error = LossParameters::new(kind, a, b, factor).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument);
            assert!(error.message.contains(words), "{}", error.message);
        }
        assert!(
            LossParameters::new("squared", f64::NAN, f64::NAN, 0.0).is_ok(),
            "what a kind does not take is ignored"
        );
        assert!(LossParameters::new("tolerant", 0.0, 1.0, 1.0).is_ok());
    }
}
