//! The hand-written kernels of the Gauss-Newton model: templates of `shaders/gauss_newton`, what they bind, and their uniforms.
//!
//! All take 64 threads a workgroup, and a second dimension of workgroups where one does not suffice. Each has a gate: where its first word is 0,
//! the kernel does nothing. Local tables are gathered by [`crate::eval::shaders::Shader::Gather`].

use crate::eval::shaders::{CountUniforms, incidence_resources};
use crate::shader_source::{binding_kinds, shader_text, template};
use residua_base::list::PushAll;
use residua_codegen::wgsl::{NoParameters, Parameters, Resource, Structure, Template};
use residua_codegen::{template_parameters, uniform};
use residua_gpu::BindingKind;

/// A hand-written kernel of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelShader {
    /// Sums products of columns of J̃ by the rows of a transposed incidence: one thread for each number of each block.
    BlockDiagonal {
        /// Whether entries are of all local tables, by way of `lists`.
        fused: bool,
    },
    /// A gather of the gradient and a block diagonal in one, for blocks of `dim` numbers that few entries touch: one thread a row, all sums in
    /// registers, those of the gradient with compensation.
    Assemble {
        /// Numbers of a block.
        dim: u32,
        /// What stands where an entry points.
        entries: LocalEntries,
        /// What it is made of in pairs.
        pairs: GradientPairs,
    },
    /// The same over the lists of all local tables.
    AssembleFused {
        /// Numbers of a block.
        dim: u32,
        /// Whether the block diagonal has its errors.
        pairs: bool,
        /// Whether the parts of the gradient are pairs.
        wide: bool,
    },
    /// Sets numbers to zero.
    Clear,
}

/// What stands in a local table where an entry of a gather points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocalEntries {
    /// The numbers that are summed, in columns.
    Parts,
    /// One number of an instance, in the first column: r̃ or J̃p. It counts times the entry's columns of J̃.
    Rows,
    /// The same of instances with two blocks, where the second's columns are the negatives of the first's, and are not there. With
    /// [`GradientPairs::Parts`] the parts of the first block stand in place of the number.
    MirroredRows,
}

/// What a gradient that is gathered together with a block diagonal is made of in pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GradientPairs {
    /// Nothing: in f32.
    None,
    /// Its parts.
    Parts,
    /// The row of J̃ and the residual of each instance. The gradient is their product's sum times the root of the weight, which is that of the row.
    Rows,
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
        wide: bool,
        row_in_pairs: bool,
    }
}

template_parameters! {
    /// Parameters of `assemble_fused.wgsl`.
    struct AssembleFusedTemplate {
        dim: u32,
        pairs: bool,
        wide: bool,
    }
}

