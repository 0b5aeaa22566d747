//! Letting the page live: work that takes long hands the thread back now and then, so that frames are drawn, input is heard
//! and a caller's abort is seen.

use std::cell::Cell;
use std::future::Future;
use std::ops::Range;
#[cfg(any(target_arch = "wasm32", test))]
use std::pin::Pin;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::error::Result;

/// Milliseconds of work after which the page gets a turn: within a frame of a display at 60 Hz.
#[cfg(target_arch = "wasm32")]
const PATIENCE: f64 = 12.0;

/// Items of simple work (a copy, a conversion, a count) that are done in one go: some tenths of a millisecond's worth.
const SLICE: usize = 1 << 15;

/// The pace of long work: it is done in slices, and after a slice the page gets a turn if it has waited for long. A listener hears then
/// how much is done, from 0 to 1, and ends the work by an error.
pub struct Pace<'a> {
    listener: &'a dyn Fn(f64) -> Result<()>,
    slice: usize,
    /// Which part of the whole the present work is: from where on, and how much.
    part: Cell<(f64, f64)>,
    #[cfg(target_arch = "wasm32")]
    turns: std::cell::RefCell<Turns>,
}

impl<'a> Pace<'a> {
    /// A pace at which the page lives.
    pub fn new(listener: &'a dyn Fn(f64) -> Result<()>) -> Pace<'a> {
        Pace {
            listener,
            slice: SLICE,
            part: Cell::new((0.0, 1.0)),
            #[cfg(target_arch = "wasm32")]
            turns: Turns::new().into(),
        }
    }

    /// A pace at which the page lives, for work that nobody listens to.
    pub fn unheard() -> Pace<'static> {
        Pace::new(&|_| Ok(()))
    }

    /// All in one go, for work that is known to be small.
    pub fn at_once() -> Pace<'static> {
        Pace { slice: usize::MAX, ..Pace::unheard() }
    }

    /// In slices of so many items.
    #[cfg(test)]
    pub fn in_slices_of(slice: usize) -> Pace<'static> {
        Pace { slice, ..Pace::unheard() }
    }

    /// What follows is this part of the whole.
    pub fn begin(&self, from: f64, to: f64) {
        self.part.set((from, to - from));
    }

    /// How many items of that weight are a slice, see [`Pace::through`].
    pub fn slice_length(&self, weight: usize) -> usize {
        (self.slice / weight.max(1)).max(1)
    }

    /// Does `work` on all items, slice after slice. `weight` is how many times as long as simple work an item takes.
    pub async fn through(
        &self,
        count: usize,
        weight: usize,
        work: &mut dyn FnMut(Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let length = self.slice_length(weight);
        let mut start = 0;
        while start < count {
            let end = start.saturating_add(length).min(count);
            work(start..end)?;
            start = end;
            self.rest(start as f64 / count as f64).await?;
        }
        Ok(())
    }

    /// So many zeros.
    pub async fn zeros(&self, count: usize) -> Result<Vec<u32>> {
        let mut zeros = Vec::with_capacity(count);
        self.through(count, 1, &mut |range| {
            zeros.resize(range.end, 0);
            Ok(())
        })
        .await?;
        Ok(zeros)
    }

    /// A slice has ended, and so much of the present work.
    pub async fn rest(&self, done: f64) -> Result<()> {
        let (from, length) = self.part.get();
        #[cfg(target_arch = "wasm32")]
        if self.slice < usize::MAX && self.turns.borrow().is_due() {
            next_turn().await;
            self.turns.borrow_mut().last = crate::clock::now_ms();
            return (self.listener)(from + length * done);
        }
        #[cfg(not(target_arch = "wasm32"))]
        (self.listener)(from + length * done)?;
        let _ = (from, length, done);
        Ok(())
    }
}

/// The result of work that rests nowhere, as at the pace of [`Pace::at_once`].
pub fn at_once<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("work that rests nowhere is done at once"),
    }
}

/// Waits for two things at the same time.
#[cfg(any(target_arch = "wasm32", test))]
pub async fn both<A: Unpin, B: Unpin>(
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
        if self.is_due() {
            next_turn().await;
            self.last = crate::clock::now_ms();
        }
    }

    #[cfg(target_arch = "wasm32")]
    fn is_due(&self) -> bool {
        crate::clock::now_ms() - self.last > PATIENCE
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{Pace, at_once, both};
    use crate::error::{Error, ErrorCode};

    #[test]
    fn every_item_is_done_once_in_order_whatever_the_slice() {
        for (slice, weight, count) in [(1, 1, 5), (3, 1, 10), (4, 2, 7), (2, 9, 3), (8, 1, 0), (usize::MAX, 1, 4)] {
            let mut done = Vec::new();
            let pace = Pace::in_slices_of(slice);
            at_once(pace.through(count, weight, &mut |range| {
                assert!(range.len() <= (slice / weight).max(1), "{range:?}");
                done.extend(range);
                Ok(())
            }))
            .unwrap();
            assert_eq!(done, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_listener_hears_how_much_of_the_whole_is_done_and_ends_the_work() {
        let heard = RefCell::new(Vec::new());
        let listener = |done: f64| {
            heard.borrow_mut().push(done);
            if done > 0.7 { Err(Error::new(ErrorCode::Aborted, "enough")) } else { Ok(()) }
        };
        let pace = Pace { slice: 2, ..Pace::new(&listener) };
        pace.begin(0.5, 1.0);
        let mut last = 0;
        let ended = at_once(pace.through(8, 1, &mut |range| {
            last = range.end;
            Ok(())
        }));
        assert_eq!((ended.unwrap_err().code, last), (ErrorCode::Aborted, 4));
        assert_eq!(*heard.borrow(), [0.625, 0.75]);
    }

    #[test]
    fn both_gives_both_results() {
        let (first, second) = (std::pin::pin!(async { 1 }), std::pin::pin!(async { "two" }));
        assert_eq!(at_once(both(first, second)), (1, "two"));
    }
}
