//! Kernels that accumulate along an axis.
//!
//! The threads of a row each accumulate some consecutive points, take what stands before theirs from workgroup memory, and go over their points
//! again and write. Short rows have one thread each, which goes once.

use residua_base::error::Result;
use residua_base::list::Listed;
use rustc_hash::FxHashMap;

use super::code::Code;
use super::combine::States;
use super::held::Held;
use super::module::Module;
use super::operation::Text;
use super::points::{self, Axes, goes_by_four, neighbours};
use super::text::KernelText;
use super::workgroups::Workgroups;
use crate::kernel::{Scan, WORKGROUP_THREADS};
use crate::scalar::Id;

/// Threads a workgroup where each row has one.
const LONE_THREADS: u32 = 64;
/// Rows of so many points have one thread.
const SHORT: u32 = 32;
/// Points a thread of a long row.
const SHARE: u32 = 16;
/// Fewest threads of a workgroup that shares rows.
const FEWEST: u32 = 32;
/// Rows a workgroup where neighbouring rows are neighbours in memory: they fill a line of it.
const NEIGHBOURS: u32 = 16;
/// States whose total is one state in workgroup memory: √256.
const GROUP: u32 = 16;
/// Most fours of points that a thread holds in registers.
const MOST_HELD: u32 = 4;
/// Points, or fours of points, that a loop takes at a time.
const UNROLLED: u32 = 4;
/// Words of workgroup memory.
const WORKGROUP_WORDS: u32 = 4096;

/// How rows are divided among threads.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    /// Rows a workgroup.
    across: u32,
    /// Threads a row.
    along: u32,
    /// Whether threads take four points at a time.
    lanes: Option<u32>,
    /// Points, or fours of points, that a thread holds in registers; 0 if it reads them twice.
    held: u32,
}

impl Schedule {
    fn choose(module: &Module, scan: &Scan, loads: &[(u32, Id)], states: &States) -> Schedule {
        let axis = scan.outer.len() as u32;
        let along_rows = neighbours(module, axis, loads, &scan.elements);
        let across_rows = axis.checked_sub(1).map_or(0, |outer| neighbours(module, outer, loads, &scan.elements));
        let known = module.kernel.known(scan.length);
        if known.is_some_and(|length| length <= SHORT) {
            return Schedule { across: LONE_THREADS, along: 1, lanes: None, held: 0 };
        }
        let most = (WORKGROUP_WORDS / (states.words + 1)).min(WORKGROUP_THREADS);
        let most = if most.is_power_of_two() { most } else { most.next_power_of_two() / 2 };
        if across_rows > along_rows {
            return Schedule { across: NEIGHBOURS, along: most / NEIGHBOURS, lanes: None, held: 0 };
        }
        let lanes = goes_by_four(module, axis, loads, &scan.elements).then_some(axis);
        let along = match known {
            Some(length) => length.div_ceil(SHARE).next_power_of_two().clamp(FEWEST, most),
            None => most,
        };
        let held = match (known, lanes) {
            (Some(length), Some(_)) => length.div_ceil(4).div_ceil(along),
            _ => 0,
        };
        Schedule { across: 1, along, lanes, held: if held <= MOST_HELD { held } else { 0 } }
    }

    fn threads(&self) -> u32 {
        self.across * self.along
    }

    /// Where the state of thread `y` of the present row stands.
    fn place(&self, y: &str) -> String {
        if self.across == 1 { y.to_owned() } else { format!("({y}) * {}u + x", self.across) }
    }
}

