//! Right factors of products with few rows that lie along the depth in whole vectors of words: how a thread reads them.

use residua_codegen::template_parameters;

use super::column_functions::ColumnFunctions;
use super::roles::Roles;
use crate::dtype::DType;
use crate::kernel::{Product, Tile};
use crate::quantised::{self, Level};
use crate::scalar::{Dequantized, Id, LoadAt, TypedNode};
use crate::wgsl::batch;
use crate::wgsl::layout::{Layout, name_of_buffer};
use crate::wgsl::module::{BYTES, Module, QUANTISED};

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
        spread: bool,
        upper: bool,
        minima: bool,
        groups: u32,
        halves: bool,
        sum: String,
        unit: String,
    }
}

/// What the words hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Quantised(quantised::Form),
    Halves,
    Singles,
}

impl Form {
    /// Numbers of a vector of four words.
    fn a_vector(self) -> u32 {
        match self {
            // Integers of two bits become nibbles.
            Form::Quantised(form) => if_bytes(form, 16, 32),
            Form::Halves => 8,
            Form::Singles => 4,
        }
    }

    /// Vectors that a thread reads of a column at once.
    fn vectors(self) -> u32 {
        match self {
            Form::Quantised(form) => if_bytes(form, 2, 1),
            Form::Halves | Form::Singles => 2,
        }
    }

    /// What four numbers as `quantised.wgsl` gives them are to be multiplied by, if they are.
    fn unit(self) -> &'static str {
        match self {
            Form::Quantised(form) if form.level == Level::Curve => "vec4<f32>(1.0)",
            Form::Quantised(form) => if_bytes(
                form,
                "vec4<f32>(1.0, 0.00390625, 1.0, 0.00390625)",
                "vec4<f32>(1.0, 0.0625, 0.00390625, 0.000244140625)",
            ),
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

/// One of two by whether a format has bytes.
fn if_bytes<T>(form: quantised::Form, bytes: T, others: T) -> T {
    if form.low == 8 { bytes } else { others }
}

/// What functions give of the integers of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Four as f32, as `quantised.wgsl` has them.
    Singles,
    /// Four as signed bytes of a word.
    Bytes,
}

/// How a thread reads a right factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// With which word the names of its functions begin.
    name: &'static str,
    form: Form,
    /// The words, or the numbers themselves.
    words: LoadAt,
    /// What quantised numbers are made of.
    factor: Option<Dequantized>,
    /// Threads that divide the depth of four columns; a power of two.
    places: u32,
    /// Rows of a workgroup.
    rows: u32,
}

impl Blocks {
    /// How the right factor of a product is read; none if it is no load along the depth of whole vectors.
    pub fn of(module: &Module, roles: Roles) -> Option<Blocks> {
        Blocks::named("right", module, roles)
    }

    /// How the left factor is read, likewise.
    pub fn of_left(module: &Module, roles: Roles) -> Option<Blocks> {
        Blocks::named("left", module, roles.transposed())
    }

    fn named(name: &'static str, module: &Module, roles: Roles) -> Option<Blocks> {
        let kernel = module.kernel;
        let [_, _, depth] = roles.axes;
        let factor = kernel.graph.as_dequantized(roles.right);
        let (form, words) = match (factor, kernel.graph.node(roles.right)) {
            (Some(factor), _) if kernel.graph.is_in_blocks(&factor, depth, &kernel.sizes) => {
                (Form::Quantised(factor.form), factor.word)
            }
            (None, TypedNode::Load { buffer, index }) => {
                let form = match kernel.buffers[buffer as usize].dtype {
                    DType::F32 => Form::Singles,
                    DType::F16 => Form::Halves,
                    DType::I32 | DType::U32 | DType::U8 | DType::Bool => return None,
                };
                (form, (buffer, index))
            }
            _ => return None,
        };
        let block = form.a_vector() * form.vectors();
        let is_whole =
            factor.is_some() || kernel.graph.is_consecutive(words.1, depth, block, form.elements(), &kernel.sizes);
        let is_read = !kernel.buffers[words.0 as usize].written;
        if !is_whole || !is_read || !module.kernel.is_multiple(roles.extents[2], block) {
            return None;
        }
        let [rows, columns, length] = roles.extents.map(|extent| kernel.bound(extent));
        let blocks = length.map_or(64, |length| length / block);
        let rows = rows.unwrap_or(4).clamp(1, Tile::MOST_ROWS);
        Some(Blocks { name, form, words, factor, places: places_of(columns, blocks), rows })
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
        if self.is_spread() {
            return;
        }
        module.layouts[self.words.0 as usize] = match self.form {
            Form::Quantised(_) | Form::Singles => Layout::Vectors,
            Form::Halves => Layout::PackedVectors,
        };
    }

    /// Whether words hold several numbers.
    pub fn are_packed(&self) -> bool {
        self.form != Form::Singles
    }

