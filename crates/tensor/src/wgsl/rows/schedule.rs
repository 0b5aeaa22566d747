//! How the rows of a kernel are divided among threads.
//!
//! A workgroup is a grid: `across` rows (or fours of rows) times `along` threads that share each row. The choice depends on the kernel's extents and on
//! how it reads memory, on nothing of the device, so that sums have one order everywhere. It is one of few for any extents that are words
//! of the uniform, so that kernels of other sizes have the same text.

use super::super::combine::States;
use super::super::module::Module;
use super::super::points::{goes_by_four, neighbours};
use crate::kernel::{Rows, WORKGROUP_BYTES, WORKGROUP_THREADS};
use crate::scalar::Id;

/// Threads a workgroup where each row has one.
const LONE_THREADS: u32 = 64;
/// Points, or fours of points, a thread, where a workgroup has enough threads.
const SHARE: u32 = 4;
/// Fewest threads along a longer row: their vectors fill a line of memory.
const FEWEST_ALONG: u32 = 8;
/// Most points, or fours of points, that a thread holds in registers: 64 numbers of each value leave room for two workgroups.
const MOST_HELD: u32 = 16;
/// Most nodes of the graph times what a thread holds: what is held is written out, and texts must stay short.
const MOST_WRITTEN: u32 = 1024;

/// How rows are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The axis along which a thread has four points: the innermost of a row, or the innermost of the others.
    pub lanes: Option<u32>,
    /// Whether that is an outer axis.
    pub lanes_are_rows: bool,
    /// Rows, or fours of rows, a workgroup.
    pub across: u32,
    /// Threads a row.
    pub along: u32,
    /// Whether neighbouring threads have neighbouring rows, and not neighbouring points of a row.
    pub rows_are_neighbours: bool,
    /// How many points, or fours of points, a thread holds in registers; 0 if it reads them for each reduction.
    pub held: u32,
}

/// Threads along a row of so many points, or fours of points.
fn threads_along(chunks: u32) -> u32 {
    chunks.div_ceil(SHARE).next_power_of_two().clamp(FEWEST_ALONG, WORKGROUP_THREADS)
}

impl Schedule {
    /// That of one row of fours of points by itself, of at least [`Rows::SHORT`] points.
    pub fn of_row(length: u32) -> Schedule {
        let along = threads_along(length / 4);
        Schedule { lanes: Some(0), lanes_are_rows: false, across: 1, along, rows_are_neighbours: false, held: 0 }
    }

    /// Threads a workgroup.
    pub fn threads(&self) -> u32 {
        self.across * self.along
    }

    /// Points that a thread has at a time along a row.
    fn points(&self) -> u32 {
        if self.lanes.is_some() && !self.lanes_are_rows { 4 } else { 1 }
    }

    /// Chooses for a kernel with these loads and states.
    pub fn choose(module: &Module, rows: &Rows, loads: &[(u32, Id)], states: &[States]) -> Schedule {
        if let Some(length) = rows.length(&module.kernel.graph) {
            return Schedule::of_ranges(module, rows, length, loads, states);
        }
        let innermost = (rows.outer.len() + rows.row.len() - 1) as u32;
        let outermost = rows.outer.len().checked_sub(1).map(|axis| axis as u32);
        // Neighbouring threads should read neighbouring elements: along the rows, unless more of the operands are contiguous across them.
        let along_rows = neighbours(module, innermost, loads, &rows.elements);
        let across_rows = outermost.map_or(0, |axis| neighbours(module, axis, loads, &rows.elements));
        let rows_are_neighbours = across_rows > along_rows;
        let lane_axis = if rows_are_neighbours { outermost } else { Some(innermost) };
        let lanes = lane_axis.filter(|axis| goes_by_four(module, *axis, loads, &rows.elements));
        let known = |extents: &[_]| {
            extents.iter().try_fold(1u32, |product, extent| product.checked_mul(module.kernel.known(*extent)?))
        };
        let (length, count) = (known(&rows.row), known(&rows.outer));
        let along = match length {
            Some(length) if length < Rows::SHORT => 1,
            Some(length) if !rows_are_neighbours => threads_along(length.div_ceil(if lanes.is_some() { 4 } else { 1 })),
            None if !rows_are_neighbours => WORKGROUP_THREADS,
            // Rows side by side: as many threads along each as it takes to have enough in all.
            _ => match count.map(|count| count / if lanes.is_some() { 4 } else { 1 }) {
                Some(65_536..) => 1,
                Some(8_192..) => 8,
                _ => 32,
            },
        };
        let across = if along == 1 { LONE_THREADS } else { WORKGROUP_THREADS / along };
        let mut schedule = Schedule {
            lanes,
            lanes_are_rows: rows_are_neighbours && lanes.is_some(),
            across,
            along,
            rows_are_neighbours,
            held: 0,
        };
        schedule.fit(states);
        schedule.hold(module, rows, states);
        schedule
    }

