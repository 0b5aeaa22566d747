//! Timing a context's work, for a context that was created to be profiled.
//!
//! The device writes timestamps at the ends of passes alone, so each dispatch gets a pass of its own; that is what it costs, some
//! microseconds each. Timestamps go to query sets, which are resolved by the command buffer that they time and read when the device is
//! done with it; no caller waits for that. Sets serve again, and there are at most [`MOST_SETS`]: what is submitted while all of them are
//! on their way is counted and not timed.

use residua_base::list::PushAll;
use std::cell::{Cell, RefCell};

use wasm_bindgen::JsCast;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use wgpu::BufferUsages;

use super::buffer::{Buffer, BufferRequest};
use super::context::Context;
use super::raw::{MAP_READ, RawBuffer, get, now};
use super::request::has_feature;
use super::times::{KernelNumber, Times};

/// Dispatches that one query set times, two timestamps each. Metal takes sets of at most 32 KiB, 4,096 timestamps, and 32 of them.
const DISPATCHES: usize = 512;
/// Query sets of one context.
const MOST_SETS: u32 = 16;
/// Bytes of a set's timestamps; a multiple of the 256 to which resolved sets are aligned.
const SET_BYTES: u64 = 16 * DISPATCHES as u64;

/// What a profiled context has in addition.
pub struct Profile {
    times: RefCell<Times>,
    idle: RefCell<Vec<wgpu::QuerySet>>,
    made: Cell<u32>,
}

/// The timestamps of one command buffer.
pub(super) struct Stamps {
    sets: Vec<wgpu::QuerySet>,
    kernels: Vec<KernelNumber>,
}

/// Timestamps on their way to the host.
pub(super) struct Resolved {
    stamps: Stamps,
    resolved: Buffer,
    staging: Buffer,
}

/// A wait for pipelines, which ends when this is dropped.
pub(super) struct Compiling {
    context: Context,
    /// How many there are at the end.
    pub pipelines: usize,
}

impl Drop for Compiling {
    fn drop(&mut self) {
        if let Some(profile) = &self.context.0.profile {
            profile.times.borrow_mut().end_compiling(now(), self.pipelines);
        }
    }
}

impl Profile {
    /// Books for a device, a `GPUDevice`, which may be without timestamps.
    pub fn new(device: &wasm_bindgen::JsValue) -> Profile {
        let has_gpu_times = has_feature(&get(device, "features"), "timestamp-query");
        Profile { times: RefCell::new(Times::new(has_gpu_times)), idle: RefCell::default(), made: Cell::new(0) }
    }

    /// The figures so far.
    pub fn times(&self) -> Times {
        self.times.borrow().clone()
    }

    /// The numbers of these kernels.
    pub fn kernels<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<KernelNumber> {
        let mut times = self.times.borrow_mut();
        let mut numbers = Vec::new();
        for name in names {
            numbers.push(times.kernel(name));
        }
        numbers
    }

    /// Destroys unused query sets.
    pub fn dispose(&self) {
        let idle = self.idle.take();
        self.made.set(self.made.get() - idle.len() as u32);
        idle.iter().for_each(wgpu::QuerySet::destroy);
    }

    /// A query set, unless there are as many as there may be.
    fn set(&self, device: &wgpu::Device) -> Option<wgpu::QuerySet> {
        let idle = self.idle.borrow_mut().pop();
        if idle.is_some() || self.made.get() == MOST_SETS {
            return idle;
        }
        self.made.set(self.made.get() + 1);
        let (ty, count) = (wgpu::QueryType::Timestamp, 2 * DISPATCHES as u32);
        Some(device.create_query_set(&wgpu::QuerySetDescriptor { label: Some("times"), ty, count }))
    }
}

impl Stamps {
    /// No timestamps yet.
    pub fn new() -> Stamps {
        Stamps { sets: Vec::new(), kernels: Vec::new() }
    }

