//! eˣ, the same in every browser: a table and a polynomial (P. T. P. Tang, Table-driven implementation of the exponential function in IEEE
//! floating-point arithmetic, ACM TOMS 15, 1989). `codegen::wasm` writes the same operations in the same order, for two numbers at a time.
//!
//! x = k·ln 2/256 + r with |r| ≤ ln 2/512. The last 9 bits of k choose a power of two from 1 to 4, which the table has in two parts, of more than
//! 60 bits together; the others say which power of four it is multiplied by. That is done by halves, 2ⁿ·2ⁿ, since 4ⁿ may be larger or smaller
//! than any number. The error is below 0.56 ulp, for subnormal results, which are rounded once more, 0.78.

use residua_base::list::Listed;

/// eˣ is 0 below, and infinite above.
pub const LEAST: f64 = -746.0;
/// See [`LEAST`].
pub const MOST: f64 = 710.0;
/// 256/ln 2
pub const SCALE: f64 = 256.0 * std::f64::consts::LOG2_E;
/// Added to a number below 2²⁰ it leaves the nearest integer in the last 20 bits, with as much added as makes the upper 11 of these the
/// exponent of 2ⁿ: its bias, of 1023.
pub const ROUNDING: f64 = 6755399441055744.0 + (1023 * ENTRIES) as f64;
/// ln 2/256 in two parts, of which the first has 21 zeros at its end: its products with k are exact.
pub const STEP: [f64; 2] = [f64::from_bits(0x3f66_2e42_fee0_0000), 1.9082149292705877e-10 / 256.0];
/// eʳ ≈ 1 + r + r²/2 + c₀r³ + c₁r⁴: Taylor's, with so much more of r³ as r⁵/120 is about, which lets the error be 2⁻⁵⁷ at most.
pub const COEFFICIENTS: [f64; 2] = [0.16666667995434195, 1.0 / 24.0];
/// So many entries of the table.
pub const ENTRIES: usize = 512;

/// A power of two rounded to a number, and what is missing, relative to that. Its exponent has no bias: 2ⁿ's is added, bit by bit.
pub type TableEntry = [f64; 2];

thread_local! {
    static POWERS: &'static [TableEntry] = powers().leak();
}

/// The table.
pub fn powers() -> Vec<TableEntry> {
    (0..ENTRIES as u32).map(power).list()
}

/// Where the table stands in memory.
#[cfg(target_arch = "wasm32")]
pub fn address() -> usize {
    POWERS.with(|powers| powers.as_ptr().expose_provenance())
}

/// 2^(j/256) without the bias of its exponent, and what rounding has taken. Of a significand's 64 bits at most 3 are lost.
fn power(j: u32) -> TableEntry {
    /// 2^(2ⁱ/256), times 2⁶³.
    const ROOTS: [u64; 8] = [
        0x8058_d7d2_d5e5_f6b1,
        0x80b1_ed4f_d999_ab6c,
        0x8164_d1f3_bc03_0773,
        0x82cd_8698_ac2b_a1d7,
        0x85aa_c367_cc48_7b15,
        0x8b95_c1e3_ea8b_d6e7,
        0x9837_f051_8db8_a96f,
        0xb504_f333_f9de_6484,
    ];
    let mut product = 1u64 << 63;
    for (i, root) in ROOTS.iter().enumerate() {
        if (j >> i) & 1 == 1 {
            product = ((u128::from(product) * u128::from(*root)) >> 63) as u64;
        }
    }
    // 53 bits of 64.
    let rounded = (product + (1 << 10)) >> 11;
    let rest = product.wrapping_sub(rounded << 11) as i64;
    let significand = rounded - (1 << 52);
    [f64::from_bits((u64::from(j >> 8) << 52) + significand), rest as f64 / product as f64]
}

