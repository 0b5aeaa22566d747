//! The check of a kernel: every position in it is one that exists, indices and outputs are such as its space has.
//!
//! Kernels are made by this project, never by its users, so what [`Kernel::check`] refuses is a bug; the message names the part that is
//! wrong. A [`CheckedKernel`] is the proof of the check, and the only form of a kernel that back ends take. What one engine alone cannot
//! do is refused by the checker.

use residua_base::list::Listed;
use std::cell::OnceCell;
use std::ops::Deref;

use residua_base::error::{Error, Result};
use residua_ir::graph::{Graph, Node, NodeId, Op};

use crate::uses::Uses;
use crate::width::Widths;
use crate::{
    Call, Constant, Element, ElementType, Epilogue, Guard, Index, Kernel, Load, Output, Space, Step, Variable,
};

/// A kernel that has been checked, with what the check has found out.
#[derive(Clone, Debug)]
pub struct CheckedKernel {
    kernel: Kernel,
    uses: Uses,
    widths: Widths,
    steps: OnceCell<Vec<Step>>,
}

impl Deref for CheckedKernel {
    type Target = Kernel;

    fn deref(&self) -> &Kernel {
        &self.kernel
    }
}

impl CheckedKernel {
    /// The kernel, to be changed and checked again.
    pub fn into_kernel(self) -> Kernel {
        self.kernel
    }

    /// Leaves out the header of the generated text.
    pub fn clear_header(&mut self) {
        self.kernel.header.clear();
    }

    /// The steps of an instance, see [`Kernel::schedule`](crate::schedule).
    pub fn steps(&self) -> &[Step] {
        self.steps.get_or_init(|| crate::schedule::schedule(&self.kernel))
    }

    /// Whether the steps of an instance have been found.
    pub fn is_scheduled(&self) -> bool {
        self.steps.get().is_some()
    }

    /// For each node, how many operands, outputs and calls take it.
    pub(crate) fn uses(&self) -> &Uses {
        &self.uses
    }

    /// For each node, in how many numbers a device computes it.
    pub(crate) fn widths(&self) -> &Widths {
        &self.widths
    }

    /// Nodes of the graph, of which each operation in pairs counts as those that it takes: how long a device's compiler takes grows with it.
    pub fn text_operations(&self) -> usize {
        self.widths.text_operations(self.graph.graph())
    }

    /// Operations of an instance; an elementary function counts as those that it takes.
    pub fn work(&self) -> u32 {
        self.uses.work(self.graph.graph())
    }

    /// An error if a device cannot run it.
    pub(crate) fn check_for_device(&self) -> Result<()> {
        if self.outputs.iter().any(Output::accumulates) && !matches!(self.space, Space::Entries { .. }) {
            return Err(self.refused("accumulates, which the host alone does"));
        }
        if self.elements().any(|element| takes(&element.index, &|variable| *variable == Variable::FirstInstance)) {
            return Err(self.refused("has an element of the first instance, which the host alone has"));
        }
        Ok(())
    }

    /// An error if the host cannot run it.
    pub(crate) fn check_for_host(&self) -> Result<()> {
        if matches!(self.space, Space::Entries { .. }) {
            return Err(self.refused("sums lists, which a device alone does"));
        }
        if self.has_pairs() {
            return Err(self.refused("has pairs, which a device alone computes"));
        }
        if self.reduced().nth(1).is_some() {
            return Err(self.refused("has two totals, which a device alone gives"));
        }
        for element in self.elements() {
            let is_simple = |index: &Index| {
                let varying: Vec<_> = index.terms().iter().filter(|term| term.variable.is_some()).list();
                varying.len() < 2 && varying.iter().all(|term| term.constant.is_none())
            };
            let is_plain = |index: &Index| {
                let has_first = |variable: &Variable| *variable == Variable::FirstInstance;
                is_simple(index) && index.loads().next().is_none() && !takes(index, &has_first)
            };
            let sound = match element.index.as_loaded() {
                None => is_plain(&element.index),
                Some((_, index)) => is_simple(index) && index.loads().next().is_none(),
            };
            if !sound {
                return Err(self.refused("has an index of several variables, which a device alone computes"));
            }
        }
        Ok(())
    }

    fn refused(&self, what: &str) -> Error {
        Error::internal(format!("kernel '{}' {what}", self.name))
    }
}

