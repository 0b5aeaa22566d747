//! The kernel IR: a graph over instances with its memory traffic.
//!
//! A [`Kernel`] says what is computed (a [`CheckedGraph`]), over what (a [`Space`]), where the graph's inputs come from ([`Load`]), and
//! what becomes of which nodes ([`Epilogue`]). Buffers are identified by position and elements by [`Index`]; their meaning is the caller's.
//! [`Kernel::check`] makes a [`CheckedKernel`](crate::CheckedKernel) of it, which is what back ends take.

use std::rc::Rc;

use residua_ir::graph::{CheckedGraph, Graph, InputId, Loop, LoopBody, Node, NodeId};

use crate::{Constant, Index};

/// A graph over instances with its memory traffic.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Entry point in camelCase, unique within its class of kernels: `gradient`, `values`.
    pub name: String,
    /// What it computes, for the reader of the generated text; one comment line each.
    pub header: Vec<String>,
    /// What it runs over.
    pub space: Space,
    /// When it runs.
    pub guard: Guard,
    /// What is computed.
    pub graph: CheckedGraph,
    /// The buffers, in binding order.
    pub buffers: Vec<KernelBuffer>,
    /// Where each input of the graph comes from, by [`residua_ir::graph::InputId`].
    pub loads: Vec<Load>,
    /// The functions that [`Load::Call`] refers to.
    pub calls: Vec<Call>,
    /// What becomes of nodes, in order.
    pub outputs: Vec<Output>,
    /// What [`Op::Lookup`](residua_ir::graph::Op::Lookup) reads; none where no node is one.
    pub tables: Option<TableBuffer>,
    /// Over how many instances it runs. For the host alone.
    pub instances: Instances,
}

/// Over how many instances a kernel runs on the host, as far as that matters for its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// Any number.
    Many,
    /// So few that code for several at a time takes longer to make than it saves.
    Few,
    /// One, or none: there is no code for pairs.
    One,
}

/// What a kernel runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// All instances of a dispatch.
    Instances,
    /// All instances, once for each layer; [`Variable::Layer`](crate::Variable::Layer) makes them differ. Of a device alone; the kernel
    /// then has a gate, and every output is reduced.
    Layers {
        /// How many.
        count: u32,
    },
    /// The entries of one list of each owner, an entry an instance, see [`RecomputeKernel`](crate::RecomputeKernel). Of a device alone.
    Entries {
        /// Numbers an owner has.
        width: u32,
    },
}

/// When a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Always.
    None,
    /// On a device: where the first word of the buffer `gate` is not 0, so that the device itself decides which kernels of a list run.
    /// The word after it is 0 in every run. On the host the caller decides.
    Gate,
    /// The same, where these words are the first two of a buffer of numbers, 0 or not.
    Head {
        /// Position in [`Kernel::buffers`].
        buffer: u32,
    },
}

/// One buffer of a kernel: an array of one element type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelBuffer {
    /// Its name in the generated text.
    pub name: &'static str,
    /// What its elements are.
    pub dtype: ElementType,
    /// Whether the kernel writes it.
    pub written: bool,
}

/// The buffer of all tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableBuffer {
    /// Position in [`Kernel::buffers`].
    pub buffer: u32,
    /// Numbers of all tables. Where a device has pairs, so many low parts follow.
    pub numbers: u32,
}

/// Element type of a buffer. A load converts an element to a number of the engine's arithmetic, a store converts back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// A number of the engine's arithmetic: f32 on a device, f64 on the host.
    Real,
    /// An unsigned 32-bit integer, such as an index. It can be read, and not written.
    U32,
}

impl ElementType {
    /// Bytes of an element on the host, as a power of two.
    pub fn host_shift(self) -> u32 {
        match self {
            ElementType::Real => 3,
            ElementType::U32 => 2,
        }
    }
}

/// In how many numbers a value is held on a device. The host has f64 for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// One f32.
    Single,
    /// A *pair*: an f32, and in another what its rounding lost.
    Pair,
}

/// An element in a buffer, for each instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// Position in [`Kernel::buffers`].
    pub buffer: u32,
    /// Where in it.
    pub index: Index,
    /// Where in it the low part of a pair stands; none if the element is a single number. Of a device alone.
    pub low: Option<Index>,
}