/// eˣ.
pub fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let x = x.clamp(LEAST, MOST);
    let rounded = x * SCALE + ROUNDING;
    let k = rounded - ROUNDING;
    let r = (x - k * STEP[0]) - k * STEP[1];
    let bits = rounded.to_bits();
    let [significand, rest] = POWERS.with(|powers| powers[bits as usize % ENTRIES]);
    let half = (bits >> 9) << 52;
    let power = f64::from_bits(significand.to_bits().wrapping_add(half));
    let t = r * r;
    let excess = (rest + r) + t * ((0.5 + r * COEFFICIENTS[0]) + t * COEFFICIENTS[1]);
    (power + power * excess) * f64::from_bits(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two numbers that stand for their sum (T. J. Dekker, A floating-point technique for extending the available precision, 1971).
    type Double = [f64; 2];

    fn sum(a: f64, b: f64) -> Double {
        let s = a + b;
        let part = s - a;
        [s, (a - (s - part)) + (b - part)]
    }

    fn add(a: Double, b: Double) -> Double {
        let [high, low] = sum(a[0], b[0]);
        sum(high, low + (a[1] + b[1]))
    }

    fn multiply(a: Double, b: Double) -> Double {
        let product = a[0] * b[0];
        sum(product, a[0].mul_add(b[0], -product) + (a[0] * b[1] + a[1] * b[0]))
    }

    /// eˣ/2ᵏ to 95 bits, and k: Taylor's series at a 256th of the rest, squared eight times.
    fn reference(x: f64) -> (Double, i32) {
        /// ln 2 in three parts, the products of the first with exponents exact.
        const LN_2: [u64; 3] = [0x3fe6_2e42_fee0_0000, 0x3dea_39ef_3579_3c76, 0x3a8c_c01f_97b5_7a08];
        let ln_2 = LN_2.map(f64::from_bits);
        let k = (x * std::f64::consts::LOG2_E).round();
        let low = k * ln_2[1];
        let rest = add([x - k * ln_2[0], 0.0], [-low, -(k.mul_add(ln_2[1], -low) + k * ln_2[2])]);
        let rest = rest.map(|part| part / 256.0);
        let mut power = [1.0, 0.0];
        for n in (1..=9).rev().map(f64::from) {
            let term = multiply(rest, power);
            let quotient = term[0] / n;
            power = add([1.0, 0.0], [quotient, (quotient.mul_add(-n, term[0]) + term[1]) / n]);
        }
        for _ in 0..8 {
            power = multiply(power, power);
        }
        (power, k as i32)
    }

    /// How many units in the last place of it eˣ lies from a number.
    fn error(x: f64, number: f64) -> f64 {
        let ([high, low], k) = reference(x);
        // Subnormal numbers have their units in common, which are the smallest normal number's as well.
        let exponent = ((number.to_bits() >> 52) as i32).max(1) - 1023;
        let scaled = number * 2f64.powi(-k / 2) * 2f64.powi(-k - -k / 2);
        ((scaled - high - low) * 2f64.powi(52 - exponent + k)).abs()
    }

    #[test]
    fn errors_are_little_more_than_half_a_unit_in_the_last_place() {
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        // Half a unit is rounding; the polynomial takes 0.045, r and what is made of it the rest. Below the least normal number, 2⁻¹⁰²², rounding takes
        // place twice, first in units of half the size at most.
        let ranges = [
            (-708.39, 709.782, 0.56),
            (-1.0, 1.0, 0.56),
            (-0.002, 0.002, 0.56),
            (-1e-10, 1e-10, 0.501),
            (-745.13, -708.4, 0.78),
        ];
        for (from, to, most) in ranges {
            for _ in 0..40_000 {
                let x = from + (to - from) * random();
                let error = error(x, exp(x));
                assert!(error <= most, "e^{x:e} is {:e}, {error} ulp away", exp(x));
            }
        }
    }

    #[test]
    fn numbers_end_where_the_standard_librarys_do() {
        let ends = [709.782712893384, 709.7827128933841, -745.1332191019411, -745.1332191019412, -708.3964185322641];
        let outside = [710.0, -746.0, 1e300, -1e300, f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY];
        let least = [0.0, -0.0, 5e-324, -1e-310, 1e-17, -1e-17];
        for x in ends.iter().chain(&outside).chain(&least) {
            assert_eq!(exp(*x).to_bits(), x.exp().to_bits(), "e^{x:e}");
        }
        assert!(exp(f64::NAN).is_nan());
    }
}
