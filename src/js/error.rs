//! Errors on their way to JavaScript and back.

use wasm_bindgen::JsValue;

use residua_base::error::{Error, ErrorCode};

use super::value::text;

pub(super) use residua_module::to_js;

/// The error of what JavaScript has thrown: a `ResiduaError` keeps its code.
pub(super) fn from_js(thrown: &JsValue) -> Error {
    let code = text(thrown, "code").and_then(|code| ErrorCode::from_name(&code)).unwrap_or(ErrorCode::Internal);
    let message = text(thrown, "message").unwrap_or_else(|| format!("{thrown:?}"));
    Error::new(code, message)
}
