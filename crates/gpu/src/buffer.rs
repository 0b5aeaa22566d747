//! Buffers that are given back: to the pool when their last handle goes, or to the device.

use residua_base::list::Listed;
use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::{JsCast, JsValue};
use wgpu::BufferUsages;

use super::context::{Context, Shared};
use super::pool::{Class, Entry, capacity};
use super::raw::{self, RawBuffer};
use super::scope::PendingErrors;
use residua_base::{Error, ErrorCode, Result};

/// A buffer of a [`Context`]. Clones mean the same one.
#[derive(Clone)]
pub struct Buffer(Rc<Owned>);

struct Owned {
    context: Rc<Shared>,
    entry: Entry,
    buffer: wgpu::Buffer,
    size: u64,
    /// Serves again when it is given back.
    reusable: Cell<bool>,
}

/// What a buffer shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferRequest {
    name: String,
    size: u64,
    usage: BufferUsages,
    zeroed: bool,
    reusable: bool,
}

impl BufferRequest {
    /// `size` bytes that kernels read and write, and the host uploads and downloads. They hold anything at first.
    pub fn storage(name: impl Into<String>, size: u64) -> BufferRequest {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        BufferRequest::with_usage(name, size, usage)
    }

    /// `size` bytes for these uses.
    pub(super) fn with_usage(name: impl Into<String>, size: u64, usage: BufferUsages) -> BufferRequest {
        BufferRequest { name: name.into(), size, usage, zeroed: false, reusable: true }
    }

    /// `size` bytes for uniforms.
    pub fn uniform(name: impl Into<String>, size: u64) -> BufferRequest {
        BufferRequest::with_usage(name, size, BufferUsages::UNIFORM | BufferUsages::COPY_DST)
    }

    /// Filled with zeros.
    #[must_use]
    pub fn zeroed(self) -> BufferRequest {
        BufferRequest { zeroed: true, ..self }
    }

    /// For code outside this crate, which may bind it as vertices too: new, and never used for anything else afterwards. Its size is the requested
    /// one, rounded up to 16 bytes, since kernels of tensors read whole vectors.
    #[must_use]
    pub fn exported(self) -> BufferRequest {
        let size = self.size.next_multiple_of(16);
        BufferRequest { size, usage: self.usage | BufferUsages::VERTEX, reusable: false, ..self }
    }
}

impl Buffer {
    /// Requested bytes.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// The `GPUBuffer`.
    pub fn raw_buffer(&self) -> JsValue {
        self.0.buffer.as_webgpu().map_or(JsValue::UNDEFINED, |buffer| buffer.into())
    }

    pub(super) fn wgpu(&self) -> &wgpu::Buffer {
        &self.0.buffer
    }

    pub(super) fn is_of(&self, context: &Context) -> bool {
        Rc::ptr_eq(&self.0.context, &context.0)
    }

    /// Decides whether the pool takes it back.
    pub(super) fn set_reusable(&self, reusable: bool) {
        self.0.reusable.set(reusable);
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.context.release(self.entry, self.reusable.get());
    }
}

/// A buffer that the device may yet refuse.
#[must_use = "whether the device had room is only known once it is confirmed"]
pub struct Allocation {
    buffer: Buffer,
    pending_errors: PendingErrors,
    reusable: bool,
    what: String,
}

impl Allocation {
    /// The buffer; if the device refuses it, what is done with it fails.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Waits for the device's word.
    pub async fn confirm(self, context: &Context) -> Result<Buffer> {
        let Allocation { buffer, pending_errors, reusable, what } = self;
        context.check_errors(&what, pending_errors).await?;
        buffer.set_reusable(reusable);
        context.0.pool.borrow_mut().confirm();
        Ok(buffer)
    }
}

impl Context {
    /// Buffers, all or none: when the device refuses one, none is kept. Unused ones of the pool serve first.
    pub async fn allocate(&self, requests: &[BufferRequest]) -> Result<Vec<Buffer>> {
        self.check()?;
        for request in requests {
            self.limits().check_buffer_size(&request.name, request.size)?;
        }
        let first = self.try_allocate(requests).await;
        match first {
            Err(error) if error.code == ErrorCode::OutOfMemory => {
                // The memory may be there, in unused buffers.
                self.trim();
                self.try_allocate(requests).await
            }
            other => other,
        }
    }

    async fn try_allocate(&self, requests: &[BufferRequest]) -> Result<Vec<Buffer>> {
        let (allocated, pending_errors) = self.scoped(|| {
            let mut new = Vec::new();
            let buffers: Vec<Buffer> = requests
                .iter()
                .map(|request| {
                    let (buffer, is_new) = self.buffer(request);
                    if is_new {
                        new.push((buffer.clone(), buffer.0.reusable.replace(false)));
                    }
                    buffer
                })
                .list();
            self.clear_reused(requests, &buffers, &new);
            (buffers, new)
        });
        let (buffers, new) = allocated;
        if new.is_empty() && requests.iter().all(|request| !request.zeroed) {
            return Ok(buffers);
        }
        // Until the device has agreed, none of the new buffers may reach the pool.
        let bytes: u64 = requests.iter().map(|request| request.size).sum();
        let names: Vec<&str> = requests.iter().map(|request| request.name.as_str()).list();
        self.check_errors(&format!("{bytes} bytes for {}", names.join(", ")), pending_errors).await?;
        for (buffer, reusable) in new {
            buffer.set_reusable(reusable);
        }
        self.0.pool.borrow_mut().confirm();
        Ok(buffers)
    }

