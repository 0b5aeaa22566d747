//! Right factors of products with few rows that lie along the depth in whole vectors of words: how a thread reads them.

use residua_codegen::template_parameters;

use super::functions::set_coordinates;
use super::roles::Roles;
use crate::dtype::DType;
use crate::kernel::{Extent, Product, Tile};
use crate::quantised::QuantBits;
use crate::scalar::{Id, LoadAt, Node};
use crate::wgsl::batch;
use crate::wgsl::code::Code;
use crate::wgsl::layout::{Layout, name_of_buffer};
use crate::wgsl::module::{Module, QUANTISED};

template_parameters! {
    /// Parameters of `product_blocks.wgsl`.
    pub struct BlocksTemplate {
        suffix: String,
        threads: u32,
        places: u32,
        cluster: u32,
        row_count: u32,
        column_count: u32,
        vectors: u32,
        vector: u32,
        block: u32,
        word: u32,
        word_steps: u32,
        half_steps: u32,
        words: String,
        in_windows: bool,
        quantised: bool,
        four_bits: bool,
        eight_bits: bool,
        halves: bool,
        sum: String,
        unit: String,
        rows: String,
        columns: String,
        depth: String,
        batches: String,
        batch_coordinates: String,
        batch_arguments: String,
    }
}

/// What the words hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Quantised(QuantBits),
    Halves,
    Singles,
}

impl Form {
    /// Numbers of a vector of four words.
    const fn a_vector(self) -> u32 {
        match self {
            Form::Quantised(bits) => 4 * bits.a_word(),
            Form::Halves => 8,
            Form::Singles => 4,
        }
    }

    /// Vectors that a thread reads of a column at once.
    const fn vectors(self) -> u32 {
        match self {
            Form::Quantised(QuantBits::Four) => 1,
            Form::Quantised(QuantBits::Eight) | Form::Halves | Form::Singles => 2,
        }
    }

    /// What four numbers as `quantised.wgsl` gives them are to be multiplied by, if they are.
    const fn unit(self) -> &'static str {
        match self {
            Form::Quantised(QuantBits::Four) => "vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625)",
            Form::Quantised(QuantBits::Eight) => "vec4<f32>(1.0, 0.00390625, 1.0, 0.00390625)",
            Form::Halves | Form::Singles => "",
        }
    }

    /// Elements of the buffer in a vector.
    const fn elements(self) -> u32 {
        match self {
            Form::Quantised(_) | Form::Singles => 4,
            Form::Halves => 8,
        }
    }
}

/// How a thread reads a right factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    form: Form,
    /// The words, or the numbers themselves.
    words: LoadAt,
    /// The scales of quantised numbers.
    scales: Option<LoadAt>,
    /// Threads that divide the depth of four columns; a power of two.
    places: u32,
    /// Rows of a workgroup.
    rows: u32,
}

impl Blocks {
    /// Threads of a workgroup.
    pub const THREADS: u32 = 128;

    /// How the right factor of a product is read; none if it is no load along the depth of whole vectors.
    pub fn of(module: &Module, roles: Roles) -> Option<Blocks> {
        let kernel = module.kernel;
        let [_, _, depth] = roles.axes;
        let (form, words, scales) = match (kernel.graph.as_dequantized(roles.right), kernel.graph.node(roles.right)) {
            (Some(factor), _) if kernel.graph.is_in_blocks(&factor, depth, &kernel.sizes) => {
                (Form::Quantised(factor.bits), factor.word, Some(factor.scale))
            }
            (None, Node::Load { buffer, index }) => {
                let form = match kernel.buffers[buffer as usize].dtype {
                    DType::F32 => Form::Singles,
                    DType::F16 => Form::Halves,
                    DType::I32 | DType::U32 | DType::U8 | DType::Bool => return None,
                };
                (form, (buffer, index), None)
            }
            _ => return None,
        };
        let block = form.a_vector() * form.vectors();
        let is_whole = match scales {
            Some(_) => true,
            None => kernel.graph.is_consecutive(words.1, depth, block, form.elements(), &kernel.sizes),
        };
        let is_read = !kernel.buffers[words.0 as usize].written;
        if !is_whole || !is_read || !module.kernel.is_multiple(roles.extents[2], block) {
            return None;
        }
        let [rows, columns, length] = roles.extents.map(|extent| kernel.bound(extent));
        let blocks = length.map_or(64, |length| length / block);
        let rows = rows.unwrap_or(4).clamp(1, Tile::MOST_ROWS);
        Some(Blocks { form, words, scales, places: places_of(columns, blocks), rows })
    }

