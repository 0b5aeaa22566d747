//! Errors on their way to JavaScript.

use js_sys::{Object, Reflect};
use residua_base::error::Error;
use wasm_bindgen::JsValue;

/// An `Error` object with the properties that the facade reads.
pub fn to_js(error: Error) -> JsValue {
    let object = js_sys::Error::new(&error.message);
    set(&object, "code", error.code.as_str());
    if let Some(wgsl) = &error.wgsl {
        set(&object, "wgsl", wgsl);
    }
    object.into()
}

fn set(object: &Object, name: &str, value: &str) {
    // Setting an ordinary property of a plain, extensible object cannot fail.
    let _ = Reflect::set(object, &name.into(), &value.into());
}
