//! The kernels of a solve: templates of `shaders/levenberg_marquardt`, what they bind, and their uniforms.
//!
//! Blocks are small and all of one shape, so the templates unroll what is done to each of their coordinates, which then stay in
//! registers.

use super::coupling::Coupling;
use super::shape::{BlockShape, Part, Preconditioner};
use super::state;
use crate::gauss_newton::device::JtjProduct;
use crate::model::manifolds::CoordinateSize;
use crate::shader_source::{binding_kinds, template};
use crate::solve::rules::Rules;
use crate::solve::words::integers;
use residua_base::list::{Listed, PushAll};
use residua_codegen::wgsl::{Dispatch, ProgramText, Resource, Template};
use residua_codegen::{Width, template_parameters, uniform};
use residua_gpu::BindingKind;

/// A kernel of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SolverShader {
    /// A step begins, in a group of blocks, before products of that kind.
    Begin(BlockShape, JtjProduct),
    /// Cost, gradient and convergence at the linearised point.
    Converge,
    /// The parts of the product of an iteration of conjugate gradients, of all residuals.
    Products,
    /// An iteration of conjugate gradients after its product, in a group of blocks.
    Update(BlockShape, JtjProduct),
    /// The preconditioned residual of a group of eliminated blocks.
    Substitute(BlockShape, JtjProduct),
    /// The product of a Schur complement, of the instances of a group of eliminated blocks.
    Complement(BlockShape),
    /// The step of eliminated blocks, after that.
    Advance,
    /// The next direction.
    Direct,
    /// The predicted reduction of a step, in a group of blocks.
    Measure(BlockShape),
    /// Whether a step is taken.
    Decide,
    /// An accepted trial point becomes the point.
    Settle,
}

/// The sections of the partial sums, in the order in which they stand.
const SECTIONS: [&str; 13] = [
    "RZ_SUMS",
    "ZDZ_SUMS",
    "ZDP_SUMS",
    "SQUARES_SUMS",
    "LARGEST_SUMS",
    "VANISHED_SUMS",
    "FALL_SUMS",
    "DESCENT_SUMS",
    "REST_SUMS",
    "STEP_SUMS",
    "SCALED_STEP_SUMS",
    "SCALED_SUMS",
    "FACTORS",
];

/// The vectors that share a buffer: r, z, p, δ and D, the largest diagonals of JᵀJ so far.
pub const VECTORS: [&str; 5] = ["RESIDUAL", "PRECONDITIONED", "DIRECTION", "DELTA", "SCALE"];

/// A vector after those where steps that lose a column of J are rejected: the diagonal of JᵀJ at the point, 0 of coordinates that must stay, negative where
/// the step leaves more of the gradient than the model's would.
pub const GUARD_VECTORS: [&str; 1] = ["COLUMN"];

/// Such steps are rejected in problems of so many numbers, of which a vector more, of 256 KiB, stays in the caches.
pub const MOST_GUARDED: u32 = 65_536;

/// Sections of partial sums; after them stand the factors.
pub const SUM_SECTIONS: u32 = SECTIONS.len() as u32 - 1;

uniform! {
    /// Uniforms of every kernel of a solve; each uses its part.
    pub struct SolverUniforms, "Uniforms" {
        /// blocks, or what there is a thread for
        blocks,
        /// threads of all workgroups
        threads,
        /// where the first block's first number stands in a vector
        first,
        /// numbers of the block diagonal for each parameter
        scale,
        /// number of the first workgroup among those of all groups
        group,
        /// workgroups of all groups
        groups,
        /// numbers or pairs whose sum the kernel finishes
        count,
        /// 1: numbers, 2: pairs
        width,
        /// numbers or pairs of the sum of ‖Jδ‖²
        jvp_count,
        /// 1: numbers, 2: pairs
        jvp_width,
        /// distance of the vectors that share a buffer
        stride,
        /// where the first block's factors stand, in pairs
        factors,
        /// distance of the columns of a local table
        local_stride,
        /// where its first column of J stands
        first_partial,
        /// where the first block's offset stands in lists over all local tables
        row,
        /// bits of a NaN
        nan,
    }
}

