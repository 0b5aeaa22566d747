//! From a [`CommandList`] to what is handed to the device: the list checked against the limits, cut into writes and
//! submissions, each submission into as few compute passes as the order allows, and equal bindings found, so that they are
//! made once. No device is touched.
//!
//! What a browser would refuse with a validation error is refused here, with the names of the buffers and kernels.

use super::commands::{BindingKind, BufferId, Command, CommandList, DownloadId, PipelineId, Slice, Source};
use super::limits::{Limits, check};
use residua_base::{Error, Result};

/// A checked [`CommandList`], ready to be bound to buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submissions {
    /// In order.
    pub steps: Vec<Step>,
    /// The bind groups that the dispatches use; each is made once.
    pub bind_groups: Vec<BindGroup>,
    /// Bytes of each argument of a run.
    pub arguments: Vec<u64>,
    /// Bytes of each result of a run.
    pub downloads: Vec<u64>,
}

/// What a dispatch is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BindGroup {
    /// Whose layout it has.
    pub pipeline: PipelineId,
    /// By binding number.
    pub bindings: Vec<Slice>,
}

/// One call on the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Data written into a buffer.
    Write {
        /// Where to.
        to: Slice,
        /// From where.
        source: Source,
    },
    /// A command buffer submitted.
    Submit(Vec<Encoded>),
}

/// One part of a command buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoded {
    /// A compute pass.
    Pass(Vec<EncodedDispatch>),
    /// A copy within the device.
    Copy {
        /// Where from.
        from: Slice,
        /// Where to.
        to: Slice,
    },
    /// Bytes set to zero.
    Clear {
        /// Which.
        what: Slice,
    },
    /// A copy into a buffer that the host can read.
    Download {
        /// Where from.
        from: Slice,
        /// Which result of the run it is.
        to: DownloadId,
    },
}

/// A kernel run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedDispatch {
    /// Which.
    pub pipeline: PipelineId,
    /// Position in [`Submissions::bind_groups`].
    pub bind_group: u32,
    /// In x and y.
    pub workgroups: [u32; 2],
}

impl Submissions {
    /// Checks a list against a device's limits and plans its execution.
    pub fn new(list: &CommandList, limits: &Limits) -> Result<Submissions> {
        let mut submissions = Submissions {
            steps: Vec::new(),
            bind_groups: Vec::new(),
            arguments: list.arguments.clone(),
            downloads: list.downloads.clone(),
        };
        for command in &list.commands {
            match command {
                Command::Upload { to, source } => {
                    check_slice(list, "an upload", *to)?;
                    if let Source::Data(data) = source
                        && data.len() as u64 != to.size
                    {
                        return Err(Error::internal(format!("an upload of {} bytes into {}", data.len(), to.size)));
                    }
                    if to.size > 0 {
                        submissions.steps.push(Step::Write { to: *to, source: source.clone() });
                    }
                }
                Command::Dispatch { pipeline, bindings, workgroups } => {
                    check_dispatch(list, limits, *pipeline, bindings, *workgroups)?;
                    if workgroups.contains(&0) {
                        continue;
                    }
                    let group = BindGroup { pipeline: *pipeline, bindings: bindings.clone() };
                    let known = submissions.bind_groups.iter().position(|known| *known == group);
                    let bind_group = known.unwrap_or_else(|| {
                        submissions.bind_groups.push(group);
                        submissions.bind_groups.len() - 1
                    }) as u32;
                    submissions.dispatch(EncodedDispatch { pipeline: *pipeline, bind_group, workgroups: *workgroups });
                }
                Command::Copy { from, to } => {
                    check_slice(list, "a copy", *from)?;
                    check_slice(list, "a copy", *to)?;
                    if from.buffer == to.buffer {
                        return Err(Error::internal(format!("a copy within {}", name(list, from.buffer))));
                    }
                    if from.size > 0 {
                        submissions.encode(Encoded::Copy { from: *from, to: *to });
                    }
                }
                Command::Clear { what } => {
                    check_slice(list, "a clear", *what)?;
                    if what.size > 0 {
                        submissions.encode(Encoded::Clear { what: *what });
                    }
                }
                Command::Download { from, to } => {
                    check_slice(list, "a download", *from)?;
                    if from.size > 0 {
                        submissions.encode(Encoded::Download { from: *from, to: *to });
                    }
                }
            }
        }
        Ok(submissions)
    }

    /// Adds to the submission that is being filled, or starts one.
    fn encode(&mut self, encoded: Encoded) {
        match self.steps.last_mut() {
            Some(Step::Submit(parts)) => parts.push(encoded),
            Some(Step::Write { .. }) | None => self.steps.push(Step::Submit(vec![encoded])),
        }
    }

    /// Adds to the pass that is being filled, or starts one. Dispatches of one pass see each other's writes, in order.
    fn dispatch(&mut self, dispatch: EncodedDispatch) {
        if let Some(Step::Submit(parts)) = self.steps.last_mut()
            && let Some(Encoded::Pass(pass)) = parts.last_mut()
        {
            pass.push(dispatch);
            return;
        }
        self.encode(Encoded::Pass(vec![dispatch]));
    }

