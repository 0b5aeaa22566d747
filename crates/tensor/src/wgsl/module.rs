//! A text under construction.

use residua_base::error::Result;
use residua_base::list::Listed;
use residua_codegen::template_parameters;
use residua_codegen::wgsl::{AccessMode, NoParameters, Parameters, ProgramText, Resource, Template, comment, hidden};
use vecmap::VecSet;

use super::layout::Layout;
use super::text::{KernelText, uniform_bytes};
use super::windows::Windows;
use super::workgroups::Workgroups;
use crate::dtype::DType;
use crate::kernel::{Extent, TensorKernel};
use crate::scalar::{self, Id, TypedNode};

template_parameters! {
    /// Of `key.wgsl`.
    pub struct Key {
        ty: String,
        real: bool,
        signed: bool,
    }
}

/// The shader files of tensors.
macro_rules! shader {
    ($name:literal) => {
        residua_codegen::wgsl::Template {
            name: $name,
            source: include_str!(concat!(env!("OUT_DIR"), "/shaders/", $name, ".wgsl")),
        }
    };
}

pub(in crate::wgsl) use shader;

/// Comparisons of vectors.
pub const COMPARE: Template<'static> = shader!("compare");
/// Numbers of few bits.
pub const QUANTISED: Template<'static> = shader!("quantised");
/// Numbers of few bits as bytes.
pub const BYTES: Template<'static> = shader!("bytes");
/// Integers of reals.
pub const CONVERT: Template<'static> = shader!("convert");
/// The high half of a product.
pub const HIGH_PRODUCT: Template<'static> = shader!("high_product");
/// Numbers of which compilers know nothing.
pub const HIDDEN: Template<'static> = shader!("hidden");
/// Halves of reals.
pub const HALF: Template<'static> = shader!("half");
/// Count, mean and squares of differences.
pub const MOMENTS: Template<'static> = shader!("moments");
/// Compensated products.
pub const PRODUCT: Template<'static> = shader!("product_state");
/// Compensated sums.
pub const SUM: Template<'static> = shader!("sum");
/// The exponential and its kin.
pub const EXPONENTIAL: Template<'static> = shader!("exponential");
/// Smallest and largest, with NaN.
pub const EXTREME: Template<'static> = shader!("extreme");
/// Where the first of the greatest stands.
pub const PLACE: Template<'static> = shader!("place");
/// Values in the order of their bits.
pub const KEY: Template<'static> = shader!("key");

/// A zero that compilers cannot derive: buffers are never empty.
pub const GUARD_ZERO: &str = "select(0u, 1u, arrayLength(&b0) == 0u)";

/// What nodes depend on, by bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dependence {
    /// Coordinates.
    pub coordinates: u32,
    /// Reductions.
    pub folds: u32,
}

/// A text under construction.
pub struct Module<'a> {
    /// What is written.
    pub kernel: &'a TensorKernel,
    /// Functions and imports.
    pub program: ProgramText,
    /// How each buffer is declared.
    pub layouts: Vec<Layout>,
    /// How each buffer is bound.
    pub windows: &'a Windows,
    /// Of each node.
    dependences: Vec<Dependence>,
    /// Files that are part of the text.
    pushed: VecSet<String>,
}

