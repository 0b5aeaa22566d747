//! The static shaders: their composed texts, and the Rust twins of their uniforms. Each has one entry point, of the file's
//! name, and its bindings in the order of its declarations, the uniform last. All take 64 threads a workgroup, and a second
//! dimension of workgroups where one does not suffice.

use crate::codegen::wgsl::compose;
use crate::codegen::wgsl::source::shader;
use crate::text::{cut, join, replace};

/// Sums `input` to pairs of a number and its error, one pair for [`ReduceSum::TERMS_PER_WORKGROUP`] terms. Bindings: `input`
/// (read), `output` (written), the uniform [`ReduceSum`].
pub fn reduce_sum() -> String {
    compose(shader!("../../shaders/reduce_sum.wgsl"))
}

/// Sums entries of `local` by the rows of a transposed incidence. Bindings: `offsets`, `entries`, `targets` (indices, read),
/// `local` (read), `result` (written), the uniform [`Gather`]. Takes one thread for each component of each row.
pub fn gather() -> String {
    variant(shader!("../../shaders/gather.wgsl"), "#plain ")
}

/// The same over entries of many tables: one more binding before the uniform, `lists` (read), which has at its head the tables' slots.
pub fn gather_joint() -> String {
    variant(shader!("../../shaders/gather.wgsl"), "#joint ")
}

/// Sums products of columns of J by the rows of a transposed incidence. Bindings: `offsets`, `entries`, `targets` (indices,
/// read), `source` (read), `result`, `low` (written), the uniform [`Curvature`]. Takes one thread for each number of each row.
pub fn curvature() -> String {
    variant(shader!("../../shaders/curvature.wgsl"), "#plain ")
}

/// The same over entries of many tables, as [`gather_joint`].
pub fn curvature_joint() -> String {
    variant(shader!("../../shaders/curvature.wgsl"), "#joint ")
}

