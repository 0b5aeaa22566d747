//! The hand-written kernels of evaluation and linearisation: templates of `shaders/`, what they bind, and their uniforms.
//!
//! Each has one entry point. All take 64 threads a workgroup, and a second dimension of workgroups where one does not suffice.

use crate::shader_source::{binding_kinds, template};
use residua_codegen::wgsl::{NoParameters, Parameters, ProgramText, Resource, Structure, Template};
use residua_codegen::{template_parameters, uniform};
use residua_gpu::BindingKind;

/// A hand-written kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shader {
    /// Sums entries by the rows of a transposed incidence: one thread for each component of each row.
    Gather {
        /// Whether entries are of many local tables, by way of `lists`.
        fused: bool,
        /// Whether it has a gate.
        gated: bool,
    },
    /// Sums products of columns of J by the rows of a transposed incidence: one thread for each number of each block.
    BlockDiagonal {
        /// Whether entries are of many local tables, by way of `lists`.
        fused: bool,
    },
    /// A gather and a block diagonal in one, for blocks of `dim` numbers that few entries touch: one thread a row, all sums in
    /// registers, those of the gradient with compensation.
    Assemble {
        /// Numbers of a block.
        dim: u32,
        /// What stands where an entry points.
        parts: Parts,
    },
    /// The same over entries of many local tables.
    AssembleFused {
        /// Numbers of a block.
        dim: u32,
        /// Whether the block diagonal has its errors.
        pairs: bool,
    },
    /// Sums numbers to pairs of a number and its error, one pair for [`ReduceSumUniforms::TERMS_PER_WORKGROUP`] terms.
    ReduceSum,
    /// Sets the entries of constant parameters to zero.
    FixedMask,
    /// Sets numbers to zero.
    Clear,
    /// Copies numbers of the application into a data table.
    SpreadData,
}

/// What stands where an entry of a gather points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parts {
    /// The numbers that are summed, in columns.
    Whole,
    /// What of an instance is one number, in the first column: it counts times the entry's columns of J.
    Weighted,
    /// The same of instances with two blocks, where the second's columns are the first's with the other sign, and are not there.
    Mirrored,
}

template_parameters! {
    /// Parameters of `gather.wgsl`.
    struct GatherTemplate {
        fused: bool,
        gated: bool,
    }
}

template_parameters! {
    /// Parameters of `block_diagonal.wgsl`.
    struct BlockDiagonalTemplate {
        fused: bool,
    }
}

template_parameters! {
    /// Parameters of `assemble.wgsl`.
    struct AssembleTemplate {
        dim: u32,
        weighted: bool,
        mirrored: bool,
    }
}

template_parameters! {
    /// Parameters of `assemble_fused.wgsl`.
    struct AssembleFusedTemplate {
        dim: u32,
        pairs: bool,
    }
}

