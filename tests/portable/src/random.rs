//! Repeatable numbers.

/// A sequence of numbers from a start (Knuth's MMIX multiplier; the high bits).
pub struct Random(pub u64);

impl Random {
    /// A whole number from 0 to below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }

    /// A number of an interval.
    pub fn between(&mut self, (low, high): (f64, f64)) -> f64 {
        low + (high - low) * self.below(1 << 30) as f64 / f64::from(1 << 30)
    }
}
