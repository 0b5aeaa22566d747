//! A device with what its users share: the buffer pool, the pipeline cache, the limits, and the notice of its loss.
//!
//! A [`Context`] is a cheap handle; clones mean the same device. Once the device is lost every operation fails with
//! [`ErrorCode::DeviceLost`], also those that were waiting; after `dispose` with [`ErrorCode::Disposed`].

use residua_base::list::Listed;
use std::cell::{Cell, RefCell};
use std::future::Future as _;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};

use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::completion::CompletionLoop;
use super::limits::Limits;
use super::pipeline::PipelineCache;
use super::pool::Pool;
use super::profile::Profile;
use super::raw::{self, RawDevice, get_text, object};
use super::request::{self, Adapter};
use super::rounding::Rounding;
use super::scope::{PendingErrors, scoped};
use super::speed::Speed;
use super::times::Times;
use residua_base::{Error, ErrorCode, Result};

/// A share of the device's memory that unused buffers may hold: enough for the buffers of one large problem, so that solving
/// again and again allocates nothing.
const MAX_UNUSED_BYTES: u64 = 256 << 20;

/// How long to wait for word of a loss after the device has failed in a way that a loss explains and its work is done, in milliseconds.
const LOSS_PATIENCE: f64 = 200.0;

/// A device. See the [module](self).
#[derive(Clone)]
pub struct Context(pub(super) Rc<Shared>);

/// What the handles of a [`Context`] share.
pub(super) struct Shared {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub raw: RawDevice,
    /// Requested by us, so that disposing destroys it.
    owned: bool,
    pub limits: Limits,
    adapter: Adapter,
    state: RefCell<State>,
    lost: Promise,
    waiting: RefCell<Vec<(u64, Waker)>>,
    next_waiting: Cell<u64>,
    pub pool: RefCell<Pool<wgpu::Buffer>>,
    pub pipelines: RefCell<PipelineCache>,
    pub counters: Counters,
    pub completion: CompletionLoop,
    /// Times of kernels, if profiling was requested.
    pub profile: Option<Profile>,
    /// How fast the device answers, once that was measured.
    pub speed: Cell<Option<Speed>>,
    /// How the device rounds, once that was tested.
    pub rounding: Cell<Option<Rounding>>,
}

/// Whether a context can be used.
enum State {
    Usable,
    Lost { reason: String, message: String },
    Disposed,
}

/// What has been done so far.
#[derive(Default)]
pub(super) struct Counters {
    pub dispatches: Cell<u64>,
    pub submits: Cell<u64>,
    pub readbacks: Cell<u64>,
    pub bind_groups: Cell<u64>,
}

impl Counters {
    /// Counts `more` of one kind.
    pub fn add(counter: &Cell<u64>, more: usize) {
        counter.set(counter.get() + more as u64);
    }
}

/// Figures of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Live GPU buffers, pooled ones included.
    pub buffers: u64,
    /// Their size.
    pub buffer_bytes: u64,
    /// The most that it ever was.
    pub peak_buffer_bytes: u64,
    /// Pipelines compiled.
    pub pipelines: u64,
    /// Requested pipelines that existed already.
    pub pipeline_cache_hits: u64,
    /// Kernels run.
    pub dispatches: u64,
    /// Command buffers submitted.
    pub submits: u64,
    /// Runs that brought something back.
    pub readbacks: u64,
    /// Bind groups made.
    pub bind_groups: u64,
}

impl Context {
    /// Whether there is an adapter to make a context of.
    pub async fn is_available() -> bool {
        request::request_adapter(None).await.is_ok()
    }

    /// A context on a device of its own, or on the application's `device`, which the application keeps owning.
    /// `power_preference` is `low-power` or `high-performance`. Fails with [`ErrorCode::GpuUnavailable`], saying what is not
    /// there.
    pub async fn create(power_preference: Option<&str>, device: Option<JsValue>) -> Result<Context> {
        Context::create_with(power_preference, device, false).await
    }

