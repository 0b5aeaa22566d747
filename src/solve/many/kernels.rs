//! The kernels of the CPU: what an instance of a group adds to its problem's sums, and how a problem moves. Instances of a group
//! stand problem after problem.

use crate::codegen::{Address, Buffer, Element, Kernel, Load, Store};
use crate::error::Result;
use crate::graph::{CheckedGraph, NodeId};
use crate::list::Listed;

use super::layout::settings;
use super::moves::{MoveSource, moves};
use super::template::{Group, Template};
use super::terms::{CLOSE_DOUBLE, Source, normal_terms, reduction_term};

/// Columns of a group's table of places: where in each table the numbers of an instance's problem begin.
pub const PLACES: usize = 3;
const PARAMETERS: u32 = 0;
const NORMAL: u32 = 1;
const REDUCTION: u32 = 2;

/// The buffers of a group's kernels, in their order.
const BUFFERS: [Buffer; 6] = [
    Buffer { name: "x", element: Element::Real, written: false },
    Buffer { name: "trial", element: Element::Real, written: false },
    Buffer { name: "data", element: Element::Real, written: false },
    Buffer { name: "settings", element: Element::Real, written: false },
    Buffer { name: "places", element: Element::Index, written: false },
    Buffer { name: "sums", element: Element::Real, written: true },
];
const X: u32 = 0;
const TRIAL: u32 = 1;
const DATA: u32 = 2;
const SETTINGS: u32 = 3;
const INDICES: u32 = 4;
const SUMS: u32 = 5;

/// How a problem's normal equations lie: the cost, the gradient, the upper triangle of JᵀJ column after column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NormalLayout {
    /// Free coordinates.
    pub free: usize,
}

impl NormalLayout {
    /// Numbers of a problem.
    pub fn numbers(self) -> usize {
        1 + self.free + self.free * (self.free + 1) / 2
    }

    /// Place of an entry of the gradient.
    pub fn gradient(self, position: usize) -> usize {
        1 + position
    }

    /// Place of an entry of JᵀJ, of which the row is not below the column.
    pub fn curvature(self, row: usize, column: usize) -> usize {
        1 + self.free + column * (column + 1) / 2 + row
    }
}

/// The uniforms of a group, then weight × factor and the loss's scales.
pub fn settings_table(template: &Template, group: &Group) -> Vec<f64> {
    let mut table = template.model.batches[group.batch].uniforms.clone();
    table.extend_from_slice(&settings(template, group));
    table
}

/// A group's kernel that adds to normal equations.
pub fn normal_kernel(template: &Template, group: &Group) -> Result<Kernel> {
    let terms = normal_terms(template, group)?;
    let layout = NormalLayout { free: template.free.len() };
    let mut sums = vec![(0, terms.cost)];
    for &(position, node) in &terms.gradient {
        sums.push((layout.gradient(position), node));
    }
    for &(row, column, node) in &terms.curvature {
        sums.push((layout.curvature(row, column), node));
    }
    Ok(group_kernel("normal", template, group, terms.graph, &terms.inputs, &sums, NORMAL))
}

/// A group's kernel that adds to reductions.
pub fn reduction_kernel(template: &Template, group: &Group) -> Result<Kernel> {
    let term = reduction_term(template, group, CLOSE_DOUBLE)?;
    Ok(group_kernel("reduction", template, group, term.graph, &term.inputs, &[(0, term.reduction)], REDUCTION))
}

fn group_kernel(
    name: &str,
    template: &Template,
    group: &Group,
    graph: CheckedGraph,
    inputs: &[Source],
    sums: &[(usize, NodeId)],
    place: u32,
) -> Kernel {
    let uniforms = template.model.batches[group.batch].class.uniforms;
    let load = |source: &Source| {
        let of_problem = |buffer, component| Load::Read {
            buffer,
            address: Address::Indexed { indices: INDICES, column: PARAMETERS, component },
        };
        let setting = |place| Load::Read { buffer: SETTINGS, address: Address::Fixed(place) };
        match *source {
            Source::Parameter(number) => of_problem(X, number),
            Source::Trial(number) => of_problem(TRIAL, number),
            Source::Data(column) => Load::Read { buffer: DATA, address: Address::Column(column) },
            Source::Uniform(number) => setting(number),
            Source::Weight => setting(uniforms),
            Source::Scale(number) => setting(uniforms + 1 + number),
        }
    };
    let store = |&(component, node): &(usize, NodeId)| Store {
        buffer: SUMS,
        address: Address::Indexed { indices: INDICES, column: place, component: component as u32 },
        node,
        accumulate: true,
    };
    kernel(name, graph, BUFFERS.into(), inputs.iter().map(load).list(), sums.iter().map(store).list())
}

/// A kernel that is loads, a graph and stores.
fn kernel(name: &str, graph: CheckedGraph, buffers: Vec<Buffer>, loads: Vec<Load>, stores: Vec<Store>) -> Kernel {
    Kernel {
        name: name.to_owned(),
        header: Vec::new(),
        graph,
        buffers,
        loads,
        calls: Vec::new(),
        stores,
        total: None,
        gated: false,
        layers: None,
        pinned: vec![],
    }
}

/// The buffers of the kernel that moves problems.
const MOVE_BUFFERS: [Buffer; 5] = [
    Buffer { name: "x", element: Element::Real, written: false },
    Buffer { name: "step", element: Element::Real, written: false },
    Buffer { name: "bounds", element: Element::Real, written: false },
    Buffer { name: "trial", element: Element::Real, written: true },
    Buffer { name: "made", element: Element::Real, written: true },
];

/// The kernel that moves problems; an instance a problem. Its buffers: x and the step (read), the bounds (read, lower and upper of
/// each free coordinate), trial and the step made (written).
pub fn move_kernel(template: &Template) -> Result<Kernel> {
    let moves = moves(template)?;
    let (numbers, free) = (template.values.len() as u32, template.free.len() as u32);
    let of_problem = |buffer, width, component| (buffer, Address::Interleaved { width, component });
    let load = |source: &MoveSource| {
        let (buffer, address) = match *source {
            MoveSource::Parameter(number) => of_problem(0, numbers, number),
            MoveSource::Step(position) => of_problem(1, free, position as u32),
            MoveSource::Lower(position) => (2, Address::Fixed(2 * position as u32)),
            MoveSource::Upper(position) => (2, Address::Fixed(2 * position as u32 + 1)),
        };
        Load::Read { buffer, address }
    };
    let mut stores = Vec::new();
    let mut store = |(buffer, address), node| stores.push(Store { buffer, address, node, accumulate: false });
    for &(number, node) in &moves.trial {
        store(of_problem(3, numbers, number), node);
    }
    for (position, &node) in (0..).zip(&moves.made) {
        store(of_problem(4, free, position), node);
    }
    Ok(kernel("move", moves.graph, MOVE_BUFFERS.into(), moves.inputs.iter().map(load).list(), stores))
}
