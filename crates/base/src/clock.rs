//! Wall time in milliseconds, from wherever this machine keeps it.

#[cfg(target_arch = "wasm32")]
mod page {
    use js_sys::Reflect;
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        /// It exists in windows, workers and Node alike.
        pub type Performance;
        #[wasm_bindgen(method)]
        pub fn now(this: &Performance) -> f64;
    }

    thread_local! {
        pub static PERFORMANCE: Option<Performance> = {
            let performance = Reflect::get(&js_sys::global(), &"performance".into()).ok();
            let has_clock = |performance: &JsValue| {
                Reflect::get(performance, &"now".into()).is_ok_and(|now| now.is_function())
            };
            performance.filter(has_clock).map(JsCast::unchecked_into)
        };
    }
}

/// Milliseconds since some fixed moment.
#[cfg(target_arch = "wasm32")]
pub fn now_ms() -> f64 {
    page::PERFORMANCE.with(|clock| clock.as_ref().map_or_else(js_sys::Date::now, page::Performance::now))
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
