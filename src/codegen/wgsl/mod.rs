//! Kernels as WGSL: f32, one thread an instance, 64 threads a workgroup.
//!
//! Bind group 0 holds [`Kernel::buffers`] in their order; then, if the kernel has a total, `partials`, one partial sum a
//! workgroup, of each layer where it has layers; then, if it has one, `gate`; last the uniform [`Dispatch`]. A kernel with both takes several instances a thread where
//! there are fewer workgroups than instances fill, so that its caller may ask for no more partial sums than are wanted. Instances are numbered along x, then y, since one dimension takes at most
//! 65,535 workgroups. The text is meant to be read: a header, named values, one line an operation, and below the entry point
//! those functions of `shaders/common` that it calls.

use std::rc::Rc;

use crate::codegen::{Address, Element, Function, Kernel, Layers, Load, Step, Store};
use crate::error::{Error, Result};
use crate::graph::{Node, NodeId};
use crate::list::Listed;
use crate::text::{join, replace};

mod body;
mod import;
mod joint;
mod list_sum;
mod literal;
mod operation;
mod program;
pub(crate) mod source;
mod static_shader;

pub(crate) use body::comment;
use body::{Body, Inputs, Names};
use import::Imports;
pub use import::compose;
pub use joint::{JOINT_WORKGROUP_SIZE, JointKernel, JointPart};
pub use list_sum::{ListDispatch, write_list_sum};
pub use program::{Binding, ProgramText};
pub use static_shader::compose_with;

/// Threads a workgroup, which is also the number of instances that a partial sum covers.
pub const WORKGROUP_SIZE: u32 = 64;

/// Uniform of a generated kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Dispatch {
    /// How many instances there are.
    pub count: u32,
    /// Distance between the columns of a table: the padded number of instances.
    pub stride: u32,
    /// Where the first instance's numbers stand in an interleaved buffer.
    pub first: u32,
    /// The bits of a NaN: see [`Dispatch::NAN`].
    pub nan: u32,
    /// 0, which no compiler knows to be 0.
    pub zero: u32,
}

impl Dispatch {
    /// The bits of the NaN that kernels answer for operands out of an op's domain.
    pub const NAN: u32 = 0x7fc0_0000;

    /// The dispatch of `count` instances.
    pub fn new(count: u32, stride: u32, first: u32) -> Dispatch {
        Dispatch { count, stride, first, nan: Dispatch::NAN, zero: 0 }
    }

    /// The words that the uniform buffer holds.
    pub fn words(self) -> [u32; 5] {
        [self.count, self.stride, self.first, self.nan, self.zero]
    }
}

const DISPATCH: &str = "\
struct Dispatch {
    count: u32,  // instances
    stride: u32, // distance between the columns of a table
    first: u32,  // where instance 0 stands in an interleaved buffer
    nan: u32,    // bits of a NaN
    zero: u32,   // 0, which the compiler does not know
}
";

/// Names that every kernel defines.
const RESERVED: &[&str] = &[
    "Dispatch",
    "dispatch",
    "partials",
    "sums",
    "total",
    "workgroup",
    "workgroups",
    "lane",
    "group",
    "instance",
    "width",
    "gate",
    "start",
    "layer",
    "threads",
    "part",
];

/// The kernel as a complete WGSL module. An internal error if its plan asks for what only the CPU does, or contradicts
/// itself.
pub fn write(kernel: &Kernel) -> Result<String> {
    check(kernel)?;
    let mut imports = Imports::default();
    let entry = entry_point(kernel, &mut imports);
    let functions =
        distinct_functions(kernel).into_iter().map(|function| write_function(function, &mut imports)).list();

    let mut text = String::new();
    for line in &kernel.header {
        text.push_str(&comment(line));
        text.push('\n');
    }
    if !kernel.header.is_empty() {
        text.push('\n');
    }
    text.push_str(DISPATCH);
    text.push('\n');
    text.push_str(&bindings(kernel));
    text.push('\n');
    text.push_str(&entry);
    text.push_str(&join(&functions, ""));
    text.push_str(&imports.text());
    Ok(text)
}