    /// Columns of a workgroup of so many threads.
    pub const fn columns(&self, threads: u32) -> u32 {
        threads / self.places * 4
    }

    /// Rows of a workgroup.
    pub const fn rows(&self) -> u32 {
        self.rows
    }

    /// Whether the words are bound in windows.
    pub fn in_windows(&self, module: &Module) -> bool {
        module.windows.of(self.words.0 as usize) > 1
    }

    /// Declares what it reads.
    pub fn declare(&self, module: &mut Module) {
        module.layouts[self.words.0 as usize] = match self.form {
            Form::Quantised(_) | Form::Singles => Layout::Vectors,
            Form::Halves => Layout::PackedVectors,
        };
    }

    /// Whether words hold several numbers.
    pub fn are_packed(&self) -> bool {
        self.form != Form::Singles
    }

    /// Whether the numbers are quantised to four bits, and whether to eight.
    pub fn are_quantised(&self) -> [bool; 2] {
        [QuantBits::Four, QuantBits::Eight].map(|bits| self.form == Form::Quantised(bits))
    }

    /// Bits of a number in memory.
    pub const fn bits(&self) -> u32 {
        128 / self.a_vector()
    }

    /// What four of the numbers are to be multiplied by, if they are.
    pub const fn unit(&self) -> &'static str {
        self.form.unit()
    }

    /// The name of the buffer of words.
    pub fn words(&self) -> String {
        name_of_buffer(self.words.0)
    }

    /// Numbers of a vector of four words.
    pub const fn a_vector(&self) -> u32 {
        self.form.a_vector()
    }

    /// The functions that say where the numbers of a column begin, and what their scale is; their names end with `suffix`.
    pub fn functions(
        &self,
        module: &mut Module,
        product: &Product,
        roles: Roles,
        threads: u32,
        suffix: &str,
    ) -> String {
        let last = self.last(module, roles, self.columns(threads));
        let mut text = self.index(module, product, roles, last, suffix);
        if let Some((buffer, index)) = self.scales {
            let scale = function(module, product, roles, last, index, |module, index| module.place(buffer).load(index));
            let parameters = batch::parameters(&product.batch);
            text += &format!("\nfn right_scale{suffix}({parameters}column: u32, depth: u32) -> f32 {{\n{scale}}}\n");
        }
        text
    }

    /// The functions that say where the numbers of a column begin, in tiles of so many columns, and which word has their scale as its low half:
    /// the scale is not computed where the word is loaded, which would wait for it.
    pub fn functions_of_bits(&self, module: &mut Module, product: &Product, roles: Roles, columns: u32) -> String {
        let last = self.last(module, roles, columns);
        let mut text = self.index(module, product, roles, last, "");
        if let Some((buffer, index)) = self.scales {
            let bits = |module: &Module, index: &str| module.place(buffer).load_bits(index);
            let bits = function(module, product, roles, last, index, bits);
            let parameters = batch::parameters(&product.batch);
            text += &format!("\nfn right_scale_bits({parameters}column: u32, depth: u32) -> u32 {{\n{bits}}}\n");
        }
        text
    }

    /// What limits columns, if those beyond the last are asked for.
    fn last(&self, module: &Module, roles: Roles, columns: u32) -> Option<Extent> {
        let extent = roles.extents[1];
        (!module.kernel.is_multiple(extent, columns)).then_some(extent)
    }

    fn index(
        &self,
        module: &mut Module,
        product: &Product,
        roles: Roles,
        last: Option<Extent>,
        suffix: &str,
    ) -> String {
        if self.scales.is_some() {
            module.push_shader(QUANTISED);
        }
        let shift = self.form.elements().trailing_zeros();
        let index = function(module, product, roles, last, self.words.1, |_, index| format!("{index} >> {shift}u"));
        let parameters = batch::parameters(&product.batch);
        format!("\nfn right_index{suffix}({parameters}column: u32, depth: u32) -> u32 {{\n{index}}}\n")
    }

    /// The parameters of the template.
    pub fn template(
        &self,
        module: &Module,
        product: &Product,
        roles: Roles,
        threads: u32,
        suffix: &str,
    ) -> BlocksTemplate {
        let Blocks { form, words, scales, places, rows } = *self;
        let (word_steps, half_steps) = match form {
            Form::Quantised(QuantBits::Four) => (4, 2),
            Form::Quantised(QuantBits::Eight) => (4, 1),
            Form::Halves => (2, 1),
            Form::Singles => (1, 1),
        };
        BlocksTemplate {
            suffix: suffix.to_owned(),
            threads,
            places,
            cluster: CLUSTER,
            row_count: rows,
            column_count: self.columns(threads),
            vectors: form.vectors(),
            vector: form.a_vector(),
            block: form.a_vector() * form.vectors(),
            word: form.a_vector() / word_steps,
            word_steps,
            half_steps,
            words: name_of_buffer(words.0),
            in_windows: self.in_windows(module),
            quantised: scales.is_some(),
            four_bits: form == Form::Quantised(QuantBits::Four),
            eight_bits: form == Form::Quantised(QuantBits::Eight),
            halves: form == Form::Halves,
            sum: if scales.is_some() { "block" } else { "sum" }.to_owned(),
            unit: form.unit().to_owned(),
            rows: module.extent(roles.extents[0]),
            columns: module.extent(roles.extents[1]),
            depth: module.extent(product.depth),
            batches: batch::count(module, &product.batch),
            batch_coordinates: batch::coordinates(module, &product.batch),
            batch_arguments: batch::arguments(&product.batch),
        }
    }
}