impl SolverUniforms {
    /// With the words that do not depend on a dispatch.
    pub fn new(groups: u32, stride: u32) -> SolverUniforms {
        SolverUniforms { groups, stride, nan: Dispatch::NAN, ..SolverUniforms::default() }
    }
}

/// What the texts of all kernels of a solve have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Whether there are constants or bounds.
    pub constrained: bool,
    /// In what points and bounds are held.
    pub width: Width,
    /// Whether steps that lose a column of J are rejected.
    pub guarded: bool,
}

template_parameters! {
    /// Parameters of the templates of `shaders/levenberg_marquardt`; each uses its part.
    struct SolverTemplate {
        /// There are constants or bounds.
        constrained: bool,
        /// Points and bounds are pairs.
        wide: bool,
        /// Steps that lose a column of J are rejected.
        guarded: bool,
        /// Blocks are factored in pairs of f32.
        pairs: bool,
        /// The kernel is the one that begins a step.
        begins: bool,
        /// There is a Schur complement.
        reduced: bool,
        /// The blocks are in the Schur complement.
        kept: bool,
        /// The blocks are eliminated.
        eliminated: bool,
        /// See [`JtjProduct::forms_direction`].
        forms_direction: bool,
        /// See [`JtjProduct`].
        vector: bool,
        /// See [`JtjProduct`].
        lists: bool,
        /// See [`JtjProduct`].
        entries: bool,
        /// Entries are numbers of Jp.
        weighted: bool,
        /// See [`JtjProduct::LocalJvp`].
        mirrored: bool,
        /// Numbers of a block.
        dim: u32,
        /// Tangent coordinates of a block.
        tangent: u32,
        /// The size of the point in each coordinate of a block, for [`SolverShader::Measure`].
        sizes: String,
        /// Sums over a workgroup at a time.
        most_sums: u32,
        /// Maxima over a workgroup of [`SolverShader::Begin`] and [`SolverShader::Converge`].
        maxima: u32,
        /// Names of words, sections and vectors.
        words: String,
        /// The kernels of all products.
        fused_kernels: String,
        /// See [`Coupling`].
        outputs: u32,
        /// See [`Coupling`].
        width: u32,
        /// See [`Coupling`].
        own: u32,
        /// See [`Coupling`].
        directions: String,
    }
}

/// The files that the templates import and include.
const FILES: &[Template] = &[
    template!("levenberg_marquardt/state"),
    template!("levenberg_marquardt/set_number"),
    template!("levenberg_marquardt/begin_to_verify"),
    template!("levenberg_marquardt/block_shape"),
    template!("levenberg_marquardt/damped_block"),
    template!("levenberg_marquardt/factor_block"),
    template!("levenberg_marquardt/solve_block"),
    template!("levenberg_marquardt/preconditioned_residual"),
    template!("levenberg_marquardt/block_product"),
    template!("levenberg_marquardt/next_direction"),
    template!("levenberg_marquardt/largest"),
    template!("levenberg_marquardt/direction_at"),
    template!("levenberg_marquardt/entry_of_tile"),
    template!("levenberg_marquardt/part_of_jvp"),
    template!("levenberg_marquardt/step_length"),
];