impl Shader {
    /// Its entry point.
    pub fn entry(self) -> &'static str {
        match self {
            Shader::Gather { .. } => "gather",
            Shader::BlockDiagonal { .. } => "block_diagonal",
            Shader::Assemble { .. } | Shader::AssembleFused { .. } => "assemble",
            Shader::ReduceSum => "reduce_sum",
            Shader::FixedMask => "fixed_mask",
            Shader::Clear => "clear",
            Shader::SpreadData => "spread_data",
        }
    }

    /// What it binds, by binding number.
    pub fn resources(self) -> Vec<Resource> {
        let (read, write) = (Resource::read, Resource::read_write);
        let incidence = || {
            vec![
                // Where each row's first entry stands in `entries`, and the end of the last row's.
                read("offsets", "u32"),
                // Where an entry's first component stands.
                read("entries", "u32"),
                // Where a row's first component goes.
                read("targets", "u32"),
            ]
        };
        // See `eval::layout::fused`.
        let lists = || read("lists", "u32");
        // Where its first word is 0, the kernel does nothing.
        let gate = || read("gate", "u32");
        let mut resources = match self {
            Shader::Gather { fused, gated } => {
                let mut resources = incidence();
                resources.extend([read("local", "f32"), write("result", "f32")]);
                resources.extend(fused.then(lists));
                resources.extend(gated.then(gate));
                resources
            }
            Shader::BlockDiagonal { fused } => {
                let mut resources = incidence();
                resources.extend([read("source", "f32"), write("result", "f32"), write("low", "f32")]);
                resources.extend(fused.then(lists));
                resources.push(gate());
                resources
            }
            Shader::Assemble { .. } => {
                let mut resources = incidence();
                resources.extend([read("source", "f32"), write("result", "f32"), write("blocks", "f32"), gate()]);
                resources
            }
            Shader::AssembleFused { .. } => vec![
                lists(),
                read("source", "f32"),
                write("result", "f32"),
                write("blocks", "f32"),
                // The errors of `blocks`, where they are kept.
                write("low", "f32"),
                gate(),
            ],
            // The last is the guard's word.
            Shader::ReduceSum => vec![read("input", "f32"), write("output", "f32"), read("guard", "u32")],
            // 1 where a parameter is constant.
            Shader::FixedMask => vec![read("fixed", "u32"), write("result", "f32")],
            Shader::Clear => vec![write("result", "f32"), gate()],
            // Where in `numbers` each number of `data` comes from.
            Shader::SpreadData => vec![read("sources", "u32"), read("numbers", "f32"), write("data", "f32")],
        };
        resources.push(Resource::uniform("dispatch", &self.uniforms()));
        resources
    }

    /// The layout of its bind group.
    pub fn layout(self) -> Vec<BindingKind> {
        binding_kinds(&self.resources())
    }

    fn uniforms(self) -> Structure {
        match self {
            Shader::Gather { .. } => GatherUniforms::STRUCTURE,
            Shader::BlockDiagonal { .. } => BlockDiagonalUniforms::STRUCTURE,
            Shader::Assemble { .. } => AssembleUniforms::STRUCTURE,
            Shader::AssembleFused { .. } => AssembleFusedUniforms::STRUCTURE,
            Shader::ReduceSum => ReduceSumUniforms::STRUCTURE,
            Shader::FixedMask | Shader::Clear => CountUniforms::STRUCTURE,
            Shader::SpreadData => SpreadUniforms::STRUCTURE,
        }
    }

    /// A word that is zero in every run, if its sums are compensated.
    fn guard(self) -> Option<&'static str> {
        match self {
            // The first entry of the first row is the first of all.
            Shader::Gather { .. } | Shader::BlockDiagonal { .. } | Shader::Assemble { .. } => Some("offsets[0]"),
            // The head's padding.
            Shader::AssembleFused { .. } => Some("lists[1]"),
            Shader::ReduceSum => Some("guard[0]"),
            Shader::FixedMask | Shader::Clear | Shader::SpreadData => None,
        }
    }

    fn template(self) -> (Template<'static>, Box<dyn Parameters>) {
        match self {
            Shader::Gather { fused, gated } => (template!("gather"), Box::new(GatherTemplate { fused, gated })),
            Shader::BlockDiagonal { fused } => (template!("block_diagonal"), Box::new(BlockDiagonalTemplate { fused })),
            Shader::Assemble { dim, parts } => {
                let (weighted, mirrored) = (parts == Parts::Weighted, parts == Parts::Mirrored);
                (template!("assemble"), Box::new(AssembleTemplate { dim, weighted, mirrored }))
            }
            Shader::AssembleFused { dim, pairs } => {
                (template!("assemble_fused"), Box::new(AssembleFusedTemplate { dim, pairs }))
            }
            Shader::ReduceSum => (template!("reduce_sum"), Box::new(NoParameters)),
            Shader::FixedMask => (template!("fixed_mask"), Box::new(NoParameters)),
            Shader::Clear => (template!("clear"), Box::new(NoParameters)),
            Shader::SpreadData => (template!("spread_data"), Box::new(NoParameters)),
        }
    }

    /// Its text.
    pub fn wgsl(self) -> String {
        let (template, parameters) = self.template();
        let mut program = ProgramText::new();
        program.declare(&[&self.uniforms()], &self.resources());
        if let Some(guard) = self.guard() {
            program.read_guard_from(guard);
        }
        program.push_template(template, &[], parameters.as_ref());
        program.finish()
    }
}

uniform! {
    /// Uniforms of [`Shader::Gather`].
    pub struct GatherUniforms, "Uniforms" {
        /// rows
        rows,
        /// components of a row
        dim,
        /// distance between the components of an entry in `local`
        component_stride,
        /// 1: add to what stands in `result`, 0: write over it
        add,
    }
}