    /// The format of quantised numbers.
    pub fn quantised(&self) -> Option<quantised::Form> {
        self.factor.map(|factor| factor.form)
    }

    /// Whether blocks of 32 numbers have two words, which become four.
    pub fn is_spread(&self) -> bool {
        self.quantised().is_some_and(|form| form.low == 2)
    }

    /// Whether there are bits above the lower four.
    pub fn has_upper(&self) -> bool {
        self.quantised().is_some_and(|form| form.low == 4 && form.high > 0)
    }

    /// Whether there is a minimum.
    pub fn has_minimum(&self) -> bool {
        self.factor.is_some_and(|factor| factor.minimum.is_some())
    }

    /// Four numbers from texts of words.
    pub fn four(&self, word: &str, upper: &str) -> String {
        if self.has_upper() { format!("right_four({word}, {upper})") } else { format!("right_four({word})") }
    }

    /// The type of the bits of the side from which the scale and the minimum of a block are computed.
    pub fn side_type(&self, module: &Module) -> String {
        match self.side_loads(module).len() {
            0 | 1 => "u32".to_owned(),
            count => format!("vec{count}<u32>"),
        }
    }

    /// What the right factor has in memory: bits of a number, or 64 and the code of a format.
    pub fn stored(&self) -> u32 {
        self.quantised().map_or(128 / self.form.a_vector(), |form| 64 + form.code())
    }

