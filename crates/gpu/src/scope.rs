//! Error scopes: the errors of a few calls on the device, as [`PendingErrors`] that are awaited later.
//!
//! Scopes of all three kinds are pushed on the raw device, since wgpu panics on a `GPUInternalError`. They are popped in the
//! same turn of the event loop, so that scopes of different tasks, or of the application, never interleave.

use wasm_bindgen_futures::JsFuture;

use super::context::Context;
use super::raw::{self, RawDevice};
use residua_base::{ErrorCode, Result};

/// The kinds of error scope, in the order in which they are pushed, each with what it is to us.
const KINDS: [(&str, ErrorCode); 3] =
    [("validation", ErrorCode::Internal), ("internal", ErrorCode::Internal), ("out-of-memory", ErrorCode::OutOfMemory)];

/// What the device will say.
#[must_use = "an error of the device is lost if they are not awaited"]
pub struct PendingErrors(Vec<(ErrorCode, JsFuture)>);

/// Does some calls on the device within error scopes.
pub fn scoped<T>(device: &RawDevice, calls: impl FnOnce() -> T) -> (T, PendingErrors) {
    open(device);
    let result = calls();
    (result, close(device))
}

#[inline(never)]
fn open(device: &RawDevice) {
    for (filter, _) in KINDS {
        device.push_error_scope(filter);
    }
}

#[inline(never)]
fn close(device: &RawDevice) -> PendingErrors {
    let mut pending_errors = PendingErrors(Vec::new());
    for (_, code) in KINDS.iter().rev() {
        pending_errors.0.push((*code, JsFuture::from(device.pop_error_scope())));
    }
    pending_errors
}

impl PendingErrors {
    /// Waits for them: nothing, or the first error in the device's words. Fails when the device is lost meanwhile.
    pub async fn wait(self, context: &Context) -> Result<Option<(ErrorCode, String)>> {
        let mut first = None;
        for (code, popped) in self.0 {
            // A device that is lost may reject, which says nothing about the calls.
            if let Ok(error) = context.unless_lost(popped).await?
                && !error.is_null()
                && !error.is_undefined()
                && first.is_none()
            {
                first = Some((code, raw::words(&error)));
            }
        }
        Ok(first)
    }
}
