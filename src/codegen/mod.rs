//! HOW it runs: from a checked graph and an access plan to program text.
//!
//! A [`Kernel`] is a [`CheckedGraph`] evaluated once for each of `count` instances, together with the plan of its memory
//! traffic: where each input of the graph is read, where which nodes are written. It knows buffers by position and addresses
//! by rule, and nothing of what they stand for; `batch/` makes the plans of residuals.
//!
//! Two back ends take it: [`wgsl`] writes a compute shader in f32, one thread an instance; [`wasm`] writes a WebAssembly
//! module in f64, two instances a lane pair. [`interpret`] runs a kernel by the reference evaluation, for machines that refuse
//! generated code and for tests.

use crate::graph::{CheckedGraph, NodeId};

pub mod interpret;
mod list_sum;
pub mod memory;
mod plan;
mod schedule;
pub mod wasm;
pub mod wgsl;

pub use list_sum::ListSum;
pub use memory::{Dispatch, View};
pub use schedule::Step;

/// A graph over instances with its memory traffic.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Entry point in camelCase, unique within its class of kernels: `gradient`, `values`.
    pub name: String,
    /// What it computes, for the reader of the generated text; one comment line each.
    pub header: Vec<String>,
    /// What is computed.
    pub graph: CheckedGraph,
    /// The buffers, in binding order; every buffer is an array of one element type.
    pub buffers: Vec<Buffer>,
    /// Where each input of the graph comes from, by [`crate::graph::InputId`].
    pub loads: Vec<Load>,
    /// The function that [`Load::Call`] refers to.
    pub calls: Vec<Call>,
    /// What is written, in order.
    pub stores: Vec<Store>,
    /// A node to be summed over all instances: one partial sum a workgroup on the GPU, the function's result on the CPU.
    pub total: Option<NodeId>,
    /// On the GPU: whether the kernel has a gate, a word of a buffer, and does nothing where that is 0. So a list of kernels can
    /// be submitted of which the device itself decides which run. On the CPU the caller decides.
    pub gated: bool,
    /// On the GPU: that the kernel runs in layers. It then has a gate and a total.
    pub layers: Option<Layers>,
    /// On the CPU: columns of index buffers, as (buffer, column), in which all instances have the same number. What they name is read
    /// once; what is added there is added up first.
    pub pinned: Vec<(u32, u32)>,
}

/// A kernel that runs over all its instances once for each layer; what it reads at an [`Address::Layer`] makes them differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers {
    /// How many.
    pub count: u32,
    /// A second node to be summed. Partial sums are pairs of the total's and this one's.
    pub second: NodeId,
}

/// One buffer of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its name in the generated text.
    pub name: &'static str,
    /// What it holds.
    pub element: Element,
    /// Whether the kernel writes it.
    pub written: bool,
}

/// Element type of a buffer. `Real` is f32 on the GPU and f64 on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A number.
    Real,
    /// An unsigned 32-bit integer: an index.
    Index,
}

/// A place in a buffer, for instance `i` of `count`; `stride` is the padded number of instances, a figure of the dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// `column · stride + i`: a structure of arrays, neighbouring instances beside each other.
    Column(u32),
    /// `position`, the same for every instance.
    Fixed(u32),
    /// `first + layer`, the same for every instance; the CPU knows one layer.
    Layer(u32),
    /// `first + i · width + component`: instance after instance; `first` is a figure of the dispatch, and on the CPU `i` may count from another instance.
    Interleaved {
        /// Numbers an instance has.
        width: u32,
        /// Which of them.
        component: u32,
    },
    /// `indices[column · stride + i] + component`, by way of a buffer of indices.
    Indexed {
        /// Position of the index buffer in [`Kernel::buffers`].
        indices: u32,
        /// Column in it.
        column: u32,
        /// Added to what stands there.
        component: u32,
    },
    /// `of · width + indices[column · stride + i]`, by way of a buffer of indices into tables whose columns are `width` apart, a
    /// figure of the dispatch. Of a [`ListSum`] alone.
    Listed {
        /// Position of the index buffer in [`Kernel::buffers`].
        indices: u32,
        /// Column in it.
        column: u32,
        /// Column of the table.
        of: u32,
    },
}

/// Where an input of the graph comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Read from a buffer.
    Read {
        /// Position in [`Kernel::buffers`].
        buffer: u32,
        /// Where in it.
        address: Address,
    },
    /// Result of a call; every argument's id is smaller than the id of the input's node.
    Call {
        /// Position in [`Kernel::calls`].
        call: u32,
        /// Which of its results.
        result: u32,
    },
}

/// A function of some nodes, called once an instance.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its definition.
    pub function: std::rc::Rc<Function>,
    /// Selects the case; the same for all instances.
    pub selector: NodeId,
    /// Its arguments.
    pub arguments: Vec<NodeId>,
}

/// A function with cases, of which a selector chooses one at run time, so that changing it recompiles nothing.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name in the generated text.
    pub name: &'static str,
    /// Names of its parameters, which are the inputs 0, 1, … of each case's graph.
    pub parameters: &'static [&'static str],
    /// How many results it has: 1 to 4.
    pub results: usize,
    /// Case `k` serves the selector `k`; a selector beyond the last is served by the first.
    pub cases: Vec<Case>,
}

/// One case of a [`Function`].
#[derive(Clone, Debug)]
pub struct Case {
    /// For the reader.
    pub name: &'static str,
    /// What is computed.
    pub graph: CheckedGraph,
    /// As many as the function has results.
    pub results: Vec<NodeId>,
}

/// A node written to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// Position in [`Kernel::buffers`].
    pub buffer: u32,
    /// Where in it.
    pub address: Address,
    /// What.
    pub node: NodeId,
    /// Added to what stands there instead of written over it; on the CPU alone, where instances follow one another.
    pub accumulate: bool,
}
