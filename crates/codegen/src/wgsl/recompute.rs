//! Per-block recompute kernels as WGSL: 64 threads a workgroup, each of which takes an owner, and more where there are fewer threads.
//!
//! Sums are compensated, in the order of the lists and of their entries, so that they repeat to the bit.

use super::body::Body;
use super::declaration::{Resource, Structure, declare_resources};
use super::function::write_function;
use super::import::{Imports, PairForm};
use super::inputs::Inputs;
use super::instance::RESERVED;
use super::kernel::{
    Dispatch, GATE, WORKGROUP_SIZE, buffer_resource, distinct_functions, header, open_entry_point, write_gate,
};
use super::names::Names;
use super::total::TotalType;
use super::workgroup_sum;
use super::writer::Writer;
use crate::{CheckedKernel, CheckedRecompute, Constant, Element, Guard, Index, Load, Width};
use residua_base::list::{Listed, PushAll};
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

crate::uniform! {
    /// Uniform of a per-block recompute kernel that has pairs.
    pub struct PairRecomputeDispatch, "Dispatch" {
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
        /// distance from a number of vector 0 to its low part
        low_0,
        /// distance from a number of vector 1 to its low part
        low_1,
    }
}

impl PairRecomputeDispatch {
    /// A dispatch, with the distances to the low parts of vectors.
    pub fn new(dispatch: RecomputeDispatch, lows: [u32; Constant::MOST_VECTORS as usize]) -> PairRecomputeDispatch {
        let RecomputeDispatch { count, stride, first, nan, width, add } = dispatch;
        PairRecomputeDispatch { count, stride, first, nan, width, add, low_0: lows[0], low_1: lows[1] }
    }
}

/// The structure of a kernel's uniform.
fn dispatch_structure(kernel: &CheckedRecompute) -> Structure {
    if kernel.has_pairs() { PairRecomputeDispatch::STRUCTURE } else { RecomputeDispatch::STRUCTURE }
}

/// The type of a kernel's total.
fn total_type(kernel: &CheckedRecompute) -> TotalType {
    kernel.lists().iter().find(|list| list.has_total()).map_or(TotalType::SINGLE, |list| TotalType::of(list))
}

/// The resources of a kernel, by binding number: its buffers; `offsets`, for each owner and list the first of its entries, owner after
/// owner, and after all the end of the last; as other kernels have them `partials` and `gate`; the uniform [`RecomputeDispatch`], or [`PairRecomputeDispatch`] of a
/// kernel that has pairs.
pub fn recompute_resources(kernel: &CheckedRecompute) -> Vec<Resource> {
    let mut resources: Vec<Resource> = kernel.buffers().iter().map(buffer_resource).list();
    resources.push(Resource::array("offsets", "u32", false));
    if kernel.has_total() {
        resources.push(Resource::array("partials", total_type(kernel).name(), true));
    }
    if kernel.guard() == Guard::Gate {
        resources.push(Resource::array("gate", "u32", false));
    }
    resources.push(Resource::uniform("dispatch", &dispatch_structure(kernel)));
    resources
}

/// The kernel as a complete WGSL module, on a device that has the errors of products by this form.
pub fn write_recompute(kernel: &CheckedRecompute, form: PairForm) -> String {
    let mut imports = Imports::default();
    // The first entry of the first list is the first of all.
    imports.read_guard_from("offsets[0]");
    imports.set_pair_form(form);
    let entry = entry_point(kernel, &mut imports);
    let mut functions = String::new();
    let mut written: Vec<(&str, Width)> = Vec::new();
    for (function, width) in kernel.lists().iter().flat_map(distinct_functions) {
        if !written.contains(&(function.name, width)) {
            written.push((function.name, width));
            functions += &write_function(function, width, &mut imports);
        }
    }
    let mut text = header(kernel.header());
    text += &dispatch_structure(kernel).declaration();
    text.push('\n');
    text += &declare_resources(&recompute_resources(kernel));
    text += &entry;
    text += &functions;
    text += &imports.text();
    text
}

fn entry_point(kernel: &CheckedRecompute, imports: &mut Imports) -> String {
    let (lists, width, result) = (kernel.lists(), kernel.width(), kernel.result());
    let (totals, vector) = (total_type(kernel), kernel.vector_of_result());
    let mut writer = Writer::default();
    if kernel.has_total() {
        workgroup_sum::declare(&mut writer, totals.name(), WORKGROUP_SIZE);
    }
    open_entry_point(&mut writer, kernel.name(), WORKGROUP_SIZE);
    writer.line(&format!("let start = group * {WORKGROUP_SIZE}u + lane;"));
    writer.line(&format!("let threads = workgroups.x * workgroups.y * {WORKGROUP_SIZE}u;"));
    if kernel.guard() == Guard::Gate {
        write_gate(&mut writer, GATE);
    }
    if kernel.has_total() {
        writer.line(&format!("var total = {};", totals.zero()));
    }
    writer.open("for (var owner = start; owner < dispatch.count; owner += threads)");
    writer.line(&match width {
        1 => "let first = dispatch.first + owner;".to_owned(),
        _ => format!("let first = dispatch.first + owner * {width}u;"),
    });
    let of_owner = owners_numbers(kernel);
    for of_owner in &of_owner {
        let (name, mut number) = (of_owner.name(kernel), element(kernel, of_owner.buffer, of_owner.component, None));
        if of_owner.vector.is_some() {
            let low = element(kernel, of_owner.buffer, of_owner.component, of_owner.vector);
            number = format!("vec2<f32>({number}, {low})");
        }
        writer.line(&format!("let {name} = {number};"));
    }
    for component in 0..width {
        writer.line(&format!("var sum_{component} = vec2<f32>();"));
    }
    // The number that stands there is the first addend, which saves a compensated addition.
    writer.open("if dispatch.add != 0u");
    for component in 0..width {
        writer.line(&format!("sum_{component}.x = {};", element(kernel, result, component, None)));
        if vector.is_some() {
            writer.line(&format!("sum_{component}.y = {};", element(kernel, result, component, vector)));
        }
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
        let sum = format!("sum_{component}");
        let high = match vector {
            None => imports.call("compensated_sum", &[&sum]),
            Some(_) => format!("{sum}.x"),
        };
        writer.line(&format!("{} = {high};", element(kernel, result, component, None)));
        if vector.is_some() {
            writer.line(&format!("{} = {sum}.y;", element(kernel, result, component, vector)));
        }
    }
    writer.close();
    if kernel.has_total() {
        workgroup_sum::write(&mut writer, "start", WORKGROUP_SIZE, totals, imports);
    }
    writer.close();
    writer.finish()
}

