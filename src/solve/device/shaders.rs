//! The texts of the kernels: the files of `shaders/levenberg_marquardt`, made for a shape of blocks.
//!
//! Blocks are small and all of one shape, so what is done to each of their coordinates is written out, line by line, and stays in
//! registers. In the files, a line that begins with
//!
//! - `#each` stands once for each tangent coordinate, with its number for `$` (and its place on the diagonal of the lower triangle
//!   for `#diagonal$`);
//! - `#four` stands four times, with 0 to 3 for `@`;
//! - `#constrained` stands where there are constants or bounds, `#free` where there are none; `#pairs` and `#single` by the block's
//!   [`Preconditioner`], `#made`, `#formed` or `#ready`, `#among` or `#apart`, `#gathered` (`#parts` or `#weighted`), `#joint` (`#heavy` or `#light`), `#vector` (`#made` or `#heavy`) by the [`Product`]; `@binding(_)` is the next binding;
//! - `#factor` is where the damped block A = C + λD is made ready to be solved for, and d$, the diagonal of D, and free$, whether a
//!   coordinate may move, are known afterwards; `#solve` is where A z = r is solved, and `energy` is rᵀz.

use super::blocks::{each, factor, line, of_coordinate, solve, solve_pairs, triangle};
use super::shape::{BlockShape, Preconditioner};
use super::state;
use crate::codegen::wgsl::compose_with;
use crate::codegen::wgsl::source::shader;
use crate::decimal::shortest_single;
use crate::gpu::BindingKind;
use crate::list::Listed;
use crate::solve::rules::{MAX_DIAGONAL, MIN_DIAGONAL, Rules};
use crate::text::{cut, replace};

/// Where an update finds the product with JᵀJ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// In a vector.
    Whole,
    /// In a vector, and the direction is yet to be formed.
    Formed,
    /// Where each instance has left its part: the update gathers them itself.
    Gathered,
    /// In the instances' one number each of Jp: the update gathers them, times their columns of J.
    Weighted,
    /// As `Gathered`, by lists over all local tables; blocks with very many entries in a vector.
    Joint {
        /// Whether there are such blocks.
        heavy: bool,
        /// Whether the direction is yet to be formed.
        formed: bool,
    },
}

impl Product {
    /// Whether the direction is formed by whoever reads it.
    pub fn is_formed(self) -> bool {
        matches!(self, Product::Formed | Product::Joint { formed: true, .. })
    }
}

/// A kernel of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// A step begins, in a group of blocks, before products of that kind.
    Begin(BlockShape, Product),
    /// What the linearised point tells.
    Converge,
    /// The product of an iteration of conjugate gradients, for a class that is mirrored.
    Multiply(BlockShape),
    /// The parts of the product of an iteration, of all residuals: to be put into the text.
    Products,
    /// An iteration of conjugate gradients after its product, in a group of blocks.
    Update(BlockShape, Product),
    /// The next direction.
    Direct,
    /// What a step promises, in a group of blocks.
    Measure(BlockShape),
    /// Whether a step is taken.
    Decide,
    /// An accepted trial point becomes the point.
    Settle,
}

/// The sections of the partial sums, in the order in which they stand.
const SECTIONS: [&str; 12] = [
    "RZ_SUMS",
    "ZDZ_SUMS",
    "ZDP_SUMS",
    "SQUARES_SUMS",
    "LARGEST_SUMS",
    "DESCENT_SUMS",
    "REST_SUMS",
    "STEP_SUMS",
    "SIZE_SUMS",
    "SCALED_SUMS",
    "IMAGE_SUMS",
    "FACTORS",
];

/// The vectors that share a buffer: r, z, p, δ and D, the largest diagonals of JᵀJ so far.
pub const VECTORS: [&str; 5] = ["RESIDUAL", "PRECONDITIONED", "DIRECTION", "DELTA", "SCALE"];

/// Sections of partial sums; after them stand the factors.
pub const SUM_SECTIONS: u32 = SECTIONS.len() as u32 - 1;