impl<'a> Module<'a> {
    /// No text yet; buffers are declared as scalars.
    pub fn new(kernel: &'a TensorKernel, windows: &'a Windows) -> Module<'a> {
        let mut program = ProgramText::new();
        program.make_nan_by_guard();
        program.read_guard_from("guard");
        program.keep_order(hidden);
        let layouts = kernel.buffers.iter().map(|buffer| Layout::scalars(buffer.dtype)).list();
        Module { kernel, program, layouts, windows, dependences: dependences(kernel), pushed: VecSet::default() }
    }

    /// What a node depends on.
    pub fn dependence(&self, id: Id) -> Dependence {
        self.dependences[id.index()]
    }

    /// The type in memory of what a load reads.
    pub fn dtype_of_load(&self, id: Id) -> Option<DType> {
        match self.kernel.graph.node(id) {
            TypedNode::Load { buffer, .. } => Some(self.kernel.buffers[buffer as usize].dtype),
            TypedNode::Coordinate(_)
            | TypedNode::Literal(..)
            | TypedNode::Size(_)
            | TypedNode::Folded { .. }
            | TypedNode::Apply(..) => None,
        }
    }

    /// Whether a node depends on a coordinate.
    pub fn depends_on(&self, id: Id, axis: u32) -> bool {
        self.dependence(id).coordinates & bit(axis) != 0
    }

    /// Adds a shader file, once.
    pub fn push_shader(&mut self, template: Template<'static>) {
        self.push_shader_of(template, template.name, &NoParameters);
    }

    /// Adds a shader file with parameters, once for each name.
    pub fn push_shader_of(&mut self, template: Template<'static>, name: &str, parameters: &dyn Parameters) {
        if self.pushed.insert(name.to_owned()) {
            self.program.push_template(template, &[], parameters);
        }
    }

    /// Whether functions of the text need units, which the entry point makes.
    pub fn has_units(&self) -> bool {
        self.pushed.contains(SUM.name)
    }

    /// How an address varies between four points along an axis, the first of which is at a multiple of 4.
    pub fn access(&self, index: Id, axis: u32) -> scalar::Access {
        self.kernel.graph.access_of_four(index, axis, &self.kernel.sizes)
    }

    /// The text of an extent.
    pub fn extent(&self, extent: Extent) -> String {
        match extent {
            Extent::Known(number) => format!("{number}u"),
            Extent::Word(word) => size(word),
        }
    }

    /// Whether an extent is a multiple of 4 whatever the dims are.
    pub fn is_multiple_of_4(&self, extent: Extent) -> bool {
        self.kernel.is_multiple(extent, 4)
    }

    /// The kernel's name, the declarations of what it binds and the functions that choose windows, with how each binding is accessed.
    pub fn head(&self) -> (String, Vec<AccessMode>) {
        let buffers = || self.kernel.buffers.iter().zip(&self.layouts).enumerate();
        let mut resources: Vec<Resource> = buffers()
            .flat_map(|(position, (buffer, layout))| self.windows.resources(position, *buffer, *layout))
            .list();
        let bindings = resources.iter().map(|resource| resource.access).chain([AccessMode::Uniform]).list();
        resources
            .push(Resource::uniform_of("sizes", &format!("array<vec4<u32>, {}>", uniform_bytes(self.kernel) / 16)));
        let mut text = ProgramText::new();
        text.push(&format!("{}\n", comment(&self.kernel.name)));
        text.declare(&[], &resources);
        let mut text = text.finish();
        for (position, (buffer, layout)) in buffers() {
            text += &self.windows.functions(position, *buffer, *layout);
        }
        (text, bindings)
    }

    /// The whole text, of an entry point of so many threads a workgroup and of declarations before it.
    pub fn finish(
        mut self,
        declarations: &str,
        body: &str,
        threads: u32,
        workgroups: Workgroups,
    ) -> Result<KernelText> {
        let (mut text, bindings) = self.head();
        text += declarations;
        let has_units = self.has_units();
        let (functions, is_guarded) = std::mem::take(&mut self.program).finish_with_guard();
        if is_guarded {
            text += "var<private> guard: u32;\n";
        }
        text += &format!(
            "\n@compute @workgroup_size({threads})\nfn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: \
             vec3<u32>, @builtin(local_invocation_index) lane: u32) {{\n"
        );
        if is_guarded {
            // Read once: compilers do not move the query out of loops.
            text += &format!("    guard = {GUARD_ZERO};\n");
        }
        if has_units {
            text += "    make_units();\n";
        }
        text += "    let workgroup = group.y * groups.x + group.x;\n";
        text += body;
        text += "}\n";
        if !functions.is_empty() && !functions.starts_with('\n') {
            text.push('\n');
        }
        text += &functions;
        Ok(KernelText { text, bindings, workgroups })
    }
}

/// A word of the uniform.
pub fn size(word: u32) -> String {
    format!("sizes[{}].{}", word / 4, COMPONENTS[word as usize % 4])
}

/// The components of a vector.
pub const COMPONENTS: [char; 4] = ['x', 'y', 'z', 'w'];

/// The bit of a coordinate or a reduction. Those from 31 on share one, which is safe: what depends on one depends on all.
pub fn bit(position: u32) -> u32 {
    1 << position.min(31)
}

fn dependences(kernel: &TensorKernel) -> Vec<Dependence> {
    let mut all: Vec<Dependence> = Vec::with_capacity(kernel.graph.len());
    for id in kernel.graph.ids() {
        let mut own = match kernel.graph.node(id) {
            TypedNode::Coordinate(axis) => Dependence { coordinates: bit(axis), folds: 0 },
            TypedNode::Folded { fold, .. } => Dependence { coordinates: 0, folds: bit(fold) },
            TypedNode::Literal(..) | TypedNode::Size(_) | TypedNode::Load { .. } | TypedNode::Apply(..) => {
                Dependence::default()
            }
        };
        for operand in kernel.graph.operands(id) {
            own.coordinates |= all[operand.index()].coordinates;
            own.folds |= all[operand.index()].folds;
        }
        all.push(own);
    }
    all
}
