//! Access plans of residuals: from a [`Class`] to the kernels that either engine runs.
//!
//! One class gives these kernels, all with common subexpressions shared between residuals and derivatives:
//!
//! | entry | reads beside the tables | gives |
//! |---|---|---|
//! | `values` | | residuals |
//! | `sumGradient` | | Σ weight·f and its gradient |
//! | `costGradient` | the loss | ½ Σ weight·ρ(‖r‖²) and its gradient |
//! | `seededGradient` | a number for each residual | Σ seed·f and its gradient |
//! | `jacobian` | | residuals and local partials |
//!
//! and more for nonlinear least squares, [`super::least_squares`] and [`super::normal_equations`], and for line searches, [`super::line`].
//!
//! On the CPU instances follow one another and add straight into the gradient. On the GPU they write *local* gradients, a
//! column for each local parameter, which [`super::incidence`] gathers.

use crate::autodiff;
use crate::codegen::{Address, Buffer, Call, Kernel, Layers, Load, Store};
use crate::error::Result;
use crate::graph::{Graph, InputId, NodeId, Op};
use crate::list::Listed;

use super::class::Class;
use super::entries::Entries;
pub use super::entry_point::Entry;
use super::line;
use super::model::Rows;
pub use super::role::Role;
use super::scatter::Scatter;

/// Numbers at the head of every uniform table: weight, then the loss's kind, a, b and factor.
pub const UNIFORM_HEAD: usize = 5;

/// For which engine a plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// One thread an instance; nothing is accumulated.
    Gpu,
    /// Instance after instance.
    Cpu,
}

/// A kernel with the meaning of its buffers.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kernel.
    pub kernel: Kernel,
    /// For each of its buffers what it is.
    pub roles: Vec<Role>,
    /// For each column of partials its output and, of [`Entry::Jacobian`], its local parameter; of [`Entry::Linearise`],
    /// its [`gradient_column`].
    pub partials: Vec<(u32, u32)>,
}

/// Column of the local gradient that a local parameter of the class has: block after block, component after component.
pub fn gradient_column(class: &Class, local: usize) -> u32 {
    let place = class.locals[local];
    class.block_dims[..place.column as usize].iter().sum::<u32>() + place.component
}

/// Collects a kernel's buffers as they are first used.
pub(super) struct Planner<'a> {
    pub(super) class: &'a Class,
    pub(super) rows: Rows,
    pub(super) scatter: Option<&'a Scatter>,
    pub(super) graph: Graph,
    /// The residuals, as nodes of the graph.
    pub(super) outputs: Vec<NodeId>,
    buffers: Vec<Buffer>,
    roles: Vec<Role>,
    loads: Vec<Load>,
    pub(super) calls: Vec<Call>,
    pub(super) stores: Vec<Store>,
}

/// Makes the kernel of a class for an entry and an engine. `title` says in the generated text whose residuals these are.
pub fn plan(class: &Class, rows: Rows, entry: Entry, target: Target, title: &str) -> Result<Plan> {
    make(class, rows, entry, target, title, None)
}

/// The same for the CPU, with partials and what goes with them written to where they belong: [`Entry::Jacobian`] or
/// [`Entry::Linearise`], of which only the residuals go into the local table.
pub fn plan_scattered(class: &Class, rows: Rows, entry: Entry, title: &str, scatter: &Scatter) -> Result<Plan> {
    make(class, rows, entry, Target::Cpu, title, Some(scatter))
}