/// Uniform of every kernel of a solve; each uses its part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Figures {
    /// Blocks, or what there is a thread for.
    pub blocks: u32,
    /// Threads of all workgroups.
    pub threads: u32,
    /// Where the first block's first number stands in a vector.
    pub first: u32,
    /// Numbers of the curvature for each parameter.
    pub scale: u32,
    /// Number of the first workgroup among those of all groups.
    pub group: u32,
    /// Workgroups of all groups.
    pub groups: u32,
    /// Numbers or pairs whose sum the kernel finishes.
    pub count: u32,
    /// 1 for numbers, 2 for pairs.
    pub width: u32,
    /// The same of a second sum.
    pub image_count: u32,
    /// The same of a second sum.
    pub image_width: u32,
    /// Distance of the vectors that share a buffer.
    pub stride: u32,
    /// Where the first block's factors stand, in pairs.
    pub factors: u32,
    /// Distance of the columns of a local table.
    pub local_stride: u32,
    /// Where its first column of J stands.
    pub first_partial: u32,
    /// Where the first block's offset stands in lists over all local tables.
    pub row: u32,
    /// Bits of a NaN.
    pub nan: u32,
    /// 0, which no compiler knows to be 0.
    pub zero: u32,
}

const MEMBERS: [&str; 17] = [
    "blocks",
    "threads",
    "first",
    "scale",
    "group",
    "groups",
    "count",
    "width",
    "image_count",
    "image_width",
    "stride",
    "factors",
    "local_stride",
    "first_partial",
    "row",
    "nan",
    "zero",
];

impl Figures {
    /// The words that the uniform buffer holds.
    pub fn words(self) -> [u32; 17] {
        let Figures { blocks, threads, first, scale, group, groups, count, width, image_count, image_width, .. } = self;
        let Figures { stride, factors, local_stride, first_partial, row, nan, zero, .. } = self;
        [
            blocks,
            threads,
            first,
            scale,
            group,
            groups,
            count,
            width,
            image_count,
            image_width,
            stride,
            factors,
            local_stride,
            first_partial,
            row,
            nan,
            zero,
        ]
    }
}

impl Kernel {
    /// Entry point.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Begin(..) => "begin",
            Kernel::Converge => "converge",
            Kernel::Multiply(_) => "multiply",
            Kernel::Products => "products",
            Kernel::Update(..) => "update",
            Kernel::Direct => "direct",
            Kernel::Measure(_) => "measure",
            Kernel::Decide => "decide",
            Kernel::Settle => "settle",
        }
    }

    /// The text.
    pub fn wgsl(self, constrained: bool) -> String {
        let source = match self {
            Kernel::Begin(..) => shader!("../../../shaders/levenberg_marquardt/begin.wgsl"),
            Kernel::Converge => shader!("../../../shaders/levenberg_marquardt/converge.wgsl"),
            Kernel::Multiply(_) => shader!("../../../shaders/levenberg_marquardt/multiply.wgsl"),
            Kernel::Products => shader!("../../../shaders/levenberg_marquardt/products.wgsl"),
            Kernel::Update(..) => shader!("../../../shaders/levenberg_marquardt/update.wgsl"),
            Kernel::Direct => shader!("../../../shaders/levenberg_marquardt/direct.wgsl"),
            Kernel::Measure(_) => shader!("../../../shaders/levenberg_marquardt/measure.wgsl"),
            Kernel::Decide => shader!("../../../shaders/levenberg_marquardt/decide.wgsl"),
            Kernel::Settle => shader!("../../../shaders/levenberg_marquardt/settle.wgsl"),
        };
        let rules = Rules::new();
        let functions = match self {
            Kernel::Converge | Kernel::Decide => rules.functions().to_vec(),
            Kernel::Begin(..)
            | Kernel::Multiply(_)
            | Kernel::Products
            | Kernel::Update(..)
            | Kernel::Direct
            | Kernel::Measure(_)
            | Kernel::Settle => Vec::new(),
        };
        let shape = match self {
            Kernel::Begin(shape, _) | Kernel::Multiply(shape) | Kernel::Update(shape, _) | Kernel::Measure(shape) => {
                Some(shape)
            }
            Kernel::Converge | Kernel::Products | Kernel::Direct | Kernel::Decide | Kernel::Settle => None,
        };
        let mut writer = Writer { shape, constrained, kernel: self, bindings: 0 };
        let mut text = String::new();
        for line in compose_with(source, &functions).lines() {
            writer.line(line, &mut text);
        }
        text + &writer.declarations()
    }
}

/// The bindings that a text declares, in their order.
pub fn bindings_of(wgsl: &str) -> Vec<BindingKind> {
    let kind = |line: &str| {
        let at = |what| line.starts_with("@group") && cut(line, what).is_some();
        match () {
            () if at("var<storage, read>") => Some(BindingKind::StorageRead),
            () if at("var<storage, read_write>") => Some(BindingKind::StorageReadWrite),
            () if at("var<uniform>") => Some(BindingKind::Uniform),
            () => None,
        }
    };
    wgsl.lines().filter_map(kind).list()
}

/// Makes a text for a shape.
struct Writer {
    kernel: Kernel,
    shape: Option<BlockShape>,
    constrained: bool,
    bindings: u32,
}