impl SolverShader {
    /// Entry point.
    pub fn name(self) -> &'static str {
        match self {
            SolverShader::Begin(..) => "begin",
            SolverShader::Converge => "converge",
            SolverShader::Products => "products",
            SolverShader::Update(..) => "update",
            SolverShader::Substitute(..) => "substitute",
            SolverShader::Complement(_) => "complement",
            SolverShader::Advance => "advance",
            SolverShader::Direct => "direct",
            SolverShader::Measure(_) => "measure",
            SolverShader::Decide => "decide",
            SolverShader::Settle => "settle",
        }
    }

    /// What it binds, by binding number.
    pub fn resources(self, Setting { constrained, .. }: Setting) -> Vec<Resource> {
        let (read, write) = (Resource::read, Resource::read_write);
        let block_diagonal = || read("block_diagonal", "f32");
        let (sums, pair) = ("sums", "vec2<f32>");
        let mut resources = match self {
            SolverShader::Begin(shape, _) => {
                let mut resources = vec![
                    read("state", "u32"),
                    read("gradient", "f32"),
                    write("block_diagonal", "f32"),
                    write("vectors", "f32"),
                    write(sums, pair),
                ];
                if shape.preconditioner == Preconditioner::Pairs {
                    // The errors of the block diagonal.
                    resources.push(read("low", "f32"));
                }
                if constrained {
                    // The linearised point; lower bounds, upper bounds, whether constant.
                    resources.push_all([read("trial", "f32"), read("bounds", "f32")]);
                }
                resources
            }
            SolverShader::Converge => vec![write("state", "u32"), read("costs", "f32"), read(sums, pair)],
            SolverShader::Products => vec![
                write("state", "u32"),
                // The index tables and the local tables of all instances.
                read("indices", "u32"),
                write("local", "f32"),
                read("vectors", "f32"),
                read(sums, pair),
                // Parts of ‖Jp‖².
                write("jvp_squares", "f32"),
                Resource::uniform_of("table", "Parts"),
            ],
            SolverShader::Update(_, product) | SolverShader::Substitute(_, product) => {
                // `jvp_squares`: parts of ‖Jp‖².
                let mut resources = match self {
                    SolverShader::Update(..) => vec![write("state", "u32"), read("jvp_squares", "f32")],
                    _ => vec![read("state", "u32")],
                };
                resources.push_all(product.reads_vector().then(|| read("product", "f32")));
                if product.reads_entries() {
                    // Where each block's first entry stands, and the end of the last block's.
                    resources.push_all([read("offsets", "u32"), read("entries", "u32"), read("local", "f32")]);
                }
                if product.reads_lists() {
                    // See `gauss_newton::device::fused_lists`.
                    resources.push_all([read("lists", "u32"), read("local", "f32")]);
                }
                resources.push_all([block_diagonal(), write("vectors", "f32"), write(sums, pair)]);
                resources
            }
            SolverShader::Complement(_) => vec![
                write("state", "u32"),
                // See `gauss_newton::device::fused_lists`.
                read("lists", "u32"),
                // The index tables and the local tables of all instances.
                read("indices", "u32"),
                write("local", "f32"),
                block_diagonal(),
                write("vectors", "f32"),
                read(sums, pair),
                // Parts of ‖Jp‖².
                write("jvp_squares", "f32"),
            ],
            SolverShader::Advance => {
                vec![write("state", "u32"), read("jvp_squares", "f32"), write("vectors", "f32"), write(sums, pair)]
            }
            SolverShader::Direct => vec![write("state", "u32"), read(sums, pair), write("vectors", "vec4<f32>")],
            SolverShader::Measure(_) => vec![
                read("state", "u32"),
                read("gradient", "f32"),
                block_diagonal(),
                write("vectors", "f32"),
                read("point", "f32"),
                read("projected_step", "f32"),
                write(sums, pair),
            ],
            SolverShader::Decide => {
                // Parts of the reduction of the cost.
                let mut resources = vec![write("state", "u32"), read("reductions", "f32"), read(sums, pair)];
                // Parts of ‖Jδ‖².
                resources.push_all(constrained.then(|| read("jvp_squares", "f32")));
                resources
            }
            SolverShader::Settle => vec![read("state", "u32"), write("trial", "f32"), write("point", "f32")],
        };
        resources.push(Resource::uniform("dispatch", &SolverUniforms::STRUCTURE));
        resources
    }

    /// The layout of its bind group.
    pub fn layout(self, setting: Setting) -> Vec<BindingKind> {
        binding_kinds(&self.resources(setting))
    }

    /// The text; `fused_kernels` are those of [`SolverShader::Products`], `coupling` is that of [`SolverShader::Complement`].
    pub fn wgsl(self, setting: Setting, fused_kernels: &str, coupling: &Coupling) -> String {
        let template = match self {
            SolverShader::Begin(..) => template!("levenberg_marquardt/begin"),
            SolverShader::Converge => template!("levenberg_marquardt/converge"),
            SolverShader::Products => template!("levenberg_marquardt/products"),
            SolverShader::Update(..) => template!("levenberg_marquardt/update"),
            SolverShader::Substitute(..) => template!("levenberg_marquardt/substitute"),
            SolverShader::Complement(_) => template!("levenberg_marquardt/complement"),
            SolverShader::Advance => template!("levenberg_marquardt/advance"),
            SolverShader::Direct => template!("levenberg_marquardt/direct"),
            SolverShader::Measure(_) => template!("levenberg_marquardt/measure"),
            SolverShader::Decide => template!("levenberg_marquardt/decide"),
            SolverShader::Settle => template!("levenberg_marquardt/settle"),
        };
        let mut program = ProgramText::new();
        program.declare(&[&SolverUniforms::STRUCTURE], &self.resources(setting));
        program.read_guard_from("state[GUARD]");
        program.push_template(template, FILES, &self.parameters(setting, fused_kernels, coupling));
        if matches!(self, SolverShader::Converge | SolverShader::Decide) {
            Rules::new().functions().into_iter().for_each(|rule| program.push_function(rule));
        }
        program.finish()
    }

    fn parameters(
        self,
        Setting { constrained, width, guarded }: Setting,
        fused_kernels: &str,
        coupling: &Coupling,
    ) -> SolverTemplate {
        let (shape, product) = match self {
            SolverShader::Begin(shape, product)
            | SolverShader::Update(shape, product)
            | SolverShader::Substitute(shape, product) => (Some(shape), Some(product)),
            SolverShader::Measure(shape) | SolverShader::Complement(shape) => (Some(shape), None),
            SolverShader::Converge
            | SolverShader::Products
            | SolverShader::Advance
            | SolverShader::Direct
            | SolverShader::Decide
            | SolverShader::Settle => (None, None),
        };
        let is = |property: fn(JtjProduct) -> bool| product.is_some_and(property);
        SolverTemplate {
            constrained,
            wide: width == Width::Pair,
            guarded,
            pairs: shape.is_some_and(|shape| shape.preconditioner == Preconditioner::Pairs),
            begins: matches!(self, SolverShader::Begin(..)),
            reduced: self == SolverShader::Advance || shape.is_some_and(|shape| shape.part != Part::Whole),
            kept: shape.is_some_and(|shape| shape.part == Part::Kept),
            eliminated: shape.is_some_and(|shape| shape.part == Part::Eliminated),
            forms_direction: is(JtjProduct::forms_direction),
            vector: is(JtjProduct::reads_vector),
            lists: is(JtjProduct::reads_lists),
            entries: is(JtjProduct::reads_entries),
            weighted: product == Some(JtjProduct::LocalJvp { mirrored: false }),
            mirrored: product == Some(JtjProduct::LocalJvp { mirrored: true }),
            dim: shape.map_or(0, |shape| shape.dim),
            tangent: shape.map_or(0, |shape| shape.tangent),
            sizes: shape.filter(|_| matches!(self, SolverShader::Measure(_))).map_or_else(String::new, sizes),
            most_sums: match self {
                SolverShader::Substitute(..) => 2,
                SolverShader::Begin(..)
                | SolverShader::Products
                | SolverShader::Update(..)
                | SolverShader::Complement(_)
                | SolverShader::Direct
                | SolverShader::Settle => 3,
                SolverShader::Advance => 1,
                SolverShader::Converge => 4,
                SolverShader::Measure(_) => 5,
                SolverShader::Decide => 6 + u32::from(constrained),
            },
            maxima: if guarded { 5 } else { 3 },
            words: words(),
            fused_kernels: fused_kernels.to_owned(),
            outputs: coupling.outputs,
            width: coupling.width,
            own: coupling.own,
            directions: coupling.directions.clone(),
        }
    }
}

