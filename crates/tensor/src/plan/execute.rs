//! Runs plans natively, kernel by kernel through the interpreter: for tests.

use residua_base::error::Result;
use residua_base::list::Listed;

use super::{Place, Plan, Step, bytes_of_roots};
use crate::dtype::DType;
use crate::half;
use crate::interpret;
use crate::kernel::TensorKernel;

/// Runs a plan on the bytes of its slots, which assignments change, and gives the bytes of its results.
pub fn execute(plan: &Plan, dims: &[u32], slots: &mut [Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    execute_by(plan, dims, slots, &interpret::run)
}

/// A way to run a kernel: with the words of its uniform, on the bytes of its buffers.
pub type RunKernel = dyn Fn(&TensorKernel, &[u32], &mut [Vec<u8>]) -> Result<()>;

/// The same by another way to run kernels.
pub fn execute_by(plan: &Plan, dims: &[u32], slots: &mut [Vec<u8>], run: &RunKernel) -> Result<Vec<Vec<u8>>> {
    let memory = |place: &Place| match place {
        Place::Slot(slot) => slots[*slot as usize].clone(),
        Place::Roots(length) => bytes_of_roots(*length),
        // Not 0, so that a kernel which reads what nothing wrote shows.
        Place::Temporary { bytes } | Place::Result { bytes } => vec![0xa5; *bytes as usize],
    };
    let mut memories: Vec<Vec<u8>> = plan.places.iter().map(memory).list();
    for step in &plan.steps {
        match step {
            Step::Dispatch { kernel, places } => {
                let kernel = &plan.kernels[*kernel as usize];
                if !kernel.runs(dims) {
                    continue;
                }
                let words: Vec<u32> = kernel.sizes.iter().map(|size| size.word(dims)).list();
                let mut buffers: Vec<Vec<u8>> =
                    places.iter().map(|place| std::mem::take(&mut memories[*place as usize])).list();
                run(kernel, &words, &mut buffers)?;
                for (place, bytes) in places.iter().zip(buffers) {
                    memories[*place as usize] = bytes;
                }
            }
            Step::Copy { from, to, bytes } => {
                let bytes = bytes.at(dims) as usize;
                let source = memories[*from as usize][..bytes].to_vec();
                memories[*to as usize][..bytes].copy_from_slice(&source);
            }
        }
    }
    for (place, bytes) in plan.places.iter().zip(&memories) {
        if let Place::Slot(slot) = place {
            slots[*slot as usize].clone_from(bytes);
        }
    }
    Ok(plan.results.iter().map(|place| memories[*place as usize].clone()).list())
}

/// The bytes of elements of a type, padded as tensors are.
pub fn bytes_of(dtype: DType, elements: &[f64]) -> Vec<u8> {
    let mut bytes: Vec<u8> = match dtype {
        DType::F32 => elements.iter().flat_map(|x| (*x as f32).to_le_bytes()).list(),
        DType::F16 => elements.iter().flat_map(|x| half::bits_of_half(*x as f32).to_le_bytes()).list(),
        DType::I32 => elements.iter().flat_map(|x| (*x as i32).to_le_bytes()).list(),
        DType::U32 => elements.iter().flat_map(|x| (*x as u32).to_le_bytes()).list(),
        DType::U8 | DType::Bool => elements.iter().map(|x| *x as u8).list(),
    };
    bytes.resize(super::padded(elements.len() as u64, dtype.bytes()) as usize, 0);
    bytes
}

/// The elements of a type in bytes.
pub fn elements_of(dtype: DType, bytes: &[u8], count: usize) -> Vec<f64> {
    let word = |chunk: &[u8]| <[u8; 4]>::try_from(chunk).expect("chunks have four bytes");
    let half = |chunk: &[u8]| u16::from_le_bytes([chunk[0], chunk[1]]);
    let mut elements: Vec<f64> = match dtype {
        DType::F32 => bytes.chunks_exact(4).map(|chunk| f64::from(f32::from_le_bytes(word(chunk)))).list(),
        DType::F16 => bytes.chunks_exact(2).map(|chunk| f64::from(half::number_of_half(half(chunk)))).list(),
        DType::I32 => bytes.chunks_exact(4).map(|chunk| f64::from(i32::from_le_bytes(word(chunk)))).list(),
        DType::U32 => bytes.chunks_exact(4).map(|chunk| f64::from(u32::from_le_bytes(word(chunk)))).list(),
        DType::U8 | DType::Bool => bytes.iter().map(|byte| f64::from(*byte)).list(),
    };
    elements.truncate(count);
    elements
}