impl Writer {
    fn line(&mut self, line: &str, text: &mut String) {
        let code = line.trim_ascii_start();
        let Some(directive) = code.strip_prefix('#') else {
            self.plain(line, text);
            return;
        };
        let (directive, rest) = directive.split_once(' ').unwrap_or((directive, ""));
        let stands = match directive {
            "constrained" => self.constrained,
            "free" => !self.constrained,
            "pairs" => self.in_pairs(),
            "single" => !self.in_pairs(),
            "made" => matches!(self.kernel_product(), Product::Whole | Product::Formed),
            "among" => self.kernel_product() == Product::Formed,
            "apart" => self.kernel_product() != Product::Formed,
            "formed" => self.kernel_product().is_formed(),
            "ready" => !self.kernel_product().is_formed(),
            "gathered" => matches!(self.kernel_product(), Product::Gathered | Product::Weighted),
            "parts" => self.kernel_product() == Product::Gathered,
            "weighted" => self.kernel_product() == Product::Weighted,
            "joint" => matches!(self.kernel_product(), Product::Joint { .. }),
            "heavy" => matches!(self.kernel_product(), Product::Joint { heavy: true, .. }),
            "light" => matches!(self.kernel_product(), Product::Joint { heavy: false, .. }),
            "vector" => {
                matches!(self.kernel_product(), Product::Whole | Product::Formed | Product::Joint { heavy: true, .. })
            }
            _ => false,
        };
        if stands {
            self.line(rest, text);
            return;
        }
        let tangent = self.shape.map_or(0, |shape| shape.tangent);
        match directive {
            "each" => (0..tangent).for_each(|k| self.line(&of_coordinate(rest, k), text)),
            "four" => (0..4).for_each(|k| self.line(&replace(rest, "@", &k.to_string(), usize::MAX), text)),
            "factor" => self.factor(tangent, text),
            "solve" if self.in_pairs() => solve_pairs(tangent, text),
            "solve" => solve(tangent, text),
            _ => {}
        }
    }

    /// A line as it is, but for the number of its binding.
    fn plain(&mut self, line: &str, text: &mut String) {
        if line.starts_with("@group") {
            *text += &replace(line, "@binding(_)", &format!("@binding({})", self.bindings), usize::MAX);
            self.bindings += 1;
        } else {
            *text += line;
        }
        text.push('\n');
    }

    fn kernel_product(&self) -> Product {
        match self.kernel {
            Kernel::Begin(_, product) | Kernel::Update(_, product) => product,
            _ => Product::Whole,
        }
    }

    fn in_pairs(&self) -> bool {
        self.shape.is_some_and(|shape| shape.preconditioner == Preconditioner::Pairs)
    }

    /// What is known of the block, and its factorisation.
    fn factor(&self, tangent: u32, text: &mut String) {
        each(tangent, "let c$ = curvature[place + #diagonal$u];", text);
        let kept = "vectors[SCALE * dispatch.stride + first + $u]";
        // Nothing has been kept before the start has been looked at.
        let kept = if matches!(self.kernel, Kernel::Begin(..)) {
            each(tangent, &format!("if state[STARTED] == 0u {{ {kept} = 0.0; }}"), text);
            each(tangent, &format!("let kept$ = {kept};"), text);
            "kept$"
        } else {
            kept
        };
        each(tangent, &format!("let d$ = max(clamp(c$, LEAST_SCALE, MOST_SCALE), {kept});"), text);
        each(tangent, if self.constrained { "let free$ = !(c$ < 0.0);" } else { "let free$ = true;" }, text);
        if !self.in_pairs() {
            factor(tangent, self.constrained, text);
            return;
        }
        line(
            text,
            format_args!(
                "let factors = FACTORS * dispatch.groups + dispatch.factors + block * {}u;",
                triangle(tangent)
            ),
        );
        if matches!(self.kernel, Kernel::Begin(..)) {
            line(text, format_args!("factor_block(place, factors, damping);"));
        }
    }

