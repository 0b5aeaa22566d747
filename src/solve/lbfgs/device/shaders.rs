//! The kernels of L-BFGS: templates of `shaders/limited_memory` with the rules that they decide by, what they bind, and their uniforms.

use super::state::Places;
use crate::shader_source::{binding_kinds, template};
use crate::solve::lbfgs::rules::{convergence, history, line_search as line_rule, losses};
use residua_base::list::PushAll;
use residua_codegen::wgsl::{ProgramText, Resource, Template};
use residua_codegen::{template_parameters, uniform};
use residua_gpu::BindingKind;

/// A kernel of L-BFGS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LbfgsShader {
    /// What several steps along the direction lead to.
    Walk,
    /// A trial point.
    Place,
    /// What is to be known of it.
    Measure,
    /// What becomes of it.
    Decide,
    /// A step that is taken.
    Advance,
}

impl LbfgsShader {
    /// All of them.
    pub const ALL: [LbfgsShader; 5] =
        [LbfgsShader::Walk, LbfgsShader::Place, LbfgsShader::Measure, LbfgsShader::Decide, LbfgsShader::Advance];

    /// Entry point.
    pub fn name(self) -> &'static str {
        match self {
            LbfgsShader::Walk => "walk",
            LbfgsShader::Place => "place",
            LbfgsShader::Measure => "measure",
            LbfgsShader::Decide => "decide",
            LbfgsShader::Advance => "advance",
        }
    }

    /// What it binds, by binding number.
    pub fn resources(self) -> Vec<Resource> {
        let (read, write) = (Resource::read, Resource::read_write);
        let (state, pair) = ("state", "vec2<f32>");
        // Lower and upper bound of each parameter; if some are on manifolds, after them whether each is.
        let bounds = || read("bounds", pair);
        let mut resources = match self {
            // The sums are of cost and slope, step after step.
            LbfgsShader::Walk => vec![write(state, "f32"), read("sums", pair)],
            LbfgsShader::Place => vec![
                write(state, "f32"),
                read("point", "f32"),
                write("vectors", "f32"),
                bounds(),
                read("partials", pair),
                write("trial", "f32"),
                write("gradient", "f32"),
            ],
            LbfgsShader::Measure => vec![
                read(state, "f32"),
                read("point", "f32"),
                read("vectors", "f32"),
                bounds(),
                read("trial", "f32"),
                read("gradient", "f32"),
                read("history", "f32"),
                write("partials", pair),
            ],
            LbfgsShader::Decide => vec![write(state, "f32"), read("partials", pair), read("costs", "f32")],
            LbfgsShader::Advance => vec![
                read(state, "f32"),
                write("point", "f32"),
                write("vectors", "f32"),
                bounds(),
                read("trial", "f32"),
                read("gradient", "f32"),
                write("history", "f32"),
                write("partials", pair),
            ],
        };
        resources.push(Resource::uniform("dispatch", &LbfgsUniforms::STRUCTURE));
        resources
    }

    /// The layout of its bind group.
    pub fn layout(self) -> Vec<BindingKind> {
        binding_kinds(&self.resources())
    }

    /// The text, for a history as long as `places` has it.
    pub fn wgsl(self, places: Places) -> String {
        let template = match self {
            LbfgsShader::Walk => template!("limited_memory/walk"),
            LbfgsShader::Place => template!("limited_memory/place"),
            LbfgsShader::Measure => template!("limited_memory/measure"),
            LbfgsShader::Decide => template!("limited_memory/decide"),
            LbfgsShader::Advance => template!("limited_memory/advance"),
        };
        let mut rules = match self {
            LbfgsShader::Place => vec![history::descends()],
            LbfgsShader::Decide => {
                vec![
                    convergence::progress(),
                    convergence::fall(),
                    convergence::share_limit(),
                    convergence::ending(),
                    history::pair(),
                    losses::refused(),
                ]
            }
            LbfgsShader::Walk | LbfgsShader::Measure | LbfgsShader::Advance => Vec::new(),
        };
        if matches!(self, LbfgsShader::Walk | LbfgsShader::Decide) {
            rules.push_all([
                line_rule::verdict(),
                line_rule::bracket(),
                line_rule::contradictions(),
                line_rule::outcome(),
            ]);
        }
        let mut program = ProgramText::new();
        program.declare(&[&LbfgsUniforms::STRUCTURE], &self.resources());
        program.read_guard_from("bitcast<u32>(state[GUARD])");
        program.push_template(template, FILES, &LbfgsTemplate { most_sums: 4, words: places.declarations() });
        rules.iter().for_each(|rule| program.push_function(rule));
        program.finish()
    }
}

/// The files that the templates import.
const FILES: &[Template] =
    &[template!("limited_memory/state"), template!("limited_memory/coordinates"), template!("limited_memory/search")];

template_parameters! {
    /// Parameters of the templates of `shaders/limited_memory`.
    struct LbfgsTemplate {
        /// Sums over a workgroup at a time.
        most_sums: u32,
        /// Names of words, sections, vectors and outcomes.
        words: String,
    }
}

uniform! {
    /// Uniforms of every kernel; each uses its part.
    pub struct LbfgsUniforms, "Uniforms" {
        /// parameters
        count,
        /// threads of all workgroups of a layer
        threads,
        /// workgroups of a layer: partial sums of a section
        groups,
        /// distance of vectors that share a buffer
        stride,
        /// 1: there are constants or bounds
        constrained,
        /// 1: there are blocks on manifolds
        on_manifolds,
        /// sums of the objective
        costs,
        /// 1: they are numbers, 2: pairs of a number and its error
        width,
        /// bits of a NaN
        nan,
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::shader_source::tests::check_module;

    #[test]
    fn every_kernel_is_valid_and_binds_what_it_declares() {
        for capacity in [1, 10, 128] {
            for kernel in LbfgsShader::ALL {
                check_module(&kernel.wgsl(Places::new(capacity)), kernel.name(), &kernel.layout());
            }
        }
    }
}
