//! The hand-written kernels of evaluation: templates of `shaders/`, what they bind, and their uniforms.
//!
//! Each has one entry point. All take 64 threads a workgroup, and a second dimension of workgroups where one does not suffice.

use crate::shader_source::{binding_kinds, shader_text, template};
use residua_base::list::PushAll;
use residua_codegen::wgsl::{NoParameters, Parameters, Resource, Structure, Template};
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
        /// Whether what it reads and writes are pairs.
        pairs: bool,
    },
    /// Sums numbers to pairs of a number and its error, one pair for [`ReduceSumUniforms::TERMS_PER_WORKGROUP`] terms.
    ReduceSum,
    /// Sets the entries of constant parameters to zero.
    FixedMask {
        /// Whether they are pairs.
        pairs: bool,
    },
    /// Copies numbers of the application into a data table.
    SpreadData {
        /// Whether the table is of pairs.
        pairs: bool,
    },
}

/// The tables of a transposed incidence: where each row's first entry stands in `entries`, and the end of the last row's; where an entry's first
/// component stands; where a row's first component goes.
pub fn incidence_resources() -> Vec<Resource> {
    ["offsets", "entries", "targets"].map(|name| Resource::read(name, "u32")).into()
}

template_parameters! {
    /// Parameters of `gather.wgsl`.
    struct GatherTemplate {
        fused: bool,
        gated: bool,
        pairs: bool,
    }
}

template_parameters! {
    /// Parameters of `fixed_mask.wgsl` and `spread_data.wgsl`.
    struct PairsTemplate {
        pairs: bool,
    }
}

impl Shader {
    /// Its entry point.
    pub fn entry(self) -> &'static str {
        match self {
            Shader::Gather { .. } => "gather",
            Shader::ReduceSum => "reduce_sum",
            Shader::FixedMask { .. } => "fixed_mask",
            Shader::SpreadData { .. } => "spread_data",
        }
    }

    /// What it binds, by binding number.
    pub fn resources(self) -> Vec<Resource> {
        let (read, write) = (Resource::read, Resource::read_write);
        let mut resources = match self {
            Shader::Gather { fused, gated, .. } => {
                let mut resources = incidence_resources();
                resources.push_all([read("local", "f32"), write("result", "f32")]);
                resources.push_all(fused.then(|| read("lists", "u32")));
                // Where its first word is 0, the kernel does nothing.
                resources.push_all(gated.then(|| read("gate", "u32")));
                resources
            }
            // The last is the guard's word.
            Shader::ReduceSum => vec![read("input", "f32"), write("output", "f32"), read("guard", "u32")],
            // 1 where a parameter is constant.
            Shader::FixedMask { .. } => vec![read("fixed", "u32"), write("result", "f32")],
            // Where in `numbers` each number of `data` comes from.
            Shader::SpreadData { .. } => vec![read("sources", "u32"), read("numbers", "f32"), write("data", "f32")],
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
            Shader::Gather { pairs: false, .. } => GatherUniforms::STRUCTURE,
            Shader::Gather { pairs: true, .. } => PairGatherUniforms::STRUCTURE,
            Shader::ReduceSum => ReduceSumUniforms::STRUCTURE,
            Shader::FixedMask { pairs: false } => CountUniforms::STRUCTURE,
            Shader::FixedMask { pairs: true } => PairCountUniforms::STRUCTURE,
            Shader::SpreadData { pairs: false } => SpreadUniforms::STRUCTURE,
            Shader::SpreadData { pairs: true } => PairSpreadUniforms::STRUCTURE,
        }
    }

    /// A word that is zero in every run, if its sums are compensated.
    fn guard(self) -> Option<&'static str> {
        match self {
            // The first entry of the first row is the first of all.
            Shader::Gather { .. } => Some("offsets[0]"),
            Shader::ReduceSum => Some("guard[0]"),
            Shader::FixedMask { .. } | Shader::SpreadData { .. } => None,
        }
    }

    fn template(self) -> (Template<'static>, Box<dyn Parameters>) {
        match self {
            Shader::Gather { fused, gated, pairs } => {
                (template!("gather"), Box::new(GatherTemplate { fused, gated, pairs }))
            }
            Shader::ReduceSum => (template!("reduce_sum"), Box::new(NoParameters)),
            Shader::FixedMask { pairs } => (template!("fixed_mask"), Box::new(PairsTemplate { pairs })),
            Shader::SpreadData { pairs } => (template!("spread_data"), Box::new(PairsTemplate { pairs })),
        }
    }

    /// Its text.
    pub fn wgsl(self) -> String {
        let (template, parameters) = self.template();
        shader_text(&self.uniforms(), &self.resources(), self.guard(), template, parameters.as_ref())
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

uniform! {
    /// Uniforms of [`Shader::Gather`] of pairs: those of [`GatherUniforms`], and where low parts stand.
    pub struct PairGatherUniforms, "Uniforms" {
        /// rows
        rows,
        /// components of a row
        dim,
        /// distance between the components of an entry in `local`
        component_stride,
        /// 1: add to what stands in `result`, 0: write over it
        add,
        /// distance from a number of `local` to its low part
        local_low,
        /// distance from a number of `result` to its low part
        result_low,
    }
}

impl GatherUniforms {
    /// How many workgroups it takes.
    pub fn workgroups(self) -> u32 {
        (self.rows * self.dim).div_ceil(64)
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
    /// Uniforms of [`Shader::FixedMask`], and of others that take a count alone.
    pub struct CountUniforms, "Uniforms" {
        /// numbers
        count,
    }
}

uniform! {
    /// Uniforms of [`Shader::FixedMask`] of pairs.
    pub struct PairCountUniforms, "Uniforms" {
        /// numbers
        count,
        /// distance from a number to its low part
        low,
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

uniform! {
    /// Uniforms of [`Shader::SpreadData`] into a table of pairs.
    pub struct PairSpreadUniforms, "Uniforms" {
        /// numbers to copy
        count,
        /// where in `data` the first goes
        first,
        /// distance from a number of `data` to its low part
        low,
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::shader_source::tests::check_module;

    fn all() -> Vec<Shader> {
        let mut shaders = vec![Shader::ReduceSum];
        for pairs in [false, true] {
            shaders.push_all([Shader::FixedMask { pairs }, Shader::SpreadData { pairs }]);
            for fused in [false, true] {
                shaders.push_all([true, false].map(|gated| Shader::Gather { fused, gated, pairs }));
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