impl GatherUniforms {
    /// How many workgroups it takes.
    pub fn workgroups(self) -> u32 {
        (self.rows * self.dim).div_ceil(64)
    }
}

uniform! {
    /// Uniforms of [`Shader::BlockDiagonal`].
    pub struct BlockDiagonalUniforms, "Uniforms" {
        /// rows
        rows,
        /// columns of an entry
        dim,
        /// numbers of a row: those of a lower triangle, or of its diagonal
        numbers,
        /// rows of J of an entry; 0 where `source` is scratch
        outputs,
        /// where in `source` the first column of J starts
        first_partial,
        /// distance between the rows of J in `source`
        row_stride,
        /// distance between the columns of J in `source`
        stride,
        /// numbers in `result` for each parameter; 0 where the result is scratch
        scale,
        /// 1: add to what stands in `result`, 0: write over it
        add,
        /// 1: keep the errors of sums, in `low`
        pairs,
    }
}

impl BlockDiagonalUniforms {
    /// How many workgroups it takes.
    pub fn workgroups(self) -> u32 {
        (self.rows * self.numbers).div_ceil(64)
    }
}

uniform! {
    /// Uniforms of [`Shader::Assemble`].
    pub struct AssembleUniforms, "Uniforms" {
        /// rows
        rows,
        /// distance between the columns of `source`
        stride,
        /// rows of J of an entry
        outputs,
        /// where in `source` the first column of J starts
        first_partial,
        /// distance between the rows of J in `source`
        row_stride,
        /// numbers in `blocks` for each parameter
        scale,
    }
}

uniform! {
    /// Uniforms of [`Shader::AssembleFused`].
    pub struct AssembleFusedUniforms, "Uniforms" {
        /// blocks
        rows,
        /// where in `lists` the first block's offset stands
        offsets,
        /// where in `result` the first block stands
        first,
        /// numbers in `blocks` for each parameter
        scale,
    }
}

uniform! {
    /// Uniforms of [`Shader::ReduceSum`].
    pub struct ReduceSumUniforms, "Uniforms" {
        /// numbers or pairs to sum
        count,
        /// 1: `input` holds numbers, 2: pairs
        width,
        /// where in `input` the first stands, in numbers
        input_first,
        /// where in `output` the first workgroup's pair goes, in numbers
        output_first,
    }
}

impl ReduceSumUniforms {
    /// How many terms a workgroup sums to one pair.
    pub const TERMS_PER_WORKGROUP: u32 = 1024;

    /// How many workgroups, and so pairs, there are.
    pub fn workgroups(self) -> u32 {
        self.count.div_ceil(ReduceSumUniforms::TERMS_PER_WORKGROUP)
    }
}

uniform! {
    /// Uniforms of [`Shader::FixedMask`] and [`Shader::Clear`].
    pub struct CountUniforms, "Uniforms" {
        /// numbers
        count,
    }
}

uniform! {
    /// Uniforms of [`Shader::SpreadData`].
    pub struct SpreadUniforms, "Uniforms" {
        /// numbers to copy
        count,
        /// where in `data` the first goes
        first,
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::eval::layout::normal_equations::{MOST_NUMBERS, MOST_TOGETHER};
    use crate::shader_source::tests::check_module;

    fn all() -> Vec<Shader> {
        let mut shaders = vec![Shader::ReduceSum, Shader::FixedMask, Shader::Clear, Shader::SpreadData];
        for fused in [false, true] {
            shaders.extend([true, false].map(|gated| Shader::Gather { fused, gated }));
            shaders.push(Shader::BlockDiagonal { fused });
        }
        for dim in 1..=MOST_TOGETHER {
            shaders
                .extend([Parts::Whole, Parts::Weighted, Parts::Mirrored].map(|parts| Shader::Assemble { dim, parts }));
        }
        for dim in 1..=MOST_NUMBERS {
            shaders.extend([false, true].map(|pairs| Shader::AssembleFused { dim, pairs }));
        }
        shaders
    }

    #[test]
    fn every_shader_is_valid_and_binds_what_it_declares() {
        for shader in all() {
            check_module(&shader.wgsl(), shader.entry(), &shader.layout());
        }
    }
}
