//! Sines and cosines of angles up to 1,600, the same in every browser. `codegen::wasm` writes the same operations in the same order, for two numbers
//! at a time; larger angles are left to [`elementary`].
//!
//! x = k·π/2 + r + rest with |r| ≤ π/4. π/2 stands in three parts of which the products of the first two with k are exact (W. J. Cody, W. Waite,
//! Software Manual for the Elementary Functions, 1980, chapter 8), and rest is what r lacks. The last two bits of k say whether the result is the sine
//! or the cosine of r, and its sign. Errors of up to 0.80 ulp were measured.

use super::elementary;

/// Larger angles are not turned here: k has 10 bits.
pub const MOST: f64 = 1600.0;
/// Added to a number below 2⁵¹ it leaves the nearest integer in the last bits.
pub const ROUNDING: f64 = 6755399441055744.0;
/// π/2 in parts of 43, 42 and 53 bits, none of which is negative.
pub const QUARTER: [f64; 3] =
    [f64::from_bits(0x3ff9_21fb_5444_2c00), f64::from_bits(0x3d31_8469_898c_c000), 1.6446256936324258e-26];
/// sin r ≈ r + r³·Σ sᵢ r²ⁱ, to within 10⁻¹⁷.
pub const SINE: [f64; 6] = [
    -0.16666666666666666,
    0.008333333333330946,
    -0.0001984126983675497,
    2.755731610068303e-06,
    -2.5051131455427946e-08,
    1.5918101230274097e-10,
];
/// cos r ≈ 1 − ½r² + r⁴·Σ cᵢ r²ⁱ, to within 5·10⁻¹⁹.
pub const COSINE: [f64; 6] = [
    0.041666666666666664,
    -0.0013888888888887395,
    2.4801587298763433e-05,
    -2.7557317270560326e-07,
    2.0876146024689747e-09,
    -1.138261486855631e-11,
];

/// sin x
pub fn sin(x: f64) -> f64 {
    if x.abs() > MOST { elementary::sin(x) } else { turned(x, 0) }
}

/// cos x
pub fn cos(x: f64) -> f64 {
    if x.abs() > MOST { elementary::cos(x) } else { turned(x, 1) }
}

/// The sine of an angle and so many quarters of a turn.
fn turned(x: f64, quarters: u64) -> f64 {
    let rounded = x * std::f64::consts::FRAC_2_PI + ROUNDING;
    let k = rounded - ROUNDING;
    let first = x - k * QUARTER[0];
    let second = k * QUARTER[1];
    let high = first - second;
    // Differences, so that −0 stays −0.
    let less = k * QUARTER[2] - ((first - high) - second);
    let r = high - less;
    let rest = (high - r) - less;
    let z = r * r;
    let sum = |coefficients: &[f64; 6]| coefficients.iter().rev().fold(0.0, |sum, number| sum * z + number);
    let half = 0.5 * z;
    let n = rounded.to_bits().wrapping_add(quarters);
    let value = if n & 1 == 0 {
        r - ((half * rest - rest) - (z * r) * sum(&SINE))
    } else {
        let one = 1.0 - half;
        one + (((1.0 - one) - half) + (z * z * sum(&COSINE) - r * rest))
    };
    f64::from_bits(value.to_bits() ^ ((n & 2) << 62))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sines_and_cosines_are_those_of_the_standard_library_to_an_ulp() {
        let mut angles =
            vec![0.0, -0.0, 5e-324, -1e-310, 1e-17, 1e300, -1e22, MOST, -MOST, 1600.0000000000002, f64::MAX, f64::MIN];
        let turns = (-160_000..160_000).map(f64::from);
        angles.extend(turns.clone().map(|k| 0.010_007 * k));
        angles.extend(turns.map(|k| 1e-5 * k));
        // And next to multiples of quarters, where all but the last digits vanish.
        for k in (-1018..=1018).map(f64::from) {
            let near = k * std::f64::consts::FRAC_PI_2;
            angles
                .extend((0..9).map(|further| f64::from_bits(near.to_bits().saturating_add(further).saturating_sub(4))));
        }
        for x in angles {
            for (name, got, expected) in [("sin", sin(x), x.sin()), ("cos", cos(x), x.cos())] {
                let apart = (got.to_bits() as i64).abs_diff(expected.to_bits() as i64);
                assert!(apart <= 1, "{name} {x:e} is {expected:e}, not {got:e}");
            }
        }
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(sin(x).is_nan() && cos(x).is_nan(), "{x}");
        }
    }
}
