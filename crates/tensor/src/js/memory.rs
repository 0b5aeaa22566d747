//! Memory of the module for tensors of the CPU engine.

use std::alloc::{Layout, alloc as allocate, dealloc as free};

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::plan::GRAIN;

/// What kernels may read beyond the padding of a tensor.
const BEYOND: usize = 16;

fn layout(bytes: u32) -> Option<Layout> {
    Layout::from_size_align((bytes as usize).checked_add(BEYOND)?, GRAIN as usize).ok()
}

/// The address of so many bytes, a multiple of 16; 0 if there are none.
#[wasm_bindgen]
pub fn alloc(bytes: u32) -> u32 {
    let Some(layout) = layout(bytes) else { return 0 };
    // SAFETY: the layout is not empty.
    unsafe { allocate(layout) as usize as u32 }
}

/// Gives back what [`alloc`] gave.
#[wasm_bindgen]
pub fn dealloc(address: u32, bytes: u32) {
    if address != 0
        && let Some(layout) = layout(bytes)
    {
        // SAFETY: the facade gives back each address once, with the bytes that it asked for.
        unsafe { free(address as usize as *mut u8, layout) }
    }
}

/// The module's memory, a `WebAssembly.Memory`, which generated kernels import.
#[wasm_bindgen(js_name = wasmMemory)]
pub fn wasm_memory() -> JsValue {
    wasm_bindgen::memory()
}