/// Writes the kernel.
pub fn write(mut module: Module, scan: &Scan) -> Result<KernelText> {
    let states = States::new(0, &scan.fold, &mut module);
    let stored = scan.elements.iter().map(|store| store.value);
    let initial = scan.initial.iter().flatten();
    let values: Vec<Id> =
        scan.fold.operands.iter().copied().chain(stored).chain(scan.valid).chain(initial.copied()).list();
    let indices: Vec<Id> = scan.elements.iter().map(|store| store.index).list();
    let loads = module.kernel.graph.loads(values.iter().chain(&indices).copied());
    let schedule = Schedule::choose(&module, scan, &loads, &states);
    let masked = scan.valid.is_some() || !module.is_multiple_of_4(scan.length);
    points::declare(&mut module, schedule.lanes, &loads, &scan.elements, &[], masked);

    let outer = Axes::new(0, &scan.outer, None);
    let row = Axes::new(scan.outer.len(), &[scan.length], schedule.lanes);
    let mut code = Code::new(&mut module, schedule.lanes);
    code.folds_vary = schedule.lanes.is_some();
    let Schedule { across, along, .. } = schedule;
    let count = outer.count(code.module);
    code.line(&format!("let rows = {count};"));
    code.open(&format!("if workgroup * {across}u >= rows"));
    code.line("return;");
    code.close();
    if along == 1 || across > 1 {
        code.line(&format!("let x = lane % {across}u;"));
        code.line(&format!("let y = lane / {across}u;"));
        // A thread without a row computes the last one again, since all take part in barriers.
        code.line(&format!("let is_active = workgroup * {across}u + x < rows;"));
        code.line(&format!("let unit = min(workgroup * {across}u + x, rows - 1u);"));
    } else {
        code.line("let y = lane;");
        // Blocks of a long row were all read by the kernel before, the last ones last: those are the ones that a cache still has.
        code.line(if scan.initial.is_some() { "let unit = rows - 1u - workgroup;" } else { "let unit = workgroup;" });
    }
    outer.locate("unit", &mut code);
    code.hoist(&values, &indices, row.bits(), u32::MAX);
    let chunks = row.count(code.module);
    code.line(&format!("let chunks = {chunks};"));

    let mut writer = ScanWriter { scan, states: &states, row, schedule, held: Vec::new(), code };
    writer.start();
    let is_active = across > 1;
    if is_active {
        writer.code.open("if is_active");
    }
    writer.each_point(|writer| writer.write_elements());
    if is_active {
        writer.code.close();
    }
    let body = writer.code.finish();
    let threads = schedule.threads();
    let mut declarations = String::new();
    if along > 1 {
        declarations += &format!("var<workgroup> shared_states: array<{}, {threads}>;\n", states.name);
    }
    if along > GROUP {
        declarations +=
            &format!("var<workgroup> shared_totals: array<{}, {}>;\n", states.name, threads.div_ceil(GROUP));
    }
    module.finish(&declarations, &body, threads, Workgroups::new(outer.factors(), across))
}

struct ScanWriter<'w, 'm, 'a> {
    scan: &'w Scan,
    states: &'w States,
    row: Axes,
    schedule: Schedule,
    held: Vec<Held>,
    code: Code<'m, 'a>,
}

