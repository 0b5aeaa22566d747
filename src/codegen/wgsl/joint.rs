//! Several kernels in one dispatch: each is a function over instances, and *parts* of the dispatch run one of them over a table of their own.
//! Small kernels that don't depend on each other so cost one dispatch's waiting instead of one each.
//!
//! Kernels take part that have a gate and a total, are sums of products, and read and write columns, directly or by way of indices. A caller brings the
//! module around the parts, with the bindings. Buffers of one name are one binding; the tables of all parts stand in it, and a part says where its own
//! begins: in a uniform whose words [`JointKernel::words`] gives.

use super::import::Imports;
use super::instance_code;
use crate::codegen::{Address, Kernel, Load};
use crate::graph::{Node, Op};
use crate::text::replace;

/// Threads of a workgroup of kernels together.
pub const JOINT_WORKGROUP_SIZE: u32 = 256;

/// Kernels that run in one dispatch.
pub struct JointKernel<'a> {
    kernels: Vec<&'a Kernel>,
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
        let mut tables: Vec<&str> = Vec::new();
        for kernel in &kernels {
            let graph = kernel.graph.graph();
            // Sums of products call no function, which the text around may have already.
            let is_plain = |node| match graph.node(node) {
                Node::Apply(op, _) => matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Neg),
                Node::Literal(bits) => f64::from_bits(bits).is_finite(),
                Node::Input(_) => true,
            };
            let is_whole = kernel.gated && kernel.total.is_some() && kernel.layers.is_none();
            if !is_whole || !kernel.calls.is_empty() || !graph.ids().all(is_plain) {
                return None;
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
        Some(JointKernel { kernels, tables })
    }

    /// Operations of all kernels.
    pub fn operations(&self) -> usize {
        self.kernels.iter().map(|kernel| kernel.graph.graph().len()).sum()
    }

    /// Words of a part: as many as make it a multiple of 16 bytes.
    fn part_words(&self) -> usize {
        (PART.len() + self.tables.len()).next_multiple_of(4)
    }

    /// The words of the uniform. `first` says where a part's table in a buffer of that name begins, in elements.
    pub fn words(&self, parts: &[JointPart], first: &dyn Fn(usize, &str) -> u32) -> Vec<u32> {
        let groups = parts.iter().map(|part| part.groups).sum();
        let mut words = vec![groups, super::Dispatch::NAN, 0, 0];
        let mut group = 0;
        for (number, part) in parts.iter().enumerate() {
            let end = words.len() + self.part_words();
            words.extend([part.kernel, part.count, part.stride, group, part.groups]);
            for name in &self.tables {
                words.push(first(number, name));
            }
            words.resize(end, 0);
            group += part.groups;
        }
        words
    }

    /// A caller's module with these parts in it: `#parts` in its text stands for how many there are, `#cases` for the cases of `part.kernel`, of which
    /// each sets `total` for a thread that begins at `start`. It declares buffers of the names that kernels have for them, but for one that may be
    /// `formed`: that is a function of a place, `…_at`.
    pub fn put_into(&self, shell: &str, parts: usize, formed: &'static str) -> String {
        let mut imports = Imports::default();
        let (mut functions, mut cases) = (String::new(), String::new());
        for (number, kernel) in self.kernels.iter().enumerate() {
            let label = if number == 0 { "default".to_owned() } else { format!("case {number}u") };
            cases += &format!("{label}: {{ total = part_{number}(part, start); }} ");
            let code = instance_code(kernel, kernel.total, &mut imports, 2, Some(formed));
            functions += &format!(
                "\nfn part_{number}(part: Part, start: u32) -> f32 {{\n    var total = 0.0;\n    \
                 for (var instance = start; instance < part.count; instance += part.groups * {JOINT_WORKGROUP_SIZE}u) {{\n\
                 {}    }}\n    return total;\n}}\n",
                replace(&code, "        total = ", "        total += ", usize::MAX)
            );
        }
        functions += "\nstruct Part {\n";
        for word in 0..self.part_words() {
            functions += &match (PART.get(word), self.tables.get(word.wrapping_sub(PART.len()))) {
                (Some(member), _) => format!("    {member}: u32,\n"),
                (None, Some(table)) => format!("    first_{table}: u32,\n"),
                (None, None) => format!("    padding_{word}: u32,\n"),
            };
        }
        let mut text = replace(shell, "#parts", &parts.to_string(), usize::MAX);
        text = replace(&text, "#cases", cases.trim_ascii(), 1);
        text + &functions + "}\n"
    }
}

/// Members of a part before the places of its tables.
const PART: [&str; 5] = ["kernel", "count", "stride", "group", "groups"];