/// Where an input of the graph comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// Read from a buffer.
    Read(Element),
    /// Result of a call; every argument's id is smaller than the id of the input's node.
    Call {
        /// Position in [`Kernel::calls`].
        call: u32,
        /// Which of its results.
        result: u32,
    },
}

/// A node, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The node.
    pub node: NodeId,
    /// What becomes of it.
    pub epilogue: Epilogue,
}

/// What becomes of a node in every instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Epilogue {
    /// It is written to an element.
    Store(Element),
    /// It is added to an element, instance after instance. On a device, of [`Space::Entries`] alone, and to numbers of the owner.
    Accumulate(Element),
    /// It is summed over all instances: partial sums of workgroups on a device, the result of the call on the host.
    Reduce(Width),
}

impl Element {
    /// An element of one number.
    pub fn single(buffer: u32, index: Index) -> Element {
        Element { buffer, index, low: None }
    }

    /// An element that is a pair, and where its low part stands.
    pub fn pair(buffer: u32, index: Index, low: Index) -> Element {
        Element { buffer, index, low: Some(low) }
    }

    /// The vector that it is a number of, if its low part stands where that of its vector does, see [`Constant::Low`].
    pub(crate) fn vector(&self) -> Option<u32> {
        let low = self.low.as_ref()?;
        (0..Constant::MOST_VECTORS).find(|vector| *low == self.index.low(*vector))
    }

    /// In how many numbers it is held.
    pub fn width(&self) -> Width {
        match self.low {
            None => Width::Single,
            Some(_) => Width::Pair,
        }
    }
}

impl Load {
    /// Reads an element of one number.
    pub fn read(buffer: u32, index: Index) -> Load {
        Load::Read(Element::single(buffer, index))
    }

    /// Reads a pair.
    pub fn read_pair(buffer: u32, index: Index, low: Index) -> Load {
        Load::Read(Element::pair(buffer, index, low))
    }
}

impl Output {
    /// A node that is written to an element.
    pub fn store(node: NodeId, buffer: u32, index: Index) -> Output {
        Output { node, epilogue: Epilogue::Store(Element::single(buffer, index)) }
    }

    /// A node that is written to an element as a pair.
    pub fn store_pair(node: NodeId, buffer: u32, index: Index, low: Index) -> Output {
        Output { node, epilogue: Epilogue::Store(Element::pair(buffer, index, low)) }
    }

    /// A node that is added to an element.
    pub fn accumulate(node: NodeId, buffer: u32, index: Index) -> Output {
        Output { node, epilogue: Epilogue::Accumulate(Element::single(buffer, index)) }
    }

    /// A node that is summed over all instances.
    pub fn reduce(node: NodeId) -> Output {
        Output { node, epilogue: Epilogue::Reduce(Width::Single) }
    }

    /// A node that is summed over all instances in pairs.
    pub fn reduce_pair(node: NodeId) -> Output {
        Output { node, epilogue: Epilogue::Reduce(Width::Pair) }
    }

    /// In how many numbers it is wanted.
    pub fn width(&self) -> Width {
        match &self.epilogue {
            Epilogue::Store(element) | Epilogue::Accumulate(element) => element.width(),
            Epilogue::Reduce(width) => *width,
        }
    }

    /// The element that is written.
    pub fn element(&self) -> Option<&Element> {
        match &self.epilogue {
            Epilogue::Store(element) | Epilogue::Accumulate(element) => Some(element),
            Epilogue::Reduce(_) => None,
        }
    }

    /// Whether it adds to what stands there.
    pub fn accumulates(&self) -> bool {
        matches!(self.epilogue, Epilogue::Accumulate(_))
    }
}

/// A function of some nodes, called once an instance.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its definition.
    pub function: Rc<Function>,
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

impl Function {
    /// The name of its definition in a width.
    pub(crate) fn name_in(&self, width: Width) -> String {
        match width {
            Width::Single => self.name.to_owned(),
            Width::Pair => format!("{}_of_pairs", self.name),
        }
    }
}

/// Nodes of a kernel from which on it is parted.
const PARTED: usize = 16_000;

impl Kernel {
    /// A kernel over instances that reads and writes nothing yet.
    pub fn new(name: &str, graph: CheckedGraph) -> Kernel {
        Kernel {
            name: name.to_owned(),
            header: Vec::new(),
            space: Space::Instances,
            guard: Guard::None,
            graph,
            buffers: Vec::new(),
            loads: Vec::new(),
            calls: Vec::new(),
            outputs: Vec::new(),
            tables: None,
            instances: Instances::Many,
        }
    }

