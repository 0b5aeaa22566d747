//! The loop of `MessageChannel` turns that makes the empty submissions of one context.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::Schedule;
use crate::raw::{self, MessageChannel, MessagePort, RawQueue, now};

/// The loop of one context; it runs while there is a [`Wait`].
pub struct CompletionLoop(Rc<State>);

struct State {
    queue: RawQueue,
    is_software: bool,
    /// None where there is no `MessageChannel`: then the browser notices finished work on its timer.
    channel: Option<Channel>,
    waits: Cell<u32>,
    is_running: Cell<bool>,
    schedule: Cell<Schedule>,
}

struct Channel {
    listening: MessagePort,
    sending: MessagePort,
    turn: Closure<dyn FnMut()>,
}

/// A wait for GPU work: the loop runs until the last one is dropped.
#[must_use = "the wait ends when this is dropped"]
pub struct Wait(Rc<State>);

impl CompletionLoop {
    /// A loop that does not run yet.
    pub fn new(queue: RawQueue, is_software: bool) -> CompletionLoop {
        CompletionLoop(Rc::new_cyclic(|this: &Weak<State>| {
            let this = this.clone();
            let channel = MessageChannel::new().ok().map(|channel| Channel {
                listening: channel.port1(),
                sending: channel.port2(),
                turn: Closure::new(move || {
                    if let Some(this) = this.upgrade() {
                        State::turn(this);
                    }
                }),
            });
            State {
                queue,
                is_software,
                channel,
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
        if let Some(channel) = &state.channel
            && !state.is_running.replace(true)
        {
            // The port has a listener only while the loop runs: Node does not end while a port has one.
            channel.listening.set_onmessage(Some(channel.turn.as_ref().unchecked_ref()));
            channel.sending.post_message(0);
        }
        Wait(state.clone())
    }

    /// Ends the loop; it cannot be started again.
    pub fn close(&self) {
        if let Some(channel) = &self.0.channel {
            channel.listening.set_onmessage(None);
            channel.listening.close();
        }
    }
}

impl State {
    fn turn(this: Rc<State>) {
        let Some(channel) = &this.channel else { return };
        if this.waits.get() == 0 {
            this.is_running.set(false);
            channel.listening.set_onmessage(None);
            return;
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
        channel.sending.post_message(0);
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
