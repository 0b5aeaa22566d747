//! A kernel and the gather that follows it, as one: where few rows need an instance, computing it again for each of them costs
//! less than writing its results and reading them.
//!
//! One thread takes a row of a transposed incidence after another. For each entry it computes the entry's instance and adds the
//! columns that the entry stands for to the row's sums. The kernel's total counts an instance once, at its entry in column 0.

use std::fmt::Write;

use crate::codegen::wgsl::body::{Body, Inputs, Names, comment};
use crate::codegen::wgsl::import::Imports;
use crate::codegen::wgsl::{RESERVED, check, distinct_functions, write_function};
use crate::codegen::{Address, Element, Kernel};
use crate::error::{Error, Result};
use crate::list::Listed;

/// Threads a workgroup.
pub const THREADS: u32 = 256;

/// Workgroups, at most: a thread takes several rows, so that there are no more partial sums than that.
pub const MOST_WORKGROUPS: u32 = 1024;

/// Uniform of a gathered kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Gathered {
    /// How many rows there are.
    pub rows: u32,
    /// Distance between the columns of a table of instances.
    pub stride: u32,
    /// How many threads there are.
    pub threads: u32,
    /// The bits of a NaN.
    pub nan: u32,
    /// 0, which no compiler knows to be 0.
    pub zero: u32,
}

impl Gathered {
    /// The dispatch over so many rows.
    pub fn new(rows: u32, stride: u32) -> Gathered {
        let threads = rows.div_ceil(THREADS).min(MOST_WORKGROUPS) * THREADS;
        Gathered { rows, stride, threads, nan: super::Dispatch::NAN, zero: 0 }
    }

    /// How many workgroups, and so partial sums, there are.
    pub fn workgroups(self) -> u32 {
        self.threads / THREADS
    }

    /// The words that the uniform buffer holds.
    pub fn words(self) -> [u32; 5] {
        [self.rows, self.stride, self.threads, self.nan, self.zero]
    }
}

/// The kernel as a module that gathers the columns of the one buffer it writes, `dim` of them a row, over what stands in the result.
/// Bindings: the kernel's buffers, the written one as it is read; `offsets`, `entries`, `targets` (indices, read), `result`
/// (written); then as those of the kernel. An internal error if it writes other things than columns of one buffer, or has no total.
pub fn write_gathered(kernel: &Kernel, dim: u32) -> Result<String> {
    check(kernel)?;
    let columns: Option<Vec<u32>> = kernel
        .stores
        .iter()
        .map(|store| match store.address {
            Address::Column(column) if store.buffer == kernel.stores[0].buffer => Some(column),
            Address::Column(_) | Address::Fixed(_) | Address::Interleaved { .. } | Address::Indexed { .. } => None,
        })
        .collect();
    let (Some(columns), Some(total)) = (columns, kernel.total) else {
        return Err(Error::internal(format!("kernel {} cannot be gathered", kernel.name)));
    };
    let mut imports = Imports::default();
    let names = ["row", "end", "entry", "place", "column", "first", "offsets", "entries", "targets", "result"];
    let sums: Vec<String> = (0..dim).map(|component| format!("sum_{component}")).list();
    let reserved = RESERVED
        .iter()
        .copied()
        .chain(names)
        .chain(sums.iter().map(String::as_str))
        .chain([kernel.name.as_str()])
        .chain(kernel.buffers.iter().map(|buffer| buffer.name))
        .chain(kernel.calls.iter().map(|call| call.function.name));
    let names = Names::with_reserved(reserved);
    let mut roots: Vec<_> = kernel.stores.iter().map(|store| store.node).list();
    roots.push(total);
    let mut body = Body::new(kernel.graph.graph(), Inputs::Loads(kernel), &mut imports, names, 3, &roots);
    let mut values: Vec<String> = roots.iter().map(|root| body.require(*root)).list();
    let total = values.pop().unwrap_or_default();
    let mut firsts: Vec<u32> = columns.iter().map(|column| column / dim * dim).list();
    firsts.dedup();
    for first in firsts {
        body.line(&format!("if column == {first}u {{"));
        for (column, value) in columns.iter().zip(&values) {
            if column / dim * dim == first {
                body.line(&format!("    sum_{} += {value};", column - first));
            }
        }
        if first == 0 {
            body.line(&format!("    total += {total};"));
        }
        body.line("}");
    }
    let instance = body.finish();
    let functions: String =
        distinct_functions(kernel).into_iter().map(|function| write_function(function, &mut imports)).collect();

    let mut text = String::new();
    for line in &kernel.header {
        text.push_str(&comment(line));
        text.push('\n');
    }
    text.push_str(DISPATCH);
    text.push_str(&bindings(kernel));
    let name = &kernel.name;
    let gate = if kernel.gated { "    if gate[0] == 0u {\n        return;\n    }\n" } else { "" };
    let (mut starts, mut stores) = (String::new(), String::new());
    for (component, sum) in sums.iter().enumerate() {
        starts += &format!("        var {sum} = 0.0;\n");
        stores += &format!("        result[first + {component}u] = {sum};\n");
    }
    write!(
        text,
        "\
@compute @workgroup_size({THREADS})
fn {name}(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {{
{gate}    var total = 0.0;
    for (var row = workgroup.x * {THREADS}u + lane; row < dispatch.count; row += dispatch.threads) {{
{starts}        let end = offsets[row + 1u];
        for (var entry = offsets[row]; entry < end; entry++) {{
            let place = entries[entry];
            let column = place / dispatch.stride;
            let instance = place - column * dispatch.stride;
{instance}        }}
        let first = targets[row];
{stores}    }}

    sums[lane] = total;
    workgroupBarrier();
    for (var width = {}u; width > 0u; width /= 2u) {{
        if lane < width {{
            sums[lane] += sums[lane + width];
        }}
        workgroupBarrier();
    }}
    if lane == 0u {{
        partials[workgroup.x] = sums[0];
    }}
}}
{functions}",
        THREADS / 2
    )
    .expect("writing to a string can't fail");
    text.push_str(&imports.text());
    Ok(text)
}

const DISPATCH: &str = "
struct Dispatch {
    count: u32,   // rows
    stride: u32,  // distance between the columns of a table
    threads: u32, // how many there are
    nan: u32,     // bits of a NaN
    zero: u32,    // 0, which the compiler does not know
}

";

fn bindings(kernel: &Kernel) -> String {
    let buffers = kernel.buffers.iter().map(|buffer| match buffer.element {
        Element::Real => format!("read> {}: array<f32>", buffer.name),
        Element::Index => format!("read> {}: array<u32>", buffer.name),
    });
    let tables = ["offsets", "entries", "targets"].map(|table| format!("read> {table}: array<u32>"));
    let sums = ["result", "partials"].map(|sums| format!("read_write> {sums}: array<f32>"));
    let gate = kernel.gated.then(|| "read> gate: array<u32>".to_owned());
    let mut text = String::new();
    let mut count = 0;
    for binding in buffers.chain(tables).chain(sums).chain(gate) {
        text += &format!("@group(0) @binding({count}) var<storage, {binding};\n");
        count += 1;
    }
    text + &format!(
        "@group(0) @binding({count}) var<uniform> dispatch: Dispatch;\n\nvar<workgroup> sums: array<f32, {THREADS}>;\n\n"
    )
}
