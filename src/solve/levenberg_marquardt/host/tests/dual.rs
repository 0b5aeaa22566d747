//! Forward differentiation, for residuals of tests: a number with its derivatives by all parameters.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number and its derivatives.
#[derive(Clone, Debug)]
pub struct Dual {
    pub value: f64,
    pub slopes: Vec<f64>,
}

impl Dual {
    /// f of this number, where its derivative is `slope`.
    fn chain(&self, value: f64, slope: f64) -> Dual {
        Dual { value, slopes: self.slopes.iter().map(|own| slope * own).collect() }
    }

    fn combine(&self, other: &Dual, value: f64, own: f64, of_other: f64) -> Dual {
        let slopes = self.slopes.iter().zip(&other.slopes).map(|(a, b)| own * a + of_other * b).collect();
        Dual { value, slopes }
    }

    pub fn exp(&self) -> Dual {
        self.chain(self.value.exp(), self.value.exp())
    }

    pub fn powi(&self, power: i32) -> Dual {
        self.chain(self.value.powi(power), f64::from(power) * self.value.powi(power - 1))
    }

    pub fn powf(&self, power: f64) -> Dual {
        self.chain(self.value.powf(power), power * self.value.powf(power - 1.0))
    }

    pub fn ln(&self) -> Dual {
        self.chain(self.value.ln(), 1.0 / self.value)
    }

    pub fn atan(&self) -> Dual {
        self.chain(self.value.atan(), 1.0 / (1.0 + self.value * self.value))
    }

    pub fn sqrt(&self) -> Dual {
        self.chain(self.value.sqrt(), 0.5 / self.value.sqrt())
    }
}

macro_rules! operator {
    ($trait:ident $name:ident, $value:expr, $own:expr, $other:expr) => {
        impl $trait for Dual {
            type Output = Dual;
            fn $name(self, other: Dual) -> Dual {
                let (a, b) = (self.value, other.value);
                self.combine(&other, $value(a, b), $own(a, b), $other(a, b))
            }
        }
        impl $trait<f64> for Dual {
            type Output = Dual;
            fn $name(self, b: f64) -> Dual {
                let a = self.value;
                self.chain($value(a, b), $own(a, b))
            }
        }
        impl $trait<Dual> for f64 {
            type Output = Dual;
            fn $name(self, other: Dual) -> Dual {
                let b = other.value;
                other.chain($value(self, b), $other(self, b))
            }
        }
    };
}
operator!(Add add, |a, b| a + b, |_, _| 1.0, |_, _| 1.0);
operator!(Sub sub, |a, b| a - b, |_, _| 1.0, |_, _| -1.0);
operator!(Mul mul, |a, b| a * b, |_, b| b, |a, _| a);
operator!(Div div, |a: f64, b: f64| a / b, |_, b: f64| 1.0 / b, |a: f64, b: f64| -a / (b * b));

impl Neg for Dual {
    type Output = Dual;
    fn neg(self) -> Dual {
        0.0 - self
    }
}

/// The residuals and the dense rows of their Jacobian at a point.
pub fn linearised(x: &[f64], residuals: impl Fn(&[Dual]) -> Vec<Dual>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let unit = |k: usize| (0..x.len()).map(|other| f64::from(u8::from(other == k))).collect();
    let x: Vec<Dual> = x.iter().enumerate().map(|(k, &value)| Dual { value, slopes: unit(k) }).collect();
    residuals(&x).into_iter().map(|residual| (residual.value, residual.slopes)).unzip()
}
