//! Kernels that reduce along rows.
//!
//! The reductions of a kernel go in stages: those of one stage depend on results of earlier stages alone and are done in one pass over the row.
//! After them come the elements, a pass of their own, and the results of the row.

use residua_base::error::Result;
use residua_base::list::Listed;

use super::code::Code;
use super::combine::States;
use super::held::Held;
use super::module::{Module, bit};
use super::operation::Text;
use super::points::{self, Axes};
use super::text::KernelText;
use super::workgroups::Workgroups;
use crate::kernel::{Rows, Store};
use crate::scalar::{Id, TypedNode, TypedOp};

mod schedule;
pub mod tree;

pub use schedule::Schedule;
use tree::Shared;

/// Points, or fours of points, that a loop takes at a time.
const UNROLLED: u32 = 4;
/// Largest graph of which a loop has several copies.
const MOST_UNROLLED_NODES: usize = 100;

/// Writes the kernel.
pub fn write(mut module: Module, rows: &Rows) -> Result<KernelText> {
    let states: Vec<States> =
        rows.folds.iter().enumerate().map(|(position, fold)| States::new(position, fold, &mut module)).list();
    let (values, indices) = roots(rows);
    let loads = module.kernel.graph.loads(values.iter().chain(&indices).copied());
    let schedule = Schedule::choose(&module, rows, &loads, &states);
    let outer = Axes::new(0, &rows.outer, schedule.lanes);
    let row = Axes::new(rows.outer.len(), &rows.row, schedule.lanes);
    let lane_extent = if schedule.lanes_are_rows { rows.outer.last() } else { rows.row.last() };
    let length = rows.length(&module.kernel.graph);
    // Loops over rows of different lengths end where these do.
    let valid = if length.is_some() { None } else { rows.valid };
    let masked = valid.is_some() || lane_extent.is_some_and(|extent| !module.is_multiple_of_4(*extent));
    match schedule.lanes_are_rows {
        true => {
            let stores: Vec<Store> = rows.elements.iter().chain(&rows.results).copied().list();
            points::declare(&mut module, schedule.lanes, &loads, &stores, &[], masked);
        }
        false => points::declare(&mut module, schedule.lanes, &loads, &rows.elements, &rows.results, masked),
    }

    let stages = stages(&module, rows);
    let mut code = Code::new(&mut module, schedule.lanes);
    code.folds_vary = schedule.lanes_are_rows;
    let mut writer = RowsWriter {
        rows,
        valid,
        length,
        states: &states,
        schedule,
        row,
        outer_mask: None,
        is_active: None,
        held: Vec::new(),
        shared: Shared::default(),
        code,
    };
    writer.locate(&outer);
    writer.code.hoist(&values, &indices, writer.row.bits(), u32::MAX);
    for stage in &stages {
        writer.stage(stage);
    }
    writer.elements();
    writer.results();
    let declarations = writer.shared.declarations(&schedule);
    let body = writer.code.finish();
    let workgroups = Workgroups::new(outer.factors(), schedule.across);
    module.finish(&declarations, &body, schedule.threads(), workgroups)
}

/// All values that the kernel computes, and all addresses that it writes.
fn roots(rows: &Rows) -> (Vec<Id>, Vec<Id>) {
    let stores: Vec<&Store> = rows.elements.iter().chain(&rows.results).list();
    let operands = rows.folds.iter().flat_map(|fold| &fold.operands).copied();
    let values = operands.chain(rows.valid).chain(stores.iter().map(|store| store.value)).list();
    (values, stores.iter().map(|store| store.index).list())
}

/// The reductions by stage.
fn stages(module: &Module, rows: &Rows) -> Vec<Vec<usize>> {
    let mut stage_of: Vec<usize> = Vec::new();
    for fold in &rows.folds {
        let needed = fold.operands.iter().fold(0, |bits, operand| bits | module.dependence(*operand).folds);
        let after = (0..stage_of.len()).filter(|earlier| needed & bit(*earlier as u32) != 0);
        stage_of.push(after.map(|earlier| stage_of[earlier] + 1).max().unwrap_or(0));
    }
    let count = stage_of.iter().max().map_or(0, |last| last + 1);
    (0..count).map(|stage| (0..stage_of.len()).filter(|fold| stage_of[*fold] == stage).list()).list()
}

