//! A [`Kernel`] as WGSL: one thread an instance, 64 threads a workgroup.
//!
//! Instances are numbered along x, then y, since one dimension takes at most 65,535 workgroups. A kernel with a total and a gate takes
//! several instances a thread where there are fewer workgroups than instances fill, so that its caller chooses the number of partial
//! sums.

use residua_base::list::Listed;
use std::rc::Rc;

use super::declaration::{Resource, Structure, declare_resources};
use super::function::write_function;
use super::guard::{reads_zero, zero_of};
use super::import::{Imports, PairForm};
use super::instance::{InstanceCode, Total};
use super::total::TotalType;
use super::workgroup_sum;
use super::writer::{Writer, comment};
use crate::{CheckedKernel, Constant, ElementType, Function, Guard, KernelBuffer, Space, Width};
use residua_base::error::Result;

/// Threads a workgroup, which is also the number of instances that a partial sum covers.
pub const WORKGROUP_SIZE: u32 = 64;

crate::uniform! {
    /// Uniform of a generated kernel.
    pub struct Dispatch, "Dispatch" {
        /// instances
        count,
        /// distance between the columns of a table
        stride,
        /// where instance 0 stands in an interleaved buffer
        first,
        /// bits of a NaN
        nan,
    }
}

impl Dispatch {
    /// The bits of the NaN that kernels give for operands out of an op's domain.
    pub const NAN: u32 = 0x7fc0_0000;

    /// The dispatch of `count` instances.
    pub fn new(count: u32, stride: u32, first: u32) -> Dispatch {
        Dispatch { count, stride, first, nan: Dispatch::NAN }
    }
}

crate::uniform! {
    /// Uniform of a generated kernel that has pairs.
    pub struct PairDispatch, "Dispatch" {
        /// instances
        count,
        /// distance between the columns of a table
        stride,
        /// where instance 0 stands in an interleaved buffer
        first,
        /// bits of a NaN
        nan,
        /// distance from a number of vector 0 to its low part
        low_0,
        /// distance from a number of vector 1 to its low part
        low_1,
    }
}

impl PairDispatch {
    /// A dispatch, with the distances to the low parts of vectors.
    pub fn new(dispatch: Dispatch, lows: [u32; Constant::MOST_VECTORS as usize]) -> PairDispatch {
        let Dispatch { count, stride, first, nan } = dispatch;
        PairDispatch { count, stride, first, nan, low_0: lows[0], low_1: lows[1] }
    }
}

/// The structure of a kernel's uniform.
fn dispatch_structure(kernel: &CheckedKernel) -> Structure {
    if kernel.has_pairs() { PairDispatch::STRUCTURE } else { Dispatch::STRUCTURE }
}

/// The resources of a kernel, by binding number: [`Kernel::buffers`]; if it has a total, `partials`, one partial sum a workgroup, or one
/// for each layer of a workgroup's instances, where totals in pairs are two numbers each; if it has one, `gate`, two words of which the second is 0 in every run; where
/// [`reads_zero`] says so, `zero`, a word that is 0 in every run; the uniform [`Dispatch`], or [`PairDispatch`] of a kernel that has pairs.
pub fn kernel_resources(kernel: &CheckedKernel) -> Vec<Resource> {
    let mut resources: Vec<Resource> = kernel.buffers.iter().map(buffer_resource).list();
    if kernel.has_total() {
        resources.push(Resource::array("partials", TotalType::of(kernel).name(), true));
    }
    if kernel.guard == Guard::Gate {
        resources.push(Resource::array("gate", "u32", false));
    }
    if reads_zero(kernel) {
        resources.push(Resource::array("zero", "u32", false));
    }
    resources.push(Resource::uniform("dispatch", &dispatch_structure(kernel)));
    resources
}

/// A buffer as a resource.
pub(super) fn buffer_resource(buffer: &KernelBuffer) -> Resource {
    let element = match buffer.dtype {
        ElementType::Real => "f32",
        ElementType::U32 => "u32",
    };
    Resource::array(buffer.name, element, buffer.written)
}

/// The kernel as a complete WGSL module, on a device that has the errors of products by this form. An internal error if it is one that the host alone can
/// run.
pub fn write(kernel: &CheckedKernel, form: PairForm) -> Result<String> {
    kernel.check_for_device()?;
    let mut imports = Imports::default();
    imports.read_guard_from(&zero_of(kernel));
    imports.set_pair_form(form);
    let entry = entry_point(kernel, &mut imports);
    let mut functions = String::new();
    for (function, width) in distinct_functions(kernel) {
        functions += &write_function(function, width, &mut imports);
    }

    let mut text = header(&kernel.header);
    text += &dispatch_structure(kernel).declaration();
    text.push('\n');
    text += &declare_resources(&kernel_resources(kernel));
    text += &entry;
    text += &functions;
    text += &imports.text();
    Ok(text)
}

