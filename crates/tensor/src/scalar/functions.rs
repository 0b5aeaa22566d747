//! Functions that are compositions of others: what construction writes for them.

use residua_ir::graph::Op as Real;

use super::{Id, Type, TypedGraph, Value};

/// Bits of an f32 without its sign.
const MAGNITUDE: u32 = 0x7fff_ffff;
/// Bits of an infinity.
const INFINITY: u32 = 0x7f80_0000;

/// The error function near 0: a + a · p(a²).
fn erf_near_zero(a: Value) -> Value {
    const FACTORS: [f32; 6] =
        [1.283_791_7e-1, -3.761_253_4e-1, 1.128_199_3e-1, -2.676_813_5e-2, 4.991_194_2e-3, -5.967_617e-4];
    (a * a).polynomial(&FACTORS) * a + a
}

impl TypedGraph {
    /// Whether an f32 is NaN, by its bits: compilers may assume that there are none.
    pub fn is_nan(&mut self, a: Id) -> Id {
        self.formula([a], |[a]| {
            let magnitude = a.magnitude();
            magnitude.integer(INFINITY).lt(magnitude)
        })
    }

    /// Whether an f32 is neither NaN nor infinite, by its bits.
    pub fn is_finite(&mut self, a: Id) -> Id {
        self.formula([a], |[a]| {
            let magnitude = a.magnitude();
            magnitude.lt(magnitude.integer(INFINITY))
        })
    }

    /// eᵃ − 1: the Taylor series to the tenth power where |a| < 1/2, which leaves 2⁻³⁴ of the result, else by the exponential.
    pub fn expm1(&mut self, a: Id) -> Id {
        let mut reciprocals = [0f32; 10];
        let mut factorial = 1.0;
        for (k, place) in reciprocals.iter_mut().enumerate() {
            factorial *= (k + 1) as f64;
            *place = (1.0 / factorial) as f32;
        }
        self.formula([a], |[a]| {
            let near = a.polynomial(&reciprocals) * a;
            let far = a.real(Real::Exp, &[]) - 1.0;
            a.is_within(0.5).select(near, far)
        })
    }

    /// log(1 + a): 2 artanh(a / (2 + a)) by its series to the thirteenth power where |a| < 3/8, which leaves 2⁻³⁴ of the result, else by the
    /// logarithm.
    pub fn log1p(&mut self, a: Id) -> Id {
        self.formula([a], |[a]| {
            let s = a / (a + 2.0);
            let near = (s * s).polynomial(&[1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0].map(|n: f32| 2.0 / n)) * s;
            let far = (a + 1.0).real(Real::Log, &[]);
            a.is_within(0.375).select(near, far)
        })
    }

    /// The error function, by the polynomials of N. Juffa (2014, about 1 ulp with `fma`).
    pub fn erf(&mut self, a: Id) -> Id {
        self.formula([a], |[a]| {
            let size = a.abs();
            // Far from 0: 1 − e^(q(|a|)).
            let high = size.polynomial(&[3.831_971_3e-4, -1.728_534_7e-5]);
            let low = size.polynomial(&[2.425_462_2e-2, -3.883_964_4e-3]);
            let mut far = high * (a * a) + low;
            for coefficient in [-1.067_778_8e-1, -6.348_468_7e-1, -1.287_175_1e-1] {
                far = far * size + coefficient;
            }
            let exponent = far * size - size;
            let far = a.number(1.0) - exponent.real(Real::Exp, &[]);
            let negative = -far;
            let far = a.lt(a.number(0.0)).select(negative, far);
            a.is_within(0.927_734_4).select(erf_near_zero(a), far)
        })
    }

    /// 1 − erf a. From 0.7 on e^(−a²) t q(t) with t = 1/(1 + a/2), where the polynomial q is the best in relative error, 4e-8; 0 from 10.1 on.
    pub fn erfc(&mut self, a: Id) -> Id {
        const FAR: [f32; 8] = [
            0.282_116_76,
            0.281_656_98,
            0.250_250_1,
            0.163_697_35,
            0.101_009_58,
            0.021_016_218,
            -0.175_547_28,
            0.076_094_02,
        ];
        self.formula([a], |[a]| {
            let size = a.abs().at_most(12.0);
            let t = a.number(1.0) / (size * 0.5 + 1.0);
            // The square of the first 12 bits is exact. What it lacks is below 0.1, of which the series of the exponential is taken.
            let bits = size.bits();
            let short = (bits & bits.integer(0xffff_f000)).as_real();
            let rest = (short - size) * (short + size);
            let density =
                (-(short * short)).real(Real::Exp, &[]) * rest.polynomial(&[1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0]);
            let far = density * (t.polynomial(&FAR) * t);
            let far = a.lt(a.number(0.0)).select(a.number(2.0) - far, far);
            a.is_within(0.75).select(a.number(1.0) - erf_near_zero(a), far)
        })
    }

