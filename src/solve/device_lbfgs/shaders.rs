//! The texts of the kernels: the files of `shaders/limited_memory`, with the rules they decide by and the names of the state.

use super::state::Places;
use crate::codegen::wgsl::compose_with;
use crate::codegen::wgsl::source::shader;
use crate::gpu::BindingKind;
use crate::list::Listed;
use crate::solve::{descent_rule, line_rule};

/// A kernel of L-BFGS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
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

impl Kernel {
    /// All of them.
    pub const ALL: [Kernel; 5] = [Kernel::Walk, Kernel::Place, Kernel::Measure, Kernel::Decide, Kernel::Advance];

    /// Entry point.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Walk => "walk",
            Kernel::Place => "place",
            Kernel::Measure => "measure",
            Kernel::Decide => "decide",
            Kernel::Advance => "advance",
        }
    }

    /// Which of its bindings are written, in their order; the uniform comes last.
    fn written(self) -> &'static [bool] {
        match self {
            Kernel::Walk => &[true, false],
            Kernel::Place => &[true, false, true, false, false, true, true],
            Kernel::Measure => &[false, false, false, false, false, false, false, true],
            Kernel::Decide => &[true, false, false],
            Kernel::Advance => &[false, true, true, false, false, false, true, true],
        }
    }

    /// Its bindings.
    pub fn layout(self) -> Vec<BindingKind> {
        let kind = |&written| if written { BindingKind::StorageReadWrite } else { BindingKind::StorageRead };
        self.written().iter().map(kind).chain([BindingKind::Uniform]).list()
    }

    /// The text, for a history as long as `places` has it.
    pub fn wgsl(self, places: Places) -> String {
        let (source, mut rules) = match self {
            Kernel::Walk => (shader!("../../../shaders/limited_memory/walk.wgsl"), vec![]),
            Kernel::Place => (shader!("../../../shaders/limited_memory/place.wgsl"), vec![descent_rule::descends()]),
            Kernel::Measure => (shader!("../../../shaders/limited_memory/measure.wgsl"), vec![]),
            Kernel::Decide => {
                let rules = vec![descent_rule::progress(), descent_rule::ending(), descent_rule::pair()];
                (shader!("../../../shaders/limited_memory/decide.wgsl"), rules)
            }
            Kernel::Advance => (shader!("../../../shaders/limited_memory/advance.wgsl"), vec![]),
        };
        let part = match self {
            Kernel::Place | Kernel::Measure | Kernel::Advance => {
                shader!("../../../shaders/limited_memory/coordinates.wgsl")
            }
            Kernel::Walk | Kernel::Decide => {
                rules.extend([line_rule::verdict(), line_rule::bracket(), line_rule::doubt(), line_rule::outcome()]);
                shader!("../../../shaders/limited_memory/search.wgsl")
            }
        };
        let rules: Vec<_> = rules.iter().map(std::rc::Rc::as_ref).list();
        let mut text = compose_with(source, &rules) + part;
        text += &Figures::declaration();
        text + &places.declarations()
    }
}

/// Uniform of every kernel; each uses its part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Parameters.
    pub count: u32,
    /// Threads of all workgroups of a layer.
    pub threads: u32,
    /// Workgroups of a layer: partial sums of a section.
    pub groups: u32,
    /// Distance of vectors that share a buffer.
    pub stride: u32,
    /// 1 if there are constants or bounds.
    pub limited: u32,
    /// 1 if there are blocks on manifolds.
    pub curved: u32,
    /// Sums of the objective.
    pub costs: u32,
    /// 1: they are numbers; 2: pairs of a number and its error.
    pub width: u32,
}

const MEMBERS: [&str; 10] =
    ["count", "threads", "groups", "stride", "limited", "curved", "costs", "width", "nan", "zero"];

impl Figures {
    /// The words that the uniform buffer holds; the last are the bits of a NaN, and a 0 that no compiler knows to be 0.
    pub fn words(self) -> [u32; 10] {
        let Figures { count, threads, groups, stride, limited, curved, costs, width } = self;
        [count, threads, groups, stride, limited, curved, costs, width, crate::codegen::wgsl::Dispatch::NAN, 0]
    }

    fn declaration() -> String {
        let members: String = MEMBERS.iter().map(|member| format!("    {member}: u32,\n")).collect();
        format!("\nstruct Figures {{\n{members}}}\n")
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_valid_and_has_the_bindings_that_are_bound() {
        for capacity in [1, 10, 128] {
            for kernel in Kernel::ALL {
                let text = kernel.wgsl(Places::new(capacity));
                crate::portable::validated(&text);
                let declared = |access: &str| text.lines().filter(|line| line.contains(access)).count();
                let bound = |kind| kernel.layout().iter().filter(|&&other| other == kind).count();
                assert_eq!(declared("var<storage, read>"), bound(BindingKind::StorageRead), "{}", kernel.name());
                assert_eq!(declared("var<storage, read_write>"), bound(BindingKind::StorageReadWrite));
                assert!(kernel.layout().len() <= 9, "8 storage buffers a stage, and the uniform");
            }
        }
    }
}