impl ScanWriter<'_, '_, '_> {
    /// Writes `state`, what stands before the thread's points.
    fn start(&mut self) {
        let identity = self.states.identity(self.code.module);
        let Schedule { along, held, .. } = self.schedule;
        if along > 1 {
            self.code.line(&match held {
                0 => format!("let share = (chunks + {}u) / {along}u;", along - 1),
                _ => format!("let share = {held}u;"),
            });
            self.hold();
            self.code.line(&format!("var own = {identity};"));
            self.each_point(|writer| {
                writer.each_lane(|writer, operands, _| {
                    let next = writer.states.with_point("own", operands, writer.code.module);
                    writer.code.line(&format!("own = {next};"));
                });
            });
        }
        let initial = match &self.scan.initial {
            None => identity.clone(),
            Some(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(|number| self.code.value(*number).text).list();
                self.states.of_numbers(&numbers)
            }
        };
        self.code.line(&format!("var state = {initial};"));
        if along > 1 {
            self.before(&identity);
        }
    }

    /// Merges what the threads before this one have accumulated: the totals of whole groups of threads, then the threads of its own.
    fn before(&mut self, identity: &str) {
        let (schedule, states, code) = (self.schedule, self.states, &mut self.code);
        let own = schedule.place("y");
        code.line(&format!("shared_states[{own}] = own;"));
        code.line("workgroupBarrier();");
        if schedule.along <= GROUP {
            code.open("for (var k = 0u; k < y; k++)");
            let next = states.merged("state", &format!("shared_states[{}]", schedule.place("k")));
            code.line(&format!("state = {next};"));
            code.close();
            return;
        }
        let groups = schedule.along / GROUP;
        let totals = |k: &str| format!("shared_totals[{}]", schedule.place(k));
        // One thread of a group puts into each place what stands before it within the group.
        code.open(&format!("if y < {groups}u"));
        code.line(&format!("var total = {identity};"));
        code.open(&format!("for (var k = 0u; k < {GROUP}u; k++)"));
        let place = schedule.place(&format!("y * {GROUP}u + k"));
        code.line(&format!("let next = shared_states[{place}];"));
        code.line(&format!("shared_states[{place}] = total;"));
        let next = states.merged("total", "next");
        code.line(&format!("total = {next};"));
        code.close();
        code.line(&format!("{} = total;", totals("y")));
        code.close();
        code.line("workgroupBarrier();");
        code.open(&format!("for (var k = 0u; k < y / {GROUP}u; k++)"));
        let next = states.merged("state", &totals("k"));
        code.line(&format!("state = {next};"));
        code.close();
        let next = states.merged("state", &format!("shared_states[{own}]"));
        code.line(&format!("state = {next};"));
    }

    /// Names the points that a thread holds.
    fn hold(&mut self) {
        let Schedule { along, held, .. } = self.schedule;
        let is_exact = self.row.known(self.code.module) == Some(along * held);
        for position in 0..held {
            let order = self.code.bind(&format!("y * share + {position}u"));
            let exists = (!is_exact).then(|| self.code.bind(&format!("{order} < chunks")));
            self.locate(order);
            self.held.push(Held::here(&mut self.code, &[], exists));
        }
    }

    /// Goes to the points of a number in the order of the scan.
    fn locate(&mut self, order: String) {
        let chunk = if self.scan.reverse { self.code.bind(&format!("chunks - 1u - {order}")) } else { order };
        self.row.locate(&chunk, &mut self.code);
    }

    /// Writes something for each point, or four points, of the thread, in the order of the scan.
    fn each_point(&mut self, mut write: impl FnMut(&mut Self)) {
        let roots: Vec<Id> = self.scan.fold.operands.iter().copied().chain(self.scan.valid).list();
        for position in 0..self.held.len() {
            let exists = std::mem::take(&mut self.held[position]).enter(&mut self.code);
            self.code.require(&roots);
            if let Some(exists) = &exists {
                self.code.open(&format!("if {exists}"));
            } else {
                self.code.push_values(FxHashMap::default());
            }
            write(self);
            if exists.is_some() {
                self.code.close();
            } else {
                self.code.pop_values();
            }
            self.held[position] = Held::leave(&mut self.code, exists);
        }
        if !self.held.is_empty() {
            return;
        }
        let step = self.code.name();
        let (first, end) = match self.schedule.along {
            1 => ("0u", "chunks"),
            _ => ("y * share", "min((y + 1u) * share, chunks)"),
        };
        let end_name = self.code.name();
        self.code.line(&format!("var {step} = {first};"));
        self.code.line(&format!("let {end_name} = {end};"));
        let known = self.row.known(self.code.module);
        if known.is_none_or(|chunks| chunks / self.schedule.along >= 2 * UNROLLED) {
            // The loads of several points are under way at a time.
            self.code.open(&format!("for (; {step} + {}u < {end_name}; {step} += {UNROLLED}u)", UNROLLED - 1));
            let mut points = Vec::new();
            for position in 0..UNROLLED {
                let order = match position {
                    0 => step.clone(),
                    _ => self.code.bind(&format!("{step} + {position}u")),
                };
                self.locate(order);
                points.push(Held::here(&mut self.code, &roots, None));
            }
            for held in points {
                held.enter(&mut self.code);
                write(self);
                self.code.pop_values();
            }
            self.code.close();
        }
        self.code.open(&format!("for (; {step} < {end_name}; {step}++)"));
        self.locate(step);
        write(self);
        self.code.close();
    }

    /// Writes something for each of the present points that there is, in the order of the scan, from the texts of its operands. Gives where there
    /// are points.
    fn each_lane(&mut self, mut write: impl FnMut(&mut Self, &[String], usize)) -> Option<Text> {
        let operands: Vec<Text> = self.scan.fold.operands.iter().map(|operand| self.code.value(*operand)).list();
        let mask = self.row.present(self.scan.valid, &mut self.code);
        let lanes: Vec<usize> = match (self.code.lanes.is_some(), self.scan.reverse) {
            (false, _) => vec![0],
            (true, false) => vec![0, 1, 2, 3],
            (true, true) => vec![3, 2, 1, 0],
        };
        for lane in lanes {
            if let Some(mask) = &mask {
                self.code.open(&format!("if {}", mask.component(lane)));
            }
            let operands: Vec<String> = operands.iter().map(|operand| operand.component(lane)).list();
            write(self, &operands, lane);
            if mask.is_some() {
                self.code.close();
            }
        }
        mask
    }

    /// Goes on from `state` over the present points and writes their elements.
    fn write_elements(&mut self) {
        let lanes = if self.code.lanes.is_some() { 4 } else { 1 };
        let results: Vec<String> = (0..lanes).map(|_| self.code.name()).list();
        for result in &results {
            self.code.line(&format!("var {result} = state;"));
        }
        let exclusive = self.scan.exclusive;
        let mask = self.each_lane(|writer, operands, lane| {
            let next = writer.states.with_point("state", operands, writer.code.module);
            if exclusive {
                writer.code.line(&format!("{} = state;", results[lane]));
            }
            writer.code.line(&format!("state = {next};"));
            if !exclusive {
                writer.code.line(&format!("{} = state;", results[lane]));
            }
        });
        self.states.name_results(&results, &mut self.code);
        self.code.store(&self.scan.elements, mask.as_ref());
    }
}