    /// What every text ends with.
    fn declarations(&self) -> String {
        let members: String = MEMBERS.iter().map(|member| format!("    {member}: u32,\n")).collect();
        let mut text = format!("\nstruct Figures {{\n{members}}}\n\n{}", state::declarations());
        for names in [&SECTIONS[..], &VECTORS] {
            for (position, name) in names.iter().enumerate() {
                text += &format!("const {name} = {position}u;\n");
            }
        }
        if matches!(self.kernel, Kernel::Multiply(_) | Kernel::Products | Kernel::Direct) {
            text += shader!("../../../shaders/levenberg_marquardt/next_direction.wgsl");
        }
        if !matches!(self.kernel, Kernel::Begin(..) | Kernel::Measure(_) | Kernel::Settle) {
            text += "fn set_number(word: u32, number: f32) {\n    state[word] = bitcast<u32>(number);\n}\n";
        }
        let sums = match self.kernel {
            Kernel::Begin(..) | Kernel::Multiply(_) | Kernel::Products | Kernel::Update(..) | Kernel::Direct => 3,
            Kernel::Converge => 4,
            Kernel::Measure(_) => 5,
            Kernel::Decide => 6 + u32::from(self.constrained),
            Kernel::Settle => 0,
        };
        text += &format!("const MOST_SUMS = {sums}u;\n");
        let Some(BlockShape { dim, tangent, .. }) = self.shape else { return text };
        let (least, most) = (shortest_single(MIN_DIAGONAL as f32), shortest_single(MAX_DIAGONAL as f32));
        text += &format!(
            "const DIM = {dim}u;\nconst TANGENT = {tangent}u;\nconst LEAST_SCALE = {least};\nconst MOST_SCALE = {most};\n\
             fn diagonal(k: u32) -> u32 {{\n    return k * (k + 3u) / 2u;\n}}\n"
        );
        if self.in_pairs() {
            if matches!(self.kernel, Kernel::Begin(..)) {
                text += shader!("../../../shaders/levenberg_marquardt/factor_pairs.wgsl");
            }
            if matches!(self.kernel, Kernel::Begin(..) | Kernel::Update(..)) {
                text += shader!("../../../shaders/levenberg_marquardt/solve_pairs.wgsl");
            }
        }
        text
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::portable::validated;

    fn kernels() -> Vec<Kernel> {
        let mut kernels = vec![Kernel::Converge, Kernel::Direct, Kernel::Decide, Kernel::Settle];
        for (dim, tangent) in [(1, 1), (2, 2), (3, 3), (4, 3), (7, 7), (10, 10)] {
            for preconditioner in [Preconditioner::Single, Preconditioner::Pairs] {
                let shape = BlockShape { dim, tangent, preconditioner };
                kernels.extend([Kernel::Multiply(shape), Kernel::Measure(shape)]);
                kernels.extend([Product::Whole, Product::Formed].map(|product| Kernel::Begin(shape, product)));
                let joint = [(true, true), (true, false), (false, true), (false, false)]
                    .map(|(heavy, formed)| Product::Joint { heavy, formed });
                let products = [Product::Whole, Product::Formed, Product::Gathered, Product::Weighted];
                kernels.extend(joint.map(|product| Kernel::Update(shape, product)));
                kernels.extend(products.map(|product| Kernel::Update(shape, product)));
            }
        }
        kernels
    }

    #[test]
    fn every_variant_is_valid_and_binds_at_most_eight_storage_buffers() {
        for kernel in kernels() {
            for constrained in [false, true] {
                let text = kernel.wgsl(constrained);
                let module = validated(&text);
                assert_eq!(module.entry_points[0].name, kernel.name());
                let bindings = bindings_of(&text);
                let mut declared: Vec<u32> = module
                    .global_variables
                    .iter()
                    .filter_map(|(_, variable)| variable.binding.map(|binding| binding.binding))
                    .list();
                declared.sort_unstable();
                assert_eq!(declared, (0..bindings.len() as u32).collect::<Vec<_>>(), "{}", kernel.name());
                // What every WebGPU device has.
                assert!(bindings.len() <= 9, "{} {constrained}", kernel.name());
                assert_eq!(bindings.last(), Some(&BindingKind::Uniform));
            }
        }
    }

    #[test]
    fn the_uniform_has_the_layout_of_its_rust_twin() {
        let module = validated(&Kernel::Settle.wgsl(false));
        let (_, ty) = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some("Figures")).unwrap();
        let naga::TypeInner::Struct { members, .. } = &ty.inner else { panic!("not a struct") };
        let figures = Figures {
            blocks: 0,
            threads: 1,
            first: 2,
            scale: 3,
            group: 4,
            groups: 5,
            count: 6,
            width: 7,
            image_count: 8,
            image_width: 9,
            stride: 10,
            factors: 11,
            local_stride: 12,
            first_partial: 13,
            row: 14,
            nan: 15,
            zero: 16,
        };
        assert_eq!(figures.words(), std::array::from_fn(|k| k as u32));
        for (k, (member, name)) in members.iter().zip(MEMBERS).enumerate() {
            assert_eq!((member.name.as_deref(), member.offset as usize), (Some(name), 4 * k));
        }
    }
}
