//! Plain JavaScript objects, made and read.

use js_sys::{Object, Reflect};
use wasm_bindgen::JsValue;

use crate::error::{Error, Result};

/// Sets a property of an object that was made here.
pub(super) fn set(object: &Object, name: &str, value: impl Into<JsValue>) {
    // Setting an ordinary property of a plain, extensible object cannot fail.
    let _ = Reflect::set(object, &name.into(), &value.into());
}

/// Reads a number; absent and undefined give none.
pub(super) fn number(object: &JsValue, name: &str) -> Result<Option<f64>> {
    let value = property(object, name)?;
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    match value.as_f64() {
        Some(number) => Ok(Some(number)),
        None => Err(Error::invalid_argument(format!("{name} is not a number"))),
    }
}

fn property(object: &JsValue, name: &str) -> Result<JsValue> {
    if object.is_undefined() || object.is_null() {
        return Ok(JsValue::UNDEFINED);
    }
    Reflect::get(object, &name.into())
        .map_err(|_| Error::invalid_argument(format!("the options have no readable {name}")))
}
