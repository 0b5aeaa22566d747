//! Cooperative scheduling: long work yields to the event loop every 12 ms, so that the page draws frames, handles input and can
//! abort the work. [`Slices`] divides loops into slices and reports progress; [`Yielder`] serves loops whose steps are short already.
//! Natively nothing yields.

use std::cell::Cell;
use std::future::Future;
use std::ops::Range;
#[cfg(any(target_arch = "wasm32", test))]
use std::pin::Pin;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::error::Result;

/// Milliseconds of work after which the thread is yielded: less than a frame of a display at 60 Hz.
#[cfg(target_arch = "wasm32")]
const INTERVAL_MS: f64 = 12.0;

/// Items of simple work (a copy, a conversion, a count) in one slice: some tenths of a millisecond.
const SLICE: usize = 1 << 15;

/// Divides long work into slices. After a slice the thread is yielded if that is due; then `progress` receives the share of the
/// work that is done, from 0 to 1, and its error ends the work.
pub struct Slices<'a> {
    progress: &'a dyn Fn(f64) -> Result<()>,
    /// Items of simple work in a slice.
    length: usize,
    /// Where the current part of the work begins, and its share of the whole.
    part: Cell<(f64, f64)>,
}

impl<'a> Slices<'a> {
    /// Slices that yield, and report progress.
    pub fn new(progress: &'a dyn Fn(f64) -> Result<()>) -> Slices<'a> {
        Yielder::new();
        Slices { progress, length: SLICE, part: Cell::new((0.0, 1.0)) }
    }

    /// Slices that yield and report no progress.
    pub fn without_progress() -> Slices<'static> {
        Slices::new(&|_| Ok(()))
    }

    /// One slice of any length, for work that is known to be small. It never yields.
    pub fn unlimited() -> Slices<'static> {
        Slices { length: usize::MAX, ..Slices::without_progress() }
    }

    /// Slices of `length` items of simple work.
    pub fn of_length(length: usize) -> Slices<'static> {
        Slices { length, ..Slices::without_progress() }
    }

    /// The work that follows is the part of the whole between two shares of it.
    pub fn set_part(&self, from: f64, to: f64) {
        self.part.set((from, to - from));
    }

    /// Number of items in a slice if one takes `weight` times as long as simple work.
    pub fn length(&self, weight: usize) -> usize {
        (self.length / weight.max(1)).max(1)
    }

    /// Calls `work` with the ranges of `count` items, slice by slice. An item takes `weight` times as long as simple work.
    pub async fn for_each(
        &self,
        count: usize,
        weight: usize,
        work: &mut dyn FnMut(Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let length = self.length(weight);
        let mut start = 0;
        while start < count {
            let end = start.saturating_add(length).min(count);
            work(start..end)?;
            start = end;
            self.checkpoint(start as f64 / count as f64).await?;
        }
        Ok(())
    }

    /// `count` zeros.
    pub async fn zeros(&self, count: usize) -> Result<Vec<u32>> {
        let mut zeros = Vec::with_capacity(count);
        self.for_each(count, 1, &mut |range| {
            zeros.resize(range.end, 0);
            Ok(())
        })
        .await?;
        Ok(zeros)
    }

    /// The end of a slice: `done` is the share of the current part that is done. Yields and reports if that is due.
    pub async fn checkpoint(&self, done: f64) -> Result<()> {
        let (from, length) = self.part.get();
        // Natively the thread always counts as yielded.
        if (cfg!(not(target_arch = "wasm32")) || self.length < usize::MAX) && Yielder::going_on().yield_if_due().await {
            (self.progress)(from + length * done)?;
        }
        Ok(())
    }
}

/// The result of work that never waits, as over [`Slices::unlimited`].
pub fn run_synchronously<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("the work never waits"),
    }
}

/// Both results of two futures that run concurrently.
#[cfg(any(target_arch = "wasm32", test))]
pub async fn join<A: Unpin, B: Unpin>(
    mut first: Pin<&mut dyn Future<Output = A>>,
    mut second: Pin<&mut dyn Future<Output = B>>,
) -> (A, B) {
    let (mut of_first, mut of_second) = (None, None);
    std::future::poll_fn(|task| {
        if of_first.is_none()
            && let Poll::Ready(result) = first.as_mut().poll(task)
        {
            of_first = Some(result);
        }
        if of_second.is_none()
            && let Poll::Ready(result) = second.as_mut().poll(task)
        {
            of_second = Some(result);
        }
        match (of_first.take(), of_second.take()) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            (first, second) => {
                (of_first, of_second) = (first, second);
                Poll::Pending
            }
        }
    })
    .await
}