fn make<'a>(
    class: &'a Class,
    rows: Rows,
    entry: Entry,
    target: Target,
    title: &str,
    scatter: Option<&'a Scatter>,
) -> Result<Plan> {
    let mut planner = match entry {
        Entry::Product | Entry::Image | Entry::Normal => Planner::bare(class, rows),
        _ => Planner::new(class, rows),
    };
    planner.scatter = scatter;
    let (mut partials, mut layers) = (Vec::new(), None);
    let total = match entry {
        Entry::Values => {
            planner.store_values(target);
            None
        }
        Entry::Jacobian => {
            planner.store_values(target);
            let locals = planner.local_inputs();
            let rows = autodiff::jacobian(&mut planner.graph, &class.outputs, &locals);
            for (output, row) in rows.into_iter().enumerate() {
                for (local, partial) in row.into_iter().enumerate() {
                    let Some(node) = partial else { continue };
                    let column = partials.len() as u32;
                    planner.store_partial(partials.len(), node, Role::Partials, column);
                    partials.push((output as u32, local as u32));
                }
            }
            None
        }
        Entry::SumGradient | Entry::SumDescent | Entry::CostGradient | Entry::CostDescent => {
            let (total, seeds) = planner.objective(matches!(entry, Entry::SumGradient | Entry::SumDescent));
            planner.store_gradient(&seeds, target);
            Some(total)
        }
        Entry::SumLine | Entry::CostLine => {
            let direction = planner.go_along();
            let (total, seeds) = planner.objective(entry == Entry::SumLine);
            layers = Some(Layers { count: line::STEPS, second: planner.slope(&seeds, &direction) });
            Some(total)
        }
        Entry::SeededGradient => {
            let buffer = planner.buffer(Role::Seeds);
            let mut seeds = Vec::new();
            let mut terms = Vec::new();
            for (number, &output) in class.outputs.iter().enumerate() {
                let address = planner.row_address(number as u32);
                let seed = planner.load(Load::Read { buffer, address });
                seeds.push((output, seed));
                terms.push(planner.graph.apply(Op::Mul, &[seed, output]));
            }
            let total = planner.sum(terms);
            planner.store_gradient(&seeds, target);
            Some(total)
        }
        Entry::Linearise | Entry::LineariseRows => {
            let mut entries = Entries::default();
            let cost = planner.linearise(target, entry == Entry::LineariseRows, &mut entries);
            partials = entries.places;
            Some(cost)
        }
        Entry::Product | Entry::Image | Entry::Normal => {
            let mut entries = Entries::default();
            Planner::new(class, rows).linearise(target, false, &mut entries);
            match entry {
                Entry::Image => Some(planner.image(&entries, target)),
                Entry::Product => Some(planner.normal_product(&entries, target)),
                _ => {
                    planner.normal_equations(&entries);
                    None
                }
            }
        }
        Entry::Trial => Some(planner.reduction()),
        Entry::SquaredSums => Some(planner.shared_sums(false)),
        Entry::RobustSums => Some(planner.shared_sums(true)),
    };
    planner.finish(entry, title, (total, layers), partials)
}