    /// An f32 rounded to the nearest f16, halves to even: what a store as f16 and a load would give.
    pub fn round_to_f16(&mut self, a: Id) -> Id {
        self.formula([a], |[a]| {
            let bits = a.bits();
            let word = |number: u32| bits.integer(number);
            let (sign, magnitude) = (bits & word(!MAGNITUDE), bits & word(MAGNITUDE));
            // Normal numbers: half of the last place that stays, less one, plus that place; then the other places go.
            let last = (magnitude >> 13) & word(1);
            let normal = (magnitude + word(0xfff) + last) & word(!0x1fff);
            let normal = normal.lt(word(0x4780_0000)).select(normal, word(INFINITY));
            // Below 2⁻¹⁴ the places are multiples of 2⁻²⁴.
            let scaled = magnitude.as_real() * 16_777_216.0;
            let below = scaled.floor();
            let (rest, half, count) = (scaled - below, a.number(0.5), below.to_u32());
            let odd = count & word(1);
            let (is_above, is_half) = (half.lt(rest), half.is(rest));
            let up = is_above | (is_half & !odd.is(word(0)));
            let subnormal = ((count + up.to_u32()).to_real() * (1.0 / 16_777_216.0)).bits();
            let finite = magnitude.lt(word(0x3880_0000)).select(subnormal, normal);
            let is_nan = word(INFINITY).lt(magnitude);
            (is_nan.select(magnitude, finite) | sign).as_real()
        })
    }

    /// aᵇ of integers by squares; for a negative b the quotient 1 / a^|b|.
    pub fn integer_power(&mut self, a: Id, b: Id) -> Id {
        self.formula([a, b], |[a, b]| {
            let (zero, one) = (a.integer(0), a.integer(1));
            let is_negative = (a.ty() == Type::I32).then(|| b.lt(zero));
            let exponent = is_negative.map_or(b, |is_negative| is_negative.select(zero - b, b)).to_u32();
            let (mut power, mut square) = (one, a);
            for bit in 0..32 {
                let set = exponent & exponent.integer(1 << bit);
                let is_clear = set.is(set.integer(0));
                power = is_clear.select(power, power * square);
                square = square * square;
            }
            is_negative.map_or(power, |is_negative| is_negative.select(one / power, power))
        })
    }

    /// Threefry 2×32 with 20 rounds (Salmon, Moraes, Dror and Shaw 2011): two words of a counter under two words of a key. Gives the first
    /// word of the result.
    pub fn threefry(&mut self, counter: [Id; 2], key: [Id; 2]) -> Id {
        const ROTATIONS: [u32; 8] = [13, 15, 26, 6, 17, 29, 16, 24];
        const PARITY: u32 = 0x1bd1_1bda;
        self.formula([counter[0], counter[1], key[0], key[1]], |[mut x, mut y, first, second]| {
            let keys = [first, second, (first ^ second) ^ first.integer(PARITY)];
            x = x + keys[0];
            y = y + keys[1];
            for round in 0..20 {
                x = x + y;
                let rotation = ROTATIONS[round % 8];
                y = ((y << rotation) | (y >> (32 - rotation))) ^ x;
                if round % 4 == 3 {
                    let injection = round / 4 + 1;
                    x = x + keys[injection % 3];
                    y = y + keys[(injection + 1) % 3];
                    y = y + y.integer(injection as u32);
                }
            }
            x
        })
    }
}

impl Value<'_> {
    /// The bits of an f32 without its sign.
    fn magnitude(self) -> Self {
        let bits = self.bits();
        bits & bits.integer(MAGNITUDE)
    }

    /// Whether |a| is below a number.
    fn is_within(self, bound: f32) -> Self {
        self.abs().lt(self.number(bound))
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn threefry_gives_the_published_vectors() {
        // kat_vectors of Random123: threefry2x32 with 20 rounds.
        let cases = [([0, 0], [0, 0], 0x6b20_0159), ([!0, !0], [!0, !0], 0x1cb9_96fc)];
        for (counter, key, expected) in cases {
            let mut graph = TypedGraph::default();
            let (counter, key) = (counter.map(|word| graph.u32(word)), key.map(|word| graph.u32(word)));
            let result = graph.threefry(counter, key);
            assert_eq!(graph.literal_bits(result), Some(expected));
        }
    }

    #[test]
    fn halves_are_rounded_to_even() {
        let cases = [
            (1.0, 1.0),
            (1.000_488_3, 1.0), // 1 + 2⁻¹¹ lies between 1 and 1 + 2⁻¹⁰.
            (1.001_464_8, 1.001_953_1),
            (65519.0, 65504.0),
            (65520.0, f32::INFINITY),
            (-65520.0, f32::NEG_INFINITY),
            (2.980_232_2e-8, 0.0), // 2⁻²⁵ lies between 0 and 2⁻²⁴.
            (8.940_697e-8, 1.192_092_9e-7),
            (-5.960_464_5e-8, -5.960_464_5e-8),
            (0.0, 0.0),
            (f32::INFINITY, f32::INFINITY),
        ];
        for (value, expected) in cases {
            let mut graph = TypedGraph::default();
            let a = graph.f32(value);
            let rounded = graph.round_to_f16(a);
            let bits = graph.literal_bits(rounded).expect("all operands are literals");
            assert_eq!(bits, f32::to_bits(expected), "{value}");
        }
    }
}