impl Kernel {
    /// Checks that the positions in the kernel exist, that buffers hold what is read from them and written to them, that indices are such
    /// as the space has, and that calls come after their arguments.
    pub fn check(self) -> Result<CheckedKernel> {
        self.find_breach().map_err(|what| Error::internal(format!("kernel '{}': {what}", self.name)))?;
        let (uses, widths) = (Uses::of_kernel(&self), Widths::of_kernel(&self));
        Ok(CheckedKernel { kernel: self, uses, widths, steps: OnceCell::new() })
    }

    fn find_breach(&self) -> Result<(), String> {
        let nodes = self.graph.graph().nodes();
        let exists = |node: NodeId| node.index() < nodes.len();

        if self.loads.len() != self.graph.input_count() as usize {
            return Err(format!("{} loads for {} inputs", self.loads.len(), self.graph.input_count()));
        }
        for (position, call) in self.calls.iter().enumerate() {
            check_call(call, exists).map_err(|what| format!("call {position} {what}"))?;
        }
        for (position, load) in self.loads.iter().enumerate() {
            match load {
                Load::Read(element) => {
                    self.check_element(element).map_err(|what| format!("input {position} {what}"))?
                }
                Load::Call { call, result } => match self.calls.get(*call as usize) {
                    Some(call) if (*result as usize) < call.function.results => {}
                    _ => return Err(format!("input {position} is result {result} of call {call}, which there is not")),
                },
            }
        }
        for (position, node) in nodes.iter().enumerate() {
            let Node::Input(input) = node else { continue };
            let Load::Call { call, .. } = self.loads[input.0 as usize] else { continue };
            let Call { selector, arguments, .. } = &self.calls[call as usize];
            if let Some(late) = arguments.iter().chain([selector]).find(|argument| argument.index() >= position) {
                return Err(format!("call {call} takes node {}, after its result in node {position}", late.index()));
            }
        }
        self.check_tables()?;
        for (position, output) in self.outputs.iter().enumerate() {
            if !exists(output.node) {
                return Err(format!("output {position} is node {}, which there is not", output.node.index()));
            }
            self.check_output(output).map_err(|what| format!("output {position} {what}"))?;
        }
        match (self.reduced().count(), self.space, self.guard) {
            (3.., ..) => Err("more than two totals".into()),
            (0, _, Guard::Head { .. }) => Err("a gate at the head of a buffer, and no total".into()),
            (_, _, Guard::Head { buffer }) if !self.is_of_numbers(buffer) => {
                Err(format!("a gate at the head of buffer {buffer}, which has no numbers to read"))
            }
            (0, Space::Layers { .. }, _) | (_, Space::Layers { .. }, Guard::None) => {
                Err("layers without a total and a gate".into())
            }
            _ => Ok(()),
        }
    }

    /// Whether a buffer is of numbers that are only read.
    fn is_of_numbers(&self, buffer: u32) -> bool {
        self.buffers.get(buffer as usize).is_some_and(|buffer| buffer.dtype == ElementType::Real && !buffer.written)
    }

    /// Checks that the tables that nodes read lie within the buffer of all tables.
    fn check_tables(&self) -> Result<(), String> {
        if let Some(tables) = self.tables
            && !self.is_of_numbers(tables.buffer)
        {
            return Err(format!("tables in buffer {}, which holds none", tables.buffer));
        }
        Self::check_lookups(self.graph.graph(), self.tables.map_or(0, |tables| tables.numbers))
    }

    /// Checks that tables that nodes of a graph and of its loops read are among so many numbers.
    fn check_lookups(graph: &Graph, numbers: u32) -> Result<(), String> {
        for of_loop in graph.loops() {
            Self::check_lookups(of_loop.body().graph().graph(), numbers)?;
        }
        for (position, node) in graph.nodes().iter().enumerate() {
            let Node::Apply(Op::Lookup, [_, first, length]) = *node else { continue };
            let is_within = match [first, length].map(|operand| graph.literal_value(operand)) {
                [Some(first), Some(length)] => {
                    let are_whole = first.fract() == 0.0 && length.fract() == 0.0;
                    are_whole && first >= 0.0 && length >= 1.0 && first + length <= f64::from(numbers)
                }
                _ => false,
            };
            if !is_within {
                return Err(format!("node {position} reads a table that is not among {numbers} numbers"));
            }
        }
        Ok(())
    }

