//! Plain JavaScript objects, made and read.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use js_sys::{Object, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::future_to_promise;

use residua_base::error::{Error, Result};

/// Sets a property of an object that was made here.
pub(super) fn set(object: &Object, name: &str, value: impl Into<JsValue>) {
    put(object, name, value.into());
}

#[inline(never)]
fn put(object: &Object, name: &str, value: JsValue) {
    // Setting an ordinary property of a plain, extensible object cannot fail.
    let _ = Reflect::set(object, &name.into(), &value);
}

/// Work for JavaScript. All of it is of one type, so that the module holds the code of one promise.
type Work = Pin<Box<dyn Future<Output = Result<JsValue, JsValue>>>>;

/// A promise of a future's result.
pub(super) fn promise(future: impl Future<Output = Result<JsValue, JsValue>> + 'static) -> Promise {
    let work: Work = Box::pin(future);
    future_to_promise(work)
}

/// The same for what may not have to wait: then its result is given in place of a promise, which takes longer than a small evaluation.
pub(super) fn result_or_promise(future: impl Future<Output = Result<JsValue, JsValue>> + 'static) -> Promise {
    let mut work: Work = Box::pin(future);
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(result)) => result.unchecked_into(),
        Poll::Ready(Err(error)) => Promise::reject(&error),
        // The promise is polled again when the wait is over.
        Poll::Pending => future_to_promise(work),
    }
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

/// Reads a string; anything else gives none.
pub(super) fn text(object: &JsValue, name: &str) -> Option<String> {
    property(object, name).ok()?.as_string()
}

/// Whether a property is there and says yes.
pub(super) fn is_truthy(object: &JsValue, name: &str) -> bool {
    property(object, name).is_ok_and(|value| value.is_truthy())
}

pub(super) fn property(object: &JsValue, name: &str) -> Result<JsValue> {
    if object.is_undefined() || object.is_null() {
        return Ok(JsValue::UNDEFINED);
    }
    Reflect::get(object, &name.into())
        .map_err(|_| Error::invalid_argument(format!("the options have no readable {name}")))
}
