//! Conversion between single and half precision (IEEE 754 binary16), to nearest with ties to even.

pub use residua_tensor_loops::number_of_half;

/// The bits of the half that is nearest to a number; infinite from 65,520 on.
pub fn bits_of_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let size = bits & 0x7fff_ffff;
    let half = if size > 0x7f80_0000 {
        0x7e00
    } else if size >= 0x477f_f000 {
        0x7c00
    } else if size < 0x3880_0000 {
        // A subnormal half counts steps of 2⁻²⁴, which is the last bit of a sum with 1/2.
        (f32::from_bits(size) + 0.5).to_bits() - 0.5f32.to_bits()
    } else {
        (size + 0xfff + ((size >> 13) & 1) - (112 << 23)) >> 13
    };
    sign | half as u16
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_and_midpoints_round_to_even() {
        for bits in 0..=u16::MAX {
            let number = number_of_half(bits);
            if number.is_nan() {
                assert!(number_of_half(bits_of_half(number)).is_nan());
                continue;
            }
            assert_eq!(bits_of_half(number), bits);
            if bits & 0x7fff < 0x7bff {
                let next = number_of_half(bits + 1);
                let middle = (number + next) / 2.0;
                assert_eq!(bits_of_half(middle), bits + (bits & 1), "between {number} and {next}");
                assert_eq!(bits_of_half(f32::from_bits(middle.to_bits() - 1)), bits);
                assert_eq!(bits_of_half(f32::from_bits(middle.to_bits() + 1)), bits + 1);
            }
        }
        assert_eq!(number_of_half(0x3c00), 1.0);
        assert_eq!(number_of_half(0x7bff), 65504.0);
        assert_eq!(bits_of_half(65519.99), 0x7bff);
        assert_eq!(bits_of_half(65520.0), 0x7c00);
        assert_eq!(bits_of_half(f32::NEG_INFINITY), 0xfc00);
        assert_eq!(bits_of_half(1e-10), 0);
    }
}
