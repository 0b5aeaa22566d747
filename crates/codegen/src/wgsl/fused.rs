//! Several kernels fused into one dispatch: each is a function over instances, and each *part* of the dispatch runs one of them over
//! tables of its own. Small kernels that do not depend on each other then cost one dispatch instead of one each.
//!
//! Kernels can be fused that have a gate and a total, are sums of products, and read and write columns, directly or by way of indices.
//! The entry point and the bindings are a template's; [`FusedKernel::declarations`] adds the parts. Buffers of one name are one binding;
//! the tables of all parts stand in it, and a part says where its own begin, in a uniform whose words [`FusedKernel::words`] gives.

use super::import::Imports;
use super::instance::{InstanceCode, Total};
use super::writer::Writer;
use crate::{CheckedKernel, Guard, Space};
use residua_ir::graph::{Node, Op};

/// Threads of a workgroup of fused kernels.
pub const FUSED_WORKGROUP_SIZE: u32 = 256;

/// Kernels that run in one dispatch.
pub struct FusedKernel<'a> {
    kernels: Vec<&'a CheckedKernel>,
    /// Names of those that hold tables.
    tables: Vec<&'static str>,
}

/// A part of a dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FusedPart {
    /// Position of its kernel.
    pub kernel: u32,
    /// Instances.
    pub count: u32,
    /// Distance between the columns of its tables.
    pub stride: u32,
    /// Its workgroups, each of which takes several instances a thread where there are fewer than instances fill.
    pub groups: u32,
}

impl<'a> FusedKernel<'a> {
    /// Fuses kernels, if they can be.
    pub fn of(kernels: Vec<&'a CheckedKernel>) -> Option<FusedKernel<'a>> {
        let mut tables: Vec<&str> = Vec::new();
        for kernel in &kernels {
            let graph = kernel.graph.graph();
            // Sums of products call no function, which the text around may have already.
            let is_plain = |node| match graph.node(node) {
                Node::Apply(op, _) => matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Neg),
                Node::Literal(bits) => f64::from_bits(bits).is_finite(),
                Node::Input(_) => true,
                Node::Result(..) => false,
            };
            let is_guarded = kernel.guard == Guard::Gate && kernel.space == Space::Instances && !kernel.has_pairs();
            let has_one_total = kernel.reduced().count() == 1;
            if !(is_guarded && has_one_total && kernel.calls.is_empty() && graph.ids().all(is_plain)) {
                return None;
            }
            for element in kernel.elements() {
                let table = match (element.index.as_column(), element.index.as_loaded()) {
                    (Some(_), _) => element.buffer,
                    (None, Some((indices, index))) if index.as_column().is_some() => indices,
                    _ => return None,
                };
                let name = kernel.buffers[table as usize].name;
                if !tables.contains(&name) {
                    tables.push(name);
                }
            }
        }
        Some(FusedKernel { kernels, tables })
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
    pub fn words(&self, parts: &[FusedPart], first: &dyn Fn(usize, &str) -> u32) -> Vec<u32> {
        let groups = parts.iter().map(|part| part.groups).sum();
        let mut words = vec![groups, super::Dispatch::NAN, 0, 0];
        let mut group = 0;
        for (number, part) in parts.iter().enumerate() {
            let end = words.len() + self.part_words();
            words.extend_from_slice(&[part.kernel, part.count, part.stride, group, part.groups]);
            for name in &self.tables {
                words.push(first(number, name));
            }
            words.resize(end, 0);
            group += part.groups;
        }
        words
    }

    /// The declarations of a dispatch of so many parts, for a template that declares `parts: array<Part, PARTS>` in its uniform: the
    /// structure `Part`, the constant `PARTS`, and the function `part_total`, which runs a thread's instances of a part, from `start` on,
    /// and gives their total. The template declares the buffers by their names; the one called `formed` is a function of an index there,
    /// `…_at`.
    pub fn declarations(&self, parts: usize, formed: &'static str) -> String {
        let mut writer = Writer::default();
        writer.blank_line();
        writer.line(&format!("const PARTS = {parts}u;"));
        writer.blank_line();
        writer.open("struct Part");
        for word in 0..self.part_words() {
            writer.line(&match (PART.get(word), self.tables.get(word.wrapping_sub(PART.len()))) {
                (Some(member), _) => format!("{member}: u32,"),
                (None, Some(table)) => format!("first_{table}: u32,"),
                (None, None) => format!("padding_{word}: u32,"),
            });
        }
        writer.close();
        writer.blank_line();
        writer.open("fn part_total(part: Part, start: u32) -> f32");
        writer.open("switch part.kernel");
        for number in 0..self.kernels.len() {
            let label = if number == 0 { "default".to_owned() } else { format!("case {number}u") };
            writer.block(&format!("{label}:"), &format!("return part_{number}(part, start);"));
        }
        writer.close();
        writer.close();
        let mut imports = Imports::default();
        for (number, kernel) in self.kernels.iter().enumerate() {
            writer.blank_line();
            writer.open(&format!("fn part_{number}(part: Part, start: u32) -> f32"));
            writer.line("var total = 0.0;");
            let stride = format!("part.groups * {FUSED_WORKGROUP_SIZE}u");
            writer.open(&format!("for (var instance = start; instance < part.count; instance += {stride})"));
            let code = InstanceCode { depth: writer.depth(), total: Some(Total::Add), part: Some(formed) };
            writer.append(&code.write(kernel, &mut imports));
            writer.close();
            writer.line("return total;");
            writer.close();
        }
        writer.finish()
    }
}

/// Members of a part before the starts of its tables.
const PART: [&str; 5] = ["kernel", "count", "stride", "group", "groups"];