    /// The same; with `profile` it measures where its time goes, for [`Context::times`].
    pub async fn create_with(
        power_preference: Option<&str>,
        device: Option<JsValue>,
        profile: bool,
    ) -> Result<Context> {
        let (raw, adapter, owned) = match device {
            Some(device) => {
                request::check_device(&device)?;
                let raw: RawDevice = device.unchecked_into();
                let adapter = request::adapter(&raw, None);
                (raw, adapter, false)
            }
            None => {
                let requested = request::request_adapter(power_preference).await?;
                let raw = request::request_device(&requested).await?;
                let adapter = request::adapter(&raw, Some(&requested));
                (raw, adapter, true)
            }
        };
        let limits = request::limits(&raw);
        let (device, queue) = match request::hand_over(&raw).await {
            Ok(taken) => taken,
            Err(error) => {
                if owned {
                    raw.destroy();
                }
                return Err(error);
            }
        };
        let mut resolve = None;
        let lost = Promise::new(&mut |resolve_lost, _| resolve = Some(resolve_lost));
        let resolve = resolve.expect("a promise calls its executor at once");
        let shared = Rc::new(Shared {
            completion: CompletionLoop::new(raw.queue(), adapter.is_software),
            device,
            queue,
            owned,
            limits,
            adapter,
            state: RefCell::new(State::Usable),
            lost,
            waiting: RefCell::default(),
            next_waiting: Cell::new(0),
            pool: RefCell::new(Pool::new(MAX_UNUSED_BYTES)),
            pipelines: RefCell::default(),
            counters: Counters::default(),
            speed: Cell::new(None),
            rounding: Cell::new(None),
            profile: profile.then(|| Profile::new(&raw)),
            raw,
        });
        spawn_local(watch(shared.raw.lost(), Rc::downgrade(&shared), resolve));
        let context = Context(shared);
        // Our own is new.
        if !owned {
            context.check_adopted().await?;
        }
        Ok(context)
    }

    /// Which adapter the device runs on.
    pub fn adapter(&self) -> &Adapter {
        &self.0.adapter
    }

    /// What the device can take.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The `GPUDevice`.
    pub fn raw_device(&self) -> JsValue {
        self.0.raw.clone().into()
    }

    /// A promise of `{reason, message}`, resolved when the device is lost: also by disposing, unless it is the application's.
    pub fn lost(&self) -> Promise {
        self.0.lost.clone()
    }

    /// Whether the device is lost.
    pub fn is_lost(&self) -> bool {
        matches!(*self.0.state.borrow(), State::Lost { .. })
    }

    /// Fails when the device is lost or the context disposed.
    pub fn check(&self) -> Result<()> {
        self.0.check()
    }

    /// Figures so far.
    pub fn stats(&self) -> Stats {
        let Shared { pool, pipelines, counters, .. } = &*self.0;
        let (pool, pipelines) = (pool.borrow(), pipelines.borrow());
        Stats {
            buffers: pool.count() as u64,
            buffer_bytes: pool.bytes(),
            peak_buffer_bytes: pool.peak_bytes(),
            pipelines: pipelines.compiled(),
            pipeline_cache_hits: pipelines.hits(),
            dispatches: counters.dispatches.get(),
            submits: counters.submits.get(),
            readbacks: counters.readbacks.get(),
            bind_groups: counters.bind_groups.get(),
        }
    }

    /// How the device rounds, if that was tested.
    pub fn rounding(&self) -> Option<Rounding> {
        self.0.rounding.get()
    }

    /// Keeps how the device rounds.
    pub fn set_rounding(&self, rounding: Rounding) {
        self.0.rounding.set(Some(rounding));
    }

    /// Where the time went so far, of a context that was created to be profiled. Times of the device come some turns after its results.
    pub fn times(&self) -> Option<Times> {
        self.0.profile.as_ref().map(Profile::times)
    }

    /// Destroys unused buffers.
    pub fn trim(&self) {
        let unused = self.0.pool.borrow_mut().trim();
        unused.iter().for_each(wgpu::Buffer::destroy);
    }

    /// Destroys every buffer, and the device unless it is the application's. Whatever waits fails with
    /// [`ErrorCode::Disposed`].
    pub fn dispose(&self) {
        self.0.dispose();
    }

