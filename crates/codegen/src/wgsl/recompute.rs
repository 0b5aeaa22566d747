//! Per-block recompute kernels as WGSL: 64 threads a workgroup, each of which takes an owner, and more where there are fewer threads.
//!
//! Sums are compensated, in the order of the lists and of their entries, so that they repeat to the bit.

use super::body::{Body, Names};
use super::declaration::{Resource, declare_resources};
use super::function::write_function;
use super::import::Imports;
use super::inputs::Inputs;
use super::instance::RESERVED;
use super::kernel::{Dispatch, WORKGROUP_SIZE, buffer_resource, header, open_entry_point, write_gate};
use super::workgroup_sum;
use super::writer::Writer;
use crate::{CheckedKernel, CheckedRecompute, Element, Guard, Index, Load};
use residua_base::list::Listed;
use residua_ir::graph::{Node, NodeId};

crate::uniform! {
    /// Uniform of a per-block recompute kernel.
    pub struct RecomputeDispatch, "Dispatch" {
        /// owners
        count,
        /// distance between the columns of a table of entries
        stride,
        /// where the first owner's numbers stand
        first,
        /// bits of a NaN
        nan,
        /// distance between the columns of other tables
        width,
        /// 1: add to what stands there, 0: write over it
        add,
    }
}

impl RecomputeDispatch {
    /// The dispatch over the lists of `count` owners.
    pub fn new(count: u32, stride: u32, first: u32, width: u32, add: u32) -> RecomputeDispatch {
        RecomputeDispatch { count, stride, first, nan: Dispatch::NAN, width, add }
    }
}

/// The resources of a kernel, by binding number: its buffers; `offsets`, for each owner and list the first of its entries, owner after
/// owner, and after all the end of the last; as other kernels have them `partials` and `gate`; the uniform [`RecomputeDispatch`].
pub fn recompute_resources(kernel: &CheckedRecompute) -> Vec<Resource> {
    let mut resources: Vec<Resource> = kernel.buffers().iter().map(buffer_resource).list();
    resources.push(Resource::array("offsets", "u32", false));
    if kernel.has_total() {
        resources.push(Resource::array("partials", "f32", true));
    }
    if kernel.guard() == Guard::Gate {
        resources.push(Resource::array("gate", "u32", false));
    }
    resources.push(Resource::uniform("dispatch", &RecomputeDispatch::STRUCTURE));
    resources
}

/// The kernel as a complete WGSL module.
pub fn write_recompute(kernel: &CheckedRecompute) -> String {
    let mut imports = Imports::default();
    // The first entry of the first list is the first of all.
    imports.read_guard_from("offsets[0]");
    let entry = entry_point(kernel, &mut imports);
    let mut functions = String::new();
    let mut written: Vec<&str> = Vec::new();
    for call in kernel.lists().iter().flat_map(|list| &list.calls) {
        if !written.contains(&call.function.name) {
            written.push(call.function.name);
            functions += &write_function(&call.function, &mut imports);
        }
    }
    let mut text = header(kernel.header());
    text += &RecomputeDispatch::STRUCTURE.declaration();
    text.push('\n');
    text += &declare_resources(&recompute_resources(kernel));
    text += &entry;
    text += &functions;
    text += &imports.text();
    text
}