#[cfg(target_arch = "wasm32")]
thread_local! {
    /// When the thread was last yielded, or the present work began: there is one event loop, whoever works.
    static LAST: std::cell::Cell<f64> = const { std::cell::Cell::new(0.0) };
}

/// Yields the thread when [`INTERVAL_MS`] have passed since it last did. Natively it never yields.
pub struct Yielder(());

impl Default for Yielder {
    fn default() -> Yielder {
        Yielder::new()
    }
}

impl Yielder {
    /// The interval begins now.
    pub fn new() -> Yielder {
        #[cfg(target_arch = "wasm32")]
        LAST.set(crate::clock::now_ms());
        Yielder(())
    }

    /// The interval of the work before this goes on.
    pub fn going_on() -> Yielder {
        Yielder(())
    }

    /// Yields if the interval has passed; whether it has. Natively it always has.
    pub async fn yield_if_due(&mut self) -> bool {
        self.yield_if_due_at(crate::clock::now_ms()).await
    }

    /// The same for a caller who has just read the clock.
    #[cfg(not(target_arch = "wasm32"))]
    pub async fn yield_if_due_at(&mut self, _now_ms: f64) -> bool {
        true
    }

    /// The same for a caller who has just read the clock.
    #[cfg(target_arch = "wasm32")]
    pub async fn yield_if_due_at(&mut self, now_ms: f64) -> bool {
        let is_due = now_ms - LAST.get() > INTERVAL_MS;
        if is_due {
            // In a box, so that those who wait do not hold its states each.
            let turn: Pin<Box<dyn Future<Output = ()>>> = Box::pin(yield_now());
            turn.await;
            LAST.set(crate::clock::now_ms());
        }
        is_due
    }
}

/// Yields to the event loop. A message to the same context follows the tasks that are queued already and, unlike a timer, has no minimum
/// delay. Where there are no message channels it returns at once.
#[cfg(target_arch = "wasm32")]
pub async fn yield_now() {
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
    // Node does not end while a port is open.
    let _ = method(&listening, "close").and_then(|close| close.call0(&listening));
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{Slices, join, run_synchronously};
    use crate::error::{Error, ErrorCode};

    #[test]
    fn every_item_is_worked_on_once_and_in_order_for_any_slice_length() {
        for (slice, weight, count) in [(1, 1, 5), (3, 1, 10), (4, 2, 7), (2, 9, 3), (8, 1, 0), (usize::MAX, 1, 4)] {
            let mut done = Vec::new();
            let slices = Slices::of_length(slice);
            run_synchronously(slices.for_each(count, weight, &mut |range| {
                assert!(range.len() <= (slice / weight).max(1), "{range:?}");
                done.extend(range);
                Ok(())
            }))
            .unwrap();
            assert_eq!(done, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn progress_is_a_share_of_the_whole_and_its_error_ends_the_work() {
        let reports = RefCell::new(Vec::new());
        let progress = |done: f64| {
            reports.borrow_mut().push(done);
            if done > 0.7 { Err(Error::new(ErrorCode::Aborted, "enough")) } else { Ok(()) }
        };
        let slices = Slices { length: 2, ..Slices::new(&progress) };
        slices.set_part(0.5, 1.0);
        let mut last = 0;
        let ended = run_synchronously(slices.for_each(8, 1, &mut |range| {
            last = range.end;
            Ok(())
        }));
        assert_eq!((ended.unwrap_err().code, last), (ErrorCode::Aborted, 4));
        assert_eq!(*reports.borrow(), [0.625, 0.75]);
    }

    #[test]
    fn join_gives_both_results() {
        let (first, second) = (std::pin::pin!(async { 1 }), std::pin::pin!(async { "two" }));
        assert_eq!(run_synchronously(join(first, second)), (1, "two"));
    }
}
