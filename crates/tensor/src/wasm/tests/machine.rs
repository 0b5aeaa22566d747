//! Runs kernels by an interpreter of WebAssembly.

use wasmi::{Config, Engine, Instance, Linker, Memory, MemoryType, Module, Store as Runtime};

use residua_base::error::Result;

use crate::kernel::{Body, TensorKernel};
use crate::wasm::module;
use crate::{host_product, interpret};

/// Runs a kernel by its code, and a matrix product, a sort or linear algebra, which have none, by the loops of the host.
pub fn run_generated(kernel: &TensorKernel, words: &[u32], buffers: &mut [Vec<u8>]) -> Result<()> {
    match kernel.body {
        Body::Product(_) | Body::Sort(_) | Body::Fourier(_) | Body::Linalg(_) => {
            run_loop(kernel, words, buffers)?;
        }
        _ => {
            run_with(kernel, words, buffers);
        }
    }
    Ok(())
}

/// Runs a loop of the host, part after part, and gives how many there were.
pub fn run_loop(kernel: &TensorKernel, words: &[u32], buffers: &mut [Vec<u8>]) -> Result<usize> {
    // The interpreter checks all indices.
    interpret::run(kernel, words, &mut buffers.to_vec())?;
    // Memory of 16-byte words, so that elements of all sizes are aligned.
    let mut memories: Vec<Vec<u128>> =
        buffers.iter().map(|bytes| bytes.chunks(16).map(padded_chunk).collect::<Vec<u128>>()).collect();
    let addresses: Vec<*mut u8> = memories.iter_mut().map(|memory| memory.as_mut_ptr().cast()).collect();
    let (mut workspace, mut own) = (host_product::Workspace::default(), host_product::Own::default());
    let (mut part, mut parts) = (0, 0);
    loop {
        parts += 1;
        // SAFETY: the memories are as large as the buffers of the kernel and its indices are within them.
        part = unsafe { host_product::run(kernel, words, &addresses, part, &mut workspace, &mut own)? };
        if part == 0 {
            break;
        }
    }
    for (bytes, memory) in buffers.iter_mut().zip(memories) {
        let length = bytes.len();
        bytes.clear();
        bytes.extend(memory.into_iter().flat_map(u128::to_le_bytes).take(length));
    }
    Ok(parts)
}

fn padded_chunk(bytes: &[u8]) -> u128 {
    let mut chunk = [0; 16];
    chunk[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(chunk)
}

/// The same with the values of dims.
pub fn run(kernel: &TensorKernel, buffers: &mut [Vec<u8>], dims: &[u32]) {
    let words: Vec<u32> = kernel.sizes.iter().map(|size| size.word(dims)).collect();
    run_with(kernel, &words, buffers);
}

/// Bytes of 0 after each buffer. A vector of lanes of which some have no point is loaded whole, so up to 12 bytes beyond a buffer are read.
const GAP: usize = 16;

/// Runs a kernel on the contents of its buffers, each padded to a multiple of 16 bytes. The first ends the memory but for a gap, the others stand
/// before it, so that a read beyond the first is a trap. What the padding holds is no number that a result should have. Gives how many parts
/// it did.
pub fn run_with(kernel: &TensorKernel, words: &[u32], buffers: &mut [Vec<u8>]) -> usize {
    let bytes = module(std::slice::from_ref(kernel)).unwrap();
    let mut config = Config::default();
    config.wasm_simd(true);
    let engine = Engine::new(&config);
    let module = Module::new(&engine, &bytes[..]).unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    let mut runtime = Runtime::new(&engine, ());
    let padded = |buffer: &Vec<u8>| buffer.len().next_multiple_of(16).max(16);
    let total: usize = buffers.iter().map(|buffer| padded(buffer) + GAP).sum();
    let pages = (total >> 16) as u32 + 2;
    let memory = Memory::new(&mut runtime, MemoryType::new(pages, None)).unwrap();
    let mut end = (pages as usize) << 16;
    let mut frame = Vec::new();
    for buffer in buffers.iter() {
        let size = padded(buffer);
        end -= size + GAP;
        memory.write(&mut runtime, end, buffer).unwrap();
        memory.write(&mut runtime, end + buffer.len(), &vec![0xab; size - buffer.len()]).unwrap();
        frame.push(end as u32);
    }
    frame.extend(words);
    let words: Vec<u8> = frame.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(&mut runtime, 64, &words).unwrap();
    let mut linker = Linker::new(&engine);
    linker.define("env", "memory", memory).unwrap();
    let instance: Instance = linker.instantiate_and_start(&mut runtime, &module).unwrap();
    let function = instance.get_typed_func::<(i32, i32), i32>(&runtime, "0").expect("the kernel is exported");
    let (mut part, mut count) = (0, 0);
    loop {
        count += 1;
        part = function.call(&mut runtime, (64, part)).unwrap_or_else(|trap| panic!("{}: {trap}", kernel.name));
        if part == 0 {
            break;
        }
    }
    // A thread may ask for a part behind the last.
    if count > 1 {
        let before = memory.data(&runtime).to_vec();
        assert_eq!(
            function.call(&mut runtime, (64, count as i32 + 5)).unwrap(),
            0,
            "{}: behind the last part",
            kernel.name
        );
        assert!(before == memory.data(&runtime), "{}: written behind the last part", kernel.name);
    }
    for (buffer, address) in buffers.iter_mut().zip(&frame) {
        let mut beyond = [0; GAP];
        memory.read(&runtime, *address as usize + padded(buffer), &mut beyond).unwrap();
        assert_eq!(beyond, [0; GAP], "{}: written beyond a buffer", kernel.name);
        memory.read(&runtime, *address as usize, buffer).unwrap();
    }
    count
}

/// The bytes of reals.
pub fn reals(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The reals of bytes.
pub fn to_reals(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
