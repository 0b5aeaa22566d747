//! Kernels on several threads, which the facade starts (pkg-template/src/threads).

use std::cell::{Cell, RefCell};

use js_sys::Function;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// The threads.
    #[derive(Clone)]
    pub type KernelPool;
    /// Runs a kernel with frames that follow one another, and writes what it gives.
    #[wasm_bindgen(method, catch)]
    fn frames(
        this: &KernelPool,
        kernel: &Function,
        code: u32,
        address: u32,
        bytes: u32,
        position: u32,
        frames: u32,
        stride: u32,
        results: u32,
        pieces: u32,
    ) -> Result<(), JsValue>;
}

thread_local! {
    static POOL: RefCell<Option<KernelPool>> = const { RefCell::new(None) };
    static CODES: Cell<u32> = const { Cell::new(0) };
}

/// Has kernels that are compiled from now on be shared by a pool.
pub(super) fn keep(pool: KernelPool) {
    POOL.set(Some(pool));
}

/// Code that each thread compiles when it first runs a kernel of it.
pub(super) struct Code {
    number: u32,
    bytes: Box<[u8]>,
    pool: KernelPool,
}

impl Code {
    /// The code of a module, if there are several threads.
    pub fn of(bytes: &[u8]) -> Option<Code> {
        let pool = POOL.with_borrow(Option::clone)?;
        let number = CODES.get() + 1;
        CODES.set(number);
        Some(Code { number, bytes: bytes.into(), pool })
    }

    /// Runs a kernel with as many frames as there are totals.
    pub fn run(&self, kernel: &Function, position: usize, frames: &[u32], totals: &mut [f64]) -> Result<(), JsValue> {
        let pieces = totals.len();
        let stride = size_of_val(frames) / pieces;
        self.pool.frames(
            kernel,
            self.number,
            self.bytes.as_ptr().expose_provenance() as u32,
            self.bytes.len() as u32,
            position as u32,
            frames.as_ptr().expose_provenance() as u32,
            stride as u32,
            totals.as_mut_ptr().expose_provenance() as u32,
            pieces as u32,
        )
    }
}