/// A number of the owner that entries need, in the width in which it stands there.
#[derive(Clone, Copy, PartialEq, Eq)]
struct OwnNumber {
    buffer: u32,
    component: u32,
    /// The vector whose low part it takes; none of a single number.
    vector: Option<u32>,
}

impl OwnNumber {
    fn name(self, kernel: &CheckedRecompute) -> String {
        let OwnNumber { buffer, component, .. } = self;
        format!("own_{}_{component}", kernel.buffers()[buffer as usize].name)
    }

    fn element(self, width: u32) -> Element {
        let index = Index::owned(width, self.component);
        let low = self.vector.map(|vector| index.low(vector));
        Element { buffer: self.buffer, index, low }
    }
}

/// The owner's numbers that entries need. One that an entry needs as a pair is read as one, see [`Body::bind`].
fn owners_numbers(kernel: &CheckedRecompute) -> Vec<OwnNumber> {
    let mut numbers: Vec<OwnNumber> = Vec::new();
    for list in kernel.lists() {
        let graph = list.graph.graph();
        for id in list.uses().needed(graph) {
            if let Node::Input(input) = graph.node(id)
                && let Load::Read(element) = &list.loads[input.0 as usize]
                && let Some((_, component)) = element.index.as_owned()
            {
                let number = OwnNumber { buffer: element.buffer, component, vector: element.vector() };
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
        }
    }
    numbers
}

/// A number of the owner in a buffer, or the low part that it has in a vector.
fn element(kernel: &CheckedRecompute, buffer: u32, component: u32, vector: Option<u32>) -> String {
    let name = kernel.buffers()[buffer as usize].name;
    let low = vector.map(|vector| format!(" + dispatch.low_{vector}")).unwrap_or_default();
    match component {
        0 => format!("{name}[first{low}]"),
        _ => format!("{name}[first + {component}u{low}]"),
    }
}

/// The code of one entry of a list: what it adds to the owner's sums and to the total.
fn entry_code(
    kernel: &CheckedRecompute,
    list: &CheckedKernel,
    of_owner: &[OwnNumber],
    depth: usize,
    imports: &mut Imports,
) -> String {
    let mut taken: Vec<String> = ["offsets", "owner", "first", kernel.name()].map(str::to_owned).into();
    taken.push_all((0..kernel.width()).map(|component| format!("sum_{component}")));
    taken.push_all((0..kernel.lists().len()).map(|number| format!("end_{number}")));
    taken.push_all(of_owner.iter().map(|number| number.name(kernel)));
    let reserved = RESERVED
        .iter()
        .copied()
        .chain(taken.iter().map(String::as_str))
        .chain(list.buffers.iter().map(|buffer| buffer.name))
        .chain(list.calls.iter().map(|call| call.function.name));
    let names = Names::with_reserved(reserved);
    let roots: Vec<NodeId> = list.outputs.iter().map(|output| output.node).list();
    let body = Body::new(list.graph.graph(), Inputs::Loads(list), imports, names, depth, &roots);
    let mut body = body.in_widths(list.widths().clone());
    for number in of_owner {
        let (element, name) = (number.element(kernel.width()), number.name(kernel));
        if number.vector.is_some() {
            body.bind(Element::single(element.buffer, element.index.clone()), format!("{name}.x"));
        }
        body.bind(element, name);
    }
    for output in &list.outputs {
        let value = body.require_in(output.node, output.width());
        match (output.element().and_then(|element| element.index.as_owned()), output.width()) {
            (Some((_, component)), Width::Single) => {
                let next = body.import("with_addend", &[&format!("sum_{component}"), &value]);
                body.line(&format!("sum_{component} = {next};"));
            }
            (Some((_, component)), Width::Pair) => {
                let next = body.import("sum_of_pairs", &[&format!("sum_{component}"), &value]);
                body.line(&format!("sum_{component} = {next};"));
            }
            (None, Width::Single) => body.line(&format!("total += {value};")),
            (None, Width::Pair) => {
                let next = body.import("sum_of_pairs", &["total", &value]);
                body.line(&format!("total = {next};"));
            }
        }
    }
    body.finish()
}
