//! Tables of roots of unity for transforms on a device: computed in f64, and rounded.

use residua_tensor_loops::fourier::root;

use crate::size::Size;

/// Roots that a table has one by one.
pub const FINE: u32 = 4096;

/// How many roots the table of a length has.
pub fn count(length: u32) -> u32 {
    if length <= FINE { length } else { FINE + length.div_ceil(FINE) }
}

/// The shape of the table of a length.
pub fn shape(length: u32) -> [Size; 2] {
    [Size::constant(i64::from(count(length))), Size::constant(2)]
}

/// e^(−2πi k/length) as pairs: for all k, or for those below [`FINE`] and behind them for the multiples of it, of which the product of two is any.
pub fn table(length: u32) -> Vec<f32> {
    let own = |k: u32| if k < FINE { k } else { (k - FINE) * FINE };
    let pairs = (0..count(length)).flat_map(|k| root(u64::from(own(k)), u64::from(length)));
    pairs.map(|part| part as f32).collect()
}
