//! The kernels of the CPU: what an instance of a group adds to its problem's sums, and how a problem moves. Instances of a group
//! stand problem after problem.

use crate::model::losses::LossKind;
use residua_base::error::Result;
use residua_base::list::{Listed, PushAll};
use residua_codegen::{CheckedKernel, ElementType, Index, Kernel, KernelBuffer, Load, Output, TableBuffer};
use residua_ir::graph::{CheckedGraph, NodeId};

use super::layout::settings;
use super::moves::{MoveSource, moves};
use super::template::{Group, SharedProblem};
use super::terms::{CLOSE_DOUBLE, Source, normal_terms, reduction_term};

/// Columns of a group's table of places: where in each table the numbers of an instance's problem begin.
pub const PLACES: usize = 3;
const PARAMETERS: u32 = 0;
const NORMAL: u32 = 1;
const REDUCTION: u32 = 2;

/// The buffers of a group's kernels, in their order.
const BUFFERS: [KernelBuffer; 7] = [
    KernelBuffer { name: "x", dtype: ElementType::Real, written: false },
    KernelBuffer { name: "trial", dtype: ElementType::Real, written: false },
    KernelBuffer { name: "data", dtype: ElementType::Real, written: false },
    KernelBuffer { name: "settings", dtype: ElementType::Real, written: false },
    KernelBuffer { name: "places", dtype: ElementType::U32, written: false },
    KernelBuffer { name: "sums", dtype: ElementType::Real, written: true },
    KernelBuffer { name: "tables", dtype: ElementType::Real, written: false },
];
const X: u32 = 0;
const TRIAL: u32 = 1;
const DATA: u32 = 2;
const SETTINGS: u32 = 3;
const INDICES: u32 = 4;
const SUMS: u32 = 5;
const TABLES: u32 = 6;

/// How a problem's normal equations lie: the cost, the gradient, the upper triangle of JᵀJ column after column, and with a robust loss the cost by influence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NormalLayout {
    /// Free coordinates.
    pub free: usize,
    /// Whether a loss is robust.
    pub is_robust: bool,
}

impl NormalLayout {
    /// Of the problems of a template.
    pub fn new(template: &SharedProblem) -> NormalLayout {
        let is_robust = template.groups.iter().any(|group| group.loss != LossKind::Squared);
        NormalLayout { free: template.free.len(), is_robust }
    }

    /// Numbers of a problem.
    pub fn numbers(self) -> usize {
        self.jtj(0, self.free) + usize::from(self.is_robust)
    }

    /// The gradient and the upper triangle of JᵀJ of a problem.
    pub fn parts(self, normal: &[f64]) -> (&[f64], &[f64]) {
        normal[1..self.jtj(0, self.free)].split_at(self.free)
    }

    /// The cost by influence.
    pub fn influence(self, normal: &[f64]) -> f64 {
        normal[if self.is_robust { self.numbers() - 1 } else { 0 }]
    }

    /// Place of an entry of the gradient.
    pub fn gradient(self, position: usize) -> usize {
        1 + position
    }

    /// Place of an entry of JᵀJ, of which the row is not below the column.
    pub fn jtj(self, row: usize, column: usize) -> usize {
        1 + self.free + column * (column + 1) / 2 + row
    }
}

/// The batch constants of a group, then weight × factor and the loss's scales.
pub fn settings_table(template: &SharedProblem, group: &Group) -> Vec<f64> {
    let mut table = template.model.batches[group.batch].batch_constants.clone();
    table.extend_from_slice(&settings(template, group));
    table
}

/// A group's kernel that adds to normal equations.
pub fn normal_kernel(template: &SharedProblem, group: &Group) -> Result<CheckedKernel> {
    let layout = NormalLayout::new(template);
    let terms = normal_terms(template, group, layout.is_robust)?;
    let mut sums = vec![(0, terms.cost)];
    sums.push_all(terms.influence.map(|influence| (layout.numbers() - 1, influence)));
    for &(position, node) in &terms.gradient {
        sums.push((layout.gradient(position), node));
    }
    for &(row, column, node) in &terms.jtj {
        sums.push((layout.jtj(row, column), node));
    }
    group_kernel("normal", template, group, terms.graph, &terms.inputs, &sums, NORMAL)
}