fn entry_point(kernel: &CheckedRecompute, imports: &mut Imports) -> String {
    let (lists, width, result) = (kernel.lists(), kernel.width(), kernel.result());
    let mut writer = Writer::default();
    if kernel.has_total() {
        workgroup_sum::declare(&mut writer, "f32", WORKGROUP_SIZE);
    }
    open_entry_point(&mut writer, kernel.name(), WORKGROUP_SIZE);
    writer.line(&format!("let start = group * {WORKGROUP_SIZE}u + lane;"));
    writer.line(&format!("let threads = workgroups.x * workgroups.y * {WORKGROUP_SIZE}u;"));
    if kernel.guard() == Guard::Gate {
        write_gate(&mut writer);
    }
    if kernel.has_total() {
        writer.line("var total = 0.0;");
    }
    writer.open("for (var owner = start; owner < dispatch.count; owner += threads)");
    writer.line(&match width {
        1 => "let first = dispatch.first + owner;".to_owned(),
        _ => format!("let first = dispatch.first + owner * {width}u;"),
    });
    let of_owner = owners_numbers(kernel);
    for &(buffer, component) in &of_owner {
        let (name, element) = (own_name(kernel, buffer, component), element(kernel, buffer, component));
        writer.line(&format!("let {name} = {element};"));
    }
    for component in 0..width {
        writer.line(&format!("var sum_{component} = vec2<f32>();"));
    }
    // The number that stands there is the first addend, which saves a compensated addition.
    writer.open("if dispatch.add != 0u");
    for component in 0..width {
        writer.line(&format!("sum_{component}.x = {};", element(kernel, result, component)));
    }
    writer.close();
    let list = if lists.len() == 1 { "owner".to_owned() } else { format!("owner * {}u", lists.len()) };
    let mut from = format!("offsets[{list}]");
    for (number, entries) in (0u32..).zip(lists) {
        writer.line(&format!("let end_{number} = offsets[{list} + {}u];", number + 1));
        writer.open(&format!("for (var instance = {from}; instance < end_{number}; instance++)"));
        // Lists follow one another, an owner's and the owners'.
        from = format!("end_{number}");
        let code = entry_code(kernel, entries, &of_owner, writer.depth(), imports);
        writer.append(&code);
        writer.close();
    }
    for component in 0..width {
        let total = imports.call("compensated_sum", &[&format!("sum_{component}")]);
        writer.line(&format!("{} = {total};", element(kernel, result, component)));
    }
    writer.close();
    if kernel.has_total() {
        workgroup_sum::write(&mut writer, "start", WORKGROUP_SIZE);
    }
    writer.close();
    writer.finish()
}

/// The owner's numbers that entries need: buffers and components.
fn owners_numbers(kernel: &CheckedRecompute) -> Vec<(u32, u32)> {
    let mut numbers = Vec::new();
    for list in kernel.lists() {
        let graph = list.graph.graph();
        for id in list.uses().needed(graph) {
            if let Node::Input(input) = graph.node(id)
                && let Load::Read(Element { buffer, index, .. }) = &list.loads[input.0 as usize]
                && let Some((_, component)) = index.as_owned()
                && !numbers.contains(&(*buffer, component))
            {
                numbers.push((*buffer, component));
            }
        }
    }
    numbers
}

fn own_name(kernel: &CheckedRecompute, buffer: u32, component: u32) -> String {
    format!("own_{}_{component}", kernel.buffers()[buffer as usize].name)
}

/// A number of the owner in a buffer.
fn element(kernel: &CheckedRecompute, buffer: u32, component: u32) -> String {
    let name = kernel.buffers()[buffer as usize].name;
    match component {
        0 => format!("{name}[first]"),
        _ => format!("{name}[first + {component}u]"),
    }
}

/// The code of one entry of a list: what it adds to the owner's sums and to the total.
fn entry_code(
    kernel: &CheckedRecompute,
    list: &CheckedKernel,
    of_owner: &[(u32, u32)],
    depth: usize,
    imports: &mut Imports,
) -> String {
    let mut taken: Vec<String> = ["offsets", "owner", "first", kernel.name()].map(str::to_owned).into();
    taken.extend((0..kernel.width()).map(|component| format!("sum_{component}")));
    taken.extend((0..kernel.lists().len()).map(|number| format!("end_{number}")));
    taken.extend(of_owner.iter().map(|&(buffer, component)| own_name(kernel, buffer, component)));
    let reserved = RESERVED
        .iter()
        .copied()
        .chain(taken.iter().map(String::as_str))
        .chain(list.buffers.iter().map(|buffer| buffer.name))
        .chain(list.calls.iter().map(|call| call.function.name));
    let names = Names::with_reserved(reserved);
    let roots: Vec<NodeId> = list.outputs.iter().map(|output| output.node).list();
    let mut body = Body::new(list.graph.graph(), Inputs::Loads(list), imports, names, depth, &roots);
    for &(buffer, component) in of_owner {
        let index = Index::owned(kernel.width(), component);
        body.bind(Element::single(buffer, index), own_name(kernel, buffer, component));
    }
    for output in &list.outputs {
        let value = body.require(output.node);
        match output.element().and_then(|element| element.index.as_owned()) {
            Some((_, component)) => {
                let next = body.import("with_addend", &[&format!("sum_{component}"), &value]);
                body.line(&format!("sum_{component} = {next};"));
            }
            None => body.line(&format!("total += {value};")),
        }
    }
    body.finish()
}
