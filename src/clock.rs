//! Wall time in milliseconds, from wherever this machine keeps it.

/// Milliseconds since some fixed moment.
#[cfg(target_arch = "wasm32")]
pub fn now_ms() -> f64 {
    use js_sys::{Function, Reflect};
    use wasm_bindgen::{JsCast, JsValue};

    thread_local! {
        /// `performance` exists in windows, workers and Node alike, but has a type of its own only in the first two.
        static CLOCK: Option<(JsValue, Function)> = {
            let performance = Reflect::get(&js_sys::global(), &"performance".into()).ok();
            performance.and_then(|performance| {
                let now = Reflect::get(&performance, &"now".into()).ok()?.dyn_into().ok()?;
                Some((performance, now))
            })
        };
    }
    CLOCK.with(|clock| match clock {
        Some((performance, now)) => now.call0(performance).ok().and_then(|ms| ms.as_f64()).unwrap_or(0.0),
        None => js_sys::Date::now(),
    })
}

/// Milliseconds since some fixed moment.
#[cfg(not(target_arch = "wasm32"))]
pub fn now_ms() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e3
}
