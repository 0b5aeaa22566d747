//! Merging the states of the threads of a row in workgroup memory.
//!
//! Up to eight states are merged by one thread between two barriers, since a barrier takes longer than a merge: 256 states become 32, then 4,
//! which every thread of the row merges for itself.

use super::super::code::Code;
use super::super::combine::States;
use super::schedule::Schedule;
use residua_base::list::Listed;

/// States merged by a thread between two barriers.
const MERGED_AT_ONCE: u32 = 8;

/// The arrays in workgroup memory.
#[derive(Debug, Default)]
pub struct Shared {
    /// The type of the elements of each.
    arrays: Vec<String>,
    /// Whether an array has been used before.
    used: bool,
}

impl Shared {
    /// The declarations.
    pub fn declarations(&self, schedule: &Schedule) -> String {
        let length = schedule.threads() * lanes_of(schedule);
        let declare = |(position, ty): (usize, &String)| {
            format!("var<workgroup> {}: array<{ty}, {length}>;\n", name_of(position))
        };
        self.arrays.iter().enumerate().map(declare).collect()
    }

    /// Merges the states of some reductions, each of one row or of four, which are names, over the threads `y` of a row `x`; gives names of the
    /// merged states, for all of its threads.
    pub fn merge(
        &mut self,
        folds: &[(&States, Vec<String>)],
        schedule: &Schedule,
        code: &mut Code,
    ) -> Vec<Vec<String>> {
        let arrays = self.allocate(folds);
        if std::mem::replace(&mut self.used, true) {
            code.line("workgroupBarrier();");
        }
        for ((_, states), array) in folds.iter().zip(&arrays) {
            for (lane, state) in states.iter().enumerate() {
                let place = element(schedule, lane, "y");
                code.line(&format!("{array}[{place}] = {state};"));
            }
        }
        merge_arrays(folds, &arrays, schedule, code)
    }

    /// An array for each reduction; arrays of one type serve other stages again.
    pub fn allocate(&mut self, folds: &[(&States, Vec<String>)]) -> Vec<String> {
        let mut taken = vec![false; self.arrays.len()];
        let mut names = Vec::new();
        for (states, _) in folds {
            let free = (0..taken.len()).find(|array| !taken[*array] && self.arrays[*array] == states.name);
            let array = free.unwrap_or_else(|| {
                self.arrays.push(states.name.clone());
                taken.push(false);
                taken.len() - 1
            });
            taken[array] = true;
            names.push(name_of(array));
        }
        names
    }
}

/// Merges states that stand in arrays, of one row or of four; gives names of the merged ones, for all threads of a row.
pub fn merge_arrays(
    folds: &[(&States, Vec<String>)],
    arrays: &[String],
    schedule: &Schedule,
    code: &mut Code,
) -> Vec<Vec<String>> {
    let ordered = folds.iter().any(|(states, _)| states.is_ordered());
    code.line("workgroupBarrier();");
    let (mut rows, mut step) = (schedule.along, 1);
    while rows > MERGED_AT_ONCE {
        let columns = rows / MERGED_AT_ONCE;
        code.open(&format!("if y < {columns}u"));
        for ((states, lanes), array) in folds.iter().zip(arrays) {
            for lane in 0..lanes.len() {
                let (first, head) = if ordered {
                    let first = format!("y * {}u", step * MERGED_AT_ONCE);
                    (first, format!("for (var k = {step}u; k < {}u; k += {step}u)", step * MERGED_AT_ONCE))
                } else {
                    ("y".to_owned(), format!("for (var k = {columns}u; k < {rows}u; k += {columns}u)"))
                };
                let state = code.name();
                let place = element(schedule, lane, &first);
                code.line(&format!("var {state} = {array}[{place}];"));
                code.open(&head);
                let other = format!("{array}[{}]", element(schedule, lane, &format!("{first} + k")));
                let merged = states.merged(&state, &other);
                code.line(&format!("{state} = {merged};"));
                code.close();
                code.line(&format!("{array}[{place}] = {state};"));
            }
        }
        code.close();
        code.line("workgroupBarrier();");
        rows = columns;
        step *= MERGED_AT_ONCE;
    }
    let stride = if ordered { step } else { 1 };
    let mut results = Vec::new();
    for ((states, lanes), array) in folds.iter().zip(arrays) {
        let merge = |lane: usize, code: &mut Code| {
            let mut state = code.bind(&format!("{array}[{}]", element(schedule, lane, "0u")));
            for row in 1..rows {
                let other = format!("{array}[{}]", element(schedule, lane, &format!("{}u", row * stride)));
                let merged = states.merged(&state, &other);
                state = code.bind(&merged);
            }
            state
        };
        results.push((0..lanes.len()).map(|lane| merge(lane, code)).list());
    }
    results
}

fn name_of(array: usize) -> String {
    format!("shared_{array}")
}

fn lanes_of(schedule: &Schedule) -> u32 {
    if schedule.lanes_are_rows { 4 } else { 1 }
}

/// Where the state of thread `y` of the present row stands, or of one of four rows.
fn element(schedule: &Schedule, lane: usize, y: &str) -> String {
    let offset = schedule.threads() * lane as u32;
    let place = match (schedule.rows_are_neighbours, schedule.across) {
        (_, 1) => y.to_owned(),
        (true, across) => format!("({y}) * {across}u + x"),
        (false, _) => format!("x * {}u + {y}", schedule.along),
    };
    if offset == 0 { place } else { format!("{offset}u + {place}") }
}
