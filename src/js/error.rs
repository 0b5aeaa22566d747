//! Errors on their way to JavaScript and back.

use wasm_bindgen::JsValue;

use residua_base::error::{Error, ErrorCode};

use super::value::{set, text};

/// An `Error` object with the properties that the facade reads.
pub(super) fn to_js(error: Error) -> JsValue {
    let object = js_sys::Error::new(&error.message);
    set(&object, "code", error.code.as_str());
    if let Some(wgsl) = &error.wgsl {
        set(&object, "wgsl", wgsl.as_str());
    }
    object.into()
}

/// The error of what JavaScript has thrown: a `ResiduaError` keeps its code.
pub(super) fn from_js(thrown: &JsValue) -> Error {
    let code = text(thrown, "code").and_then(|code| ErrorCode::from_name(&code)).unwrap_or(ErrorCode::Internal);
    let message = text(thrown, "message").unwrap_or_else(|| format!("{thrown:?}"));
    Error::new(code, message)
}
