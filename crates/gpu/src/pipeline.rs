//! Compute pipelines, each compiled once a context.
//!
//! A pipeline is known by its text, entry point and layout. The browser compiles it off the main thread
//! (`createComputePipelineAsync` on the raw device), several at a time; wgpu's synchronous creation of the same then finds it
//! in the browser's cache.

use residua_base::list::Listed;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::commands::{BindingKind, PipelineRequest};
use super::context::Context;
use super::raw::{self, RawShaderModule, get, get_text, object};
use super::scope::PendingErrors;
use super::submission::check_layout;
use residua_base::cooperative::Yielder;
use residua_base::deadline::Deadline;
use residua_base::{Error, ErrorCode, Result};
use vecmap::VecMap;

/// A compiled kernel. Clones mean the same one.
#[derive(Clone)]
pub struct Pipeline(Rc<Compiled>);

struct Compiled {
    pipeline: wgpu::ComputePipeline,
    group_layout: wgpu::BindGroupLayout,
    layout: Vec<BindingKind>,
    device: wgpu::Device,
}

/// Milliseconds of a timer of [`Context::pipelines_until`] at most: Node does not end while one is running.
const LONGEST_PAUSE: f64 = 50.0;

/// Milliseconds between two looks at what is compiled in the background.
const SHORT_PAUSE: f64 = 5.0;

/// More pipelines than this are kept only while they are in use.
const MOST_KEPT: usize = 1024;

/// The pipelines of a context.
#[derive(Default)]
pub struct PipelineCache {
    known: Vec<(PipelineRequest, Pipeline)>,
    compiled: u64,
    hits: u64,
    /// Calls of [`Context::pipelines_until`] that have ended, and whose pipelines are being compiled.
    in_background: u32,
}

impl PipelineCache {
    /// How many were compiled.
    pub fn compiled(&self) -> u64 {
        self.compiled
    }

    /// How many requested pipelines existed already.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    fn find(&mut self, request: &PipelineRequest) -> Option<Pipeline> {
        let pipeline = self.known.iter().find(|(known, _)| known == request)?.1.clone();
        self.hits += 1;
        Some(pipeline)
    }

    fn enter(&mut self, request: &PipelineRequest, pipeline: &Pipeline) {
        self.compiled += 1;
        if self.known.len() >= MOST_KEPT {
            self.known.retain(|(_, pipeline)| Rc::strong_count(&pipeline.0) > 1);
        }
        self.known.push((request.clone(), pipeline.clone()));
    }
}

impl Pipeline {
    /// Its bindings.
    pub fn layout(&self) -> &[BindingKind] {
        &self.0.layout
    }

    pub(super) fn wgpu(&self) -> &wgpu::ComputePipeline {
        &self.0.pipeline
    }

    pub(super) fn group_layout(&self) -> &wgpu::BindGroupLayout {
        &self.0.group_layout
    }

    pub(super) fn is_of(&self, context: &Context) -> bool {
        self.0.device == context.0.device
    }
}

/// A kernel that the browser is compiling.
struct Compiling<'a> {
    request: &'a PipelineRequest,
    module: RawShaderModule,
    pipeline: JsFuture,
    pending_errors: PendingErrors,
}

/// A pipeline that wgpu has requested, and the module that the browser compiled before: kept until then, so that the cache is hit.
struct Created {
    pipeline: Pipeline,
    pending_errors: PendingErrors,
    _warm: (RawShaderModule, Result<JsValue, JsValue>),
}