/// A text of which some lines stand in one of its variants alone.
fn variant(source: &'static str, name: &str) -> String {
    let mut text = String::new();
    for line in compose(source).lines() {
        let code = line.trim_ascii_start();
        let is_marked = code.starts_with("#plain ") || code.starts_with("#joint ");
        if let Some(line) = if is_marked { code.strip_prefix(name) } else { Some(line) } {
            text += line;
            text.push('\n');
        }
    }
    text
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

/// [`gather`] and [`curvature`] in one, for blocks of `dim` numbers that few entries touch: one thread a row, all sums in registers,
/// those of the gradient with compensation. Bindings: `offsets`, `entries`, `targets` (indices, read), `source` (read), `result`,
/// `blocks` (written), the uniform [`Assemble`].
pub fn assemble(dim: u32, parts: Parts) -> String {
    let mut lines = Lines::default();
    let pattern = match parts {
        Parts::Whole => "let instance = place;\n",
        Parts::Weighted => "let instance = place;\n        let weight = source[place % dispatch.stride];\n",
        Parts::Mirrored => {
            "let second = place >= dispatch.stride;\n        \
             let instance = select(place, place - #dimu * dispatch.stride, second);\n        \
             let weight = select(source[instance], -source[instance], second);\n"
        }
    };
    lines.of_blocks(dim, parts, "dispatch.stride", false);
    let text = replace(&compose(shader!("../../shaders/assemble.wgsl")), "#entry", pattern.trim_ascii(), 1);
    lines.put(&text, dim)
}

/// The same over entries of many tables; with `pairs`, curvature with its errors. Bindings: `lists`, `source` (read), `result`, `blocks`,
/// `low` (written), the uniform [`AssembleJoint`].
pub fn assemble_joint(dim: u32, pairs: bool) -> String {
    let mut lines = Lines::default();
    lines.of_blocks(dim, Parts::Whole, "stride", pairs);
    lines.put(&compose(shader!("../../shaders/assemble_joint.wgsl")), dim)
}

/// What an assembling shader does to each of a block's numbers, written out.
#[derive(Default)]
struct Lines {
    starts: String,
    sums: String,
    columns: String,
    products: String,
    stores: String,
}

impl Lines {
    fn of_blocks(&mut self, dim: u32, parts: Parts, stride: &str, pairs: bool) {
        let mut number = 0;
        for a in 0..dim {
            self.starts += &format!("    var sum_{a} = vec2<f32>();\n");
            let (part, to) = match parts {
                Parts::Whole => (format!("vec2<f32>(source[place + {a}u * {stride}], 0.0)"), &mut self.sums),
                Parts::Weighted | Parts::Mirrored => (format!("exact_product(column_{a}, weight)"), &mut self.products),
            };
            *to += &format!("        sum_{a} = sum_of_pairs(sum_{a}, {part});\n");
            self.columns += &format!("            let column_{a} = source[partial + {a}u * {stride}];\n");
            self.stores += &format!("    result[first + {a}u] = sum_{a}.x;\n");
            for b in 0..=a {
                let block = format!("block_{number}");
                let (start, sum, high) = if pairs {
                    let sum = format!("sum_of_pairs({block}, exact_product(column_{a}, column_{b}))");
                    ("vec2<f32>()", sum, ".x")
                } else {
                    ("0.0", format!("{block} + column_{a} * column_{b}"), "")
                };
                self.starts += &format!("    var {block} = {start};\n");
                self.products += &format!("            {block} = {sum};\n");
                self.stores += &format!("    blocks[dispatch.scale * first + {number}u] = {block}{high};\n");
                if pairs {
                    self.stores += &format!("    low[dispatch.scale * first + {number}u] = {block}.y;\n");
                }
                number += 1;
            }
        }
    }

    fn put(&self, text: &str, dim: u32) -> String {
        let Lines { starts, sums, columns, products, stores } = self;
        let named = [
            ("#starts", starts),
            ("#sums", sums),
            ("#columns", columns),
            ("#products", products),
            ("#stores", stores),
            ("#dim", &dim.to_string()),
        ];
        let mut text = text.to_owned();
        for (name, lines) in named {
            text = replace(&text, name, lines.trim_ascii(), 1);
        }
        text
    }
}

/// Sets entries to zero where something is held. Bindings: `held` (read), `result` (written), the uniform of one word, how many.
pub fn hold() -> String {
    compose(shader!("../../shaders/hold.wgsl"))
}

/// Sets numbers to zero. Bindings: `result` (written), the uniform of one word, how many.
pub fn clear() -> String {
    compose(shader!("../../shaders/clear.wgsl"))
}

/// A shader with a gate: one more binding before the uniform (read), of which the shader does nothing where its first word is 0.
pub fn gated(shader: &str) -> String {
    let mut binding = 0;
    let mut rest = shader;
    while let Some((_, after)) = cut(rest, "var<storage") {
        binding += 1;
        rest = after;
    }
    let uniform = format!("@group(0) @binding({binding}) var<uniform>");
    let after = format!("@group(0) @binding({}) var<uniform>", binding + 1);
    let gate = format!("@group(0) @binding({binding}) var<storage, read> gate: array<u32>;\n{after}");
    let text = replace(shader, &uniform, &gate, 1);
    // The first brace that opens a body after the entry point's parameters.
    let (before, body) = cut(&text, "@compute").unwrap_or(("", &text));
    let body = replace(body, ") {\n", ") {\n    if gate[0] == 0u {\n        return;\n    }\n", 1);
    join(&[before, "@compute", &body], "")
}

/// Copies `numbers` into `data`, each from the place that `sources` names. Bindings: `sources`, `numbers` (read), `data`
/// (written), the uniform [`Spread`].
pub fn spread_data() -> String {
    compose(shader!("../../shaders/spread_data.wgsl"))
}

/// Uniform of [`spread_data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Spread {
    /// How many numbers are copied.
    pub count: u32,
    /// Where in `data` the first goes.
    pub first: u32,
}

impl Spread {
    /// The words that the uniform buffer holds.
    pub fn words(self) -> [u32; 2] {
        [self.count, self.first]
    }
}

/// Uniform of [`reduce_sum`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ReduceSum {
    /// How many numbers or pairs are summed.
    pub count: u32,
    /// 1 where `input` holds numbers, 2 where it holds pairs.
    pub width: u32,
    /// Where in `input` the first stands, in numbers.
    pub input_first: u32,
    /// Where in `output` the first workgroup's pair goes, in numbers.
    pub output_first: u32,
    /// 0, which no compiler knows to be 0.
    pub zero: u32,
}