    /// A pass for one dispatch of a kernel, timed if it can be.
    pub fn pass<'a>(
        &mut self,
        context: &Context,
        profile: &Profile,
        kernel: KernelNumber,
        encoder: &'a mut wgpu::CommandEncoder,
    ) -> wgpu::ComputePass<'a> {
        let mut times = profile.times.borrow_mut();
        times.dispatched(kernel);
        let slot = self.kernels.len() % DISPATCHES;
        if times.has_gpu_times && self.kernels.len() == self.sets.len() * DISPATCHES {
            self.sets.push_all(profile.set(&context.0.device));
        }
        let has_room = self.kernels.len() < self.sets.len() * DISPATCHES;
        if has_room {
            self.kernels.push(kernel);
        }
        let timestamp_writes =
            self.sets.last().filter(|_| has_room).map(|query_set| wgpu::ComputePassTimestampWrites {
                query_set,
                beginning_of_pass_write_index: Some(2 * slot as u32),
                end_of_pass_write_index: Some(2 * slot as u32 + 1),
            });
        encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes })
    }

    /// Has the device bring the timestamps to where the host can read them. Within error scopes, like all work.
    pub fn resolve(self, context: &Context, encoder: &mut wgpu::CommandEncoder) -> Option<Resolved> {
        let bytes = self.sets.len() as u64 * SET_BYTES;
        if bytes == 0 {
            return None;
        }
        let resolved = context.resolving(bytes);
        let staging = context.staging(bytes);
        for (position, set) in (0..).zip(&self.sets) {
            let rest = self.kernels.len() - position * DISPATCHES;
            let stamps = 2 * rest.min(DISPATCHES) as u32;
            encoder.resolve_query_set(set, 0..stamps, resolved.wgpu(), position as u64 * SET_BYTES);
        }
        encoder.copy_buffer_to_buffer(resolved.wgpu(), 0, staging.wgpu(), 0, bytes);
        Some(Resolved { stamps: self, resolved, staging })
    }
}

impl Resolved {
    /// Enters the times once the device is done. To be called when the work has been submitted.
    pub fn read(self, context: &Context) {
        let Resolved { stamps, resolved, staging } = self;
        let raw: RawBuffer = staging.raw_buffer().unchecked_into();
        let size = stamps.sets.len() as f64 * SET_BYTES as f64;
        let mapping = raw.map_async(MAP_READ, 0.0, size).map(JsFuture::from);
        let context = context.clone();
        spawn_local(async move {
            let mapped = match mapping {
                Ok(mapping) => context.unless_lost(mapping).await,
                Err(thrown) => Ok(Err(thrown)),
            };
            let Some(profile) = &context.0.profile else { return };
            // Work that failed has no times, and its sets and buffers are not used again.
            let words = match mapped {
                Ok(Ok(_)) => raw.get_mapped_range(0.0, size).ok(),
                Ok(Err(_)) | Err(_) => None,
            };
            let Some(words) = words else {
                profile.made.set(profile.made.get() - stamps.sets.len() as u32);
                stamps.sets.iter().for_each(wgpu::QuerySet::destroy);
                return;
            };
            let words = js_sys::Uint32Array::new(&words).to_vec();
            raw.unmap();
            profile.times.borrow_mut().timed(&stamps.kernels, &words);
            resolved.set_reusable(true);
            staging.set_reusable(true);
            profile.idle.borrow_mut().push_all(stamps.sets);
        });
    }
}

impl Context {
    /// Enters that pipelines are waited for from now on.
    pub(super) fn compiling(&self) -> Compiling {
        if let Some(profile) = &self.0.profile {
            profile.times.borrow_mut().begin_compiling(now());
        }
        Compiling { context: self.clone(), pipelines: 0 }
    }

    /// Enters what has ended; `began` is when it did, by [`now`], in a context that is profiled.
    pub(super) fn enter(&self, began: Option<f64>, work: impl FnOnce(&mut Times, f64)) {
        if let (Some(began), Some(profile)) = (began, &self.0.profile) {
            work(&mut profile.times.borrow_mut(), now() - began);
        }
    }

    /// A buffer that timestamps are resolved into. To be made and given back like [`Context::staging`].
    fn resolving(&self, size: u64) -> Buffer {
        self.unproven(BufferRequest::with_usage(
            "timestamps",
            size,
            BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC,
        ))
    }
}