/// The lines of a header as comments, and an empty line after them.
pub(super) fn header(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(&comment(line));
        text.push('\n');
    }
    if !lines.is_empty() {
        text.push('\n');
    }
    text
}

/// The functions that the kernel calls, each once in each width.
pub(super) fn distinct_functions(kernel: &CheckedKernel) -> Vec<(&Function, Width)> {
    let mut functions: Vec<(&Function, Width)> = Vec::new();
    for (position, call) in (0u32..).zip(&kernel.calls) {
        let function = Rc::as_ref(&call.function);
        let width = kernel.width_of_call(position, |node| kernel.widths().of(node));
        if !functions.iter().any(|(known, of)| known.name == function.name && *of == width) {
            functions.push((function, width));
        }
    }
    functions
}

/// The head of an entry point of so many threads.
pub(super) fn open_entry_point(writer: &mut Writer, name: &str, threads: u32) {
    writer.blank_line();
    writer.line(&format!("@compute @workgroup_size({threads})"));
    writer.line(&format!("fn {name}("));
    writer.line("    @builtin(workgroup_id) workgroup: vec3<u32>,");
    writer.line("    @builtin(num_workgroups) workgroups: vec3<u32>,");
    writer.line("    @builtin(local_invocation_index) lane: u32,");
    writer.open(")");
    writer.line("let group = workgroup.x + workgroup.y * workgroups.x;");
}

/// The word of a gate of its own.
pub(super) const GATE: &str = "gate[0]";

/// Ends a kernel whose gate is closed.
pub(super) fn write_gate(writer: &mut Writer, gate: &str) {
    writer.block(&format!("if {gate} == 0u"), "return;");
}

fn entry_point(kernel: &CheckedKernel, imports: &mut Imports) -> String {
    let mut writer = Writer::default();
    let totals = TotalType::of(kernel);
    if kernel.has_total() {
        workgroup_sum::declare(&mut writer, totals.name(), WORKGROUP_SIZE);
    }
    open_entry_point(&mut writer, &kernel.name, WORKGROUP_SIZE);
    match (kernel.has_total(), kernel.guard) {
        (false, guard) => {
            writer.line(&format!("let instance = group * {WORKGROUP_SIZE}u + lane;"));
            if guard == Guard::Gate {
                write_gate(&mut writer, GATE);
            }
            writer.block("if instance >= dispatch.count", "return;");
            writer.blank_line();
            let code = InstanceCode { depth: writer.depth(), total: None, part: None };
            writer.append(&code.write(kernel, imports));
        }
        (true, Guard::None) => {
            writer.line(&format!("let instance = group * {WORKGROUP_SIZE}u + lane;"));
            writer.line(&format!("var total = {};", totals.zero()));
            writer.open("if instance < dispatch.count");
            let code = InstanceCode { depth: writer.depth(), total: Some(Total::Set), part: None };
            writer.append(&code.write(kernel, imports));
            writer.close();
            workgroup_sum::write(&mut writer, "instance", WORKGROUP_SIZE, totals, imports);
        }
        (true, Guard::Gate) => strided_loop(kernel, &mut writer, GATE, imports),
        (true, Guard::Head { buffer }) => {
            let gate = format!("bitcast<u32>({}[0])", kernel.buffers[buffer as usize].name);
            strided_loop(kernel, &mut writer, &gate, imports);
        }
    }
    writer.close();
    writer.finish()
}

/// The rest of an entry point whose threads go through the instances at the distance of all threads.
fn strided_loop(kernel: &CheckedKernel, writer: &mut Writer, gate: &str, imports: &mut Imports) {
    let mut groups = "workgroups.x * workgroups.y".to_owned();
    let mut group = "group".to_owned();
    if let Space::Layers { count } = kernel.space {
        // Layers of one workgroup's instances follow one another.
        groups += &format!(" / {count}u");
        group += &format!(" / {count}u");
    }
    writer.line(&format!("let start = {group} * {WORKGROUP_SIZE}u + lane;"));
    write_gate(writer, gate);
    if let Space::Layers { count } = kernel.space {
        writer.line(&format!("let layer = group % {count}u;"));
    }
    let totals = TotalType::of(kernel);
    writer.line(&format!("var total = {}();", totals.name()));
    writer.line(&format!("let threads = {groups} * {WORKGROUP_SIZE}u;"));
    writer.open("for (var instance = start; instance < dispatch.count; instance += threads)");
    let code = InstanceCode { depth: writer.depth(), total: Some(Total::Add), part: None };
    writer.append(&code.write(kernel, imports));
    writer.close();
    workgroup_sum::write(writer, "start", WORKGROUP_SIZE, totals, imports);
}