    /// The width in which a call is made: pairs, where any of its results is one.
    pub(crate) fn width_of_call(&self, position: u32, width: impl Fn(NodeId) -> Width) -> Width {
        let is_result =
            |input: InputId| matches!(self.loads[input.0 as usize], Load::Call { call, .. } if call == position);
        let graph = self.graph.graph();
        let results = graph.ids().filter(|id| matches!(graph.node(*id), Node::Input(input) if is_result(input)));
        results.map(width).max().unwrap_or(Width::Single)
    }

    /// Whether it may read a number that another instance has written.
    pub(crate) fn reads_what_it_writes(&self) -> bool {
        let is_written =
            |load: &Load| matches!(load, Load::Read(element) if self.buffers[element.buffer as usize].written);
        self.loads.iter().any(is_written)
    }

    /// Whether the host's code is several functions. An engine compiles a function at its first call, which nothing interrupts, in a time that grows with the
    /// square of the values that wait in its locals: a kernel that goes through 200 steps of a simulation and back would take more than a second.
    pub fn is_parted(&self) -> bool {
        self.graph.graph().len() > PARTED && !self.reads_what_it_writes()
    }

    /// Every element that is read or written.
    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        let read = self.loads.iter().filter_map(|load| match load {
            Load::Read(element) => Some(element),
            Load::Call { .. } => None,
        });
        read.chain(self.outputs.iter().filter_map(Output::element))
    }

    /// The bodies of all loops, those within others before these.
    pub fn loop_bodies(&self) -> Vec<Rc<LoopBody>> {
        fn add(graph: &Graph, bodies: &mut Vec<Rc<LoopBody>>) {
            for body in graph.loops().iter().map(Loop::body) {
                if !bodies.iter().any(|known| Rc::ptr_eq(known, body)) {
                    add(body.graph().graph(), bodies);
                    bodies.push(body.clone());
                }
            }
        }
        let mut bodies = Vec::new();
        add(self.graph.graph(), &mut bodies);
        bodies
    }

    /// The nodes that are summed over all instances, in order.
    pub fn reduced(&self) -> impl Iterator<Item = NodeId> {
        self.totals().map(|output| output.node)
    }

    /// The outputs that are summed over all instances, in order.
    pub fn totals(&self) -> impl Iterator<Item = &Output> {
        self.outputs.iter().filter(|output| matches!(output.epilogue, Epilogue::Reduce(_)))
    }

    /// Whether it reads or gives any pair.
    pub fn has_pairs(&self) -> bool {
        self.elements().any(|element| element.low.is_some())
            || self.outputs.iter().any(|output| output.width() == Width::Pair)
    }

    /// Whether the host's code of another kernel serves this one too. Names do not matter. Functions are the same where they are one object.
    pub fn has_code_of(&self, other: &Kernel) -> bool {
        let is_same = |(a, b): (&Call, &Call)| {
            Rc::ptr_eq(&a.function, &b.function) && a.selector == b.selector && a.arguments == b.arguments
        };
        self.graph.graph().is_same(other.graph.graph())
            && self.loads == other.loads
            && self.outputs == other.outputs
            && self.buffers == other.buffers
            && self.tables == other.tables
            && self.calls.len() == other.calls.len()
            && self.calls.iter().zip(&other.calls).all(is_same)
            && (self.space, self.guard, self.instances) == (other.space, other.guard, other.instances)
    }

    /// Whether a node is summed over all instances.
    pub fn has_total(&self) -> bool {
        self.reduced().next().is_some()
    }

    /// Reads some columns of index buffers, given by buffer and column, at the first instance of a call: all instances have the same
    /// numbers there. What such an index leads to is read once on the host, and sums there are kept in locals.
    pub fn share_columns(&mut self, is_shared: &dyn Fn(u32, u32) -> bool) {
        let read = self.loads.iter_mut().filter_map(|load| match load {
            Load::Read(element) => Some(element),
            Load::Call { .. } => None,
        });
        let written = self.outputs.iter_mut().filter_map(|output| match &mut output.epilogue {
            Epilogue::Store(element) | Epilogue::Accumulate(element) => Some(element),
            Epilogue::Reduce(_) => None,
        });
        for element in read.chain(written) {
            element.index = element.index.sharing(is_shared);
            element.low = element.low.as_ref().map(|low| low.sharing(is_shared));
        }
    }
}
