//! The wasm-bindgen boundary of the tensor module.

use wasm_bindgen::prelude::wasm_bindgen;

/// Version of the module, which is that of the package.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
