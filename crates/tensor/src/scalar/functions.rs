//! Functions that are compositions of others: what construction writes for them.

use residua_ir::graph::Op as Real;

use super::{Graph, Id, Op, Type};

/// Bits of an f32 without its sign.
const MAGNITUDE: u32 = 0x7fff_ffff;
/// Bits of an infinity.
const INFINITY: u32 = 0x7f80_0000;

impl Graph {
    /// Whether an f32 is NaN, by its bits: compilers may assume that there are none.
    pub fn is_nan(&mut self, a: Id) -> Id {
        let (magnitude, infinity) = (self.magnitude(a), self.u32(INFINITY));
        self.apply(Op::Lt, &[infinity, magnitude])
    }

    /// Whether an f32 is neither NaN nor infinite, by its bits.
    pub fn is_finite(&mut self, a: Id) -> Id {
        let (magnitude, infinity) = (self.magnitude(a), self.u32(INFINITY));
        self.apply(Op::Lt, &[magnitude, infinity])
    }

    fn magnitude(&mut self, a: Id) -> Id {
        let (bits, mask) = (self.apply(Op::BitsOfF32, &[a]), self.u32(MAGNITUDE));
        self.apply(Op::And, &[bits, mask])
    }

    /// Σ cₖ xᵏ by Horner's rule, the highest coefficient first.
    fn polynomial(&mut self, x: Id, coefficients: &[f32]) -> Id {
        let mut sum = self.f32(coefficients[0]);
        for coefficient in &coefficients[1..] {
            let (product, coefficient) = (self.real(Real::Mul, &[sum, x]), self.f32(*coefficient));
            sum = self.real(Real::Add, &[product, coefficient]);
        }
        sum
    }

    /// Whether |a| is below a number.
    fn is_within(&mut self, a: Id, bound: f32) -> Id {
        let (size, bound) = (self.real(Real::Abs, &[a]), self.f32(bound));
        self.apply(Op::Lt, &[size, bound])
    }

    /// eᵃ − 1: the Taylor series to the tenth power where |a| < 1/2, which leaves 2⁻³⁴ of the result, else by the exponential.
    pub fn expm1(&mut self, a: Id) -> Id {
        let mut factorials = [0f32; 10];
        let mut factorial = 1.0;
        for (k, place) in factorials.iter_mut().rev().enumerate() {
            factorial *= (k + 1) as f64;
            *place = (1.0 / factorial) as f32;
        }
        let (series, one) = (self.polynomial(a, &factorials), self.f32(1.0));
        let near = self.real(Real::Mul, &[series, a]);
        let exponential = self.real(Real::Exp, &[a]);
        let far = self.real(Real::Sub, &[exponential, one]);
        let is_near = self.is_within(a, 0.5);
        self.apply(Op::Select, &[is_near, near, far])
    }

    /// log(1 + a): 2 artanh(a / (2 + a)) by its series to the thirteenth power where |a| < 3/8, which leaves 2⁻³⁴ of the result, else by the
    /// logarithm.
    pub fn log1p(&mut self, a: Id) -> Id {
        let (one, two) = (self.f32(1.0), self.f32(2.0));
        let denominator = self.real(Real::Add, &[a, two]);
        let s = self.real(Real::Div, &[a, denominator]);
        let square = self.real(Real::Mul, &[s, s]);
        let odd = [13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0].map(|n: f32| 2.0 / n);
        let series = self.polynomial(square, &odd);
        let near = self.real(Real::Mul, &[series, s]);
        let sum = self.real(Real::Add, &[a, one]);
        let far = self.real(Real::Log, &[sum]);
        let is_near = self.is_within(a, 0.375);
        self.apply(Op::Select, &[is_near, near, far])
    }