/// The body of a function of `column` and `depth` that returns what `result` makes of an index there.
fn function(
    module: &mut Module,
    product: &Product,
    roles: Roles,
    last: Option<Extent>,
    index: Id,
    result: impl Fn(&Module, &str) -> String,
) -> String {
    let last = last.map(|last| module.extent(last));
    let [_, column, depth] = roles.axes;
    let mut code = Code::new(module, None);
    set_coordinates(&mut code, product);
    code.set_coordinate(depth, "depth".to_owned());
    let place = match last {
        Some(last) => code.bind(&format!("min(column, {last} - 1u)")),
        None => "column".to_owned(),
    };
    code.set_coordinate(column, place);
    let index = code.value(index).text;
    let value = result(code.module, &index);
    code.line(&format!("return {value};"));
    code.finish()
}

/// Neighbours that read places beside one another; other neighbours read the same places of other columns.
const CLUSTER: u32 = 4;

/// Threads that keep a large device busy: it has about 130 cores with 1,000 threads each.
const ENOUGH_THREADS: u32 = 1 << 17;

/// How many threads divide the blocks of four columns: as many as keep a device busy, but few of them idle in the last turn.
fn places_of(columns: Option<u32>, blocks: u32) -> u32 {
    let groups = columns.unwrap_or(4096).div_ceil(4).max(1);
    let wanted = (ENOUGH_THREADS / groups).max(1);
    let mut places = (1 << wanted.ilog2()).clamp(8, Blocks::THREADS);
    while places > 8 && blocks.next_multiple_of(places) > blocks + blocks / 8 {
        places /= 2;
    }
    places
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_column_are_many_where_columns_are_few() {
        for ((columns, blocks), places) in [
            ((14336, 128), 32),
            ((4096, 448), 64),
            ((32000, 64), 16),
            ((2048, 176), 64),
            ((2048, 352), 128),
            ((2048, 64), 64),
            ((1 << 20, 64), 8),
            ((1, 1), 8),
            ((4, 1 << 20), 128),
        ] {
            assert_eq!(places_of(Some(columns), blocks), places, "{columns} columns of {blocks} blocks");
        }
        assert_eq!(places_of(None, 64), 64);
    }
}