    /// A buffer at once, for those who cannot wait. Whether the device had room for it is for [`Allocation::confirm`] to say.
    pub fn allocate_now(&self, request: &BufferRequest) -> Result<Allocation> {
        self.check()?;
        self.limits().check_buffer_size(&request.name, request.size)?;
        let ((buffer, _), pending_errors) = self.scoped(|| self.buffer(request));
        let reusable = buffer.0.reusable.replace(false);
        let what = format!("{} bytes for {}", request.size, request.name);
        Ok(Allocation { buffer, pending_errors, reusable, what })
    }

    /// New buffers are zero (WebGPU says so); those of the pool are cleared by a command.
    fn clear_reused(&self, requests: &[BufferRequest], buffers: &[Buffer], new: &[(Buffer, bool)]) {
        let mut encoder = None;
        for (request, buffer) in requests.iter().zip(buffers) {
            if !request.zeroed || new.iter().any(|(other, _)| Rc::ptr_eq(&other.0, &buffer.0)) {
                continue;
            }
            let encoder = encoder.get_or_insert_with(|| {
                self.0.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
            });
            encoder.clear_buffer(&buffer.0.buffer, 0, None);
        }
        if let Some(encoder) = encoder {
            self.0.queue.submit([encoder.finish()]);
            super::context::Counters::add(&self.0.counters.submits, 1);
        }
    }

    /// A buffer of the pool, or a new one, for which an error scope around this call reports whether the device had room.
    fn buffer(&self, request: &BufferRequest) -> (Buffer, bool) {
        let largest = self.limits().max_buffer_size;
        let capacity =
            if request.reusable { capacity(request.size, largest) } else { request.size.max(4).next_multiple_of(4) };
        let class = Class { usage: request.usage.bits(), capacity };
        let pooled = if request.reusable { self.0.pool.borrow_mut().take(class) } else { None };
        let is_new = pooled.is_none();
        let (entry, buffer) = pooled.unwrap_or_else(|| {
            let buffer = self.0.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(&request.name),
                size: capacity,
                usage: request.usage,
                mapped_at_creation: false,
            });
            (self.0.pool.borrow_mut().insert(buffer.clone(), class), buffer)
        });
        let reusable = Cell::new(request.reusable);
        (Buffer(Rc::new(Owned { context: self.0.clone(), entry, buffer, size: request.size, reusable })), is_new)
    }

    /// A buffer that the host can read. To be made within error scopes, and given back to the pool by
    /// [`Buffer::set_reusable`] only when it has served and is not mapped any more.
    pub(super) fn staging(&self, size: u64) -> Buffer {
        self.unproven(BufferRequest::with_usage("staging", size, BufferUsages::MAP_READ | BufferUsages::COPY_DST))
    }

    /// A buffer that the pool does not get back until [`Buffer::set_reusable`] says so.
    pub(super) fn unproven(&self, request: BufferRequest) -> Buffer {
        let (buffer, _) = self.buffer(&request);
        buffer.set_reusable(false);
        buffer
    }

    /// Writes numbers of JavaScript's into a buffer, from its start, without a way through our memory.
    pub fn write_numbers(&self, buffer: &Buffer, numbers: &js_sys::Float32Array) -> Result<()> {
        self.check()?;
        if !buffer.is_of(self) || 4 * u64::from(numbers.length()) > buffer.size() {
            return Err(Error::internal(format!("{} numbers for a buffer of {}", numbers.length(), buffer.size())));
        }
        let raw: RawBuffer = buffer.raw_buffer().unchecked_into();
        let written = self.0.raw.queue().write_buffer(&raw, 0.0, numbers);
        written.map_err(|thrown| Error::internal(raw::words(&thrown)))
    }

    /// Writes into a buffer, before whatever is run from now on. Whole words, within the buffer.
    pub fn write(&self, buffer: &Buffer, offset: u64, data: &[u8]) -> Result<()> {
        self.check()?;
        let size = data.len() as u64;
        if !buffer.is_of(self) {
            return Err(Error::internal("a buffer of another context is written"));
        }
        if !offset.is_multiple_of(4) || !size.is_multiple_of(4) || offset + size > buffer.size().next_multiple_of(4) {
            let message = format!("{size} bytes are written at {offset} into a buffer of {}", buffer.size());
            return Err(Error::internal(message));
        }
        if size > 0 {
            self.0.queue.write_buffer(&buffer.0.buffer, offset, data);
        }
        Ok(())
    }
}