    /// The error function, by the polynomials of N. Juffa (2014, about 1 ulp with `fma`).
    pub fn erf(&mut self, a: Id) -> Id {
        let size = self.real(Real::Abs, &[a]);
        let square = self.real(Real::Mul, &[a, a]);
        // Far from 0: 1 − e^(q(|a|)).
        let high = self.polynomial(size, &[-1.728_534_7e-5, 3.831_971_3e-4]);
        let low = self.polynomial(size, &[-3.883_964_4e-3, 2.425_462_2e-2]);
        let product = self.real(Real::Mul, &[high, square]);
        let mut far = self.real(Real::Add, &[product, low]);
        for coefficient in [-1.067_778_8e-1, -6.348_468_7e-1, -1.287_175_1e-1] {
            let (product, coefficient) = (self.real(Real::Mul, &[far, size]), self.f32(coefficient));
            far = self.real(Real::Add, &[product, coefficient]);
        }
        let product = self.real(Real::Mul, &[far, size]);
        let exponent = self.real(Real::Sub, &[product, size]);
        let (one, exponential) = (self.f32(1.0), self.real(Real::Exp, &[exponent]));
        let far = self.real(Real::Sub, &[one, exponential]);
        let negative = self.real(Real::Neg, &[far]);
        let zero = self.f32(0.0);
        let is_negative = self.apply(Op::Lt, &[a, zero]);
        let far = self.apply(Op::Select, &[is_negative, negative, far]);
        // Near 0: a + a · p(a²).
        let coefficients =
            [-5.967_617e-4, 4.991_194_2e-3, -2.676_813_5e-2, 1.128_199_3e-1, -3.761_253_4e-1, 1.283_791_7e-1];
        let series = self.polynomial(square, &coefficients);
        let product = self.real(Real::Mul, &[series, a]);
        let near = self.real(Real::Add, &[product, a]);
        let is_near = self.is_within(a, 0.927_734_4);
        self.apply(Op::Select, &[is_near, near, far])
    }

    /// An f32 rounded to the nearest f16, halves to even: what a store as f16 and a load would give.
    pub fn round_to_f16(&mut self, a: Id) -> Id {
        let bits = self.apply(Op::BitsOfF32, &[a]);
        let (sign_mask, mask) = (self.u32(!MAGNITUDE), self.u32(MAGNITUDE));
        let (sign, magnitude) = (self.apply(Op::And, &[bits, sign_mask]), self.apply(Op::And, &[bits, mask]));
        // Normal numbers: half of the last place that stays, less one, plus that place; then the other places go.
        let (thirteen, one) = (self.u32(13), self.u32(1));
        let last = self.apply(Op::Shr, &[magnitude, thirteen]);
        let last = self.apply(Op::And, &[last, one]);
        let (half, kept) = (self.u32(0xfff), self.u32(!0x1fff));
        let sum = self.apply(Op::IntAdd, &[magnitude, half]);
        let sum = self.apply(Op::IntAdd, &[sum, last]);
        let normal = self.apply(Op::And, &[sum, kept]);
        let (overflow, infinity) = (self.u32(0x4780_0000), self.u32(INFINITY));
        let is_small = self.apply(Op::Lt, &[normal, overflow]);
        let normal = self.apply(Op::Select, &[is_small, normal, infinity]);
        // Below 2⁻¹⁴ the places are multiples of 2⁻²⁴.
        let size = self.apply(Op::BitsToF32, &[magnitude]);
        let (places, place, round) = (self.f32(16_777_216.0), self.f32(1.0 / 16_777_216.0), self.f32(0.5));
        let scaled = self.real(Real::Mul, &[size, places]);
        let below = self.real(Real::Floor, &[scaled]);
        let rest = self.real(Real::Sub, &[scaled, below]);
        let count = self.apply(Op::ToU32, &[below]);
        let odd = self.apply(Op::And, &[count, one]);
        let (is_above, is_half) = (self.apply(Op::Lt, &[round, rest]), self.apply(Op::Eq, &[round, rest]));
        let zero = self.u32(0);
        let is_even = self.apply(Op::Eq, &[odd, zero]);
        let is_odd = self.apply(Op::Not, &[is_even]);
        let to_even = self.apply(Op::And, &[is_half, is_odd]);
        let up = self.apply(Op::Or, &[is_above, to_even]);
        let up = self.apply(Op::ToU32, &[up]);
        let count = self.apply(Op::IntAdd, &[count, up]);
        let rounded = self.apply(Op::ToF32, &[count]);
        let subnormal = self.real(Real::Mul, &[rounded, place]);
        let subnormal = self.apply(Op::BitsOfF32, &[subnormal]);
        let smallest = self.u32(0x3880_0000);
        let is_subnormal = self.apply(Op::Lt, &[magnitude, smallest]);
        let finite = self.apply(Op::Select, &[is_subnormal, subnormal, normal]);
        let is_nan = self.apply(Op::Lt, &[infinity, magnitude]);
        let result = self.apply(Op::Select, &[is_nan, magnitude, finite]);
        let result = self.apply(Op::Or, &[result, sign]);
        self.apply(Op::BitsToF32, &[result])
    }