impl ModelShader {
    /// Its entry point.
    pub fn entry(self) -> &'static str {
        match self {
            ModelShader::BlockDiagonal { .. } => "block_diagonal",
            ModelShader::Assemble { .. } | ModelShader::AssembleFused { .. } => "assemble",
            ModelShader::Clear => "clear",
        }
    }

    /// What it binds, by binding number.
    pub fn resources(self) -> Vec<Resource> {
        let (read, write) = (Resource::read, Resource::read_write);
        // See `super::fused_lists`.
        let lists = || read("lists", "u32");
        let mut resources = match self {
            ModelShader::BlockDiagonal { fused } => {
                let mut resources = incidence_resources();
                resources.push_all([read("source", "f32"), write("result", "f32"), write("low", "f32")]);
                resources.push_all(fused.then(lists));
                resources
            }
            ModelShader::Assemble { pairs, .. } => {
                let mut resources = incidence_resources();
                resources.push_all([read("source", "f32"), write("result", "f32"), write("blocks", "f32")]);
                resources.push_all((pairs == GradientPairs::Rows).then(|| read("batch_constants", "f32")));
                resources
            }
            ModelShader::AssembleFused { .. } => vec![
                lists(),
                read("source", "f32"),
                write("result", "f32"),
                write("blocks", "f32"),
                // The errors of `blocks`, where they are kept.
                write("low", "f32"),
            ],
            ModelShader::Clear => vec![write("result", "f32")],
        };
        resources.push_all([read("gate", "u32"), Resource::uniform("dispatch", &self.uniforms())]);
        resources
    }

    /// The layout of its bind group.
    pub fn layout(self) -> Vec<BindingKind> {
        binding_kinds(&self.resources())
    }

    fn uniforms(self) -> Structure {
        match self {
            ModelShader::BlockDiagonal { .. } => BlockDiagonalUniforms::STRUCTURE,
            ModelShader::Assemble { .. } => AssembleUniforms::STRUCTURE,
            ModelShader::AssembleFused { .. } => AssembleFusedUniforms::STRUCTURE,
            ModelShader::Clear => CountUniforms::STRUCTURE,
        }
    }

    /// A word that is zero in every run, if its sums are compensated.
    fn guard(self) -> Option<&'static str> {
        match self {
            // The first entry of the first row is the first of all.
            ModelShader::BlockDiagonal { .. } | ModelShader::Assemble { .. } => Some("offsets[0]"),
            // The head's padding.
            ModelShader::AssembleFused { .. } => Some("lists[1]"),
            ModelShader::Clear => None,
        }
    }

    fn template(self) -> (Template<'static>, Box<dyn Parameters>) {
        match self {
            ModelShader::BlockDiagonal { fused } => {
                (template!("gauss_newton/block_diagonal"), Box::new(BlockDiagonalTemplate { fused }))
            }
            ModelShader::Assemble { dim, entries, pairs } => {
                let mirrored = entries == LocalEntries::MirroredRows;
                let wide = pairs == GradientPairs::Parts;
                let row_in_pairs = pairs == GradientPairs::Rows;
                let weighted = entries != LocalEntries::Parts && pairs == GradientPairs::None;
                let parameters = AssembleTemplate { dim, weighted, mirrored, wide, row_in_pairs };
                (template!("gauss_newton/assemble"), Box::new(parameters))
            }
            ModelShader::AssembleFused { dim, pairs, wide } => {
                (template!("gauss_newton/assemble_fused"), Box::new(AssembleFusedTemplate { dim, pairs, wide }))
            }
            ModelShader::Clear => (template!("gauss_newton/clear"), Box::new(NoParameters)),
        }
    }

    /// Its text.
    pub fn wgsl(self) -> String {
        let (template, parameters) = self.template();
        shader_text(&self.uniforms(), &self.resources(), self.guard(), template, parameters.as_ref())
    }
}

uniform! {
    /// Uniforms of [`ModelShader::BlockDiagonal`].
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
    /// Uniforms of [`ModelShader::Assemble`].
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
    /// Uniforms of [`ModelShader::AssembleFused`].
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

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::super::blocks::{MOST_NUMBERS, MOST_TOGETHER};
    use super::*;
    use crate::shader_source::tests::check_module;

    fn all() -> Vec<ModelShader> {
        let mut shaders = vec![ModelShader::Clear];
        shaders.push_all([false, true].map(|fused| ModelShader::BlockDiagonal { fused }));
        for dim in 1..=MOST_TOGETHER {
            let (parts, rows, mirrored) = (LocalEntries::Parts, LocalEntries::Rows, LocalEntries::MirroredRows);
            let all = [
                (GradientPairs::None, vec![parts, rows, mirrored]),
                (GradientPairs::Parts, vec![parts, mirrored]),
                (GradientPairs::Rows, vec![rows, mirrored]),
            ];
            for (pairs, entries) in all {
                shaders.extend(entries.into_iter().map(|entries| ModelShader::Assemble { dim, entries, pairs }));
            }
        }
        for dim in 1..=MOST_NUMBERS {
            for wide in [false, true] {
                shaders.push_all([false, true].map(|pairs| ModelShader::AssembleFused { dim, pairs, wide }));
            }
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
