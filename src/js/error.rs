//! Errors on their way to JavaScript.

use wasm_bindgen::JsValue;

use residua_base::error::Error;

use super::value::set;

/// An `Error` object with the properties that the facade reads.
pub(super) fn to_js(error: Error) -> JsValue {
    let object = js_sys::Error::new(&error.message);
    set(&object, "code", error.code.as_str());
    if let Some(wgsl) = &error.wgsl {
        set(&object, "wgsl", wgsl.as_str());
    }
    object.into()
}