    /// aᵇ of integers by squares; for a negative b the quotient 1 / a^|b|.
    pub fn integer_power(&mut self, a: Id, b: Id) -> Id {
        let ty = self.ty(a);
        let (zero, one) = (self.literal(ty, 0), self.literal(ty, 1));
        let mut exponent = b;
        let is_negative = (ty == Type::I32).then(|| self.apply(Op::Lt, &[b, zero]));
        if let Some(is_negative) = is_negative {
            let negative = self.apply(Op::IntSub, &[zero, b]);
            exponent = self.apply(Op::Select, &[is_negative, negative, b]);
        }
        exponent = self.apply(Op::ToU32, &[exponent]);
        let (mut power, mut square) = (one, a);
        for bit in 0..32 {
            let mask = self.u32(1 << bit);
            let set = self.apply(Op::And, &[exponent, mask]);
            let none = self.u32(0);
            let is_clear = self.apply(Op::Eq, &[set, none]);
            let product = self.apply(Op::IntMul, &[power, square]);
            power = self.apply(Op::Select, &[is_clear, power, product]);
            square = self.apply(Op::IntMul, &[square, square]);
        }
        match is_negative {
            None => power,
            Some(is_negative) => {
                let quotient = self.apply(Op::IntDiv, &[one, power]);
                self.apply(Op::Select, &[is_negative, quotient, power])
            }
        }
    }

    /// Threefry 2×32 with 20 rounds (Salmon, Moraes, Dror and Shaw 2011): two words of a counter under two words of a key. Gives the first
    /// word of the result.
    pub fn threefry(&mut self, counter: [Id; 2], key: [Id; 2]) -> Id {
        const ROTATIONS: [u32; 8] = [13, 15, 26, 6, 17, 29, 16, 24];
        const PARITY: u32 = 0x1bd1_1bda;
        let parity = self.u32(PARITY);
        let third = self.apply(Op::Xor, &[key[0], key[1]]);
        let third = self.apply(Op::Xor, &[third, parity]);
        let keys = [key[0], key[1], third];
        let mut x = self.apply(Op::IntAdd, &[counter[0], keys[0]]);
        let mut y = self.apply(Op::IntAdd, &[counter[1], keys[1]]);
        for round in 0..20 {
            x = self.apply(Op::IntAdd, &[x, y]);
            let rotation = ROTATIONS[round % 8];
            let (left, right) = (self.u32(rotation), self.u32(32 - rotation));
            let (high, low) = (self.apply(Op::Shl, &[y, left]), self.apply(Op::Shr, &[y, right]));
            let rotated = self.apply(Op::Or, &[high, low]);
            y = self.apply(Op::Xor, &[rotated, x]);
            if round % 4 == 3 {
                let injection = round / 4 + 1;
                x = self.apply(Op::IntAdd, &[x, keys[injection % 3]]);
                y = self.apply(Op::IntAdd, &[y, keys[(injection + 1) % 3]]);
                let number = self.u32(injection as u32);
                y = self.apply(Op::IntAdd, &[y, number]);
            }
        }
        x
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
            let mut graph = Graph::default();
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
            let mut graph = Graph::default();
            let a = graph.f32(value);
            let rounded = graph.round_to_f16(a);
            let bits = graph.literal_bits(rounded).expect("all operands are literals");
            assert_eq!(bits, f32::to_bits(expected), "{value}");
        }
    }
}
