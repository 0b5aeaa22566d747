//! Elements of buffers of bytes.

use residua_base::error::{Error, Result};

use crate::dtype::DType;
use crate::half::{bits_of_half, number_of_half};

/// The value of an element within kernels, by its bits. An internal error if the buffer is shorter.
pub fn load(bytes: &[u8], dtype: DType, index: u32) -> Result<u32> {
    let element = element(bytes.len(), dtype, index)?;
    let bytes = &bytes[element];
    Ok(match dtype {
        DType::F32 | DType::I32 | DType::U32 => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        DType::F16 => number_of_half(u16::from_le_bytes([bytes[0], bytes[1]])).to_bits(),
        DType::U8 => u32::from(bytes[0]),
        DType::Bool => u32::from(bytes[0] != 0),
    })
}

/// Writes an element.
pub fn store(bytes: &mut [u8], dtype: DType, index: u32, value: u32) -> Result<()> {
    let element = element(bytes.len(), dtype, index)?;
    let bytes = &mut bytes[element];
    match dtype {
        DType::F32 | DType::I32 | DType::U32 => bytes.copy_from_slice(&value.to_le_bytes()),
        DType::F16 => bytes.copy_from_slice(&bits_of_half(f32::from_bits(value)).to_le_bytes()),
        DType::U8 | DType::Bool => bytes[0] = value as u8,
    }
    Ok(())
}

/// The bytes of an element.
fn element(length: usize, dtype: DType, index: u32) -> Result<std::ops::Range<usize>> {
    let size = dtype.bytes() as usize;
    let first = index as usize * size;
    if first + size > length {
        return Err(Error::internal(format!("element {index} of a buffer of {length} bytes of {}", dtype.name())));
    }
    Ok(first..first + size)
}
