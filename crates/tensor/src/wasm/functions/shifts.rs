//! Shifts by a count of each lane: WebAssembly shifts all lanes by one count.

use crate::scalar::{Formula, Type};

/// a · 2ᵇ: the power is a real of which the integer part is exact.
pub fn left() -> Formula {
    Formula::of([Type::U32, Type::U32], |[a, b]| {
        let count = b & b.integer(31);
        a * ((count + b.integer(127)) << 23).as_real().to_u32()
    })
}

/// ⌊a / 2ᵇ⌋, the high word of a · 2³²⁻ᵇ. Of a negative number it is the complement of that of the complement.
pub fn right(signed: bool) -> Formula {
    let ty = if signed { Type::I32 } else { Type::U32 };
    Formula::of([ty, Type::U32], |[a, b]| {
        let sign = a >> 31;
        let magnitude = if signed { (a ^ sign).to_u32() } else { a };
        let count = b & b.integer(31);
        let power = ((b.integer(127 + 32) - count) << 23).as_real().to_u32();
        // The power of a shift by 0 is 2³², which no word holds.
        let shifted = count.is(b.integer(0)).select(magnitude, magnitude.high_product(power));
        if signed { shifted.to_i32() ^ sign } else { shifted }
    })
}
