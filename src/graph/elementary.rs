//! Functions of numbers that neither WebAssembly nor `core` computes. In a page they are those of JavaScript's `Math`, which
//! every page has and which the ops are named after; elsewhere those of the standard library. The exponential, which so many models
//! are made of, is the same everywhere: generated code computes it for two numbers at a time.

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
        log = ln;
        log1p = ln_1p;
        sin = sin;
        cos = cos;
        tan = tan;
        asin = asin;
        acos = acos;
        atan = atan;
        sinh = sinh;
        cosh = cosh;
        tanh = tanh;
    }

    pub fn atan2(y: f64, x: f64) -> f64 {
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
        #[wasm_bindgen(js_namespace = Math)]
        pub fn log(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn log1p(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn sin(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn cos(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn tan(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn asin(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn acos(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn atan(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn sinh(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn cosh(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn tanh(a: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn atan2(y: f64, x: f64) -> f64;
        #[wasm_bindgen(js_namespace = Math)]
        pub fn pow(a: f64, b: f64) -> f64;
    }
}

pub use math::*;

/// What [`exp`] is made of.
pub mod exponential {
    /// eˣ is 0 below, and infinite above.
    pub const LEAST: f64 = -746.0;
    /// See [`LEAST`].
    pub const MOST: f64 = 710.0;
    /// Added to a number below 2⁵¹ it leaves the nearest integer in the last bits.
    pub const ROUNDING: f64 = 6755399441055744.0;
    /// ln 2 in two parts, of which the first has 21 zeros at its end: its products with exponents are exact.
    pub const LN_2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fee0_0000), 1.9082149292705877e-10];
    /// 1/2!, 1/3!, … The next one would change a sum by less than 2⁻⁵⁸.
    pub const COEFFICIENTS: [f64; 12] = {
        let mut coefficients = [0.0; 12];
        let (mut k, mut factorial) = (0, 1.0);
        while k < 12 {
            factorial *= (k + 2) as f64;
            coefficients[k] = 1.0 / factorial;
            k += 1;
        }
        coefficients
    };
}

/// eˣ to within an ulp: x = k ln 2 + r with |r| ≤ ½ ln 2, and Taylor's polynomial of eʳ (W. J. Cody and W. Waite, Software Manual for the
/// Elementary Functions, 1980, chapter 6, for the reduction). `codegen::wasm` writes the same operations in the same order.
pub fn exp(x: f64) -> f64 {
    use exponential::*;
    if x.is_nan() {
        return x;
    }
    let x = x.clamp(LEAST, MOST);
    let rounded = x * std::f64::consts::LOG2_E + ROUNDING;
    let k = rounded - ROUNDING;
    let (high, low) = (x - k * LN_2[0], k * LN_2[1]);
    let r = high - low;
    let t = r * r;
    let every_other = |first: usize| {
        let mut sum = COEFFICIENTS[first + 10];
        for number in (first..first + 10).step_by(2).rev() {
            sum = sum * t + COEFFICIENTS[number];
        }
        sum
    };
    let rest = every_other(0) + r * every_other(1);
    let power = 1.0 + (high + (t * rest - low));
    // 2ᵏ in two factors, since it may be larger or smaller than any number.
    let bits = rounded.to_bits();
    let half = bits >> 1;
    let two_to = |k: u64| f64::from_bits(1f64.to_bits().wrapping_add(k << 52));
    power * two_to(half) * two_to(bits - half)
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
    use super::{exp, remainder_by_halving};

    #[test]
    fn exponentials_are_those_of_the_standard_library_to_an_ulp() {
        let mut numbers: Vec<f64> = (-75000..72000).map(|k| f64::from(k) * 0.00999).collect();
        numbers.extend([0.0, -0.0, 1e-300, -1e-17, 0.5f64.ln(), f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY]);
        for x in numbers {
            let (got, expected) = (exp(x), x.exp());
            let apart = (got.to_bits() as i64 - expected.to_bits() as i64).abs();
            assert!(apart <= 1, "e^{x:e} is {expected:e}, not {got:e}");
        }
        assert_eq!((exp(0.0), exp(710.0), exp(-746.0)), (1.0, f64::INFINITY, 0.0));
        assert!(exp(f64::NAN).is_nan());
    }

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
