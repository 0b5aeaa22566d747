//! Kernels on several threads.

use js_sys::Object;
use residua_cpu::KernelPool;
use wasm_bindgen::prelude::*;

/// Has kernels that are compiled from now on be shared by a pool; gives the functions that they import, by their places in the function table.
#[wasm_bindgen(js_name = setKernelPool)]
pub fn set_kernel_pool(pool: KernelPool) -> Result<Object, JsValue> {
    residua_cpu::set_pool(pool)
}
