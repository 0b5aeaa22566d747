//! One context for all tests that test no context: a kernel is compiled once on its device, which takes a software adapter seconds.

use residua_gpu::Context;
use std::cell::RefCell;

thread_local! {
    static SHARED: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// The context that tests share. What earlier tests compiled, counted and measured is there, so a test of these takes [`own_context`].
pub async fn shared_context() -> Context {
    let shared = SHARED.with_borrow(Clone::clone);
    if let Some(context) = shared.filter(|context| context.check().is_ok()) {
        return context;
    }
    let context = own_context().await;
    SHARED.set(Some(context.clone()));
    context
}

/// A context of its own.
pub async fn own_context() -> Context {
    Context::create(None, None).await.expect("a WebGPU device: these tests need one")
}