    /// What four of the numbers are to be multiplied by, if they are.
    pub fn unit(&self) -> &'static str {
        self.form.unit()
    }

    /// The name of the buffer of words.
    pub fn words(&self) -> String {
        name_of_buffer(self.words.0)
    }

    /// Numbers of a vector of four words.
    pub fn a_vector(&self) -> u32 {
        self.form.a_vector()
    }

    /// The functions that say where the numbers of a column begin, and what their scale and minimum are; their names end with `suffix`.
    pub fn functions(
        &self,
        module: &mut Module,
        product: &Product,
        roles: Roles,
        threads: u32,
        suffix: &str,
    ) -> String {
        let columns = self.columns(threads);
        let mut writer = ColumnFunctions { module, product, roles, columns, name: self.name, suffix };
        let mut text = self.words_functions(&mut writer) + &self.four_function(&mut writer);
        if let Some(Dequantized { scale, minimum, .. }) = self.factor {
            text += &writer.function("scale", "f32", "", scale, None);
            if let Some(minimum) = minimum {
                text += &writer.function("minimum", "f32", "", minimum, None);
            }
        }
        text
    }

    /// The functions that say where the numbers of a column begin, in tiles of so many columns, which bits of the side the scale and the minimum need,
    /// and what these are. They are not computed where the bits are loaded, which would wait for them.
    pub fn functions_of_bits(
        &self,
        module: &mut Module,
        product: &Product,
        roles: Roles,
        columns: u32,
        numbers: Numbers,
    ) -> String {
        let (ty, loads) = (self.side_type(module), self.side_loads(module));
        let mut writer = ColumnFunctions { module, product, roles, columns, name: self.name, suffix: "" };
        let mut text = self.words_functions(&mut writer);
        text += &match numbers {
            Numbers::Singles => self.four_function(&mut writer),
            Numbers::Bytes => self.bytes_function(&mut writer),
        };
        let Some(Dequantized { scale, minimum, .. }) = self.factor else { return text };
        text += &writer.bits("side", &ty, &loads);
        let parameter = format!(", side: {ty}");
        text += &writer.function("scale_of", "f32", &parameter, scale, Some(&loads));
        if let Some(minimum) = minimum {
            text += &writer.function("minimum_of", "f32", &parameter, minimum, Some(&loads));
        }
        text
    }

    /// The loads of the side that the scale and the minimum need.
    fn side_loads(&self, module: &Module) -> Vec<Id> {
        let Some(Dequantized { side, scale, minimum, .. }) = self.factor else { return Vec::new() };
        module.kernel.graph.loads_of(side.0, [scale].into_iter().chain(minimum))
    }

    /// The functions of words.
    fn words_functions(&self, writer: &mut ColumnFunctions) -> String {
        let Some(Dequantized { form, word, side, level, .. }) = self.factor else { return self.index(writer) };
        writer.module.push_shader(QUANTISED);
        let ColumnFunctions { product, name, suffix, .. } = *writer;
        let parameters = format!("{}column: u32, depth: u32", batch::parameters(&product.batch));
        let arguments = format!("{}column, depth", batch::arguments(&product.batch));
        let mut load = |of: &str, buffer: u32| {
            let load = writer.module.kernel.graph.loads_of(buffer, [level]);
            load.first().map_or_else(String::new, |load| writer.function(of, "u32", "", *load, None))
        };
        let pairs = |of: &str| {
            format!("spread_pairs({name}_{of}{suffix}({arguments}), {name}_{of}{suffix}({arguments} + 16u))")
        };
        let high = match form.high {
            1 => format!("spread_bits({name}_high{suffix}({arguments}))"),
            _ => pairs("high"),
        };
        let vector =
            |of: &str, value: &str| function_text(&format!("{name}_{of}{suffix}({parameters}) -> vec4<u32>"), value);
        let mut text = if form.high > 0 { load("high", side.0) } else { String::new() };
        if self.is_spread() {
            text += &load("word", word.0);
            let third = if form.high > 0 { format!(" | ({high} << vec4<u32>(2u))") } else { String::new() };
            text += &vector("words", &(pairs("word") + &third));
        } else {
            text += &self.index(writer);
        }
        if self.has_upper() {
            text += &vector("upper", &high);
        }
        text
    }

    /// The function of four numbers of a word.
    fn four_function(&self, writer: &mut ColumnFunctions) -> String {
        let Some(Dequantized { form, .. }) = self.factor else { return String::new() };
        let (parameters, four) = match form.level {
            Level::Signed => ("word: u32", "four_bytes(word)".to_owned()),
            Level::Curve => ("word: u32", "four_of_curve(word)".to_owned()),
            Level::Less(zero) => {
                // 2²³ and the number zero.
                let zero = [1, 16, 256, 4096].map(|unit| format!("{}.0", (1 << 23) + zero * unit)).join(", ");
                match self.has_upper() {
                    true => ("word: u32, upper: u32", format!("four_of_more(word, upper, vec4<f32>({zero}))")),
                    false => ("word: u32", format!("four_nibbles(word, vec4<f32>({zero}))")),
                }
            }
        };
        let ColumnFunctions { name, suffix, .. } = *writer;
        function_text(&format!("{name}_four{suffix}({parameters}) -> vec4<f32>"), &four)
    }

    /// The function of four numbers of the low half of a word as signed bytes.
    fn bytes_function(&self, writer: &mut ColumnFunctions) -> String {
        let level = self.factor.map(|factor| factor.form.level);
        let (parameters, bytes) = match level {
            Some(Level::Curve) => ("word: u32", "bytes_of_curve(word)".to_owned()),
            Some(Level::Less(zero)) => {
                let zero = zero * 0x0101_0101;
                match self.has_upper() {
                    true => ("word: u32, upper: u32", format!("bytes_of_more(word, upper, {zero}u)")),
                    false => ("word: u32", format!("bytes_of_nibbles(word, {zero}u)")),
                }
            }
            Some(Level::Signed) | None => return String::new(),
        };
        writer.module.push_shader(BYTES);
        let ColumnFunctions { name, suffix, .. } = *writer;
        function_text(&format!("{name}_bytes{suffix}({parameters}) -> u32"), &bytes)
    }

    /// The function that says where the words of a column begin.
    fn index(&self, writer: &mut ColumnFunctions) -> String {
        let shift = self.form.elements().trailing_zeros();
        writer.text("index", "u32", "", |code| {
            let index = code.value(self.words.1).text;
            format!("{index} >> {shift}u")
        })
    }

    /// The parameters of the template.
    pub fn template(&self, module: &Module, threads: u32, suffix: &str) -> BlocksTemplate {
        let Blocks { form, words, places, rows, .. } = *self;
        let groups = self.quantised().map_or(1, |form| quantised::BLOCK / form.group);
        let (word_steps, half_steps) = match form {
            Form::Quantised(form) => (4 / groups, if_bytes(form, 1, 2)),
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
            word: form.a_vector() / word_steps / groups,
            word_steps,
            half_steps,
            words: name_of_buffer(words.0),
            in_windows: self.in_windows(module),
            quantised: self.factor.is_some(),
            spread: self.is_spread(),
            upper: self.has_upper(),
            minima: self.has_minimum(),
            groups,
            halves: form == Form::Halves,
            sum: if self.factor.is_some() { "block" } else { "sum" }.to_owned(),
            unit: form.unit().to_owned(),
        }
    }
}

/// A function that returns a value.
fn function_text(head: &str, value: &str) -> String {
    format!("\nfn {head} {{\n    return {value};\n}}\n")
}

/// Neighbours that read places beside one another; other neighbours read the same places of other columns.
const CLUSTER: u32 = 4;

/// Threads that keep a large device busy: it has about 130 cores with 1,000 threads each.
const ENOUGH_THREADS: u32 = 1 << 17;

/// How many threads divide the blocks of four columns: as many as keep a device busy, but few of them idle in the last turn.
fn places_of(columns: Option<u32>, blocks: u32) -> u32 {
    let groups = columns.unwrap_or(4096).div_ceil(4).max(1);
    let wanted = (ENOUGH_THREADS / groups).max(1);
    let mut places = (1 << wanted.ilog2()).clamp(8, Product::BLOCK_THREADS);
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
