//! Kernels that accumulate along an axis.
//!
//! The threads of a workgroup share a row: each accumulates some consecutive points, all take what stands before theirs from workgroup memory,
//! and each goes over its points again and writes. Short rows, and rows whose neighbours are contiguous, have one thread each, which goes once.

use residua_base::error::Result;

use super::code::Code;
use super::combine::States;
use super::module::{COMPONENTS, Module};
use super::operation::{Text, type_of};
use super::points::{self, Axes, goes_by_four, neighbours};
use super::{KernelText, Workgroups};
use crate::kernel::Scan;
use crate::scalar::{Id, Type};

/// Threads of a row.
const THREADS: u32 = 256;
/// Threads a workgroup where each row has one.
const LONE_THREADS: u32 = 64;
/// Rows of so many points have one thread.
const SHORT: u32 = 32;
/// States whose total is one state in workgroup memory: √256, so that a thread merges few of either.
const GROUP: u32 = 16;

/// Writes the kernel.
pub fn write(mut module: Module, scan: &Scan) -> Result<KernelText> {
    let states = States::new(0, &scan.fold, &mut module);
    let stored = scan.elements.iter().map(|store| store.value);
    let initial = scan.initial.iter().flatten();
    let values: Vec<Id> =
        scan.fold.operands.iter().copied().chain(stored).chain(scan.valid).chain(initial.copied()).collect();
    let indices: Vec<Id> = scan.elements.iter().map(|store| store.index).collect();
    let loads = points::loads(&module, &[values.as_slice(), &indices].concat());
    let axis = scan.outer.len() as u32;
    let is_short = module.kernel.known(scan.length).is_some_and(|length| length <= SHORT);
    let along_rows = neighbours(&module, axis, &loads, &scan.elements);
    let across_rows = axis.checked_sub(1).map_or(0, |outer| neighbours(&module, outer, &loads, &scan.elements));
    let is_lone = is_short || across_rows > along_rows;
    // A state of more words than this leaves room for fewer threads.
    let threads =
        if is_lone { LONE_THREADS } else { (THREADS * 14 / (states.words + 1)).next_power_of_two().min(THREADS) };
    let lanes = (goes_by_four(&module, axis, &loads, &scan.elements) && !is_lone).then_some(axis);
    let masked = scan.valid.is_some() || !module.is_multiple_of_4(scan.length);
    points::declare(&mut module, lanes, &loads, &scan.elements, &[], masked);

    let outer = Axes::new(0, &scan.outer, None);
    let row = Axes::new(scan.outer.len(), &[scan.length], lanes);
    let mut code = Code::new(&mut module, lanes);
    code.folds_vary = lanes.is_some();
    let count = outer.count(code.module);
    code.line(&match is_lone {
        true => format!("let unit = workgroup * {threads}u + lane;"),
        false => "let unit = workgroup;".to_owned(),
    });
    code.open(&format!("if unit >= {count}"));
    code.line("return;");
    code.close();
    outer.locate("unit", &mut code);
    code.hoist(&values, &indices, row.bits(), u32::MAX);
    let chunks = row.count(code.module);
    code.line(&format!("let chunks = {chunks};"));

    let mut writer = ScanWriter { scan, states: &states, row, is_lone, code };
    writer.start(threads);
    writer.each_point(|writer| writer.write_elements());
    let body = writer.code.finish();
    let declarations = match is_lone {
        true => String::new(),
        false => format!(
            "var<workgroup> shared_states: array<{0}, {threads}>;\nvar<workgroup> shared_totals: array<{0}, {1}>;\n",
            states.name,
            threads.div_ceil(GROUP)
        ),
    };
    let units = if is_lone { threads } else { 1 };
    module.finish(&declarations, &body, threads, Workgroups { factors: outer.factors(), units })
}

struct ScanWriter<'w, 'm, 'a> {
    scan: &'w Scan,
    states: &'w States,
    row: Axes,
    is_lone: bool,
    code: Code<'m, 'a>,
}

