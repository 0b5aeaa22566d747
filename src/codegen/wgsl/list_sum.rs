//! [`ListSum`]s as WGSL: f32, 64 threads a workgroup, each of which takes an owner, and more where there are fewer threads.
//!
//! Bind group 0 holds the buffers in their order; then `offsets`, for each owner and list the first of its entries, owner after
//! owner, and after all the end of the last; then as kernels have them `partials` and `gate`; last the uniform
//! [`ListDispatch`]. Sums are compensated, in the order of the lists and of their entries, so that they repeat to the bit.

use super::body::{Body, Inputs, Names, comment};
use super::import::Imports;
use super::{RESERVED, TREE_SUM, WORKGROUP_SIZE, write_function};
use crate::codegen::{Address, Element, Kernel, ListSum, Load};
use crate::error::Result;
use crate::graph::{Node, NodeId};
use crate::list::Listed;

/// Uniform of a generated sum over lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ListDispatch {
    /// How many owners there are.
    pub count: u32,
    /// Distance between the columns of a table of entries.
    pub stride: u32,
    /// Where the first owner's numbers stand.
    pub first: u32,
    /// The bits of a NaN, as in [`super::Dispatch`].
    pub nan: u32,
    /// 0, which no compiler knows to be 0.
    pub zero: u32,
    /// Distance between the columns of tables of other instances.
    pub width: u32,
    /// 1: sums are added to what stands there; 0: written over it.
    pub add: u32,
}

impl ListDispatch {
    /// The dispatch over the lists of `count` owners.
    pub fn new(count: u32, stride: u32, first: u32, width: u32, add: u32) -> ListDispatch {
        ListDispatch { count, stride, first, nan: super::Dispatch::NAN, zero: 0, width, add }
    }

    /// The words that the uniform buffer holds.
    pub fn words(self) -> [u32; 7] {
        [self.count, self.stride, self.first, self.nan, self.zero, self.width, self.add]
    }
}

const DISPATCH: &str = "\
struct Dispatch {
    count: u32,  // owners
    stride: u32, // distance between the columns of a table of entries
    first: u32,  // where the first owner's numbers stand
    nan: u32,    // bits of a NaN
    zero: u32,   // 0, which the compiler does not know
    width: u32,  // distance between the columns of other tables
    add: u32,    // 1: add to what stands there, 0: write over it
}
";

/// The sum as a complete WGSL module. An internal error if its plan contradicts itself.
pub fn write_list_sum(sum: &ListSum) -> Result<String> {
    sum.check()?;
    let mut imports = Imports::default();
    let entry = entry_point(sum, &mut imports);
    let mut functions = String::new();
    let mut written: Vec<&str> = Vec::new();
    for call in sum.lists.iter().flat_map(|list| &list.calls) {
        if !written.contains(&call.function.name) {
            written.push(call.function.name);
            functions += &write_function(&call.function, &mut imports);
        }
    }
    let mut text = String::new();
    for line in &sum.header {
        text += &comment(line);
        text.push('\n');
    }
    if !sum.header.is_empty() {
        text.push('\n');
    }
    text += DISPATCH;
    text.push('\n');
    text += &bindings(sum);
    text += &entry;
    text += &functions;
    text += &imports.text();
    Ok(text)
}

fn bindings(sum: &ListSum) -> String {
    let mut declarations: Vec<String> = Vec::new();
    for buffer in sum.buffers() {
        let access = if buffer.written { "read_write" } else { "read" };
        let element = match buffer.element {
            Element::Real => "f32",
            Element::Index => "u32",
        };
        declarations.push(format!("<storage, {access}> {}: array<{element}>", buffer.name));
    }
    declarations.push("<storage, read> offsets: array<u32>".to_owned());
    if sum.has_total() {
        declarations.push("<storage, read_write> partials: array<f32>".to_owned());
    }
    if sum.gated {
        declarations.push("<storage, read> gate: array<u32>".to_owned());
    }
    declarations.push("<uniform> dispatch: Dispatch".to_owned());
    let mut text = String::new();
    for (binding, declaration) in declarations.iter().enumerate() {
        text += &format!("@group(0) @binding({binding}) var{declaration};\n");
    }
    if sum.has_total() {
        text += &format!("\nvar<workgroup> sums: array<f32, {WORKGROUP_SIZE}>;\n");
    }
    text.push('\n');
    text
}

