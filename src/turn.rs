//! Letting the page live: work that takes long hands the thread back now and then, so that frames are drawn, input is heard
//! and a caller's abort is seen.

/// Milliseconds of work after which the page gets a turn: within a frame of a display at 60 Hz.
#[cfg(target_arch = "wasm32")]
const PATIENCE: f64 = 12.0;

/// Counts the time since the page had its last turn.
pub struct Turns {
    #[cfg(target_arch = "wasm32")]
    last: f64,
}

impl Turns {
    /// Begins to count.
    pub fn new() -> Turns {
        Turns {
            #[cfg(target_arch = "wasm32")]
            last: crate::clock::now_ms(),
        }
    }

    /// Hands the thread back if it was held for long. Natively there is no page.
    #[cfg(not(target_arch = "wasm32"))]
    pub async fn take(&mut self) {}

    /// Hands the thread back if it was held for long.
    #[cfg(target_arch = "wasm32")]
    pub async fn take(&mut self) {
        if crate::clock::now_ms() - self.last > PATIENCE {
            next_turn().await;
            self.last = crate::clock::now_ms();
        }
    }
}

/// Waits until the page has had its turn. A message to oneself comes after what is due already and, unlike a timer, without a least
/// delay. Where there are no channels it returns at once.
#[cfg(target_arch = "wasm32")]
pub async fn next_turn() {
    use js_sys::{Array, Function, Promise, Reflect, global};
    use wasm_bindgen::{JsCast, JsValue};
    use wasm_bindgen_futures::JsFuture;

    let get = |object: &JsValue, name: &str| Reflect::get(object, &name.into());
    let method = |object: &JsValue, name: &str| get(object, name)?.dyn_into::<Function>();
    let channel = || -> Result<(JsValue, JsValue), JsValue> {
        let constructor: Function = get(&global(), "MessageChannel")?.dyn_into()?;
        let channel = Reflect::construct(&constructor, &Array::new())?;
        Ok((get(&channel, "port1")?, get(&channel, "port2")?))
    };
    let Ok((listening, sending)) = channel() else { return };
    let message = Promise::new(&mut |resolve, _| {
        let sent = Reflect::set(&listening, &"onmessage".into(), &resolve)
            .and_then(|_| method(&sending, "postMessage")?.call1(&sending, &JsValue::NULL));
        if sent.is_err() {
            // Resolving a promise throws nothing.
            let _ = resolve.call0(&JsValue::NULL);
        }
    });
    // It resolves and never rejects.
    let _ = JsFuture::from(message).await;
    // An open port keeps Node alive.
    let _ = method(&listening, "close").and_then(|close| close.call0(&listening));
}