/// The size of the point in each coordinate of a block.
fn sizes(shape: BlockShape) -> String {
    let sizes = shape.coordinate_sizes();
    let mut text = String::new();
    for k in 0..shape.tangent {
        text += &match sizes.as_ref().map(|sizes| sizes[k as usize]) {
            Some(CoordinateSize::Number(place)) => format!("let x{k} = point[first + {place}u];\n"),
            Some(CoordinateSize::InverseSquare(square)) => format!("let x{k} = inverseSqrt({square}.0);\n"),
            None => format!("let x{k} = 0.0;\n"),
        };
    }
    text
}

/// Constants with the names of the state's words, the sections of the partial sums and the vectors.
fn words() -> String {
    let lists = [(&SECTIONS[..], 0), (&VECTORS[..], 0), (&GUARD_VECTORS[..], VECTORS.len() as u32)];
    lists.into_iter().fold(state::declarations(), |text, (names, first)| {
        text + &integers(&names.iter().copied().zip(first..).list())
    })
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::super::coupling::MOST_COORDINATES;
    use super::*;
    use crate::model::manifolds::Manifold;
    use crate::shader_source::tests::check_module;

    /// Every kernel for every kind of product, of blocks as large as they get.
    fn kernels() -> Vec<SolverShader> {
        let mut kernels = vec![
            SolverShader::Converge,
            SolverShader::Advance,
            SolverShader::Direct,
            SolverShader::Decide,
            SolverShader::Settle,
        ];
        let mut products = vec![JtjProduct::Vector, JtjProduct::LocalParts];
        for forms_direction in [false, true] {
            products.push(JtjProduct::LocalJvp { mirrored: forms_direction });
            products.push_all([false, true].map(|heavy| JtjProduct::FusedParts { heavy, forms_direction }));
        }
        let pose = Manifold::from_name("unit-quaternion 4 × euclidean 3").expect("a product");
        let quaternion = Manifold::UnitQuaternion;
        let kinds = [(4, 3, quaternion), (7, 6, pose), (1, 1, pose)].into_iter();
        let kinds = kinds.chain([1, 2, 3, 7, 10].map(|dim| (dim, dim, Manifold::Euclidean)));
        for (dim, tangent, manifold) in kinds {
            for preconditioner in [Preconditioner::Single, Preconditioner::Pairs] {
                for part in [Part::Whole, Part::Kept, Part::Eliminated] {
                    let shape = BlockShape { dim, tangent, manifold, preconditioner, part };
                    kernels.push(SolverShader::Measure(shape));
                    if part == Part::Eliminated && tangent <= MOST_COORDINATES {
                        kernels.push(SolverShader::Complement(shape));
                    }
                    for &product in &products {
                        kernels.push_all([SolverShader::Begin(shape, product), SolverShader::Update(shape, product)]);
                        if part == Part::Eliminated {
                            kernels.push(SolverShader::Substitute(shape, product));
                        }
                    }
                }
            }
        }
        kernels
    }

    #[test]
    fn every_kernel_is_valid_and_binds_what_it_declares() {
        for kernel in kernels() {
            let coupling = match kernel {
                // Each instance has a block of three numbers besides.
                SolverShader::Complement(BlockShape { dim, .. }) => Coupling {
                    outputs: 2,
                    width: dim + 3,
                    own: 3,
                    directions: "let p0 = p_at(indices[addresses]);\nlet p1 = p0;\nlet p2 = p0;".to_owned(),
                },
                _ => Coupling::default(),
            };
            let mut settings = vec![(false, Width::Single), (true, Width::Single)];
            // The texts of the others are the same.
            settings.push_all(matches!(kernel, SolverShader::Begin(..)).then_some((true, Width::Pair)));
            let is_guarded =
                matches!(kernel, SolverShader::Begin(..) | SolverShader::Converge | SolverShader::Measure(_));
            for (constrained, width) in settings {
                for guarded in [false, true].into_iter().take(1 + usize::from(is_guarded)) {
                    let setting = Setting { constrained, width, guarded };
                    check_module(&kernel.wgsl(setting, "", &coupling), kernel.name(), &kernel.layout(setting));
                }
            }
        }
    }
}
