//! Long work of a compile in parts, so that the page has turns in between: a future that is pending where the time of a part is over, and goes on when
//! it is polled again. Nothing wakes it: the facade polls it in later turns of the event loop, or drops it.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use residua_base::clock::now_ms;

thread_local! {
    /// When the present part ends.
    static END: Cell<f64> = const { Cell::new(f64::INFINITY) };
}

/// Does work for about so many milliseconds. Gives its result when it is done.
pub fn advance<T>(work: Pin<&mut (impl Future<Output = T> + ?Sized)>, milliseconds: f64) -> Option<T> {
    END.set(now_ms() + milliseconds);
    let polled = work.poll(&mut Context::from_waker(Waker::noop()));
    END.set(f64::INFINITY);
    match polled {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Ends the part if its time is over. To be called between steps that are short.
pub async fn checkpoint() {
    let end = END.get();
    if end == f64::INFINITY || now_ms() < end {
        return;
    }
    let mut is_first = true;
    poll_fn(|_| if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }).await;
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::fuse::Target;
    use crate::plan::Plan;
    use crate::recorded::cases;
    use crate::tape::Recipe;
    use crate::wasm;

    #[test]
    fn a_compile_in_many_parts_is_that_in_one() {
        for case in cases().into_iter().step_by(9) {
            let recipe = Recipe::decode(&case.tape).expect("a tape that is recorded");
            for is_host in [true, false] {
                let target = Target { is_host, most_buffers: 8 };
                let mut work = pin!(async {
                    let plan = Plan::in_turns(&recipe, &target).await?;
                    let module = if is_host { wasm::module_in_turns(&plan.kernels).await? } else { Vec::new() };
                    Ok::<_, residua_base::Error>((plan, module))
                });
                let mut parts = 1;
                let (plan, module) = loop {
                    // The time of each part is over at its beginning.
                    match advance(work.as_mut(), 0.0) {
                        Some(result) => break result.expect("a recipe that plans"),
                        None => parts += 1,
                    }
                };
                assert!(parts > plan.kernels.len(), "{}: {parts} parts", case.title);
                let whole = Plan::new(&recipe, &target).expect("a recipe that plans");
                assert_eq!(plan.to_string(), whole.to_string(), "{}", case.title);
                if is_host {
                    assert_eq!(module, wasm::module(&whole.kernels).expect("kernels of the host"), "{}", case.title);
                }
            }
        }
    }
}
