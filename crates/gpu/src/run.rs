//! Running recorded work: a [`CommandList`] bound to buffers and pipelines, submitted any number of times, and its results.

use residua_base::list::Listed;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;

use super::buffer::Buffer;
use super::commands::{ArgumentId, BindingKind, CommandList, DownloadId, Slice, Source};
use super::context::{Context, Counters};
use super::pipeline::Pipeline;
use super::profile::Stamps;
use super::raw::{self, MAP_READ, RawBuffer};
use super::scope::PendingErrors;
use super::submission::{Encoded, EncodedDispatch, Step, Submissions, binding_size};
use super::times::KernelNumber;
use residua_base::{Error, Result};

/// What the device has still to say of a list that was bound.
#[must_use = "an error of the device is lost with it"]
pub struct Binding(PendingErrors);

/// A [`CommandList`] on its device. Its bind groups are made once, however often it runs.
pub struct PreparedList {
    context: Context,
    submissions: Submissions,
    buffers: Vec<Buffer>,
    pipelines: Vec<Pipeline>,
    bind_groups: Vec<wgpu::BindGroup>,
    /// Where each download stands among the downloaded bytes.
    places: Vec<u64>,
    /// By pipeline, for a context that is profiled.
    kernels: Vec<KernelNumber>,
}

/// Work on its way. Submissions of one context finish in order.
#[must_use = "errors of the device and results are lost with their submission"]
pub struct Submission {
    context: Context,
    pending_errors: PendingErrors,
    staging: Option<(Buffer, JsFuture)>,
    places: Vec<u64>,
}

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Downloads {
    words: Vec<u32>,
    places: Vec<u64>,
}

impl Downloads {
    /// One result, as 32-bit words.
    pub fn words(&self, download: DownloadId) -> &[u32] {
        let place = |position: usize| self.places[position] as usize / 4;
        &self.words[place(download.index())..place(download.index() + 1)]
    }

    /// One result, as numbers.
    pub fn reals(&self, download: DownloadId) -> &[f32] {
        bytemuck::cast_slice(self.words(download))
    }
}

impl Context {
    /// Binds a list to real buffers and pipelines, in the order of declaration.
    pub async fn prepare(
        &self,
        list: &CommandList,
        buffers: &[Buffer],
        pipelines: &[Pipeline],
    ) -> Result<PreparedList> {
        let (prepared, binding) = self.bind(list, buffers, pipelines)?;
        self.bound(binding).await?;
        Ok(prepared)
    }

    /// Waits until a list is known to be bound.
    pub async fn bound(&self, Binding(pending_errors): Binding) -> Result<()> {
        self.check_errors("binding buffers", pending_errors).await
    }

    /// The same as [`Context::prepare`] without the wait for the device's word, so that several lists can be waited for at the same time.
    pub fn bind(
        &self,
        list: &CommandList,
        buffers: &[Buffer],
        pipelines: &[Pipeline],
    ) -> Result<(PreparedList, Binding)> {
        self.check()?;
        check_resources(self, list, buffers, pipelines)?;
        let submissions = Submissions::new(list, self.limits())?;
        let mut places = vec![0];
        for &size in &submissions.downloads {
            places.push(places[places.len() - 1] + size);
        }
        self.limits().check_buffer_size("reading back", places[places.len() - 1])?;
        let (bind_groups, pending_errors) = self.scoped(|| {
            let groups = submissions.bind_groups.iter().map(|group| {
                let pipeline = &pipelines[group.pipeline.0 as usize];
                self.bind_group(pipeline, &group.bindings, buffers)
            });
            groups.list()
        });
        Counters::add(&self.0.counters.bind_groups, bind_groups.len());
        let (buffers, pipelines) = (buffers.to_vec(), pipelines.to_vec());
        let names = list.pipelines.iter().map(|pipeline| pipeline.name.as_str());
        let kernels = self.0.profile.as_ref().map_or_else(Vec::new, |profile| profile.kernels(names));
        let prepared =
            PreparedList { context: self.clone(), submissions, buffers, pipelines, bind_groups, places, kernels };
        Ok((prepared, Binding(pending_errors)))
    }

    fn bind_group(&self, pipeline: &Pipeline, bindings: &[Slice], buffers: &[Buffer]) -> wgpu::BindGroup {
        let entries: Vec<wgpu::BindGroupEntry> = (0_u32..)
            .zip(bindings)
            .map(|(binding, slice)| wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: buffers[slice.buffer.0 as usize].wgpu(),
                    offset: slice.offset,
                    size: std::num::NonZeroU64::new(binding_size(slice.size)),
                }),
            })
            .list();
        let layout = pipeline.group_layout();
        self.0.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
    }
}

