//! The arithmetic that evaluations are computed in: which numbers a coordinate can be, and how far a cost can be trusted. It is
//! independent of the place of the computation, see [`super::Place`].

use super::pairs;

/// What evaluations are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// IEEE single precision.
    F32,
    /// Double-single: a number is the sum of two of single precision, of which the second is what rounding to the first lost.
    F32x2,
    /// IEEE double precision.
    F64,
}

impl Arithmetic {
    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Arithmetic::F32 => "single precision",
            Arithmetic::F32x2 => "double-single precision",
            Arithmetic::F64 => "double precision",
        }
    }

    /// The name in the public contract and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Arithmetic::F32 => "f32",
            Arithmetic::F32x2 => "f32x2",
            Arithmetic::F64 => "f64",
        }
    }

    /// The distance from 1 to the next number, of pairs what some operations together err by: the relative error of an evaluated cost, so that smaller relative differences of costs
    /// mean nothing.
    pub fn epsilon(self) -> f64 {
        match self {
            Arithmetic::F32 => f64::from(f32::EPSILON),
            Arithmetic::F32x2 => 2f64.powi(-46),
            Arithmetic::F64 => f64::EPSILON,
        }
    }

    /// The nearest number at which functions can be evaluated.
    pub fn quantise(self, value: f64) -> f64 {
        match self {
            Arithmetic::F32 => f64::from(value as f32),
            Arithmetic::F32x2 => pairs::join(pairs::split(value)),
            Arithmetic::F64 => value,
        }
    }

    /// The least such number that is not below `value`.
    pub fn quantise_up(self, value: f64) -> f64 {
        match self {
            Arithmetic::F32 => {
                let nearest = value as f32;
                f64::from(if f64::from(nearest) < value { nearest.next_up() } else { nearest })
            }
            Arithmetic::F32x2 => {
                let [high, low] = pairs::split(value);
                if pairs::join([high, low]) >= value {
                    pairs::join([high, low])
                } else if high.is_finite() {
                    pairs::join([high, low.next_up()])
                } else {
                    high.next_up().into()
                }
            }
            Arithmetic::F64 => value,
        }
    }

    /// The greatest such number that is not above `value`.
    pub fn quantise_down(self, value: f64) -> f64 {
        -self.quantise_up(-value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directed_rounding_stays_on_its_side() {
        for value in [0.1, -0.1, 1.0, 1e300, -1e300, 0.0, f64::INFINITY, f64::NEG_INFINITY, 1e-46] {
            for arithmetic in [Arithmetic::F32, Arithmetic::F32x2, Arithmetic::F64] {
                let (down, up) = (arithmetic.quantise_down(value), arithmetic.quantise_up(value));
                assert!(down <= value && value <= up, "{value}: {down} {up}");
                assert_eq!(arithmetic.quantise(down), down);
                assert_eq!(arithmetic.quantise(up), up);
            }
        }
        assert_eq!(Arithmetic::F32.quantise_up(0.5), 0.5);
        assert_ne!(Arithmetic::F32.quantise_up(0.1), 0.1);
        let third = 1.0 / 3.0;
        assert!((Arithmetic::F32x2.quantise_up(third) - third).abs() < third * 2f64.powi(-47));
    }
}