impl Context {
    /// Pipelines for these kernels, in order. Those not yet known are compiled at the same time. `progress` is called with how many are
    /// done of how many, and ends the wait by an error. Fails with [`ErrorCode::ShaderCompilation`], the compiler's words and
    /// the text.
    ///
    /// A wait for the device takes milliseconds, for one answer or many: so everything is requested before
    /// anything is waited for, first of the browser's compilation, then of wgpu's.
    pub async fn pipelines(
        &self,
        requests: &[PipelineRequest],
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Vec<Pipeline>> {
        self.check()?;
        let mut waiting = self.compiling();
        let mut known: VecMap<&PipelineRequest, Pipeline> = VecMap::default();
        let mut compiling: Vec<Compiling> = Vec::new();
        for request in requests {
            check_layout(&request.entry, &request.layout, self.limits())?;
            if known.contains_key(&request) || compiling.iter().any(|other| other.request == request) {
                continue;
            }
            let found = self.0.pipelines.borrow_mut().find(request);
            match found {
                Some(pipeline) => {
                    known.insert(request, pipeline);
                }
                None => compiling.push(self.compile(request)?),
            }
        }
        let (total, new) = (known.len() + compiling.len(), compiling.len());
        progress(known.len(), total)?;
        let mut yielder = Yielder::new();
        let mut creating = Vec::new();
        for one in compiling {
            let request = one.request;
            creating.push((request, self.create_warm(one).await?));
            progress(known.len() + creating.len(), total)?;
            yielder.yield_if_due().await;
        }
        for (request, created) in creating {
            let Created { pipeline, pending_errors, .. } = created;
            match pending_errors.wait(self).await? {
                None => {}
                Some((ErrorCode::OutOfMemory, message)) => return Err(Error::new(ErrorCode::OutOfMemory, message)),
                Some((_, message)) => return Err(refused(request, message)),
            }
            self.0.pipelines.borrow_mut().enter(request, &pipeline);
            known.insert(request, pipeline);
        }
        waiting.pipelines = new;
        Ok(requests.iter().filter_map(|request| known.get(&request)).cloned().list())
    }

    /// The same until a deadline: `None` if it passes while the browser compiles. The browser goes on then, and a later call waits for what it
    /// compiles, rather than have it compile the same again.
    pub async fn pipelines_until(
        &self,
        requests: &[PipelineRequest],
        deadline: Deadline,
    ) -> Result<Option<Vec<Pipeline>>> {
        let are_known = || {
            let known = &self.0.pipelines.borrow().known;
            requests.iter().all(|request| known.iter().any(|(known, _)| known == request))
        };
        while self.0.pipelines.borrow().in_background > 0 && !are_known() {
            // At least one turn of the event loop, without which nothing in the background goes on. The timer itself cannot fail.
            let _ = self.unless_lost(raw::sleep(deadline.left_ms().clamp(0.0, SHORT_PAUSE))).await?;
            if deadline.has_passed() {
                return Ok(None);
            }
        }
        if deadline == Deadline::NEVER {
            return self.pipelines(requests, &mut |_, _| Ok(())).await.map(Some);
        }
        let (context, requests) = (self.clone(), requests.to_vec());
        let mut making = Box::pin(async move { context.pipelines(&requests, &mut |_, _| Ok(())).await });
        loop {
            let mut pause = raw::sleep(deadline.left_ms().clamp(0.0, LONGEST_PAUSE));
            let made = poll_fn(|task| match (making.as_mut().poll(task), Pin::new(&mut pause).poll(task)) {
                (Poll::Ready(made), _) => Poll::Ready(Some(made)),
                (Poll::Pending, Poll::Ready(_)) => Poll::Ready(None),
                (Poll::Pending, Poll::Pending) => Poll::Pending,
            });
            if let Some(made) = made.await {
                return made.map(Some);
            }
            if deadline.has_passed() {
                let context = self.clone();
                context.0.pipelines.borrow_mut().in_background += 1;
                spawn_local(async move {
                    // A later call meets the error of a kernel that does not compile.
                    drop(making.await);
                    context.0.pipelines.borrow_mut().in_background -= 1;
                });
                return Ok(None);
            }
        }
    }

    /// Starts the browser's compilation.
    fn compile<'a>(&self, request: &'a PipelineRequest) -> Result<Compiling<'a>> {
        let device = &self.0.raw;
        let (started, pending_errors) = self.scoped(|| -> Result<(RawShaderModule, Promise), JsValue> {
            let module = device.create_shader_module(&object(&[("code", request.wgsl.as_str().into())]))?;
            let entries: Array =
                request.layout.iter().enumerate().map(|(binding, &kind)| entry(binding, kind)).collect();
            let group = device.create_bind_group_layout(&object(&[("entries", entries.into())]))?;
            let layout = device.create_pipeline_layout(&object(&[("bindGroupLayouts", Array::of1(&group).into())]))?;
            let compute = object(&[("module", module.clone().into()), ("entryPoint", request.entry.as_str().into())]);
            let descriptor = object(&[("layout", layout), ("compute", compute.into())]);
            let pipeline = device.create_compute_pipeline_async(&descriptor)?;
            Ok((module, pipeline))
        });
        let (module, pipeline) = started.map_err(|thrown| refused(request, raw::words(&thrown)))?;
        Ok(Compiling { request, module, pipeline: JsFuture::from(pipeline), pending_errors })
    }

    /// Waits for the browser's compilation, and has wgpu create the same.
    async fn create_warm(&self, compiling: Compiling<'_>) -> Result<Created> {
        let Compiling { request, module, pipeline, pending_errors } = compiling;
        let warm = self.unless_lost(pipeline).await?;
        // The module's own errors are in its compilation info, with their places.
        let scopes = pending_errors.wait(self).await?;
        let failure = match (&warm, scopes) {
            (Ok(_), None) => None,
            (_, Some((ErrorCode::OutOfMemory, message))) => Some(Error::new(ErrorCode::OutOfMemory, message)),
            (Err(thrown), _) => Some(refused(request, self.complaints(&module, &raw::words(thrown)).await?)),
            (Ok(_), Some((_, message))) => Some(refused(request, self.complaints(&module, &message).await?)),
        };
        if let Some(failure) = failure {
            return Err(if warm.is_err() { self.explain(failure).await } else { failure });
        }
        let (pipeline, pending_errors) = self.scoped(|| self.create_pipeline(request));
        Ok(Created { pipeline, pending_errors, _warm: (module, warm) })
    }

    fn create_pipeline(&self, request: &PipelineRequest) -> Pipeline {
        let device = &self.0.device;
        let entries: Vec<wgpu::BindGroupLayoutEntry> = (0_u32..)
            .zip(&request.layout)
            .map(|(binding, kind)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: match kind {
                        BindingKind::StorageRead => wgpu::BufferBindingType::Storage { read_only: true },
                        BindingKind::StorageReadWrite => wgpu::BufferBindingType::Storage { read_only: false },
                        BindingKind::Uniform => wgpu::BufferBindingType::Uniform,
                    },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .list();
        let group_layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&group_layout)],
            immediate_size: 0,
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(request.wgsl.as_str().into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&request.entry),
            layout: Some(&layout),
            module: &module,
            entry_point: Some(&request.entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Pipeline(Rc::new(Compiled { pipeline, group_layout, layout: request.layout.clone(), device: device.clone() }))
    }

    /// The compiler's errors with their lines, or `otherwise` when it has none.
    async fn complaints(&self, module: &RawShaderModule, otherwise: &str) -> Result<String> {
        let info = match module.get_compilation_info() {
            Ok(info) => self.unless_lost(JsFuture::from(info)).await?,
            Err(thrown) => Err(thrown),
        };
        let messages = info.map(|info| get(&info, "messages")).unwrap_or_default();
        let complaints: Vec<String> = Array::from(&messages)
            .iter()
            .filter(|message| get_text(message, "type") == "error")
            .map(|message| {
                let figure = |name| get(&message, name).as_f64().unwrap_or_default() as u32;
                let (line, column) = (figure("lineNum"), figure("linePos"));
                format!("line {line}, column {column}: {}", get_text(&message, "message"))
            })
            .list();
        Ok(if complaints.is_empty() { otherwise.to_owned() } else { complaints.join("; ") })
    }
}

/// An entry of the layout as the raw device takes it.
fn entry(binding: usize, kind: BindingKind) -> JsValue {
    let kind = match kind {
        BindingKind::StorageRead => "read-only-storage",
        BindingKind::StorageReadWrite => "storage",
        BindingKind::Uniform => "uniform",
    };
    let buffer = object(&[("type", kind.into())]);
    object(&[
        ("binding", (binding as u32).into()),
        ("visibility", raw::STAGE_COMPUTE.into()),
        ("buffer", buffer.into()),
    ])
    .into()
}

fn refused(request: &PipelineRequest, words: String) -> Error {
    let message = format!("the kernel '{}' does not compile: {words}", request.entry);
    Error::shader_compilation(message, request.wgsl.clone())
}