fn entry_point(sum: &ListSum, imports: &mut Imports) -> String {
    let ListSum { name, lists, width, .. } = sum;
    let mut text = format!(
        "\
@compute @workgroup_size({WORKGROUP_SIZE})
fn {name}(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {{
    let group = workgroup.x + workgroup.y * workgroups.x;
    let start = group * {WORKGROUP_SIZE}u + lane;
    let threads = workgroups.x * workgroups.y * {WORKGROUP_SIZE}u;
"
    );
    if sum.gated {
        text += "    if gate[0] == 0u {\n        return;\n    }\n";
    }
    if sum.has_total() {
        text += "    var total = 0.0;\n";
    }
    text += "    for (var owner = start; owner < dispatch.count; owner += threads) {\n";
    text += &match width {
        1 => "        let first = dispatch.first + owner;\n".to_owned(),
        _ => format!("        let first = dispatch.first + owner * {width}u;\n"),
    };
    let of_owner = owners_numbers(sum);
    for (buffer, component) in &of_owner {
        text += &format!("        let {} = {};\n", own_name(sum, *buffer, *component), place(sum, *buffer, *component));
    }
    for component in 0..*width {
        text += &format!("        var sum_{component} = vec2<f32>();\n");
    }
    // What stands there is the first addend: that takes no addition, of which compensated ones are long.
    if let Some(result) = sum.result() {
        text += "        if dispatch.add != 0u {\n";
        for component in 0..*width {
            text += &format!("            sum_{component}.x = {};\n", place(sum, result, component));
        }
        text += "        }\n";
    }
    let list = if lists.len() == 1 { "owner".to_owned() } else { format!("owner * {}u", lists.len()) };
    let mut from = format!("offsets[{list}]");
    for (number, kernel) in (0u32..).zip(lists) {
        text += &format!(
            "        let end_{number} = offsets[{list} + {}u];\n        for (var instance = {from}; instance < end_{number}; instance++) {{\n",
            number + 1
        );
        // Lists follow one another, an owner's and the owners'.
        from = format!("end_{number}");
        text += &entry_code(sum, kernel, &of_owner, imports);
        text += "        }\n";
    }
    if let Some(result) = sum.result() {
        for component in 0..*width {
            let total = imports.call("compensated_sum", &[&format!("sum_{component}")]);
            text += &format!("        {} = {total};\n", place(sum, result, component));
        }
    }
    text += "    }\n";
    if sum.has_total() {
        text += TREE_SUM;
    }
    text += "}\n";
    text
}

/// The owner's numbers that entries need: buffers and components.
fn owners_numbers(sum: &ListSum) -> Vec<(u32, u32)> {
    let mut numbers = Vec::new();
    for list in &sum.lists {
        let uses = list.uses();
        let graph = list.graph.graph();
        for id in graph.ids().filter(|id| uses[id.index()] > 0) {
            if let Node::Input(input) = graph.node(id)
                && let Load::Read { buffer, address: Address::Interleaved { component, .. } } =
                    list.loads[input.0 as usize]
                && !numbers.contains(&(buffer, component))
            {
                numbers.push((buffer, component));
            }
        }
    }
    numbers
}

fn own_name(sum: &ListSum, buffer: u32, component: u32) -> String {
    format!("own_{}_{component}", sum.buffers()[buffer as usize].name)
}

fn place(sum: &ListSum, buffer: u32, component: u32) -> String {
    let name = sum.buffers()[buffer as usize].name;
    match component {
        0 => format!("{name}[first]"),
        _ => format!("{name}[first + {component}u]"),
    }
}

/// What one entry adds.
fn entry_code(sum: &ListSum, list: &Kernel, of_owner: &[(u32, u32)], imports: &mut Imports) -> String {
    let mut taken: Vec<String> = ["offsets", "owner", "first"].map(str::to_owned).into();
    taken.push(sum.name.clone());
    taken.extend((0..sum.width).map(|component| format!("sum_{component}")));
    taken.extend((0..sum.lists.len()).map(|number| format!("end_{number}")));
    taken.extend(of_owner.iter().map(|&(buffer, component)| own_name(sum, buffer, component)));
    let reserved = RESERVED
        .iter()
        .copied()
        .chain(taken.iter().map(String::as_str))
        .chain(list.buffers.iter().map(|buffer| buffer.name))
        .chain(list.calls.iter().map(|call| call.function.name));
    let names = Names::with_reserved(reserved);
    let roots: Vec<NodeId> = list.stores.iter().map(|store| store.node).chain(list.total).list();
    let mut body = Body::new(list.graph.graph(), Inputs::Loads(list), imports, names, 3, &roots);
    for &(buffer, component) in of_owner {
        let address = Address::Interleaved { width: sum.width, component };
        body.bind(buffer, address, own_name(sum, buffer, component));
    }
    for store in &list.stores {
        let Address::Interleaved { component, .. } = store.address else { continue };
        let value = body.require(store.node);
        let next = body.import("with_addend", &[&format!("sum_{component}"), &value]);
        body.line(&format!("sum_{component} = {next};"));
    }
    if let Some(total) = list.total {
        let value = body.require(total);
        body.line(&format!("total += {value};"));
    }
    body.finish()
}
