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

/// The clock's least step in milliseconds, 5 µs to a tenth in Chromium, 1 in Firefox: what is timed has to take several of them. Takes two steps' time.
#[cfg(target_arch = "wasm32")]
pub fn tick_ms() -> f64 {
    /// A clock that stands, as in tests that bring their own, is not waited for.
    const MOST_READS: u32 = 1 << 18;
    let next = |from: f64| (0..MOST_READS).map(|_| now_ms()).find(|&now| now != from).unwrap_or(from);
    let began = next(now_ms());
    (next(began) - began).abs()
}

/// Milliseconds since some fixed moment.
#[cfg(not(target_arch = "wasm32"))]
pub fn now_ms() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e3
}