fn check_resources(context: &Context, list: &CommandList, buffers: &[Buffer], pipelines: &[Pipeline]) -> Result<()> {
    let counts = [(buffers.len(), list.buffers.len()), (pipelines.len(), list.pipelines.len())];
    if let Some((got, declared)) = counts.into_iter().find(|(got, declared)| got != declared) {
        return Err(Error::internal(format!("{got} buffers or pipelines for a list that declares {declared}")));
    }
    for (buffer, declared) in buffers.iter().zip(&list.buffers) {
        if !buffer.is_of(context) || buffer.size() < declared.size {
            let message = format!("{} has {} bytes for {}", declared.name, buffer.size(), declared.size);
            return Err(Error::internal(format!("{message}, or is of another context")));
        }
    }
    for (pipeline, declared) in pipelines.iter().zip(&list.pipelines) {
        let same: &[BindingKind] = &declared.layout;
        if !pipeline.is_of(context) || pipeline.layout() != same {
            return Err(Error::internal(format!("{} has another layout, or is of another context", declared.name)));
        }
    }
    Ok(())
}

impl PreparedList {
    /// Submits the work and returns at once. `arguments` are the bytes of each [`ArgumentId`], in order.
    pub fn submit(&self, arguments: &[&[u8]]) -> Result<Submission> {
        let PreparedList { context, submissions, .. } = self;
        context.check()?;
        submissions.check_arguments(arguments.iter().map(|argument| argument.len()))?;
        context.submit(self, |staging| {
            for step in &submissions.steps {
                match step {
                    Step::Write { to, source } => {
                        let data = match source {
                            Source::Data(data) => data,
                            Source::Argument(ArgumentId(argument)) => arguments[*argument as usize],
                        };
                        let buffer = self.buffers[to.buffer.0 as usize].wgpu();
                        context.0.queue.write_buffer(buffer, to.offset, data);
                    }
                    Step::Submit(parts) => context.encode(parts.iter().map(|part| (self, part)), staging),
                }
            }
        })
    }

    /// Submits and waits for the results.
    pub async fn run(&self, arguments: &[&[u8]]) -> Result<Downloads> {
        self.submit(arguments)?.finish().await
    }
}

impl Context {
    /// The first bytes of a buffer, as a result.
    pub async fn read(&self, buffer: &Buffer, bytes: u64) -> Result<(Downloads, DownloadId)> {
        let mut list = CommandList::new();
        let numbers = list.buffer("numbers to be read", bytes);
        let download = list.download(list.whole(numbers));
        let prepared = self.prepare(&list, std::slice::from_ref(buffer), &[]).await?;
        Ok((prepared.run(&[]).await?, download))
    }

    /// Submits several pieces of work as one command buffer, one after the other, any of them as often as it is
    /// named; dispatches that follow each other share a pass. None of them may write data. The results are those of the last.
    pub fn submit_in_turn(&self, pieces: &[&PreparedList]) -> Result<Submission> {
        self.check()?;
        let Some((last, rest)) = pieces.split_last() else {
            return Err(Error::internal("no work is submitted"));
        };
        let writes =
            |piece: &&PreparedList| piece.submissions.steps.iter().any(|step| matches!(step, Step::Write { .. }));
        if pieces.iter().any(writes) || rest.iter().any(|piece| piece.places.len() > 1) {
            return Err(Error::internal(
                "work that writes, or brings something back, is submitted in turn with other work",
            ));
        }
        self.submit(last, |staging| {
            let steps = pieces.iter().flat_map(|piece| piece.submissions.steps.iter().map(move |step| (*piece, step)));
            let parts = steps.flat_map(|(piece, step)| {
                let parts: &[Encoded] = match step {
                    Step::Submit(parts) => parts,
                    Step::Write { .. } => &[],
                };
                parts.iter().map(move |part| (piece, part))
            });
            self.encode(parts, staging);
        })
    }

    /// Does the calls that submit work, and maps the results that `of` has.
    fn submit(&self, of: &PreparedList, calls: impl FnOnce(Option<&Buffer>)) -> Result<Submission> {
        let size = of.places[of.places.len() - 1];
        let began = self.0.profile.as_ref().map(|_| raw::now());
        let (mapped, pending_errors) = self.scoped(|| {
            let staging = (size > 0).then(|| self.staging(size));
            calls(staging.as_ref());
            staging.map(|staging| {
                let raw: RawBuffer = staging.raw_buffer().unchecked_into();
                raw.map_async(MAP_READ, 0.0, size as f64).map(|promise| (staging, JsFuture::from(promise)))
            })
        });
        self.enter(began, |times, ms| times.encode.add(1, ms));
        let staging = mapped.transpose().map_err(|thrown| Error::internal(raw::words(&thrown)))?;
        Ok(Submission { context: self.clone(), pending_errors, staging, places: of.places.clone() })
    }

