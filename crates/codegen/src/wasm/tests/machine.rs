//! Runs kernels by an interpreter of WebAssembly and by [`interpret`], and compares what they leave in memory.

use wasmi::{Caller, Config, Engine, Linker, Memory, MemoryType, Module, Store as Runtime};

use crate::wasm::{MathFunction, frame, math_function, module};
use crate::{CheckedKernel, ElementType, InstanceRange, KernelBuffer, View, interpret};
use residua_ir::graph::{Op, exponential};

/// Where the exponential's table stands.
pub(super) const POWERS: u32 = 4096;

/// A buffer's contents.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Contents {
    Reals(Vec<f64>),
    Indices(Vec<u32>),
}

impl Contents {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Contents::Reals(numbers) => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
            Contents::Indices(indices) => indices.iter().flat_map(|index| index.to_le_bytes()).collect(),
        }
    }
}

/// Runs a kernel as the generated module's first function, in a memory where the buffers stand one after another, at
/// addresses that are not aligned for vectors.
pub(super) fn run_compiled(
    kernel: &CheckedKernel,
    buffers: &mut [Contents],
    dispatch: &InstanceRange,
) -> Result<f64, String> {
    let bytes = module(std::slice::from_ref(kernel), POWERS).unwrap();
    let mut config = Config::default();
    config.wasm_simd(true);
    let engine = Engine::new(&config);
    let module = Module::new(&engine, &bytes[..]).expect("the module is valid");
    let mut runtime = Runtime::new(&engine, ());
    let memory = Memory::new(&mut runtime, MemoryType::new(8, None)).unwrap();

    let powers: Vec<f64> = exponential::powers().into_iter().flatten().collect();
    memory.write(&mut runtime, POWERS as usize, &Contents::Reals(powers).bytes()).unwrap();
    let mut next = 16384;
    let mut places = Vec::new();
    for buffer in buffers.iter() {
        let bytes = buffer.bytes();
        memory.write(&mut runtime, next, &bytes).unwrap();
        let elements = match buffer {
            Contents::Reals(numbers) => numbers.len(),
            Contents::Indices(indices) => indices.len(),
        };
        places.push((next as u32, elements as u32));
        next += bytes.len().next_multiple_of(8) + 8;
    }
    let words = frame(dispatch, places.iter().copied());
    memory.write(&mut runtime, 64, &Contents::Indices(words).bytes()).unwrap();

    let mut linker = Linker::new(&engine);
    linker.define("env", "memory", memory).unwrap();
    for op in Op::ALL {
        match math_function(*op) {
            Some(MathFunction::Unary(function)) => {
                linker.func_wrap("math", op.name(), move |_: Caller<()>, a: f64| function(a)).unwrap();
            }
            Some(MathFunction::Binary(function)) => {
                linker.func_wrap("math", op.name(), move |_: Caller<()>, a: f64, b: f64| function(a, b)).unwrap();
            }
            None => {}
        }
    }
    let instance = linker.instantiate_and_start(&mut runtime, &module).expect("the imports are those it asks for");
    let function = instance.get_typed_func::<i32, f64>(&runtime, "0").expect("the kernel is exported");
    let total = function.call(&mut runtime, 64).map_err(|trap| trap.to_string());

    for (buffer, (place, _)) in buffers.iter_mut().zip(&places) {
        if let Contents::Reals(numbers) = buffer {
            for (position, number) in numbers.iter_mut().enumerate() {
                let mut bytes = [0; 8];
                memory.read(&runtime, *place as usize + 8 * position, &mut bytes).unwrap();
                *number = f64::from_le_bytes(bytes);
            }
        }
    }
    total
}

pub(super) fn run_interpreted(
    kernel: &CheckedKernel,
    buffers: &mut [Contents],
    dispatch: &InstanceRange,
) -> Result<f64, String> {
    let mut views: Vec<View> = buffers
        .iter_mut()
        .zip(&kernel.buffers)
        .map(|(contents, buffer)| match contents {
            Contents::Reals(numbers) => match buffer.written {
                true => View::Write(numbers),
                false => View::Read(numbers),
            },
            Contents::Indices(indices) => View::Index(indices),
        })
        .collect();
    interpret::run(kernel, &mut views, dispatch).map_err(|error| error.message.clone())
}

/// Equal to the last bit, since both forms do the same operations in the same order; but a NaN is a NaN, and the sign of a
/// zero that `min` or `max` chose from 0 and −0 is not fixed.
pub(super) fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

pub(super) fn assert_same(compiled: &[Contents], interpreted: &[Contents], about: &str) {
    for (compiled, interpreted) in compiled.iter().zip(interpreted) {
        if let (Contents::Reals(compiled), Contents::Reals(interpreted)) = (compiled, interpreted) {
            for (position, (a, b)) in compiled.iter().zip(interpreted).enumerate() {
                assert!(same(*a, *b), "{about}: {a} compiled, {b} interpreted, at {position}");
            }
        }
    }
}

pub(super) fn real(name: &'static str, written: bool) -> KernelBuffer {
    KernelBuffer { name, dtype: ElementType::Real, written }
}

pub(super) fn indices(name: &'static str) -> KernelBuffer {
    KernelBuffer { name, dtype: ElementType::U32, written: false }
}
