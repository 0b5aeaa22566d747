//! Work for the device, written down: a plain list of uploads, dispatches, copies, clears and downloads over buffers and
//! pipelines that are only declared. Nothing here touches a device, so code that records work is tested without one;
//! [`Submissions`](super::submission::Submissions) checks a list, and a device's context binds it to real buffers and runs it any number of times.
//! (The idea is vello's `Recording`.)

/// How a kernel accesses one of its bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindingKind {
    /// `var<storage, read>`
    StorageRead,
    /// `var<storage, read_write>`
    StorageReadWrite,
    /// `var<uniform>`
    Uniform,
}

/// A kernel to compile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PipelineRequest {
    /// The WGSL text.
    pub wgsl: String,
    /// Its entry point.
    pub entry: String,
    /// Its bindings, numbered from 0, all in group 0.
    pub layout: Vec<BindingKind>,
}

/// A buffer of a [`CommandList`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub(super) u32);

/// A pipeline of a [`CommandList`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PipelineId(pub(super) u32);

/// Data that each run of a [`CommandList`] brings: its position among a run's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentId(pub(super) u32);

/// Data that each run of a [`CommandList`] gives: its position among a run's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadId(pub(super) u32);

impl ArgumentId {
    /// Position among the arguments of a run.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl DownloadId {
    /// Position among the results of a run.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A part of a buffer, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// Of which buffer.
    pub buffer: BufferId,
    /// Where it starts.
    pub offset: u64,
    /// How long it is.
    pub size: u64,
}

/// One entry of a [`CommandList`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Writes data into a buffer.
    Upload {
        /// Where to.
        to: Slice,
        /// From where.
        source: Source,
    },
    /// Runs a kernel.
    Dispatch {
        /// Which.
        pipeline: PipelineId,
        /// On what, by binding number.
        bindings: Vec<Slice>,
        /// How many workgroups, in x and y.
        workgroups: [u32; 2],
    },
    /// Copies within the device.
    Copy {
        /// Where from.
        from: Slice,
        /// Where to; of the same size, in another buffer.
        to: Slice,
    },
    /// Sets bytes to zero.
    Clear {
        /// Which.
        what: Slice,
    },
    /// Brings bytes back to the host.
    Download {
        /// Which.
        from: Slice,
        /// Where they stand in a run's results.
        to: DownloadId,
    },
}

/// Where the bytes of an upload come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The same every run.
    Data(Vec<u8>),
    /// Brought by the run.
    Argument(ArgumentId),
}

/// A buffer that a list works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferDeclaration {
    /// For messages.
    pub name: String,
    /// Bytes that the list may use.
    pub size: u64,
}

/// A pipeline that a list runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineDeclaration {
    /// For messages.
    pub name: String,
    /// Its bindings, numbered from 0, all in group 0.
    pub layout: Vec<BindingKind>,
}

/// Work for the device. Commands take effect in the order in which they are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandList {
    pub(super) buffers: Vec<BufferDeclaration>,
    pub(super) pipelines: Vec<PipelineDeclaration>,
    pub(super) commands: Vec<Command>,
    pub(super) arguments: Vec<u64>,
    pub(super) downloads: Vec<u64>,
}

impl CommandList {
    /// An empty list.
    pub fn new() -> CommandList {
        CommandList::default()
    }

    /// Declares a buffer of at least `size` bytes. Preparing the list takes the real ones in the order of declaration.
    pub fn buffer(&mut self, name: impl Into<String>, size: u64) -> BufferId {
        self.buffers.push(BufferDeclaration { name: name.into(), size });
        BufferId(self.buffers.len() as u32 - 1)
    }

    /// Declares a pipeline. Preparing the list takes the real ones in the order of declaration.
    pub fn pipeline(&mut self, name: impl Into<String>, layout: &[BindingKind]) -> PipelineId {
        self.pipelines.push(PipelineDeclaration { name: name.into(), layout: layout.to_vec() });
        PipelineId(self.pipelines.len() as u32 - 1)
    }

    /// All of a buffer.
    pub fn whole(&self, buffer: BufferId) -> Slice {
        Slice { buffer, offset: 0, size: self.buffers[buffer.0 as usize].size }
    }

    /// Writes the same bytes every run.
    pub fn upload(&mut self, to: BufferId, offset: u64, data: Vec<u8>) {
        let to = Slice { buffer: to, offset, size: data.len() as u64 };
        self.commands.push(Command::Upload { to, source: Source::Data(data) });
    }

    /// Writes bytes that each run brings, as many as the slice has.
    pub fn upload_argument(&mut self, to: Slice) -> ArgumentId {
        let argument = ArgumentId(self.arguments.len() as u32);
        self.arguments.push(to.size);
        self.commands.push(Command::Upload { to, source: Source::Argument(argument) });
        argument
    }

    /// Runs a kernel. No workgroups, no dispatch.
    pub fn dispatch(&mut self, pipeline: PipelineId, bindings: &[Slice], workgroups: [u32; 2]) {
        self.commands.push(Command::Dispatch { pipeline, bindings: bindings.to_vec(), workgroups });
    }

    /// Copies a slice to the place in another buffer that starts at `offset`.
    pub fn copy(&mut self, from: Slice, to: BufferId, offset: u64) {
        self.commands.push(Command::Copy { from, to: Slice { buffer: to, offset, size: from.size } });
    }

    /// Sets a slice to zero.
    pub fn clear(&mut self, what: Slice) {
        self.commands.push(Command::Clear { what });
    }

    /// Brings a slice back to the host, as it is at this point of the list.
    pub fn download(&mut self, from: Slice) -> DownloadId {
        let to = DownloadId(self.downloads.len() as u32);
        self.downloads.push(from.size);
        self.commands.push(Command::Download { from, to });
        to
    }
}

impl Slice {
    /// A part of this slice.
    pub fn part(self, offset: u64, size: u64) -> Slice {
        Slice { buffer: self.buffer, offset: self.offset + offset, size }
    }
}