    /// Refuses arguments that are not those that the list declares.
    pub fn check_arguments(&self, sizes: impl ExactSizeIterator<Item = usize>) -> Result<()> {
        if sizes.len() != self.arguments.len() {
            let message = format!("a run with {} arguments, where its list has {}", sizes.len(), self.arguments.len());
            return Err(Error::internal(message));
        }
        for (k, (size, &expected)) in sizes.zip(&self.arguments).enumerate() {
            if size as u64 != expected {
                let message = format!("argument {k} of a run has {size} bytes, where its list has {expected}");
                return Err(Error::internal(message));
            }
        }
        Ok(())
    }
}

/// Bytes to bind for a slice: kernels see at least one element, even of nothing (the largest is a vec4).
pub fn binding_size(size: u64) -> u64 {
    size.max(16)
}

fn name(list: &CommandList, buffer: BufferId) -> &str {
    &list.buffers[buffer.0 as usize].name
}

fn check_slice(list: &CommandList, what: &str, slice: Slice) -> Result<()> {
    let declared = &list.buffers[slice.buffer.0 as usize];
    let Slice { offset, size, .. } = slice;
    if !offset.is_multiple_of(4) || !size.is_multiple_of(4) {
        let message = format!("{what} of {size} bytes at {offset} in {}: not whole words", declared.name);
        return Err(Error::internal(message));
    }
    if offset.checked_add(size).is_none_or(|end| end > declared.size) {
        let message = format!("{what} of {size} bytes at {offset} in {}, which has {}", declared.name, declared.size);
        return Err(Error::internal(message));
    }
    Ok(())
}

fn check_dispatch(
    list: &CommandList,
    limits: &Limits,
    pipeline: PipelineId,
    bindings: &[Slice],
    workgroups: [u32; 2],
) -> Result<()> {
    let kernel = &list.pipelines[pipeline.0 as usize];
    if bindings.len() != kernel.layout.len() {
        let message = format!("{} with {} bindings, and it has {}", kernel.name, bindings.len(), kernel.layout.len());
        return Err(Error::internal(message));
    }
    for (&slice, &kind) in bindings.iter().zip(&kernel.layout) {
        check_slice(list, &kernel.name, slice)?;
        let what = format!("{} of {}", name(list, slice.buffer), kernel.name);
        let (limit_name, limit, alignment) = match kind {
            BindingKind::StorageRead | BindingKind::StorageReadWrite => (
                "maxStorageBufferBindingSize",
                limits.max_storage_buffer_binding_size,
                limits.min_storage_buffer_offset_alignment,
            ),
            BindingKind::Uniform => (
                "maxUniformBufferBindingSize",
                limits.max_uniform_buffer_binding_size,
                limits.min_uniform_buffer_offset_alignment,
            ),
        };
        check(limit_name, &what, "bytes", slice.size, limit)?;
        if !slice.offset.is_multiple_of(alignment) {
            return Err(Error::internal(format!("{what} starts at {}, not a multiple of {alignment}", slice.offset)));
        }
    }
    for (a, (&first, &kind)) in bindings.iter().zip(&kernel.layout).enumerate() {
        for (&second, &other) in bindings[a + 1..].iter().zip(&kernel.layout[a + 1..]) {
            // WebGPU tracks usage by whole buffer: written and read in one dispatch is refused even where slices are apart.
            let written = [kind, other].iter().filter(|&&kind| kind == BindingKind::StorageReadWrite).count();
            let overlap = first.offset < second.offset + binding_size(second.size)
                && second.offset < first.offset + binding_size(first.size);
            if first.buffer == second.buffer && (written == 1 || written == 2 && overlap) {
                let message = format!("{} writes {} by two bindings", kernel.name, name(list, first.buffer));
                return Err(Error::internal(message));
            }
        }
    }
    for count in workgroups {
        let most = u64::from(limits.max_compute_workgroups_per_dimension);
        check("maxComputeWorkgroupsPerDimension", &kernel.name, "workgroups", u64::from(count), most)?;
    }
    Ok(())
}

/// Refuses a layout with more bindings than one kernel can have. `what` names the kernel.
pub fn check_layout(what: &str, layout: &[BindingKind], limits: &Limits) -> Result<()> {
    let uniforms = layout.iter().filter(|&&kind| kind == BindingKind::Uniform).count();
    let storage = layout.len() - uniforms;
    let (most_storage, most_uniforms) =
        (limits.max_storage_buffers_per_shader_stage, limits.max_uniform_buffers_per_shader_stage);
    check("maxStorageBuffersPerShaderStage", what, "storage buffers", storage as u64, most_storage.into())?;
    check("maxUniformBuffersPerShaderStage", what, "uniform buffers", uniforms as u64, most_uniforms.into())
}

#[cfg(test)]
#[path = "submission_tests.rs"]
mod tests;