    /// Chooses for rows of different lengths: threads beside one another have neighbouring columns of one row, or some points of one.
    fn of_ranges(module: &Module, rows: &Rows, length: Id, loads: &[(u32, Id)], states: &[States]) -> Schedule {
        let columns =
            rows.outer.len().checked_sub(1).map(|axis| axis as u32).filter(|axis| !module.depends_on(length, *axis));
        let lanes = columns.filter(|axis| goes_by_four(module, *axis, loads, &[]));
        let count = rows.outer.iter().try_fold(1u32, |all, extent| all.checked_mul(module.kernel.known(*extent)?));
        let most = match count.map(|count| count / if lanes.is_some() { 4 } else { 1 }) {
            Some(65_536..) if columns.is_some() => 1,
            Some(8_192..) => 8,
            _ => 32,
        };
        let along = match module.kernel.average_length(rows) {
            0 => most.min(8),
            length => length.div_ceil(SHARE).next_power_of_two().min(most),
        };
        let across = if along == 1 { LONE_THREADS } else { WORKGROUP_THREADS / along };
        let lanes_are_rows = lanes.is_some();
        let rows_are_neighbours = columns.is_some();
        let mut schedule = Schedule { lanes, lanes_are_rows, across, along, rows_are_neighbours, held: 0 };
        schedule.fit(states);
        schedule
    }

    /// Keeps to the memory of a workgroup.
    fn fit(&mut self, states: &[States]) {
        let words: u32 = states.iter().map(|states| states.words).sum();
        let bytes = |schedule: &Schedule| {
            let lanes = if schedule.lanes_are_rows { 4 } else { 1 };
            if schedule.along == 1 { 0 } else { schedule.threads() * lanes * words * 4 }
        };
        if bytes(self) > WORKGROUP_BYTES && self.lanes_are_rows {
            (self.lanes, self.lanes_are_rows) = (None, false);
        }
        while bytes(self) > WORKGROUP_BYTES {
            if self.across > 1 { self.across /= 2 } else { self.along /= 2 }
        }
    }

    /// Holds the values of a row in registers where several stages need them.
    fn hold(&mut self, module: &Module, rows: &Rows, states: &[States]) {
        let stages = rows.folds.len() + usize::from(!rows.elements.is_empty());
        let is_ordered = self.along > 1 && states.iter().any(States::is_ordered);
        // Fours end with the innermost axis: of several axes along a row each has its own last four.
        let sizes: Option<Vec<u32>> = rows.row.iter().map(|extent| module.kernel.known(*extent)).collect();
        let Some((innermost, others)) = sizes.as_ref().and_then(|sizes| sizes.split_last()) else { return };
        let chunks =
            others.iter().try_fold(innermost.div_ceil(self.points()), |product, size| product.checked_mul(*size));
        let Some(chunks) = chunks.filter(|_| stages > 1 && !is_ordered) else { return };
        let held = chunks.div_ceil(self.along);
        if held <= MOST_HELD && held * module.kernel.graph.len() as u32 <= MOST_WRITTEN {
            self.held = held;
        }
    }
}