impl ScanWriter<'_, '_, '_> {
    /// Writes `state`, what stands before the thread's points.
    fn start(&mut self, threads: u32) {
        let identity = self.states.identity(self.code.module);
        if !self.is_lone {
            self.code.line(&format!("let share = (chunks + {}u) / {threads}u;", threads - 1));
            self.code.line(&format!("var own = {identity};"));
            self.each_point(|writer| {
                writer.each_lane(|writer, operands, _| {
                    let next = writer.states.with_point("own", operands);
                    writer.code.line(&format!("own = {next};"));
                });
            });
        }
        let initial = match &self.scan.initial {
            None => identity.clone(),
            Some(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(|number| self.code.value(*number).text).collect();
                self.states.of_numbers(&numbers)
            }
        };
        self.code.line(&format!("var state = {initial};"));
        if !self.is_lone {
            self.before(&identity);
        }
    }

    /// Merges what the threads before this one have accumulated: the totals of whole groups of threads, then the threads of its own.
    fn before(&mut self, identity: &str) {
        let merged = |a: &str, b: &str| self.states.merged(a, b);
        let code = &mut self.code;
        code.line("shared_states[lane] = own;");
        code.line("workgroupBarrier();");
        code.open(&format!("if lane % {GROUP}u == 0u"));
        code.line(&format!("var total = {identity};"));
        code.open(&format!("for (var k = 0u; k < {GROUP}u; k++)"));
        let next = merged("total", "shared_states[lane + k]");
        code.line(&format!("total = {next};"));
        code.close();
        code.line(&format!("shared_totals[lane / {GROUP}u] = total;"));
        code.close();
        code.line("workgroupBarrier();");
        for (head, array) in [
            (format!("for (var k = 0u; k < lane / {GROUP}u; k++)"), "shared_totals"),
            (format!("for (var k = lane / {GROUP}u * {GROUP}u; k < lane; k++)"), "shared_states"),
        ] {
            code.open(&head);
            let next = merged("state", &format!("{array}[k]"));
            code.line(&format!("state = {next};"));
            code.close();
        }
    }

    /// Writes something for each point, or four points, of the thread, in the order of the scan.
    fn each_point(&mut self, write: impl FnOnce(&mut Self)) {
        let code = &mut self.code;
        let step = code.name();
        let (first, end) = match self.is_lone {
            true => ("0u", "chunks"),
            false => ("lane * share", "min((lane + 1u) * share, chunks)"),
        };
        code.open(&format!("for (var {step} = {first}; {step} < {end}; {step}++)"));
        let chunk = if self.scan.reverse { code.bind(&format!("chunks - 1u - {step}")) } else { step };
        self.row.locate(&chunk, code);
        write(self);
        self.code.close();
    }

    /// Which of the present points there are.
    fn mask(&mut self) -> Option<Text> {
        let own = self.row.mask(&mut self.code);
        let valid = self.scan.valid.map(|valid| self.code.value(valid));
        match (own, valid) {
            (Some(own), Some(valid)) => {
                let text = self.code.bind(&format!("{} & {}", own.text, valid.vector()));
                Some(Text { text, ..own })
            }
            (own, valid) => own.or(valid),
        }
    }

    /// Writes something for each of the present points that there is, in the order of the scan, from the texts of its operands. Gives where there
    /// are points.
    fn each_lane(&mut self, mut write: impl FnMut(&mut Self, &[String], usize)) -> Option<Text> {
        let operands: Vec<Text> = self.scan.fold.operands.iter().map(|operand| self.code.value(*operand)).collect();
        let mask = self.mask();
        let lanes: Vec<usize> = match (self.code.lanes.is_some(), self.scan.reverse) {
            (false, _) => vec![0],
            (true, false) => vec![0, 1, 2, 3],
            (true, true) => vec![3, 2, 1, 0],
        };
        for lane in lanes {
            if let Some(mask) = &mask {
                self.code.open(&format!("if {}", mask.component(lane)));
            }
            let operands: Vec<String> = operands.iter().map(|operand| operand.component(lane)).collect();
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
        let results: Vec<String> = COMPONENTS[..lanes].iter().map(|component| format!("result_{component}")).collect();
        for result in &results {
            self.code.line(&format!("var {result} = state;"));
        }
        let exclusive = self.scan.exclusive;
        let mask = self.each_lane(|writer, operands, lane| {
            let next = writer.states.with_point("state", operands);
            if exclusive {
                writer.code.line(&format!("{} = state;", results[lane]));
            }
            writer.code.line(&format!("state = {next};"));
            if !exclusive {
                writer.code.line(&format!("{} = state;", results[lane]));
            }
        });
        let of_lanes: Vec<Vec<(String, Type)>> =
            results.iter().map(|result| self.states.results(result, self.code.module)).collect();
        for number in 0..of_lanes[0].len() {
            let ty = of_lanes[0][number].1;
            let is_vector = lanes == 4;
            let text = match is_vector {
                true => {
                    let lanes: Vec<&str> = of_lanes.iter().map(|lane| lane[number].0.as_str()).collect();
                    format!("{}({})", type_of(ty, true), lanes.join(", "))
                }
                false => of_lanes[0][number].0.clone(),
            };
            let text = self.code.bind(&text);
            self.code.set_folded(0, number as u32, Text { text, ty, is_vector, literal: None });
        }
        self.code.store(&self.scan.elements, mask.as_ref());
    }
}