impl ReduceSum {
    /// How many terms a workgroup sums to one pair.
    pub const TERMS_PER_WORKGROUP: u32 = 1024;

    /// How many workgroups, and so pairs, there are.
    pub fn workgroups(self) -> u32 {
        self.count.div_ceil(ReduceSum::TERMS_PER_WORKGROUP)
    }

    /// The words that the uniform buffer holds.
    pub fn words(self) -> [u32; 5] {
        [self.count, self.width, self.input_first, self.output_first, self.zero]
    }
}

/// Uniform of [`assemble`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Assemble {
    /// How many rows there are.
    pub rows: u32,
    /// Distance between the columns of `source`.
    pub stride: u32,
    /// How many rows of J an entry has.
    pub outputs: u32,
    /// Where in `source` the first column of J starts.
    pub first_partial: u32,
    /// Distance between the rows of J in `source`.
    pub row_stride: u32,
    /// Numbers in `blocks` for each parameter.
    pub scale: u32,
    /// 0, which no compiler knows to be 0.
    pub zero: u32,
}

impl Assemble {
    /// The words that the uniform buffer holds.
    pub fn words(self) -> [u32; 7] {
        let Assemble { rows, stride, outputs, first_partial, row_stride, scale, zero } = self;
        [rows, stride, outputs, first_partial, row_stride, scale, zero]
    }
}

/// Uniform of [`assemble_joint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct AssembleJoint {
    /// How many blocks there are.
    pub rows: u32,
    /// Where in `lists` the first block's offset stands.
    pub offsets: u32,
    /// Where in `result` the first block stands.
    pub first: u32,
    /// Numbers in `blocks` for each parameter.
    pub scale: u32,
    /// 0, which no compiler knows to be 0.
    pub zero: u32,
}

impl AssembleJoint {
    /// The words that the uniform buffer holds.
    pub fn words(self) -> [u32; 5] {
        [self.rows, self.offsets, self.first, self.scale, self.zero]
    }
}

/// Uniform of [`curvature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Curvature {
    /// How many rows there are.
    pub rows: u32,
    /// How many columns an entry has.
    pub dim: u32,
    /// How many numbers a row gives: those of a lower triangle, or of its diagonal.
    pub numbers: u32,
    /// How many rows of J an entry has; 0 where `source` is scratch.
    pub outputs: u32,
    /// Where in `source` the first column of J starts.
    pub first_partial: u32,
    /// Distance between the rows of J in `source`.
    pub row_stride: u32,
    /// Distance between the columns of J in `source`.
    pub stride: u32,
    /// Numbers in `result` for each parameter; 0 where the result is scratch.
    pub scale: u32,
    /// 1 to add to what stands in `result`, 0 to write over it.
    pub add: u32,
    /// 1 to keep the errors of sums, in `low`.
    pub pairs: u32,
    /// 0, which no compiler knows to be 0.
    pub zero: u32,
}

impl Curvature {
    /// How many workgroups it takes.
    pub fn workgroups(self) -> u32 {
        (self.rows * self.numbers).div_ceil(64)
    }

    /// The words that the uniform buffer holds.
    pub fn words(self) -> [u32; 11] {
        let Curvature { rows, dim, numbers, outputs, first_partial, row_stride, stride, scale, add, pairs, zero } =
            self;
        [rows, dim, numbers, outputs, first_partial, row_stride, stride, scale, add, pairs, zero]
    }
}

/// Uniform of [`gather`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Gather {
    /// How many rows there are.
    pub rows: u32,
    /// How many components a row has.
    pub dim: u32,
    /// Distance between the components of an entry in `local`.
    pub component_stride: u32,
    /// 1 to add to what stands in `result`, 0 to write over it.
    pub add: u32,
    /// 0, which no compiler knows to be 0.
    pub zero: u32,
}

impl Gather {
    /// How many workgroups it takes.
    pub fn workgroups(self) -> u32 {
        (self.rows * self.dim).div_ceil(64)
    }

    /// The words that the uniform buffer holds.
    pub fn words(self) -> [u32; 5] {
        [self.rows, self.dim, self.component_stride, self.add, self.zero]
    }
}