impl<'a> Planner<'a> {
    /// A planner that has read nothing.
    pub(super) fn bare(class: &'a Class, rows: Rows) -> Planner<'a> {
        Planner {
            class,
            rows,
            scatter: None,
            graph: Graph::new(),
            outputs: class.outputs.clone(),
            buffers: Vec::new(),
            roles: Vec::new(),
            loads: Vec::new(),
            calls: Vec::new(),
            stores: Vec::new(),
        }
    }

    /// A planner with the class's graph, and loads for its inputs.
    pub(super) fn new(class: &'a Class, rows: Rows) -> Planner<'a> {
        let mut planner = Planner { graph: class.graph.graph().clone(), ..Planner::bare(class, rows) };
        if !class.locals.is_empty() {
            let parameters = planner.buffer(Role::Parameters);
            let indices = planner.buffer(Role::Indices);
            planner.loads.extend(class.locals.iter().map(|local| Load::Read {
                buffer: parameters,
                address: Address::Indexed { indices, column: local.column, component: local.component },
            }));
        }
        if class.data > 0 {
            let buffer = planner.buffer(Role::Data);
            planner.loads.extend((0..class.data).map(|column| Load::Read { buffer, address: Address::Column(column) }));
        }
        if class.uniforms > 0 {
            let buffer = planner.buffer(Role::Uniforms);
            planner.loads.extend(
                (0..class.uniforms)
                    .map(|number| Load::Read { buffer, address: Address::Fixed(UNIFORM_HEAD as u32 + number) }),
            );
        }
        planner
    }

    /// Position of the buffer of a role, which is added if it is new.
    pub(super) fn buffer(&mut self, role: Role) -> u32 {
        if let Some(position) = self.roles.iter().position(|&known| known == role) {
            return position as u32;
        }
        let (name, element) = role.declaration();
        self.roles.push(role);
        self.buffers.push(Buffer { name, element, written: false });
        self.roles.len() as u32 - 1
    }

    /// A new input of the graph, read as told.
    pub(super) fn load(&mut self, load: Load) -> NodeId {
        self.loads.push(load);
        self.graph.input(InputId(self.loads.len() as u32 - 1))
    }

    /// A number of the uniform table's head.
    pub(super) fn uniform(&mut self, position: u32) -> NodeId {
        let buffer = self.buffer(Role::Uniforms);
        self.load_once(Load::Read { buffer, address: Address::Fixed(position) })
    }

    /// The input that is read as told, new or not.
    pub(super) fn load_once(&mut self, load: Load) -> NodeId {
        match self.loads.iter().position(|&known| known == load) {
            Some(input) => self.graph.input(InputId(input as u32)),
            None => self.load(load),
        }
    }

    pub(super) fn sum(&mut self, terms: Vec<NodeId>) -> NodeId {
        let sum = terms.into_iter().reduce(|sum, term| self.graph.apply(Op::Add, &[sum, term]));
        sum.unwrap_or_else(|| self.graph.literal(0.0))
    }

    pub(super) fn local_inputs(&self) -> Vec<InputId> {
        (0..self.class.locals.len() as u32).map(InputId).list()
    }

    /// Stores a partial, by its number, where the scatter says, else in a column.
    pub(super) fn store_partial(&mut self, number: usize, node: NodeId, role: Role, column: u32) {
        let (role, address, accumulate) = match self.scatter {
            None => (role, Address::Column(column), false),
            Some(scatter) => {
                let (column, component) = scatter.columns[number];
                let address = match column {
                    Some(column) => Address::Indexed { indices: self.buffer(Role::Places), column, component },
                    None => Address::Interleaved { width: scatter.width(), component },
                };
                (Role::Partials, address, scatter.accumulate)
            }
        };
        let buffer = self.buffer(role);
        self.stores.push(Store { buffer, address, node, accumulate });
    }

    /// Where a residual of the instance stands among all.
    pub(super) fn row_address(&mut self, output: u32) -> Address {
        match self.rows {
            Rows::From(_) => Address::Interleaved { width: self.class.outputs.len() as u32, component: output },
            Rows::Column(column) | Rows::Addends(column) => {
                Address::Indexed { indices: self.buffer(Role::Indices), column, component: output }
            }
        }
    }

    fn store_values(&mut self, target: Target) {
        let addends = matches!(self.rows, Rows::Addends(_));
        for (number, &node) in self.class.outputs.iter().enumerate() {
            let number = number as u32;
            let store = if addends && target == Target::Gpu {
                let buffer = self.buffer(Role::AddendValues);
                Store { buffer, address: Address::Column(number), node, accumulate: false }
            } else {
                let address = self.row_address(number);
                Store { buffer: self.buffer(Role::Residuals), address, node, accumulate: addends }
            };
            self.stores.push(store);
        }
    }

    /// An objective, and for each residual its derivative by it: the weighted sum, or the least-squares cost.
    pub(super) fn objective(&mut self, is_sum: bool) -> (NodeId, Vec<(NodeId, NodeId)>) {
        if !is_sum {
            return self.cost();
        }
        let weight = self.uniform(0);
        let sum = self.sum(self.outputs.clone());
        let total = self.graph.apply(Op::Mul, &[weight, sum]);
        (total, self.outputs.iter().map(|&output| (output, weight)).list())
    }

    /// ½ weight·ρ(‖r‖²), of which the gradient is weight·ρ′(‖r‖²)·Jᵀr.
    fn cost(&mut self) -> (NodeId, Vec<(NodeId, NodeId)>) {
        let outputs = self.outputs.clone();
        let squares = outputs.iter().map(|&r| self.graph.apply(Op::Mul, &[r, r])).list();
        let squared_norm = self.sum(squares);
        let [rho, slope] = self.loss(squared_norm);
        let weight = self.scaled_weight();
        let half = self.graph.literal(0.5);
        let half_weight = self.graph.apply(Op::Mul, &[half, weight]);
        let total = self.graph.apply(Op::Mul, &[half_weight, rho]);
        let scale = self.graph.apply(Op::Mul, &[weight, slope]);
        (total, outputs.iter().map(|&r| (r, self.graph.apply(Op::Mul, &[scale, r]))).list())
    }

    fn store_gradient(&mut self, seeds: &[(NodeId, NodeId)], target: Target) {
        let locals = self.local_inputs();
        let gradient = autodiff::gradient(&mut self.graph, seeds, &locals);
        for (local, partial) in gradient.into_iter().enumerate() {
            match target {
                Target::Gpu => {
                    // Every column is written, since a gather reads whole blocks.
                    let node = partial.unwrap_or_else(|| self.graph.literal(0.0));
                    let address = Address::Column(gradient_column(self.class, local));
                    let buffer = self.buffer(Role::LocalGradient);
                    self.stores.push(Store { buffer, address, node, accumulate: false });
                }
                Target::Cpu => {
                    let Some(node) = partial else { continue };
                    let place = self.class.locals[local];
                    let address = Address::Indexed {
                        indices: self.buffer(Role::Indices),
                        column: place.column,
                        component: place.component,
                    };
                    let buffer = self.buffer(Role::Gradient);
                    self.stores.push(Store { buffer, address, node, accumulate: true });
                }
            }
        }
    }

    pub(super) fn finish(
        mut self,
        entry: Entry,
        title: &str,
        (total, layers): (Option<NodeId>, Option<Layers>),
        partials: Vec<(u32, u32)>,
    ) -> Result<Plan> {
        // What is kept, in one list, so that the nodes can be renumbered together.
        let mut kept: Vec<NodeId> = self.stores.iter().map(|store| store.node).chain(total).list();
        kept.extend(layers.map(|layers| layers.second));
        for call in &self.calls {
            kept.push(call.selector);
            kept.extend(&call.arguments);
        }
        let (graph, kept) = self.graph.extract(&kept);
        let mut kept = kept.into_iter();
        let mut next = || kept.next().expect("one node is kept for each that was asked for");
        for store in &mut self.stores {
            store.node = next();
        }
        let total = total.map(|_| next());
        let layers = layers.map(|layers| Layers { second: next(), ..layers });
        for call in &mut self.calls {
            call.selector = next();
            call.arguments = call.arguments.iter().map(|_| next()).list();
        }
        for (number, buffer) in (0u32..).zip(&mut self.buffers) {
            buffer.written = self.stores.iter().any(|store| store.buffer == number);
        }
        let header = vec![
            format!("{}: {title}.", entry.description()),
            format!(
                "{} residual(s) an instance, {} local parameter(s) in {} block(s), {} data, {} uniform(s).",
                self.class.outputs.len(),
                self.class.locals.len(),
                self.class.block_dims.len(),
                self.class.data,
                self.class.uniforms
            ),
        ];
        let kernel = Kernel {
            name: entry.name().to_owned(),
            header,
            graph: graph.check(self.loads.len() as u32)?,
            buffers: self.buffers,
            loads: self.loads,
            calls: self.calls,
            stores: self.stores,
            total,
            gated: entry.is_gated(),
            layers,
            pinned: vec![],
        };
        Ok(Plan { kernel, roles: self.roles, partials })
    }
}
