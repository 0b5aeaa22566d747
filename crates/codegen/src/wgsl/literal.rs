//! Numbers as WGSL text. An f64 of the graph becomes the nearest f32, printed so that reading it back gives the same bits.
//!
//! WGSL has no token for infinity or NaN and refuses constant expressions that make one, so these are put together at run
//! time from values that the compiler can't see through.

use crate::wgsl::import::Imports;
use residua_base::decimal;

/// A number as an operand.
pub(super) fn text(value: f64, imports: &mut Imports) -> String {
    let single = value as f32;
    if single.is_nan() {
        imports.call("not_a_number", &[])
    } else if single.is_infinite() {
        opaque(value, imports)
    } else {
        decimal::shortest_single(single)
    }
}

/// A number that the compiler doesn't take for a constant: for operations on nothing but literals, which as constant
/// expressions would be errors where they overflow or divide by zero.
pub(super) fn opaque(value: f64, imports: &mut Imports) -> String {
    format!("bitcast<f32>({:#010x}u | {})", (value as f32).to_bits(), imports.guard_zero())
}