    /// Waits for something that may never come once the device is lost.
    pub(super) async fn unless_lost(&self, future: JsFuture) -> Result<Result<JsValue, JsValue>> {
        let waiting = Waiting::new(&self.0);
        let mut future = pin!(future);
        std::future::poll_fn(|task| {
            if let Err(error) = self.check() {
                return Poll::Ready(Err(error));
            }
            match future.as_mut().poll(task) {
                Poll::Ready(value) => Poll::Ready(Ok(value)),
                Poll::Pending => {
                    waiting.wake_by(task.waker());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// After a failure that a loss would explain: the loss, or else the failure as it was.
    pub(super) async fn explain(&self, failure: Error) -> Error {
        match self.word_of_a_loss().await {
            Ok(()) => failure,
            Err(loss) => loss,
        }
    }

    /// A device that was lost before it came here says so now, and not at its first use. Firefox gives word of it only 100 ms later, but no buffer at once.
    async fn check_adopted(&self) -> Result<()> {
        let descriptor = raw::object(&[("size", 4.into()), ("usage", raw::USAGE_STAGING.into())]);
        let answers = if let Ok(buffer) = self.0.raw.create_buffer(&descriptor) {
            let wait = self.0.completion.wait();
            let answers = match buffer.map_async(raw::MAP_READ, 0.0, 4.0) {
                Ok(mapping) => self.unless_lost(mapping.into()).await?.is_ok(),
                Err(_) => false,
            };
            drop(wait);
            buffer.destroy();
            answers
        } else {
            false
        };
        if answers { Ok(()) } else { self.word_of_a_loss().await }
    }

    /// Waits for so long that word of a loss would be here: it comes some turns after the failures that it causes, in Firefox not before the work
    /// that was submitted is done, and that is noticed.
    async fn word_of_a_loss(&self) -> Result<()> {
        if let Ok(done) = self.0.raw.queue().on_submitted_work_done() {
            // How the work ended is not asked here.
            let _ = self.unless_lost(JsFuture::from(done)).await?;
        }
        // The timer itself cannot fail.
        let _ = self.unless_lost(raw::sleep(LOSS_PATIENCE)).await?;
        Ok(())
    }

    /// Does some calls on the device within error scopes.
    pub(super) fn scoped<T>(&self, calls: impl FnOnce() -> T) -> (T, PendingErrors) {
        scoped(&self.0.raw, calls)
    }

    /// Waits for the errors of a scope. `what` says what was being done. In Firefox objects of a device that was lost are invalid before word of the loss is here.
    pub(super) async fn check_errors(&self, what: &str, pending_errors: PendingErrors) -> Result<()> {
        let Some((code, message)) = pending_errors.wait(self).await? else { return Ok(()) };
        let failure = Error::new(code, format!("{what}: {message}"));
        Err(if code == ErrorCode::Internal { self.explain(failure).await } else { failure })
    }
}

impl Shared {
    fn check(&self) -> Result<()> {
        match &*self.state.borrow() {
            State::Usable => Ok(()),
            State::Lost { reason, message } => {
                let words = format!("the GPU device was lost ({reason}): {message}");
                Err(Error::new(ErrorCode::DeviceLost, words))
            }
            State::Disposed => Err(Error::new(ErrorCode::Disposed, "the GPU context has been disposed")),
        }
    }

    fn wake_all(&self) {
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        waiting.into_iter().for_each(|(_, waker)| waker.wake());
    }

    fn dispose(&self) {
        if matches!(self.state.replace(State::Disposed), State::Disposed) {
            return;
        }
        let buffers = self.pool.borrow_mut().clear();
        buffers.iter().for_each(wgpu::Buffer::destroy);
        let pipelines = self.pipelines.take();
        drop(pipelines);
        self.completion.close();
        if let Some(profile) = &self.profile {
            profile.dispose();
        }
        if self.owned {
            self.raw.destroy();
        }
        self.wake_all();
    }

    /// A buffer is not used any more. It is reused only if it is of the pool and the device is not lost.
    pub fn release(&self, entry: super::pool::Entry, reusable: bool) {
        let destroyed = {
            let mut pool = self.pool.borrow_mut();
            if reusable && self.check().is_ok() { pool.release(entry) } else { pool.remove(entry).into_iter().list() }
        };
        destroyed.iter().for_each(wgpu::Buffer::destroy);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.dispose();
    }
}

/// Waits for the loss of a device and passes the word on.
async fn watch(lost: Promise, shared: Weak<Shared>, resolve: Function) {
    let info = JsFuture::from(lost).await.unwrap_or_else(|thrown| thrown);
    let (reason, message) = (get_text(&info, "reason"), get_text(&info, "message"));
    let reason = if reason.is_empty() { "unknown".to_owned() } else { reason };
    if let Some(shared) = shared.upgrade() {
        {
            let mut state = shared.state.borrow_mut();
            if matches!(*state, State::Usable) {
                *state = State::Lost { reason: reason.clone(), message: message.clone() };
            }
        }
        let unused = shared.pool.borrow_mut().trim();
        unused.iter().for_each(wgpu::Buffer::destroy);
        shared.wake_all();
    }
    let info = object(&[("reason", reason.into()), ("message", message.into())]);
    resolve.call1(&JsValue::UNDEFINED, &info).expect("resolving a promise throws nothing");
}

/// A waker in the list of those that a loss of the device calls.
struct Waiting<'a> {
    shared: &'a Shared,
    place: u64,
}

impl Waiting<'_> {
    fn new(shared: &Shared) -> Waiting<'_> {
        let place = shared.next_waiting.get();
        shared.next_waiting.set(place + 1);
        Waiting { shared, place }
    }

    fn wake_by(&self, waker: &Waker) {
        let mut waiting = self.shared.waiting.borrow_mut();
        match waiting.iter_mut().find(|(place, _)| *place == self.place) {
            Some((_, known)) => known.clone_from(waker),
            None => waiting.push((self.place, waker.clone())),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.waiting.borrow_mut().retain(|(place, _)| *place != self.place);
    }
}