/// What the writer relies on.
fn check(kernel: &Kernel) -> Result<()> {
    let wrong = |what: &str| Err(Error::internal(format!("kernel {}: {what}", kernel.name)));
    let buffers = kernel.buffers.len() as u32;
    let known = |buffer: u32, address: super::Address| {
        buffer < buffers
            && match address {
                super::Address::Indexed { indices, .. } => {
                    indices < buffers && kernel.buffers[indices as usize].element == Element::Index
                }
                super::Address::Listed { .. } => false,
                super::Address::Column(_)
                | super::Address::Fixed(_)
                | super::Address::Layer(_)
                | super::Address::Interleaved { .. } => true,
            }
    };
    if kernel.layers.is_some() && !(kernel.gated && kernel.total.is_some()) {
        return wrong("layers are of a gated total");
    }
    if kernel.loads.len() < kernel.graph.input_count() as usize {
        return wrong("an input of its graph has no load");
    }
    for load in &kernel.loads {
        match *load {
            Load::Read { buffer, address } if !known(buffer, address) => return wrong("a load names no buffer"),
            Load::Call { call, result }
                if kernel.calls.get(call as usize).is_none_or(|call| result as usize >= call.function.results) =>
            {
                return wrong("a load names no result of a call");
            }
            Load::Read { .. } | Load::Call { .. } => {}
        }
    }
    for store in &kernel.stores {
        if store.accumulate {
            return wrong("a store that accumulates is for the CPU alone");
        }
        if !known(store.buffer, store.address) || !kernel.buffers[store.buffer as usize].written {
            return wrong("a store names no buffer that is written");
        }
        if kernel.buffers[store.buffer as usize].element == Element::Index {
            return wrong("a store writes a number into a buffer of indices");
        }
    }
    Ok(())
}

/// The functions that the kernel calls, each once.
fn distinct_functions(kernel: &Kernel) -> Vec<&Function> {
    let mut functions: Vec<&Function> = Vec::new();
    for call in &kernel.calls {
        let function = Rc::as_ref(&call.function);
        if !functions.iter().any(|known| known.name == function.name) {
            functions.push(function);
        }
    }
    functions
}

fn bindings(kernel: &Kernel) -> String {
    let mut text = String::new();
    for (binding, buffer) in kernel.buffers.iter().enumerate() {
        let access = if buffer.written { "read_write" } else { "read" };
        let element = match buffer.element {
            Element::Real => "f32",
            Element::Index => "u32",
        };
        text += &format!("@group(0) @binding({binding}) var<storage, {access}> {}: array<{element}>;\n", buffer.name);
    }
    let mut binding = kernel.buffers.len();
    let sum = sum_type(kernel);
    if kernel.total.is_some() {
        text += &format!("@group(0) @binding({binding}) var<storage, read_write> partials: array<{sum}>;\n");
        binding += 1;
    }
    if kernel.gated {
        text += &format!("@group(0) @binding({binding}) var<storage, read> gate: array<u32>;\n");
        binding += 1;
    }
    text += &format!("@group(0) @binding({binding}) var<uniform> dispatch: Dispatch;\n");
    if kernel.total.is_some() {
        text += &format!("\nvar<workgroup> sums: array<{sum}, {WORKGROUP_SIZE}>;\n");
    }
    text
}

/// The type of a partial sum.
fn sum_type(kernel: &Kernel) -> &'static str {
    if kernel.layers.is_some() { "vec2<f32>" } else { "f32" }
}

