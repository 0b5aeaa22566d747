//! Collects what a kernel of a class reads, computes and writes.
//!
//! A [`Planner`] starts from the graph of a [`Class`]; the modules of least squares, line search, normal equations and reductions add what
//! their kernels compute. Buffers are bound in the order in which they are first used.

use residua_base::error::Result;
use residua_base::list::{Listed, PushAll};
use residua_codegen::{
    Call, Element, Epilogue, Guard, Index, Instances, Kernel, KernelBuffer, Load, Output, Space, TableBuffer, Width,
};
use residua_ir::autodiff;
use residua_ir::graph::{Graph, InputId, NodeId, Op};

use super::batch::Rows;
use super::class::Class;
use super::derivatives::Derivatives;
use super::entry_point::Entry;
use super::role::Role;
use super::scatter::Scatter;

/// Numbers at the head of every uniform table: weight, then the loss's kind, a, b and factor.
pub const UNIFORM_HEAD: usize = 5;

/// The vectors whose distance to their low parts is a figure of the dispatch, see [`residua_codegen::Constant::Low`].
pub mod vectors {
    /// Over all parameters.
    pub const PARAMETERS: u32 = 0;
    /// Over all residuals.
    pub const RESIDUALS: u32 = 1;
}

/// For which engine a plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// One thread an instance; nothing is accumulated.
    Gpu,
    /// Instance after instance.
    Cpu,
}

/// Collects a kernel's buffers as they are first used.
pub(super) struct Planner<'a> {
    pub(super) class: &'a Class,
    pub(super) rows: Rows,
    /// In how many numbers points, data, residuals, gradients and totals are held. Of a device alone.
    pub(super) width: Width,
    pub(super) scatter: Option<&'a Scatter>,
    /// What is known already of the linearisation.
    pub(super) derivatives: Option<Derivatives>,
    pub(super) graph: Graph,
    /// The residuals, as nodes of the graph.
    pub(super) outputs: Vec<NodeId>,
    buffers: Vec<KernelBuffer>,
    roles: Vec<Role>,
    loads: Vec<Load>,
    pub(super) calls: Vec<Call>,
    /// What is written.
    pub(super) writes: Vec<Output>,
    /// What is summed over all instances.
    pub(super) totals: Vec<NodeId>,
    pub(super) space: Space,
}

