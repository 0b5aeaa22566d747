//! States of reductions: the state of nothing, of one point, of two neighbouring ranges, and what a state finishes as. Numbers are their bits.

use crate::kernel::Combine;
use crate::scalar::Type;
use residua_base::list::Listed;

use super::arithmetic;

/// The state of one point.
pub fn lift(combine: &Combine, ty: Type, operands: &[u32]) -> Vec<u32> {
    match combine {
        Combine::Sum => vec![operands[0], 0],
        Combine::Prod if ty == Type::F32 => vec![operands[0], 0],
        Combine::Variance => vec![1f32.to_bits(), operands[0], 0],
        Combine::PlainSum
        | Combine::Prod
        | Combine::Min
        | Combine::Max
        | Combine::ArgMin
        | Combine::ArgMax
        | Combine::By(_) => operands.to_vec(),
    }
}

/// The state of two ranges, the earlier one first.
pub fn merge(combine: &Combine, ty: Type, a: &[u32], b: &[u32]) -> Vec<u32> {
    let real = |bits: &u32| f32::from_bits(*bits);
    match combine {
        Combine::Sum => {
            let (sum, error) = exact_sum(real(&a[0]), real(&b[0]));
            if !sum.is_finite() {
                return vec![sum.to_bits(), 0];
            }
            let error = error + (real(&a[1]) + real(&b[1]));
            let total = sum + error;
            vec![total.to_bits(), (error - (total - sum)).to_bits()]
        }
        Combine::PlainSum if ty == Type::F32 => vec![(real(&a[0]) + real(&b[0])).to_bits()],
        Combine::PlainSum => vec![a[0].wrapping_add(b[0])],
        Combine::Prod if ty == Type::F32 => {
            let product = real(&a[0]) * real(&b[0]);
            if !product.is_normal() {
                return vec![product.to_bits(), 0];
            }
            let error = real(&a[0]).mul_add(real(&b[0]), -product);
            let error = error + (real(&a[0]) * real(&b[1]) + real(&a[1]) * real(&b[0]));
            let total = product + error;
            vec![total.to_bits(), (error - (total - product)).to_bits()]
        }
        Combine::Prod => vec![a[0].wrapping_mul(b[0])],
        Combine::Min => vec![if is_better(false, ty, b[0], a[0]) { b[0] } else { a[0] }],
        Combine::Max => vec![if is_better(true, ty, b[0], a[0]) { b[0] } else { a[0] }],
        Combine::ArgMin | Combine::ArgMax => {
            let largest = matches!(combine, Combine::ArgMax);
            let later = is_better(largest, ty, b[0], a[0]) || (!is_better(largest, ty, a[0], b[0]) && b[1] < a[1]);
            if later { b.to_vec() } else { a.to_vec() }
        }
        Combine::Variance => {
            let ([count, mean, squares], [other_count, other_mean, other_squares]) =
                ([0, 1, 2].map(|k| real(&a[k])), [0, 1, 2].map(|k| real(&b[k])));
            let total = count + other_count;
            if other_count == 0.0 || count == 0.0 {
                return if other_count == 0.0 { a.to_vec() } else { b.to_vec() };
            }
            let (difference, part) = (other_mean - mean, other_count / total);
            let squares = squares + other_squares + difference * difference * count * part;
            [total, mean + difference * part, squares].map(f32::to_bits).to_vec()
        }
        Combine::By(rule) => {
            let inputs: Vec<f32> = a.iter().chain(b).map(real).list();
            arithmetic::evaluate(&rule.merge, &inputs, &rule.results).into_iter().map(f32::to_bits).list()
        }
    }
}

/// What a state finishes as.
pub fn finish(combine: &Combine, state: Vec<u32>) -> Vec<u32> {
    let real = |k: usize| f32::from_bits(state[k]);
    match combine {
        Combine::Sum => vec![if real(0).is_finite() { real(0) + real(1) } else { real(0) }.to_bits()],
        Combine::ArgMin | Combine::ArgMax if state[1] == Combine::NOWHERE => vec![0],
        Combine::ArgMin | Combine::ArgMax => vec![state[1]],
        Combine::Variance => vec![(real(2) / real(0)).to_bits()],
        // The error of a product is less than half a unit of its last place.
        Combine::Prod => vec![state[0]],
        Combine::PlainSum | Combine::Min | Combine::Max | Combine::By(_) => state,
    }
}

/// a + b, rounded, and what the rounding lost (Knuth).
fn exact_sum(a: f32, b: f32) -> (f32, f32) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// Whether a value is smaller than another (larger if `largest`); a NaN is better than every number.
fn is_better(largest: bool, ty: Type, a: u32, b: u32) -> bool {
    let (a, b) = if largest { (b, a) } else { (a, b) };
    match ty {
        Type::F32 => {
            let (x, y) = (f32::from_bits(a), f32::from_bits(b));
            match (x.is_nan(), y.is_nan()) {
                (false, false) => x < y,
                (x_is_nan, y_is_nan) if largest => y_is_nan && !x_is_nan,
                (x_is_nan, y_is_nan) => x_is_nan && !y_is_nan,
            }
        }
        Type::I32 => (a as i32) < b as i32,
        Type::U32 | Type::Bool => a < b,
    }
}
