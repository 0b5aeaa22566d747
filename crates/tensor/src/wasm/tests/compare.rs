//! Runs a kernel both ways and compares what is in its buffers.

use residua_portable::Random;

use super::machine::run;
use crate::dtype::DType;
use crate::half::number_of_half;
use crate::interpret;
use crate::kernel::TensorKernel;

/// Random contents of a buffer: reals of both signs, small integers, bits.
pub fn contents(random: &mut Random, dtype: DType, count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|_| match dtype {
            DType::F32 => (random.between((-4.0, 4.0)) as f32).to_le_bytes().to_vec(),
            DType::F16 => ((random.below(0x4400) | random.below(2) << 15) as u16).to_le_bytes().to_vec(),
            DType::I32 => (random.below(41) as i32 - 20).to_le_bytes().to_vec(),
            DType::U32 => (random.below(41) as u32).to_le_bytes().to_vec(),
            DType::U8 => vec![random.below(256) as u8],
            DType::Bool => vec![random.below(2) as u8],
        })
        .collect()
}

/// Runs a kernel and its meaning on the same contents. Reals may differ by a part of the number and by an absolute amount.
pub fn check(kernel: &TensorKernel, buffers: &[Vec<u8>], dims: &[u32], relative: f64, absolute: f64, about: &str) {
    let words: Vec<u32> = kernel.sizes.iter().map(|size| size.word(dims)).collect();
    let (mut found, mut expected) = (buffers.to_vec(), buffers.to_vec());
    interpret::run(kernel, &words, &mut expected).unwrap();
    run(kernel, &mut found, dims);
    for (position, buffer) in kernel.buffers.iter().enumerate() {
        let (found, expected) = (&found[position], &expected[position]);
        if found == expected {
            continue;
        }
        let size = buffer.dtype.bytes() as usize;
        for (element, (a, b)) in found.chunks(size).zip(expected.chunks(size)).enumerate() {
            let equal = match buffer.dtype {
                DType::F32 | DType::F16 => {
                    let (a, b) = (real(a), real(b));
                    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= relative * b.abs() + absolute
                }
                DType::I32 | DType::U32 | DType::U8 | DType::Bool => a == b,
            };
            assert!(
                equal,
                "{about}: buffer {position}, element {element}: {a:?} is not {b:?} ({} for {})",
                text(buffer.dtype, a),
                text(buffer.dtype, b)
            );
        }
    }
}

fn text(dtype: DType, bytes: &[u8]) -> String {
    match dtype {
        DType::F32 | DType::F16 => real(bytes).to_string(),
        _ => format!("{bytes:?}"),
    }
}

fn real(bytes: &[u8]) -> f64 {
    match *bytes {
        [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
        [a, b] => f64::from(number_of_half(u16::from_le_bytes([a, b]))),
        _ => unreachable!("reals have two or four bytes"),
    }
}
