//! Functions of numbers that neither WebAssembly nor `core` computes. In a page they are those of JavaScript's `Math`, which
//! every page has and which the ops are named after; elsewhere those of the standard library. The exponential, which so many models
//! are made of, is the same everywhere, see [`super::exponential`]; so are sines and cosines of angles that are not large, see [`super::sine`].

#[cfg(not(target_arch = "wasm32"))]
mod math {
    macro_rules! functions {
        ($($name:ident = $method:ident;)+) => {
            $(pub fn $name(a: f64) -> f64 {
                a.$method()
            })+
        };
    }

    functions! {
        logarithm = ln;
        log1p = ln_1p;
        sin = sin;
        cos = cos;
        tangent = tan;
        arc_sine = asin;
        arc_cosine = acos;
        arc_tangent = atan;
        hyperbolic_sine = sinh;
        hyperbolic_cosine = cosh;
        hyperbolic_tangent = tanh;
    }

    pub fn arc_tangent_of(y: f64, x: f64) -> f64 {
        y.atan2(x)
    }

    /// Unlike C's, Math.pow has no number for 1 to the power of NaN or ±∞, nor for −1 to ±∞.
    pub fn pow(a: f64, b: f64) -> f64 {
        if b.is_nan() || (a.abs() == 1.0 && b.is_infinite()) { f64::NAN } else { a.powf(b) }
    }

    pub fn remainder(a: f64, b: f64) -> f64 {
        a % b
    }
}

#[cfg(target_arch = "wasm32")]
mod math {
    use wasm_bindgen::prelude::*;

    pub use super::remainder_by_halving as remainder;

    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(js_namespace = Math, js_name = log)]
        pub fn logarithm(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn log1p(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn sin(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn cos(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math, js_name = tan)]
        pub fn tangent(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math, js_name = asin)]
        pub fn arc_sine(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math, js_name = acos)]
        pub fn arc_cosine(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math, js_name = atan)]
        pub fn arc_tangent(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math, js_name = sinh)]
        pub fn hyperbolic_sine(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math, js_name = cosh)]
        pub fn hyperbolic_cosine(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math, js_name = tanh)]
        pub fn hyperbolic_tangent(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math, js_name = atan2)]
        pub fn arc_tangent_of(y: f64, x: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn pow(a: f64, b: f64) -> f64;
    }
}

pub use super::exponential::exp as exponential;
pub use super::sine::{cos as cosine, sin as sine};
pub use libm::erf as error_function;
pub use math::*;

/// 1/(1 + e⁻ᵃ)
pub fn sigmoid(a: f64) -> f64 {
    1.0 / (1.0 + exponential(-a))
}

/// log(1 + eᵃ) = max(a, 0) + log(1 + e^−|a|)
pub fn softplus(a: f64) -> f64 {
    a.max(0.0) + log1p(exponential(-a.abs()))
}

/// a − b·trunc(a/b), exactly: what JavaScript has as an operator alone. Takes a step for each bit of the quotient.
#[cfg(any(test, target_arch = "wasm32"))]
pub fn remainder_by_halving(a: f64, b: f64) -> f64 {
    let (mut rest, divisor) = (a.abs(), b.abs());
    if !rest.is_finite() || divisor.is_nan() || divisor == 0.0 {
        return f64::NAN;
    }
    let mut multiple = divisor;
    // No rounding decides here: where the two sides are close the difference is exact (Sterbenz).
    while multiple <= rest - multiple {
        multiple += multiple;
    }
    loop {
        if rest >= multiple {
            rest -= multiple;
        }
        if multiple <= divisor {
            return rest.copysign(a);
        }
        multiple *= 0.5;
    }
}

#[cfg(test)]
mod tests {
    use super::remainder_by_halving;

    #[test]
    fn remainders_by_halving_are_those_of_the_operator_to_the_last_bit() {
        let numbers = [
            0.0,
            -0.0,
            1.0,
            -5.5,
            2.0,
            0.1,
            1e300,
            -1e-300,
            5e-324,
            3.5e-320,
            f64::MAX,
            f64::MIN_POSITIVE,
            6.0,
            std::f64::consts::TAU,
            123_456.789,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        for a in numbers {
            for b in numbers {
                let (got, expected) = (remainder_by_halving(a, b), a % b);
                let same = got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan());
                assert!(same, "{a:e} % {b:e} is {expected:e}, not {got:e}");
            }
        }
    }
}