struct RowsWriter<'w, 'm, 'a> {
    rows: &'w Rows,
    /// Which points there are, if that has to be asked at each.
    valid: Option<Id>,
    /// How many points a row has, where rows differ in that.
    length: Option<Id>,
    states: &'w [States],
    schedule: Schedule,
    row: Axes,
    /// Which of four rows there are.
    outer_mask: Option<Text>,
    /// The name of a bool: whether the thread has a row.
    is_active: Option<String>,
    held: Vec<Held>,
    shared: Shared,
    code: Code<'m, 'a>,
}

impl RowsWriter<'_, '_, '_> {
    /// Writes which row a thread has, and its place `y` along it.
    fn locate(&mut self, outer: &Axes) {
        let Schedule { across, along, rows_are_neighbours, .. } = self.schedule;
        let code = &mut self.code;
        let count = outer.count(code.module);
        if along == 1 {
            code.line(&format!("let unit = workgroup * {across}u + lane;"));
            code.open(&format!("if unit >= {count}"));
            code.line("return;");
            code.close();
        } else if across == 1 {
            code.line("let unit = workgroup;");
            code.line("let y = lane;");
            code.open(&format!("if unit >= {count}"));
            code.line("return;");
            code.close();
        } else {
            code.line(&format!("let rows = {count};"));
            code.open(&format!("if workgroup * {across}u >= rows"));
            code.line("return;");
            code.close();
            let [x, y] = match rows_are_neighbours {
                true => [format!("lane % {across}u"), format!("lane / {across}u")],
                false => [format!("lane / {along}u"), format!("lane % {along}u")],
            };
            code.line(&format!("let x = {x};"));
            code.line(&format!("let y = {y};"));
            // A thread without a row computes the last one again, since all take part in barriers.
            code.line(&format!("let is_active = workgroup * {across}u + x < rows;"));
            code.line(&format!("let unit = min(workgroup * {across}u + x, rows - 1u);"));
            self.is_active = Some("is_active".to_owned());
        }
        outer.locate("unit", code);
        self.outer_mask = outer.mask(code);
        let mut chunks = self.row.count(code.module);
        if let Some(length) = self.length {
            chunks = format!("min({}, {chunks})", code.value(length).text);
        }
        code.line(&format!("let chunks = {chunks};"));
        let is_ordered = along > 1 && self.states.iter().any(States::is_ordered);
        if is_ordered {
            code.line(&format!("let share = (chunks + {}u) / {along}u;", along - 1));
        }
        self.hold();
    }

    /// Names the points that a thread holds.
    fn hold(&mut self) {
        let Schedule { along, held, .. } = self.schedule;
        let is_exact = self.row.known(self.code.module) == Some(along * held);
        for position in 0..held {
            let chunk = match (along, position) {
                (1, _) => format!("{position}u"),
                (_, 0) => "y".to_owned(),
                (_, _) => self.code.bind(&format!("y + {}u", position * along)),
            };
            // All but the last are there for every thread.
            let exists = (position + 1 == held && !is_exact).then(|| self.code.bind(&format!("{chunk} < chunks")));
            self.row.locate(&chunk, &mut self.code);
            self.held.push(Held::here(&mut self.code, &[], exists));
        }
    }

    /// Writes something for each point, or four points, that a thread has of the row: with the values that it needs, then under the condition that
    /// there is such a point.
    fn each_point(&mut self, roots: &[Id], write: impl FnMut(&mut Self)) {
        self.each_point_of(None, roots, write);
    }

    /// The same from one point of the row to another.
    fn each_point_of(&mut self, span: Option<[&str; 2]>, roots: &[Id], mut write: impl FnMut(&mut Self)) {
        for position in 0..self.held.len() {
            let exists = std::mem::take(&mut self.held[position]).enter(&mut self.code);
            self.code.require(roots);
            if let Some(exists) = &exists {
                self.code.open(&format!("if {exists}"));
            }
            write(self);
            if exists.is_some() {
                self.code.close();
            }
            self.held[position] = Held::leave(&mut self.code, exists);
        }
        if !self.held.is_empty() {
            return;
        }
        let along = self.schedule.along;
        let is_ordered = along > 1 && self.states.iter().any(States::is_ordered);
        let step = if along == 1 || is_ordered { 1 } else { along };
        let (first, end) = match (along, is_ordered) {
            (1, _) => ("0u", "chunks"),
            (_, true) => ("y * share", "min((y + 1u) * share, chunks)"),
            (_, false) => ("y", "chunks"),
        };
        let (first, end) = match span {
            Some([start, end]) => (format!("{start} + {first}"), end),
            None => (first.to_owned(), end),
        };
        let chunk = self.code.name();
        self.code.line(&format!("var {chunk} = {first};"));
        if self.is_unrolled() {
            // The loads of several points are under way at a time.
            self.code.open(&format!(
                "for (; {chunk} + {}u < {end}; {chunk} += {}u)",
                step * (UNROLLED - 1),
                step * UNROLLED
            ));
            let mut points = Vec::new();
            for position in 0..UNROLLED {
                let place = match position {
                    0 => chunk.clone(),
                    _ => self.code.bind(&format!("{chunk} + {}u", step * position)),
                };
                self.row.locate(&place, &mut self.code);
                points.push(Held::here(&mut self.code, roots, None));
            }
            for held in points {
                held.enter(&mut self.code);
                write(self);
                self.code.pop_values();
            }
            self.code.close();
        }
        self.code.open(&format!("for (; {chunk} < {end}; {chunk} += {step}u)"));
        self.row.locate(&chunk, &mut self.code);
        self.code.require(roots);
        write(self);
        self.code.close();
    }

    /// Whether loops over points take several points at a time: where there may be so many, and the text stays short.
    fn is_unrolled(&self) -> bool {
        let known = self.row.known(self.code.module);
        known.is_none_or(|chunks| chunks / self.schedule.along >= UNROLLED)
            && self.code.module.kernel.graph.len() <= MOST_UNROLLED_NODES
    }

    /// The end of the first of two ranges that follow one another along a row, and the terms of both.
    fn parts(&self, stage: &[usize]) -> Option<[Id; 3]> {
        let graph = &self.code.module.kernel.graph;
        let ([fold], Some(_)) = (stage, self.length) else { return None };
        let TypedNode::Apply(TypedOp::Select, [is_first, first, second]) =
            graph.node(self.rows.folds[*fold].operands[0])
        else {
            return None;
        };
        match graph.node(is_first) {
            TypedNode::Apply(TypedOp::Lt, [place, end, _])
                if graph.node(place) == TypedNode::Coordinate(self.rows.outer.len() as u32) =>
            {
                Some([end, first, second])
            }
            _ => None,
        }
    }

    /// Accumulates what points of the row contribute to the reductions of a stage.
    fn add_points(
        &mut self,
        span: Option<[&str; 2]>,
        stage: &[usize],
        accumulators: &[usize],
        operands_of: impl Fn(usize) -> Vec<Id>,
    ) {
        let states = self.states;
        let lanes = if self.schedule.lanes.is_some() { 4 } else { 1 };
        let operands: Vec<Id> = stage.iter().flat_map(|fold| operands_of(*fold)).list();
        let roots: Vec<Id> = operands.iter().copied().chain(self.valid).list();
        self.each_point_of(span, &roots, |writer| {
            let mask = writer.row.present(writer.valid, &mut writer.code);
            let code = &mut writer.code;
            if let Some(mask) = mask.as_ref().filter(|mask| !mask.is_vector) {
                code.open(&format!("if {}", mask.text));
            }
            let vector_mask = mask.as_ref().filter(|mask| mask.is_vector);
            for lane in 0..lanes {
                if let Some(mask) = vector_mask {
                    code.open(&format!("if {}", mask.component(lane)));
                }
                for (fold, accumulators) in stage.iter().zip(accumulators) {
                    let state = accumulator(*fold, lane % accumulators);
                    let operands: Vec<String> =
                        operands_of(*fold).iter().map(|operand| code.value(*operand).component(lane)).list();
                    let next = states[*fold].with_point(&state, &operands, code.module);
                    code.line(&format!("{state} = {next};"));
                }
                if vector_mask.is_some() {
                    code.close();
                }
            }
            if mask.is_some_and(|mask| !mask.is_vector) {
                code.close();
            }
        });
    }

    /// The reductions of a stage: each thread its points, then all threads of the row.
    fn stage(&mut self, stage: &[usize]) {
        let (rows, states) = (self.rows, self.states);
        let lanes = if self.schedule.lanes.is_some() { 4 } else { 1 };
        let is_split = |fold: usize| lanes == 4 && (self.schedule.lanes_are_rows || !states[fold].is_ordered());
        let accumulators: Vec<usize> = stage.iter().map(|fold| if is_split(*fold) { 4 } else { 1 }).list();
        for (fold, accumulators) in stage.iter().zip(&accumulators) {
            let identity = states[*fold].identity(self.code.module);
            for lane in 0..*accumulators {
                self.code.line(&format!("var {} = {identity};", accumulator(*fold, lane)));
            }
        }
        match self.parts(stage) {
            Some([end, first, second]) => {
                let end = self.code.value(end).text;
                let end = self.code.bind(&format!("min({end}, chunks)"));
                self.add_points(Some(["0u", &end]), stage, &accumulators, |_| vec![first]);
                self.add_points(Some([&end, "chunks"]), stage, &accumulators, |_| vec![second]);
            }
            None => self.add_points(None, stage, &accumulators, |fold| rows.folds[fold].operands.clone()),
        }
        let mut merged: Vec<Vec<String>> = Vec::new();
        for (fold, accumulators) in stage.iter().zip(&accumulators) {
            let names: Vec<String> = (0..*accumulators).map(|lane| accumulator(*fold, lane)).list();
            if self.schedule.lanes_are_rows || *accumulators == 1 {
                merged.push(names);
                continue;
            }
            let halves = [[0, 1], [2, 3]].map(|[a, b]| {
                let half = states[*fold].merged(&names[a], &names[b]);
                self.code.bind(&half)
            });
            let whole = states[*fold].merged(&halves[0], &halves[1]);
            merged.push(vec![self.code.bind(&whole)]);
        }
        if self.schedule.along > 1 {
            let folds: Vec<(&States, Vec<String>)> = stage.iter().map(|fold| &states[*fold]).zip(merged).list();
            merged = self.shared.merge(&folds, &self.schedule, &mut self.code);
        }
        for (fold, merged) in stage.iter().zip(&merged) {
            states[*fold].name_results(merged, &mut self.code);
        }
    }

    /// What is written for each point of the row.
    fn elements(&mut self) {
        let rows = self.rows;
        if rows.elements.is_empty() {
            return;
        }
        let values: Vec<Id> = rows.elements.iter().map(|store| store.value).list();
        let indices: Vec<Id> = rows.elements.iter().map(|store| store.index).list();
        self.code.hoist(&values, &indices, self.row.bits(), 0);
        let is_active = self.is_active.clone();
        if let Some(active) = &is_active {
            self.code.open(&format!("if {active}"));
        }
        let values = if self.held.is_empty() { values } else { Vec::new() };
        self.each_point(&values, |writer| {
            let mask = match writer.row.present(writer.valid, &mut writer.code) {
                None => writer.outer_mask.clone(),
                Some(mask) => Some(match &writer.outer_mask {
                    None => mask,
                    Some(outer) => {
                        let text = writer.code.bind(&format!("{} & {}", outer.text, mask.vector()));
                        Text { text, ..outer.clone() }
                    }
                }),
            };
            writer.code.store(&rows.elements, mask.as_ref());
        });
        if is_active.is_some() {
            self.code.close();
        }
    }

    /// What is written once a row, by its first thread.
    fn results(&mut self) {
        if self.rows.results.is_empty() {
            return;
        }
        if !self.schedule.lanes_are_rows {
            self.code.lanes = None;
        }
        let is_first = (self.schedule.along > 1).then(|| "y == 0u".to_owned());
        let conditions: Vec<String> = is_first.into_iter().chain(self.is_active.clone()).list();
        if !conditions.is_empty() {
            self.code.open(&format!("if {}", conditions.join(" && ")));
        }
        let mask = self.outer_mask.clone();
        self.code.store(&self.rows.results, mask.as_ref());
        if !conditions.is_empty() {
            self.code.close();
        }
    }
}

/// The variable of a thread's state.
fn accumulator(fold: usize, lane: usize) -> String {
    format!("s{fold}_{}", super::module::COMPONENTS[lane])
}
