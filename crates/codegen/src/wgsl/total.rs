//! The type of a kernel's total: one number or two, each single or a pair.

use super::import::Imports;
use crate::{Kernel, Width};

/// The type of `total`, of which partial sums are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TotalType {
    /// How many nodes are summed.
    count: usize,
    /// Whether any is summed in pairs; then all are.
    pairs: bool,
}

impl TotalType {
    /// The type of one number.
    pub const SINGLE: TotalType = TotalType { count: 1, pairs: false };

    /// The type of a kernel's total.
    pub fn of(kernel: &Kernel) -> TotalType {
        TotalType { count: kernel.totals().count(), pairs: kernel.totals().any(|output| output.width() == Width::Pair) }
    }

    /// Whether it is summed in pairs.
    pub fn is_in_pairs(self) -> bool {
        self.pairs
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match (self.count, self.pairs) {
            (0 | 1, false) => "f32",
            (0 | 1, true) | (_, false) => "vec2<f32>",
            (_, true) => "vec4<f32>",
        }
    }

    /// The total of a thread before its first instance.
    pub fn zero(self) -> &'static str {
        match (self.count, self.pairs) {
            (0 | 1, false) => "0.0",
            (0 | 1, true) | (_, false) => "vec2<f32>()",
            (_, true) => "vec4<f32>()",
        }
    }

    /// The sum of two totals in pairs, as an expression.
    pub fn sum(self, a: &str, b: &str, imports: &mut Imports) -> String {
        if self.count < 2 {
            return imports.call("sum_of_pairs", &[a, b]);
        }
        let [first, second] = ["xy", "zw"]
            .map(|part| imports.call("sum_of_pairs", &[&format!("({a}).{part}"), &format!("({b}).{part}")]));
        format!("vec4<f32>({first}, {second})")
    }
}
