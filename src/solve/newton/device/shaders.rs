//! The kernels of a system on a device: templates of `shaders/newton`, what they bind, and their uniforms.

use super::state;
use crate::model::Class;
use crate::model::instance_matrices;
use crate::shader_source::{binding_kinds, template};
use residua_codegen::wgsl::{ProgramText, Resource, Template};
use residua_codegen::{template_parameters, uniform};
use residua_gpu::BindingKind;

/// A kernel of the system's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SystemKernel {
    /// Scales of units.
    Units,
    /// Other eigenvalues for negative ones, in the instances of a kernel by its number.
    Project(usize),
    /// A sum of basis vectors.
    Probe,
    /// What its product has along the basis.
    Restrict,
    /// The begin of conjugate gradients.
    Begin,
    /// The coarse part of the preconditioner.
    Coarse,
    /// The begin of an iteration.
    Direction,
    /// Its end.
    Update,
}

impl SystemKernel {
    /// Entry point.
    pub fn name(self) -> &'static str {
        match self {
            SystemKernel::Units => "units",
            SystemKernel::Project(_) => "project",
            SystemKernel::Probe => "probe",
            SystemKernel::Restrict => "restrict_product",
            SystemKernel::Begin => "begin",
            SystemKernel::Coarse => "coarse_part",
            SystemKernel::Direction => "direction",
            SystemKernel::Update => "update",
        }
    }

    /// What it binds, by binding number.
    pub fn resources(self) -> Vec<Resource> {
        let (read, write) = (Resource::read, Resource::read_write);
        let mut resources = match self {
            SystemKernel::Project(_) => vec![
                read("indices", "u32"),
                read("matrices", "f32"),
                read("scales", "f32"),
                read("constant", "u32"),
                write("projected", "f32"),
                write("counts", "u32"),
            ],
            _ => vec![
                write("state", "f32"),
                write("vectors", "f32"),
                write("sums", "f32"),
                read("blocks", "u32"),
                read("held", "u32"),
                read("unit_table", "u32"),
                write("coarse", "f32"),
            ],
        };
        resources.push(Resource::uniform("dispatch", &SystemUniforms::STRUCTURE));
        resources
    }

    /// The layout of its bind group.
    pub fn layout(self) -> Vec<BindingKind> {
        binding_kinds(&self.resources())
    }

    /// The text, where blocks have at most so many numbers; the class is that of the instances of [`SystemKernel::Project`].
    pub fn wgsl(self, numbers: u32, class: Option<&Class>) -> String {
        let template = match self {
            SystemKernel::Units => template!("newton/units"),
            SystemKernel::Project(_) => template!("newton/project"),
            SystemKernel::Probe => template!("newton/probe"),
            SystemKernel::Restrict => template!("newton/restrict"),
            SystemKernel::Begin => template!("newton/begin"),
            SystemKernel::Coarse => template!("newton/coarse"),
            SystemKernel::Direction => template!("newton/direction"),
            SystemKernel::Update => template!("newton/update"),
        };
        let mut program = ProgramText::new();
        program.declare(&[&SystemUniforms::STRUCTURE], &self.resources());
        let parameters = SystemTemplate {
            words: state::declarations(numbers),
            width: class.map_or(1, instance_matrices::rows),
            coordinates: class.map_or_else(String::new, coordinates),
        };
        program.push_template(template, FILES, &parameters);
        program.finish()
    }
}

/// Statements that find the coordinate of each row of an instance's matrix.
fn coordinates(class: &Class) -> String {
    let mut text = String::new();
    for (row, (slot, component)) in instance_matrices::coordinates(class).into_iter().enumerate() {
        text += &format!("places[{row}] = indices[{slot}u * dispatch.stride + instance] + {component}u;\n");
    }
    text
}

/// The files that the templates import.
const FILES: &[Template] =
    &[template!("newton/state"), template!("newton/solve_block"), template!("newton/restrict_block")];

template_parameters! {
    /// Parameters of the templates of `shaders/newton`.
    struct SystemTemplate {
        /// Names of words, sections, vectors and outcomes.
        words: String,
        /// Rows of an instance's matrix.
        width: u32,
        /// Where they stand.
        coordinates: String,
    }
}

uniform! {
    /// Uniforms of every kernel; each uses its part.
    pub struct SystemUniforms, "Uniforms" {
        /// parameters; of `project` instances
        count,
        /// distance of vectors that share a buffer; of `project` that of a table's columns
        stride,
        /// workgroups of `project`
        groups,
        /// workgroups of what takes a block a thread, which have a part each
        parts,
        /// parts of an aggregate
        each,
        /// aggregates
        aggregates,
        /// rows of the matrix of the preconditioner's coarse part
        rows,
        /// where colours stand in the table of blocks
        colours,
        /// where blocks stand there
        places,
        /// where corrections stand
        corrections,
        /// where the inverse of the coarse part's matrix stands
        inverse,
        /// of `probe`: a colour
        colour,
        /// of `probe`: a component
        component,
        /// where `restrict` writes
        probed,
        /// partial sums of products
        products,
        /// where the counts of `project` begin
        first,
        /// how often the magnitude of a negative eigenvalue is added to it
        factor: f32,
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::shader_source::tests::check_module;

    #[test]
    fn every_kernel_is_valid_and_binds_what_it_declares() {
        for numbers in [1, 3, 10] {
            for kernel in [
                SystemKernel::Units,
                SystemKernel::Probe,
                SystemKernel::Restrict,
                SystemKernel::Begin,
                SystemKernel::Coarse,
                SystemKernel::Direction,
                SystemKernel::Update,
            ] {
                check_module(&kernel.wgsl(numbers, None), kernel.name(), &kernel.layout());
            }
        }
    }
}
