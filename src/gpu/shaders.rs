//! The static shaders: their composed texts, and the Rust twins of their uniforms. Each has one entry point, of the file's
//! name, and its bindings in the order of its declarations, the uniform last. All take 64 threads a workgroup, and a second
//! dimension of workgroups where one does not suffice.

use crate::codegen::wgsl::compose;
use crate::codegen::wgsl::source::shader;

/// Sums `input` to pairs of a number and its error, one pair for [`ReduceSum::TERMS_PER_WORKGROUP`] terms. Bindings: `input`
/// (read), `output` (written), the uniform [`ReduceSum`].
pub fn reduce_sum() -> String {
    compose(shader!("../../shaders/reduce_sum.wgsl"))
}

/// Sums entries of `local` by the rows of a transposed incidence. Bindings: `offsets`, `entries`, `targets` (indices, read),
/// `local` (read), `result` (written), the uniform [`Gather`]. Takes one thread for each component of each row.
pub fn gather() -> String {
    compose(shader!("../../shaders/gather.wgsl"))
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