/// A group's kernel that adds to reductions.
pub fn reduction_kernel(template: &SharedProblem, group: &Group) -> Result<CheckedKernel> {
    let term = reduction_term(template, group, CLOSE_DOUBLE)?;
    group_kernel("reduction", template, group, term.graph, &term.inputs, &[(0, term.reduction)], REDUCTION)
}

fn group_kernel(
    name: &str,
    template: &SharedProblem,
    group: &Group,
    graph: CheckedGraph,
    inputs: &[Source],
    sums: &[(usize, NodeId)],
    place: u32,
) -> Result<CheckedKernel> {
    let batch_constants = template.model.batches[group.batch].class.batch_constants;
    let load = |source: &Source| {
        let of_problem = |component| Index::indexed(INDICES, PARAMETERS, component);
        let (buffer, index) = match *source {
            Source::Parameter(number) => (X, of_problem(number)),
            Source::Trial(number) => (TRIAL, of_problem(number)),
            Source::Data(column) => (DATA, Index::column(column)),
            Source::Constant(number) => (SETTINGS, Index::literal(number)),
            Source::Weight => (SETTINGS, Index::literal(batch_constants)),
            Source::Scale(number) => (SETTINGS, Index::literal(batch_constants + 1 + number)),
        };
        Load::read(buffer, index)
    };
    let sum = |&(component, node): &(usize, NodeId)| {
        Output::accumulate(node, SUMS, Index::indexed(INDICES, place, component as u32))
    };
    let numbers = template.model.tables.len() as u32;
    let tables = graph.graph().reads_tables().then_some(TableBuffer { buffer: TABLES, numbers });
    let kernel = Kernel {
        buffers: BUFFERS.into(),
        loads: inputs.iter().map(load).list(),
        outputs: sums.iter().map(sum).list(),
        tables,
        ..Kernel::new(name, graph)
    };
    kernel.check()
}

/// The buffers of the kernel that moves problems.
const MOVE_BUFFERS: [KernelBuffer; 5] = [
    KernelBuffer { name: "x", dtype: ElementType::Real, written: false },
    KernelBuffer { name: "step", dtype: ElementType::Real, written: false },
    KernelBuffer { name: "bounds", dtype: ElementType::Real, written: false },
    KernelBuffer { name: "trial", dtype: ElementType::Real, written: true },
    KernelBuffer { name: "projected_step", dtype: ElementType::Real, written: true },
];

/// The kernel that moves problems; an instance a problem. Its buffers: x and the step (read), the bounds (read, lower and upper of
/// each free coordinate), trial and the projected step (written).
pub fn move_kernel(template: &SharedProblem) -> Result<CheckedKernel> {
    let moves = moves(template)?;
    let (numbers, free) = (template.values.len() as u32, template.free.len() as u32);
    let load = |source: &MoveSource| {
        let (buffer, index) = match *source {
            MoveSource::Parameter(number) => (0, Index::interleaved(numbers, number)),
            MoveSource::Step(position) => (1, Index::interleaved(free, position as u32)),
            MoveSource::Lower(position) => (2, Index::literal(2 * position as u32)),
            MoveSource::Upper(position) => (2, Index::literal(2 * position as u32 + 1)),
        };
        Load::read(buffer, index)
    };
    let mut outputs = Vec::new();
    let mut store = |buffer, index, node| outputs.push(Output::store(node, buffer, index));
    for &(number, node) in &moves.trial {
        store(3, Index::interleaved(numbers, number), node);
    }
    for (position, &node) in (0..).zip(&moves.projected_step) {
        store(4, Index::interleaved(free, position), node);
    }
    let kernel = Kernel {
        buffers: MOVE_BUFFERS.into(),
        loads: moves.inputs.iter().map(load).list(),
        outputs,
        ..Kernel::new("move", moves.graph)
    };
    kernel.check()
}