    fn check_output(&self, output: &Output) -> Result<(), String> {
        let Some(element) = output.element() else { return Ok(()) };
        self.check_element(element)?;
        let buffer = &self.buffers[element.buffer as usize];
        if !buffer.written {
            return Err(format!("writes {}, which is read only", buffer.name));
        }
        match buffer.dtype {
            ElementType::Real => {}
            ElementType::U32 => return Err(format!("writes a number into {}, of indices", buffer.name)),
        }
        match (&output.epilogue, self.space) {
            (Epilogue::Store(_) | Epilogue::Accumulate(_), Space::Layers { .. }) => {
                Err("is written once for each layer".into())
            }
            (Epilogue::Store(_), Space::Entries { .. }) => Err("is stored by every entry of a list".into()),
            (Epilogue::Accumulate(Element { index, .. }), Space::Entries { .. }) if index.as_owned().is_none() => {
                Err("is summed elsewhere than in the owner's numbers".into())
            }
            _ => Ok(()),
        }
    }

    /// Checks an element, but for what it is read or written for.
    fn check_element(&self, element: &Element) -> Result<(), String> {
        if element.buffer as usize >= self.buffers.len() {
            return Err(format!("is in buffer {} of {}", element.buffer, self.buffers.len()));
        }
        if element.low.is_some() && self.buffers[element.buffer as usize].dtype != ElementType::Real {
            return Err(format!("is a pair of {}, which holds indices", self.buffers[element.buffer as usize].name));
        }
        self.check_index(&element.index)?;
        match &element.low {
            // Where the number stands has been checked.
            Some(_) if element.vector().is_some() => Ok(()),
            Some(low) => self.check_index(low),
            None => Ok(()),
        }
    }

    fn check_index(&self, index: &Index) -> Result<(), String> {
        let of_entries = match self.space {
            Space::Entries { width } => Some(width),
            Space::Instances | Space::Layers { .. } => None,
        };
        for term in index.terms() {
            match term.constant {
                Some(Constant::Width) if of_entries.is_none() => {
                    return Err("is in a table of other instances, without lists".into());
                }
                Some(Constant::Low(vector)) if vector >= Constant::MOST_VECTORS => {
                    return Err(format!("is of a vector {vector}, of {}", Constant::MOST_VECTORS));
                }
                None | Some(Constant::Stride | Constant::First | Constant::Width | Constant::Low(_)) => {}
            }
            match &term.variable {
                None => {}
                Some(Variable::Loaded { buffer, index }) => {
                    match self.buffers.get(*buffer as usize) {
                        Some(buffer) if buffer.dtype == ElementType::U32 => {}
                        _ => return Err(format!("is found by buffer {buffer}, which holds no indices")),
                    }
                    self.check_index(index)?;
                }
                Some(Variable::Layer) if !matches!(self.space, Space::Layers { .. }) => {
                    return Err("is of a layer, without layers".into());
                }
                Some(Variable::Owner) if of_entries.is_none() || index.as_owned().map(|own| own.0) != of_entries => {
                    return Err("is of an owner, and none of its numbers".into());
                }
                Some(Variable::Position | Variable::FirstInstance) if of_entries.is_some() => {
                    return Err("is of an instance of a dispatch, in a list".into());
                }
                Some(Variable::Instance | Variable::FirstInstance | Variable::Position)
                | Some(Variable::Layer | Variable::Owner) => {}
            }
        }
        Ok(())
    }
}

/// Whether a variable that meets a condition stands in an index.
fn takes(index: &Index, condition: &dyn Fn(&Variable) -> bool) -> bool {
    let variables = || index.terms().iter().filter_map(|term| term.variable.as_ref());
    variables().any(condition) || index.loads().any(|(_, index)| takes(index, condition))
}

/// Checks a call and its function, without regard to where its results are used.
fn check_call(call: &Call, exists: impl Fn(NodeId) -> bool) -> Result<(), String> {
    let function = &call.function;
    if !exists(call.selector) || !call.arguments.iter().all(|argument| exists(*argument)) {
        return Err("takes a node that there is not".into());
    }
    if call.arguments.len() != function.parameters.len() {
        return Err(format!(
            "gives {} {} of {} arguments",
            function.name,
            call.arguments.len(),
            function.parameters.len()
        ));
    }
    if function.cases.is_empty() {
        return Err(format!("is of {}, which has no case", function.name));
    }
    for case in &function.cases {
        let sound = case.results.len() == function.results
            && case.graph.input_count() as usize <= function.parameters.len()
            && case.results.iter().all(|result| result.index() < case.graph.graph().len());
        if !sound {
            return Err(format!("is of {}, whose case {} does not keep to its signature", function.name, case.name));
        }
    }
    Ok(())
}
