//! Wall time in milliseconds, from wherever this machine keeps it.

/// Milliseconds since some fixed moment.
#[cfg(target_arch = "wasm32")]
pub fn now_ms() -> f64 {
    use wasm_bindgen::JsCast;
    // `performance` exists in windows, workers and Node alike, but has a type of its own only in the first two.
    let performance = js_sys::Reflect::get(&js_sys::global(), &"performance".into());
    let now = performance.as_ref().ok().and_then(|performance| js_sys::Reflect::get(performance, &"now".into()).ok());
    match (performance, now.and_then(|now| now.dyn_into::<js_sys::Function>().ok())) {
        (Ok(performance), Some(now)) => now.call0(&performance).ok().and_then(|ms| ms.as_f64()).unwrap_or(0.0),
        _ => js_sys::Date::now(),
    }
}

/// Milliseconds since some fixed moment.
#[cfg(not(target_arch = "wasm32"))]
pub fn now_ms() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e3
}
