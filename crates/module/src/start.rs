//! What happens when the module is loaded, and when it fails for good.

use std::cell::RefCell;

use wasm_bindgen::prelude::*;

thread_local! {
    static ON_PANIC: RefCell<Option<js_sys::Function>> = const { RefCell::new(None) };
}

/// A panic is an error in this library that cannot be unwound. Its message goes to the console and to the listener of
/// [`on_panic`], so that pending calls can be rejected.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|info| {
        console_error_panic_hook::hook(info);
        let listener = ON_PANIC.with(|listener| listener.borrow_mut().take());
        if let Some(listener) = listener {
            // An exception of the listener has no receiver.
            let _ = listener.call1(&JsValue::NULL, &info.to_string().into());
        }
    }));
}

/// Calls `listener(message)` when this instance of the module panics; from then on nothing of it is usable.
#[wasm_bindgen(js_name = onPanic)]
pub fn on_panic(listener: js_sys::Function) {
    ON_PANIC.with(|slot| *slot.borrow_mut() = Some(listener));
}

/// After a panic: the next call runs on a fresh instance of the same module, and objects of the old one are dead.
#[wasm_bindgen]
pub fn restart() {
    wasm_bindgen::handler::schedule_reinit();
}
