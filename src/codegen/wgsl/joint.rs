//! Several kernels in one dispatch: each is a function over instances, and *parts* of the dispatch run one of them over a table of their own.
//! Small kernels that don't depend on each other so cost one dispatch's waiting instead of one each.
//!
//! Kernels take part that have a gate and a total, call nothing, and read and write columns, directly or by way of indices. Buffers of one name are
//! one binding; the tables of all parts stand in it, and a part says where its own begins. Bind group 0 holds the buffers in the order in which they
//! are first used, `partials`, `gate`, and the uniform whose words [`JointKernel::words`] gives.

use super::import::Imports;
use super::source::shader;
use super::{TREE_SUM, WORKGROUP_SIZE, binding_declarations, instance_code};
use crate::codegen::{Address, Buffer, Kernel, Load};
use crate::text::replace;

/// Kernels that run in one dispatch.
pub struct JointKernel<'a> {
    kernels: Vec<&'a Kernel>,
    /// Of all kernels, each name once.
    pub buffers: Vec<Buffer>,
    /// Names of those that hold tables.
    tables: Vec<&'static str>,
}

/// A part of a dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JointPart {
    /// Position of its kernel.
    pub kernel: u32,
    /// Instances.
    pub count: u32,
    /// Distance between the columns of its tables.
    pub stride: u32,
    /// Its workgroups, each of which takes several instances a thread where there are fewer than instances fill.
    pub groups: u32,
}

impl<'a> JointKernel<'a> {
    /// Kernels together, if they can be.
    pub fn of(kernels: Vec<&'a Kernel>) -> Option<JointKernel<'a>> {
        let (mut buffers, mut tables): (Vec<Buffer>, Vec<&str>) = (Vec::new(), Vec::new());
        for kernel in &kernels {
            if !kernel.gated || kernel.total.is_none() || kernel.layers.is_some() || !kernel.calls.is_empty() {
                return None;
            }
            for buffer in &kernel.buffers {
                match buffers.iter_mut().find(|known| known.name == buffer.name) {
                    Some(known) => known.written |= buffer.written,
                    None => buffers.push(buffer.clone()),
                }
            }
            let read = kernel.loads.iter().filter_map(|load| match *load {
                Load::Read { buffer, address } => Some((buffer, address)),
                Load::Call { .. } => None,
            });
            for (buffer, address) in read.chain(kernel.stores.iter().map(|store| (store.buffer, store.address))) {
                let table = match address {
                    Address::Column(_) => buffer,
                    Address::Indexed { indices, .. } => indices,
                    Address::Fixed(_) | Address::Layer(_) | Address::Interleaved { .. } | Address::Listed { .. } => {
                        return None;
                    }
                };
                let name = kernel.buffers[table as usize].name;
                if !tables.contains(&name) {
                    tables.push(name);
                }
            }
        }
        Some(JointKernel { kernels, buffers, tables })
    }

    /// Operations of all kernels.
    pub fn operations(&self) -> usize {
        self.kernels.iter().map(|kernel| kernel.graph.graph().len()).sum()
    }

    /// Words of a part: as many as make it a multiple of 16 bytes.
    fn part_words(&self) -> usize {
        (5 + self.tables.len()).next_multiple_of(4)
    }

    /// The words of the uniform. `first` says where a part's table in a buffer of that name begins, in elements.
    pub fn words(&self, parts: &[JointPart], first: &dyn Fn(usize, &str) -> u32) -> Vec<u32> {
        let groups = parts.iter().map(|part| part.groups).sum();
        let mut words = vec![groups, super::Dispatch::NAN, 0, 0];
        let mut group = 0;
        for (number, part) in parts.iter().enumerate() {
            let end = words.len() + self.part_words();
            words.extend([part.kernel, part.count, part.stride, group, part.groups]);
            words.extend(self.tables.iter().map(|name| first(number, name)));
            words.resize(end, 0);
            group += part.groups;
        }
        words
    }

    /// The complete WGSL module, for so many parts.
    pub fn write(&self, name: &str, parts: usize) -> String {
        let mut imports = Imports::default();
        let (mut functions, mut cases) = (String::new(), String::new());
        for (number, kernel) in self.kernels.iter().enumerate() {
            let label = if number == 0 { "default".to_owned() } else { format!("case {number}u") };
            cases += &format!("{label}: {{ total = part_{number}(part, start); }}\n        ");
            let code = instance_code(kernel, kernel.total, &mut imports, 2, true);
            functions += &format!(
                "\nfn part_{number}(part: Part, start: u32) -> f32 {{\n    var total = 0.0;\n    \
                 for (var instance = start; instance < part.count; instance += part.groups * {WORKGROUP_SIZE}u) {{\n\
                 {}    }}\n    return total;\n}}\n",
                replace(&code, "        total = ", "        total += ", usize::MAX)
            );
        }
        let mut text = "struct Part {\n    kernel: u32,\n    count: u32, // instances\n    \
                        stride: u32, // distance between the columns of a table\n    \
                        group: u32, // its first workgroup\n    groups: u32,\n"
            .to_owned();
        for table in &self.tables {
            text += &format!("    first_{table}: u32, // where its table begins\n");
        }
        for padding in 5 + self.tables.len()..self.part_words() {
            text += &format!("    padding_{padding}: u32,\n");
        }
        text += "}\n\n";
        text += &binding_declarations(&self.buffers, "f32", [true, true]);
        let mut entry = shader!("../../../shaders/joint_kernel.wgsl").to_owned();
        for (what, with) in [("#parts", parts.to_string().as_str()), ("#name", name), ("#cases", cases.trim_ascii())] {
            entry = replace(&entry, what, with, usize::MAX);
        }
        text += &entry;
        text += &replace(TREE_SUM, "start < dispatch.count", "group < dispatch.groups", 1);
        text += "}\n";
        text + &functions + &imports.text()
    }
}
