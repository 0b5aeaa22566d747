//! Runs kernels by an interpreter of WebAssembly.

use wasmi::{Config, Engine, Instance, Linker, Memory, MemoryType, Module, Store as Runtime};

use residua_base::error::Result;

use crate::interpret;
use crate::kernel::{Body, Kernel};
use crate::wasm::module;

/// Runs a kernel by its code, and a matrix product, which has none, by the interpreter.
pub fn run_generated(kernel: &Kernel, words: &[u32], buffers: &mut [Vec<u8>]) -> Result<()> {
    match kernel.body {
        Body::Product(_) => interpret::run(kernel, words, buffers),
        _ => {
            run_with(kernel, words, buffers);
            Ok(())
        }
    }
}

/// The same with the values of dims.
pub fn run(kernel: &Kernel, buffers: &mut [Vec<u8>], dims: &[u32]) {
    let words: Vec<u32> = kernel.sizes.iter().map(|size| size.at(dims) as u32).collect();
    run_with(kernel, &words, buffers);
}

/// Runs a kernel on the contents of its buffers, which stand one after another in a memory, each padded to a multiple of 16 bytes. What the
/// padding holds is no number that a result should have.
fn run_with(kernel: &Kernel, words: &[u32], buffers: &mut [Vec<u8>]) {
    let bytes = module(std::slice::from_ref(kernel)).unwrap();
    let mut config = Config::default();
    config.wasm_simd(true);
    let engine = Engine::new(&config);
    let module = Module::new(&engine, &bytes[..]).unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    let mut runtime = Runtime::new(&engine, ());
    let total: usize = buffers.iter().map(|buffer| buffer.len() + 32).sum();
    let memory = Memory::new(&mut runtime, MemoryType::new((total >> 16) as u32 + 2, None)).unwrap();
    let mut next = 4096;
    let mut frame = Vec::new();
    for buffer in buffers.iter() {
        let size = buffer.len().next_multiple_of(16).max(16);
        memory.write(&mut runtime, next, buffer).unwrap();
        memory.write(&mut runtime, next + buffer.len(), &vec![0xab; size - buffer.len()]).unwrap();
        frame.push(next as u32);
        next += size;
    }
    frame.extend(words);
    let words: Vec<u8> = frame.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(&mut runtime, 64, &words).unwrap();
    let mut linker = Linker::new(&engine);
    linker.define("env", "memory", memory).unwrap();
    let instance: Instance = linker.instantiate_and_start(&mut runtime, &module).unwrap();
    let function = instance.get_typed_func::<i32, ()>(&runtime, "0").expect("the kernel is exported");
    function.call(&mut runtime, 64).unwrap_or_else(|trap| panic!("{}: {trap}", kernel.name));
    for (buffer, address) in buffers.iter_mut().zip(&frame) {
        memory.read(&runtime, *address as usize, buffer).unwrap();
    }
}

/// The bytes of reals.
pub fn reals(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The reals of bytes.
pub fn to_reals(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// A repeatable sequence of numbers (Knuth's MMIX multiplier; the high bits).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % bound as u64) as usize
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.below(1 << 30) as f64 / f64::from(1 << 30)
    }
}