    /// One command buffer.
    fn encode<'a>(&self, parts: impl Iterator<Item = (&'a PreparedList, &'a Encoded)>, staging: Option<&Buffer>) {
        let mut encoder = self.0.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut stamps = self.0.profile.as_ref().map(|profile| (profile, Stamps::new()));
        let mut parts = parts.peekable();
        while let Some((piece, part)) = parts.next() {
            let wgpu_buffer = |slice: &Slice| piece.buffers[slice.buffer.0 as usize].wgpu();
            match part {
                Encoded::Pass(dispatches) if let Some((profile, stamps)) = &mut stamps => {
                    for dispatch in dispatches {
                        let kernel = piece.kernels[dispatch.pipeline.0 as usize];
                        let mut pass = stamps.pass(self, profile, kernel, &mut encoder);
                        self.encode_dispatches(&mut pass, piece, std::slice::from_ref(dispatch));
                    }
                }
                Encoded::Pass(dispatches) => {
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                    self.encode_dispatches(&mut pass, piece, dispatches);
                    while let Some((piece, Encoded::Pass(dispatches))) = parts.peek() {
                        self.encode_dispatches(&mut pass, piece, dispatches);
                        parts.next();
                    }
                }
                Encoded::Copy { from, to } => {
                    encoder.copy_buffer_to_buffer(
                        wgpu_buffer(from),
                        from.offset,
                        wgpu_buffer(to),
                        to.offset,
                        from.size,
                    );
                }
                Encoded::Clear { what } => encoder.clear_buffer(wgpu_buffer(what), what.offset, Some(what.size)),
                Encoded::Download { from, to } => {
                    let staging = staging.expect("a list with downloads of some bytes has a staging buffer");
                    let place = piece.places[to.index()];
                    encoder.copy_buffer_to_buffer(wgpu_buffer(from), from.offset, staging.wgpu(), place, from.size);
                }
            }
        }
        let resolved = stamps.and_then(|(_, stamps)| stamps.resolve(self, &mut encoder));
        self.0.queue.submit([encoder.finish()]);
        Counters::add(&self.0.counters.submits, 1);
        if let Some(resolved) = resolved {
            resolved.read(self);
        }
    }

    fn encode_dispatches(&self, pass: &mut wgpu::ComputePass, piece: &PreparedList, dispatches: &[EncodedDispatch]) {
        let mut current = None;
        for dispatch in dispatches {
            if current != Some(dispatch.pipeline) {
                pass.set_pipeline(piece.pipelines[dispatch.pipeline.0 as usize].wgpu());
                current = Some(dispatch.pipeline);
            }
            pass.set_bind_group(0, &piece.bind_groups[dispatch.bind_group as usize], &[]);
            let [x, y] = dispatch.workgroups;
            pass.dispatch_workgroups(x, y, 1);
        }
        Counters::add(&self.0.counters.dispatches, dispatches.len());
    }
}

impl Submission {
    /// Waits until the work is done, as far as it brings something back, and gives that, or what went wrong on the device.
    /// Without downloads it waits only for the device to have accepted the work.
    pub async fn finish(self) -> Result<Downloads> {
        let places = self.places.clone();
        let words = match self.finish_mapped().await? {
            // Straight from the mapped range into our memory: wgpu's own view would copy twice.
            Some(mapped) => js_sys::Uint32Array::new(&mapped.range).to_vec(),
            None => Vec::new(),
        };
        Ok(Downloads { words, places })
    }

    /// As [`Submission::finish`], with the results where the browser has them; none without downloads.
    pub async fn finish_mapped(self) -> Result<Option<Mapped>> {
        let Submission { context, pending_errors, staging, places } = self;
        let Some((staging, mapping)) = staging else {
            context.check_errors("running kernels", pending_errors).await?;
            return Ok(None);
        };
        let began = context.0.profile.as_ref().map(|_| raw::now());
        let wait = context.0.completion.wait();
        let mapped = context.unless_lost(mapping).await?;
        // An error of the device explains why a mapping failed, and not the other way round.
        context.check_errors("running kernels", pending_errors).await?;
        drop(wait);
        if let Err(thrown) = mapped {
            return Err(context.explain(Error::internal(format!("reading back: {}", raw::words(&thrown)))).await);
        }
        let raw: RawBuffer = staging.raw_buffer().unchecked_into();
        let size = places[places.len() - 1];
        let range = match raw.get_mapped_range(0.0, size as f64) {
            Ok(range) => range,
            // The device's loss unmaps what was mapped a moment ago.
            Err(thrown) => {
                return Err(context.explain(Error::internal(format!("reading back: {}", raw::words(&thrown)))).await);
            }
        };
        context.0.pool.borrow_mut().confirm();
        Counters::add(&context.0.counters.readbacks, 1);
        context.enter(began, |times, ms| times.read_back.add(1, ms));
        Ok(Some(Mapped { staging, raw, range, places }))
    }
}

/// Results in the browser's memory, until this is dropped.
pub struct Mapped {
    staging: Buffer,
    raw: RawBuffer,
    range: js_sys::ArrayBuffer,
    places: Vec<u64>,
}

impl Mapped {
    /// One result, as numbers: a view that is dead once the results are dropped.
    pub fn reals(&self, download: DownloadId) -> js_sys::Float32Array {
        let (start, end) = (self.places[download.index()], self.places[download.index() + 1]);
        js_sys::Float32Array::new_with_byte_offset_and_length(&self.range, start as u32, (end - start) as u32 / 4)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.raw.unmap();
        self.staging.set_reusable(true);
    }
}
