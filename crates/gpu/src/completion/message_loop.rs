//! The loop of `MessageChannel` turns that makes the empty submissions of one context.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::Schedule;
use crate::raw::{self, MessageChannel, RawQueue, now};

/// The loop of one context; it runs while there is a [`Wait`].
pub struct CompletionLoop(Rc<State>);

struct State {
    queue: RawQueue,
    is_software: bool,
    /// There while the loop runs, as Node and Deno do not end while a port is open. None too where there is no `MessageChannel`: then the browser notices
    /// finished work on its timer.
    channel: Cell<Option<MessageChannel>>,
    turn: Closure<dyn FnMut()>,
    waits: Cell<u32>,
    is_running: Cell<bool>,
    schedule: Cell<Schedule>,
}

/// A wait for GPU work: the loop runs until the last one is dropped.
#[must_use = "the wait ends when this is dropped"]
pub struct Wait(Rc<State>);

impl CompletionLoop {
    /// A loop that does not run yet.
    pub fn new(queue: RawQueue, is_software: bool) -> CompletionLoop {
        CompletionLoop(Rc::new_cyclic(|this: &Weak<State>| {
            let this = this.clone();
            let turn = Closure::new(move || {
                if let Some(this) = this.upgrade() {
                    State::turn(this);
                }
            });
            State {
                queue,
                is_software,
                channel: Cell::default(),
                turn,
                waits: Cell::new(0),
                is_running: Cell::new(false),
                schedule: Cell::default(),
            }
        }))
    }

    /// Makes empty submissions until the result is dropped.
    pub fn wait(&self) -> Wait {
        let CompletionLoop(state) = self;
        state.waits.set(state.waits.get() + 1);
        state.update_schedule(|schedule| schedule.begin(now()));
        if !state.is_running.replace(true) {
            state.start();
        }
        Wait(state.clone())
    }

    /// Ends the loop; it cannot be started again.
    pub fn close(&self) {
        self.0.end();
        self.0.is_running.set(true);
    }
}

impl State {
    /// Opens a channel and takes the first turn by it.
    #[inline(never)]
    fn start(&self) {
        if let Ok(channel) = MessageChannel::new() {
            channel.port1().set_onmessage(Some(self.turn.as_ref().unchecked_ref()));
            channel.port2().post_message(0);
            self.channel.set(Some(channel));
        }
    }

    #[inline(never)]
    fn turn(this: Rc<State>) {
        if this.waits.get() == 0 {
            return this.end();
        }
        let now = now();
        if this.update_schedule(|schedule| schedule.turn(now)) {
            this.queue.submit(&js_sys::Array::new());
        }
        if this.is_software && this.schedule.get().pauses(now) {
            // The timer keeps the state, whose loop may be closed meanwhile.
            spawn_local(async move {
                let _ = raw::sleep(1.0).await;
                State::turn(this);
            });
            return;
        }
        if let Some(channel) = this.channel.take() {
            channel.port2().post_message(0);
            this.channel.set(Some(channel));
        }
    }

    /// Closes the channel, and lets the next wait make another one.
    #[inline(never)]
    fn end(&self) {
        if let Some(channel) = self.channel.take() {
            channel.port1().close();
            self.is_running.set(false);
        }
    }

    fn update_schedule<T>(&self, update: impl FnOnce(&mut Schedule) -> T) -> T {
        let mut schedule = self.schedule.get();
        let result = update(&mut schedule);
        self.schedule.set(schedule);
        result
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.0.waits.set(self.0.waits.get() - 1);
    }
}