impl<'a> Planner<'a> {
    /// A planner that has read nothing.
    pub(super) fn bare(class: &'a Class, rows: Rows, width: Width) -> Planner<'a> {
        Planner {
            class,
            rows,
            width,
            scatter: None,
            derivatives: None,
            graph: Graph::new(),
            outputs: class.outputs.clone(),
            buffers: Vec::new(),
            roles: Vec::new(),
            loads: Vec::new(),
            calls: Vec::new(),
            writes: Vec::new(),
            totals: Vec::new(),
            space: Space::Instances,
        }
    }

    /// A planner with the class's graph, and loads for its inputs.
    pub(super) fn new(class: &'a Class, rows: Rows, width: Width) -> Planner<'a> {
        let mut planner = Planner { graph: class.graph.graph().clone(), ..Planner::bare(class, rows, width) };
        if !class.locals.is_empty() {
            let parameters = planner.buffer(Role::Parameters);
            let indices = planner.buffer(Role::Indices);
            for local in &class.locals {
                let index = Index::indexed(indices, local.column, local.component);
                planner.loads.push(Load::Read(planner.in_vector(parameters, index, vectors::PARAMETERS)));
            }
        }
        if class.data > 0 {
            let buffer = planner.buffer(Role::Data);
            for column in 0..class.data {
                planner.loads.push(Load::Read(planner.in_table(buffer, column, class.data)));
            }
        }
        if class.batch_constants > 0 {
            let buffer = planner.buffer(Role::BatchConstants);
            for number in 0..class.batch_constants {
                planner.loads.push(Load::Read(planner.batch_constant(buffer, UNIFORM_HEAD as u32 + number)));
            }
        }
        planner
    }

    /// Position of the buffer of a role, which is added if it is new.
    pub(super) fn buffer(&mut self, role: Role) -> u32 {
        if let Some(position) = self.roles.iter().position(|&known| known == role) {
            return position as u32;
        }
        let (name, dtype) = role.declaration();
        self.roles.push(role);
        self.buffers.push(KernelBuffer { name, dtype, written: false });
        self.roles.len() as u32 - 1
    }

    /// A number of a vector.
    pub(super) fn in_vector(&self, buffer: u32, index: Index, vector: u32) -> Element {
        let low = (self.width == Width::Pair).then(|| index.low(vector));
        Element { buffer, index, low }
    }

    /// A number of a table that has so many columns, after which the low parts of all follow.
    pub(super) fn in_table(&self, buffer: u32, column: u32, columns: u32) -> Element {
        let low = (self.width == Width::Pair).then(|| Index::column(columns + column));
        Element { buffer, index: Index::column(column), low }
    }

    /// A number of the batch constants, of which the low parts follow all.
    pub(super) fn batch_constant(&self, buffer: u32, number: u32) -> Element {
        let numbers = UNIFORM_HEAD as u32 + self.class.batch_constants;
        let low = (self.width == Width::Pair).then(|| Index::literal(numbers + number));
        Element { buffer, index: Index::literal(number), low }
    }

    /// A new input of the graph with the given load.
    pub(super) fn load(&mut self, load: Load) -> NodeId {
        self.loads.push(load);
        self.graph.input(InputId(self.loads.len() as u32 - 1))
    }

    /// A number of the uniform table's head.
    pub(super) fn uniform(&mut self, position: u32) -> NodeId {
        let buffer = self.buffer(Role::BatchConstants);
        self.load_once(Load::Read(self.batch_constant(buffer, position)))
    }

    /// The input with the given load, new or not.
    pub(super) fn load_once(&mut self, load: Load) -> NodeId {
        match self.loads.iter().position(|known| *known == load) {
            Some(input) => self.graph.input(InputId(input as u32)),
            None => self.load(load),
        }
    }

    pub(super) fn apply(&mut self, op: Op, operands: &[NodeId]) -> NodeId {
        self.graph.apply(op, operands)
    }

    pub(super) fn product_of(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.apply(Op::Mul, &[a, b])
    }

    /// Σ xᵢ².
    pub(super) fn squared_norm(&mut self, numbers: &[NodeId]) -> NodeId {
        let squares = numbers.iter().map(|&number| self.product_of(number, number)).list();
        self.sum(squares)
    }

    pub(super) fn sum(&mut self, terms: Vec<NodeId>) -> NodeId {
        let sum = terms.into_iter().reduce(|sum, term| self.graph.apply(Op::Add, &[sum, term]));
        sum.unwrap_or_else(|| self.graph.literal(0.0))
    }

    pub(super) fn local_inputs(&self) -> Vec<InputId> {
        (0..self.class.locals.len() as u32).map(InputId).list()
    }

    /// Stores a node in a table that has so many columns.
    pub(super) fn store_in_table(&mut self, role: Role, column: u32, columns: u32, node: NodeId) {
        let buffer = self.buffer(role);
        let element = self.in_table(buffer, column, columns);
        self.writes.push(Output { node, epilogue: Epilogue::Store(element) });
    }

    /// Stores a partial, by its number, where the scatter says, else in a column.
    pub(super) fn store_partial(&mut self, number: usize, node: NodeId, role: Role, column: u32) {
        let Some(scatter) = self.scatter else { return self.store(role, Index::column(column), node) };
        let (column, component) = scatter.columns[number];
        let index = match column {
            Some(column) => Index::indexed(self.buffer(Role::Places), column, component),
            None => Index::interleaved(scatter.width(), component),
        };
        self.write(Role::Partials, index, node, scatter.accumulate);
    }

    /// Stores a node.
    pub(super) fn store(&mut self, role: Role, index: Index, node: NodeId) {
        self.write(role, index, node, false);
    }

    /// Stores a node, or adds it to what stands at the place.
    pub(super) fn write(&mut self, role: Role, index: Index, node: NodeId, accumulate: bool) {
        let buffer = self.buffer(role);
        let written = if accumulate { Output::accumulate } else { Output::store };
        self.writes.push(written(node, buffer, index));
    }

    /// A residual of the instance among all.
    fn in_rows(&mut self, role: Role, output: u32) -> Element {
        let index = self.row_index(output);
        let buffer = self.buffer(role);
        self.in_vector(buffer, index, vectors::RESIDUALS)
    }

    /// The input with a residual's number of a vector over all.
    pub(super) fn load_of_row(&mut self, role: Role, output: u32) -> NodeId {
        self.buffer(role);
        let element = self.in_rows(role, output);
        self.load(Load::Read(element))
    }

    /// Where a residual of the instance stands among all.
    pub(super) fn row_index(&mut self, output: u32) -> Index {
        match self.rows {
            Rows::From(_) => Index::interleaved(self.class.outputs.len() as u32, output),
            Rows::Column(column) | Rows::Addends(column) => Index::indexed(self.buffer(Role::Indices), column, output),
        }
    }

    /// Stores the residuals.
    pub(super) fn store_values(&mut self, target: Target) {
        let addends = matches!(self.rows, Rows::Addends(_));
        for (number, &node) in self.class.outputs.iter().enumerate() {
            let number = number as u32;
            if addends && target == Target::Gpu {
                self.store_in_table(Role::AddendValues, number, self.class.outputs.len() as u32, node);
            } else {
                let element = self.in_rows(Role::Residuals, number);
                let written = if addends { Epilogue::Accumulate } else { Epilogue::Store };
                self.writes.push(Output { node, epilogue: written(element) });
            }
        }
    }

    /// Stores the gradient of an objective, given by its derivatives by residuals.
    pub(super) fn store_gradient(&mut self, seeds: &[(NodeId, NodeId)], target: Target) {
        let locals = self.local_inputs();
        let gradient = autodiff::gradient(&mut self.graph, seeds, &locals);
        let columns = self.class.block_dims.iter().sum();
        for (local, partial) in gradient.into_iter().enumerate() {
            match target {
                Target::Gpu => {
                    // Every column is written, since a gather reads whole blocks.
                    let node = partial.unwrap_or_else(|| self.graph.literal(0.0));
                    self.store_in_table(Role::LocalGradient, self.class.gradient_column(local), columns, node);
                }
                Target::Cpu => {
                    let Some(node) = partial else { continue };
                    let place = self.class.locals[local];
                    let index = Index::indexed(self.buffer(Role::Indices), place.column, place.component);
                    self.write(Role::Gradient, index, node, true);
                }
            }
        }
    }

    /// The kernel, unchecked, and the roles of its buffers.
    pub(super) fn into_kernel(mut self, entry: Entry, title: &str) -> Result<(Kernel, Vec<Role>)> {
        let mut outputs = std::mem::take(&mut self.writes);
        let width = self.width;
        outputs.push_all(
            std::mem::take(&mut self.totals).into_iter().map(|node| Output { node, epilogue: Epilogue::Reduce(width) }),
        );
        // What is kept, in one list, so that the nodes can be renumbered together.
        let mut kept: Vec<NodeId> = outputs.iter().map(|output| output.node).list();
        for call in &self.calls {
            kept.push(call.selector);
            kept.extend_from_slice(&call.arguments);
        }
        let (graph, kept) = self.graph.extract(&kept);
        let numbers = self.class.tables;
        let tables = graph.reads_tables().then(|| TableBuffer { buffer: self.buffer(Role::Tables), numbers });
        let mut kept = kept.into_iter();
        let mut next = || kept.next().expect("one node is kept for each that was asked for");
        for output in &mut outputs {
            output.node = next();
        }
        for call in &mut self.calls {
            call.selector = next();
            call.arguments = call.arguments.iter().map(|_| next()).list();
        }
        for element in outputs.iter().filter_map(Output::element) {
            self.buffers[element.buffer as usize].written = true;
        }
        // The gate of a line kernel stands before its steps.
        let steps = self.roles.iter().position(|role| *role == Role::Steps);
        let guard = match (entry.is_gated(), steps) {
            (false, _) => Guard::None,
            (true, None) => Guard::Gate,
            (true, Some(steps)) => Guard::Head { buffer: steps as u32 },
        };
        let header = vec![
            format!("{}: {title}.", entry.description()),
            format!(
                "{} residual(s) an instance, {} local parameter(s) in {} block(s), {} data, {} batch constant(s).",
                self.class.outputs.len(),
                self.class.locals.len(),
                self.class.block_dims.len(),
                self.class.data,
                self.class.batch_constants
            ),
        ];
        let kernel = Kernel {
            name: entry.name().to_owned(),
            header,
            space: self.space,
            guard,
            graph: graph.check(self.loads.len() as u32)?,
            buffers: self.buffers,
            loads: self.loads,
            calls: self.calls,
            outputs,
            tables,
            instances: Instances::Many,
        };
        Ok((kernel, self.roles))
    }
}
