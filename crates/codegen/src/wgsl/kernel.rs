//! A [`Kernel`] as WGSL: one thread an instance, 64 threads a workgroup.
//!
//! Instances are numbered along x, then y, since one dimension takes at most 65,535 workgroups. A kernel with a total and a gate takes
//! several instances a thread where there are fewer workgroups than instances fill, so that its caller chooses the number of partial
//! sums.

use residua_base::list::Listed;
use std::rc::Rc;

use super::declaration::{Resource, declare_resources};
use super::function::write_function;
use super::guard::{reads_zero, zero_of};
use super::import::Imports;
use super::instance::InstanceCode;
use super::workgroup_sum;
use super::writer::{Writer, comment};
use crate::{Buffer, CheckedKernel, DType, Function, Guard, Space};
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

/// The resources of a kernel, by binding number: [`Kernel::buffers`]; if it has a total, `partials`, one partial sum a workgroup, or one
/// for each layer of a workgroup's instances; if it has one, `gate`, two words of which the second is 0 in every run; where
/// [`reads_zero`] says so, `zero`, a word that is 0 in every run; the uniform [`Dispatch`].
pub fn kernel_resources(kernel: &CheckedKernel) -> Vec<Resource> {
    let mut resources: Vec<Resource> = kernel.buffers.iter().map(buffer_resource).list();
    if kernel.has_total() {
        resources.push(Resource::array("partials", sum_type(kernel), true));
    }
    if kernel.guard == Guard::Gate {
        resources.push(Resource::array("gate", "u32", false));
    }
    if reads_zero(kernel) {
        resources.push(Resource::array("zero", "u32", false));
    }
    resources.push(Resource::uniform("dispatch", &Dispatch::STRUCTURE));
    resources
}

/// A buffer as a resource.
pub(super) fn buffer_resource(buffer: &Buffer) -> Resource {
    let element = match buffer.dtype {
        DType::Real => "f32",
        DType::U32 => "u32",
    };
    Resource::array(buffer.name, element, buffer.written)
}

/// The kernel as a complete WGSL module. An internal error if it is one that the host alone can run.
pub fn write(kernel: &CheckedKernel) -> Result<String> {
    kernel.check_for_device()?;
    let mut imports = Imports::default();
    imports.read_guard_from(zero_of(kernel));
    let entry = entry_point(kernel, &mut imports);
    let functions: Vec<String> =
        distinct_functions(kernel).into_iter().map(|function| write_function(function, &mut imports)).list();

    let mut text = header(&kernel.header);
    text += &Dispatch::STRUCTURE.declaration();
    text.push('\n');
    text += &declare_resources(&kernel_resources(kernel));
    text += &entry;
    text += &functions.join("");
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

/// The functions that the kernel calls, each once.
fn distinct_functions(kernel: &CheckedKernel) -> Vec<&Function> {
    let mut functions: Vec<&Function> = Vec::new();
    for call in &kernel.calls {
        let function = Rc::as_ref(&call.function);
        if !functions.iter().any(|known| known.name == function.name) {
            functions.push(function);
        }
    }
    functions
}

/// The type of a partial sum.
fn sum_type(kernel: &CheckedKernel) -> &'static str {
    match kernel.reduced().count() {
        0 | 1 => "f32",
        _ => "vec2<f32>",
    }
}

/// The total of a thread before its first instance.
fn zero_total(kernel: &CheckedKernel) -> &'static str {
    match kernel.reduced().count() {
        0 | 1 => "0.0",
        _ => "vec2<f32>()",
    }
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

/// Ends a kernel whose gate is closed.
pub(super) fn write_gate(writer: &mut Writer) {
    writer.block("if gate[0] == 0u", "return;");
}

fn entry_point(kernel: &CheckedKernel, imports: &mut Imports) -> String {
    let mut writer = Writer::default();
    if kernel.has_total() {
        workgroup_sum::declare(&mut writer, sum_type(kernel), WORKGROUP_SIZE);
    }
    open_entry_point(&mut writer, &kernel.name, WORKGROUP_SIZE);
    match (kernel.has_total(), kernel.guard) {
        (false, guard) => {
            writer.line(&format!("let instance = group * {WORKGROUP_SIZE}u + lane;"));
            if guard == Guard::Gate {
                write_gate(&mut writer);
            }
            writer.block("if instance >= dispatch.count", "return;");
            writer.blank_line();
            let code = InstanceCode { depth: writer.depth(), total: None, part: None };
            writer.append(&code.write(kernel, imports));
        }
        (true, Guard::None) => {
            writer.line(&format!("let instance = group * {WORKGROUP_SIZE}u + lane;"));
            writer.line(&format!("var total = {};", zero_total(kernel)));
            writer.open("if instance < dispatch.count");
            let code = InstanceCode { depth: writer.depth(), total: Some("="), part: None };
            writer.append(&code.write(kernel, imports));
            writer.close();
            workgroup_sum::write(&mut writer, "instance", WORKGROUP_SIZE);
        }
        (true, Guard::Gate) => strided_loop(kernel, &mut writer, imports),
    }
    writer.close();
    writer.finish()
}

/// The rest of an entry point whose threads go through the instances at the distance of all threads.
fn strided_loop(kernel: &CheckedKernel, writer: &mut Writer, imports: &mut Imports) {
    let mut groups = "workgroups.x * workgroups.y".to_owned();
    let mut group = "group".to_owned();
    if let Space::Layers { count } = kernel.space {
        // Layers of one workgroup's instances follow one another.
        groups += &format!(" / {count}u");
        group += &format!(" / {count}u");
    }
    writer.line(&format!("let start = {group} * {WORKGROUP_SIZE}u + lane;"));
    write_gate(writer);
    if let Space::Layers { count } = kernel.space {
        writer.line(&format!("let layer = group % {count}u;"));
    }
    writer.line(&format!("var total = {}();", sum_type(kernel)));
    writer.line(&format!("let threads = {groups} * {WORKGROUP_SIZE}u;"));
    writer.open("for (var instance = start; instance < dispatch.count; instance += threads)");
    let code = InstanceCode { depth: writer.depth(), total: Some("+="), part: None };
    writer.append(&code.write(kernel, imports));
    writer.close();
    workgroup_sum::write(writer, "start", WORKGROUP_SIZE);
}