fn entry_point(kernel: &Kernel, imports: &mut Imports) -> String {
    let name = &kernel.name;
    let mut text = format!(
        "\
@compute @workgroup_size({WORKGROUP_SIZE})
fn {name}(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {{
    let group = workgroup.x + workgroup.y * workgroups.x;
    let instance = group * {WORKGROUP_SIZE}u + lane;
"
    );
    if kernel.gated {
        text += "    if gate[0] == 0u {\n        return;\n    }\n";
    }
    match kernel.total {
        None => {
            text += "    if instance >= dispatch.count {\n        return;\n    }\n\n";
            text += &instance_code(kernel, None, imports, 1, None);
        }
        Some(total) if kernel.gated => {
            text = replace(&text, "let instance = ", "let start = ", usize::MAX);
            let mut groups = "workgroups.x * workgroups.y".to_owned();
            if let Some(Layers { count, .. }) = kernel.layers {
                // Layers of one workgroup's instances follow one another.
                text = replace(&text, "= group *", &format!("= group / {count}u *"), usize::MAX);
                text += &format!("    let layer = group % {count}u;\n");
                groups += &format!(" / {count}u");
            }
            text += &format!("    var total = {}();\n    let threads = {groups} * 64u;\n", sum_type(kernel));
            text += "    for (var instance = start; instance < dispatch.count; instance += threads) {\n";
            let code = instance_code(kernel, Some(total), imports, 2, None);
            text += &replace(&code, "        total = ", "        total += ", usize::MAX);
            text += "    }\n";
            text += TREE_SUM;
        }
        Some(total) => {
            text += "    var total = 0.0;\n    if instance < dispatch.count {\n";
            text += &instance_code(kernel, Some(total), imports, 2, None);
            text += "    }\n";
            text += &replace(TREE_SUM, "start < dispatch.count", "instance < dispatch.count", usize::MAX);
        }
    }
    text += "}\n";
    text
}

/// The sum of a workgroup's totals. Threads beyond the count add zeros: every thread must reach the barriers. Workgroups beyond the
/// last instance, which a dispatch in two dimensions can have, own no partial sum.
const TREE_SUM: &str = "
    sums[lane] = total;
    workgroupBarrier();
    for (var width = 32u; width > 0u; width /= 2u) {
        if lane < width {
            sums[lane] += sums[lane + width];
        }
        workgroupBarrier();
    }
    if lane == 0u && start < dispatch.count {
        partials[group] = sums[0];
    }
";

/// The code of one instance: its loads, values and stores, and the assignment to `total`. `part`: of a part of a joint dispatch, in which one buffer may be a
/// function.
fn instance_code(
    kernel: &Kernel,
    total: Option<NodeId>,
    imports: &mut Imports,
    indent: usize,
    part: Option<&'static str>,
) -> String {
    let reserved = RESERVED
        .iter()
        .copied()
        .chain([kernel.name.as_str()])
        .chain(kernel.buffers.iter().map(|buffer| buffer.name))
        .chain(kernel.calls.iter().map(|call| call.function.name));
    let names = Names::with_reserved(reserved);
    let roots: Vec<NodeId> = kernel
        .stores
        .iter()
        .map(|store| store.node)
        .chain(total)
        .chain(kernel.layers.map(|layers| layers.second))
        .list();
    let mut body = Body::new(kernel.graph.graph(), Inputs::Loads(kernel), imports, names, indent, &roots);
    body.part = part;
    let store = |body: &mut Body, number: usize| {
        let Store { buffer, address, node, .. } = kernel.stores[number];
        let value = body.require(node);
        let place = body.place(kernel, buffer, address);
        body.line(&format!("{place} = {value};"));
    };
    let steps = kernel.schedule();
    // Parameters are read before anything else, so that waiting for one is waiting for all: up to 14 % less time on an NVIDIA H200.
    for step in &steps {
        let Step::Compute(node) = *step else { continue };
        for &operand in kernel.graph.graph().node(node).operands() {
            if is_by_index(kernel, operand) {
                body.require(operand);
            }
        }
    }
    let mut late = vec![true; kernel.stores.len()];
    for step in steps {
        match step {
            Step::Compute(node) => body.compute(node),
            Step::Store(number) => {
                late[number as usize] = false;
                store(&mut body, number as usize);
            }
        }
    }
    // Everything is read before what may overwrite it.
    roots.iter().for_each(|root| _ = body.require(*root));
    for number in (0..late.len()).filter(|number| late[*number]) {
        store(&mut body, number);
    }
    if let Some(total) = total {
        let mut value = body.require(total);
        if let Some(Layers { second, .. }) = kernel.layers {
            value = format!("vec2<f32>({value}, {})", body.require(second));
        }
        body.line(&format!("total = {value};"));
    }
    body.finish()
}

/// Whether a node is read by way of an index.
fn is_by_index(kernel: &Kernel, node: NodeId) -> bool {
    let Node::Input(input) = kernel.graph.graph().node(node) else { return false };
    matches!(kernel.loads[input.0 as usize], Load::Read { address: Address::Indexed { .. }, .. })
}

/// The type of a function's results.
fn result_type(function: &Function) -> String {
    match function.results {
        1 => "f32".to_owned(),
        results => format!("vec{results}<f32>"),
    }
}

/// A function: a switch over its selector, each case from its graph.
fn write_function(function: &Function, imports: &mut Imports) -> String {
    let result = result_type(function);
    let parameters: String = function.parameters.iter().map(|name| format!(", {name}: f32")).collect();
    let mut text =
        format!("\nfn {}(selector: u32{parameters}) -> {result} {{\n    switch selector {{\n", function.name);
    let names =
        Names::with_reserved(["selector", "dispatch", function.name].iter().chain(function.parameters).copied());
    // The first case also serves selectors beyond the last, and WGSL wants its default somewhere: at the end.
    let numbered = function.cases.iter().enumerate();
    for (selector, case) in numbered.clone().skip(1).chain(numbered.take(1)) {
        let label = if selector == 0 { "default".to_owned() } else { format!("case {selector}u") };
        text += &format!("        {label}: {{ {}\n", comment(case.name));
        let inputs = Inputs::Parameters(function.parameters);
        let mut body = Body::new(case.graph.graph(), inputs, imports, names.clone(), 3, &case.results);
        body.return_results(&case.results, &result);
        text += &body.finish();
        text += "        }\n";
    }
    text += "    }\n}\n";
    text
}
