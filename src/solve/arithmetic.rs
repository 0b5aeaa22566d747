//! The arithmetic of the evaluations, as a solver needs to know it: which numbers a coordinate can be, and how far a cost can be trusted.

/// The numbers that coordinates are rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// f32, as on the GPU.
    Single,
    /// f64, as on the CPU.
    Double,
}

impl Precision {
    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Single => "single precision",
            Precision::Double => "double precision",
        }
    }
}

/// What evaluations are computed in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arithmetic {
    /// What coordinates are rounded to before they are evaluated.
    pub precision: Precision,
    /// Relative error of an evaluated cost: differences below it times the cost mean nothing.
    pub relative_precision: f64,
}

impl Arithmetic {
    /// f32 evaluations.
    pub const SINGLE: Arithmetic = Arithmetic { precision: Precision::Single, relative_precision: f32::EPSILON as f64 };
    /// f64 evaluations.
    pub const DOUBLE: Arithmetic = Arithmetic { precision: Precision::Double, relative_precision: f64::EPSILON };

    /// The nearest number that evaluations can be given.
    pub fn quantise(self, value: f64) -> f64 {
        match self.precision {
            Precision::Single => f64::from(value as f32),
            Precision::Double => value,
        }
    }

    /// The least such number that is not below `value`.
    pub fn quantise_up(self, value: f64) -> f64 {
        match self.precision {
            Precision::Single => {
                let nearest = value as f32;
                f64::from(if f64::from(nearest) < value { nearest.next_up() } else { nearest })
            }
            Precision::Double => value,
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
            for arithmetic in [Arithmetic::SINGLE, Arithmetic::DOUBLE] {
                let (down, up) = (arithmetic.quantise_down(value), arithmetic.quantise_up(value));
                assert!(down <= value && value <= up, "{value}: {down} {up}");
                assert_eq!(arithmetic.quantise(down), down);
                assert_eq!(arithmetic.quantise(up), up);
            }
        }
        assert_eq!(Arithmetic::SINGLE.quantise_up(0.5), 0.5);
        assert_ne!(Arithmetic::SINGLE.quantise_up(0.1), 0.1);
    }
}
