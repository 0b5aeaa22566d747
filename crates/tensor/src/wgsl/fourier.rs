//! Fourier transforms of rows: a workgroup has one row or several. The numbers of a row are in registers of its threads, and go from stage to stage
//! through workgroup memory (Stockham's algorithm).
//!
//! A stage of radix r has n/r butterflies. With the product N of the radices before it, butterfly j takes the numbers j + q n/r for q < r, multiplies
//! them by e^(−2πi (j mod N) q/(N r)), and gives those at ⌊j/N⌋ N r + j mod N + q N.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;

use super::batch;
use super::butterflies::{butterfly, number};
use super::code::Code;
use super::layout::{Layout, name_of_buffer};
use super::module::Module;
use super::operation::Text;
use super::points::Axes;
use super::sort::declare;
use super::text::KernelText;
use super::workgroups::Workgroups;
use crate::expr::{Fourier as Of, FourierKind};
use crate::kernel::{Fourier, WORKGROUP_THREADS};
use crate::scalar::{Id, Type, TypedNode};

/// Numbers of f32 in workgroup memory. Where it has place for one part of the numbers, parts are exchanged one after the other.
const MEMORY: u32 = 4096;
/// Numbers that a thread has, about.
const OF_A_THREAD: u32 = 16;
/// Fewest threads of a workgroup that may have several rows.
const FEWEST_THREADS: u32 = 64;
/// Rows that are neighbours in memory and in a workgroup, if there is place for so many.
const NEIGHBOURS: u32 = 16;

const TURNED: &str = "
fn turned(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
";

/// Spreads numbers whose distance is a power of two over the banks of workgroup memory.
const PLACE_OF: &str = "
fn place_of(i: u32) -> u32 {
    return i ^ ((i >> 5u) & 15u) ^ ((i >> 4u) & 16u);
}
";

/// How the numbers of rows are divided among threads.
struct Division {
    /// Numbers of a row.
    length: u32,
    /// Radices of the stages.
    radices: Vec<u32>,
    /// Threads of a row.
    threads: u32,
    /// Rows of a workgroup.
    rows: u32,
    /// Whether rows are neighbours in workgroup memory too.
    is_by_columns: bool,
}

impl Division {
    fn of(fourier: &Fourier) -> Result<Division> {
        let length = fourier.of.length;
        let threads = length.div_ceil(OF_A_THREAD);
        let by_rows = fourier.reads_rows && fourier.writes_rows;
        let most = (MEMORY / length).min(WORKGROUP_THREADS / threads);
        let rows = if by_rows { FEWEST_THREADS / threads } else { NEIGHBOURS.max(FEWEST_THREADS / threads) };
        match radices(length) {
            Some(radices) if most > 0 => {
                Ok(Division { length, radices, threads, rows: rows.clamp(1, most), is_by_columns: !by_rows })
            }
            _ => Err(Error::internal(format!("a workgroup transforms no row of {length} numbers"))),
        }
    }

    /// Lines that name the thread within its row, and the row, of a workgroup and of all.
    fn locate(&self, by_rows: bool, suffix: &str, outer: &Axes, code: &mut Code) {
        let (threads, rows) = (self.threads, self.rows);
        let (thread, row) = if rows == 1 {
            ("lane".to_owned(), "0u".to_owned())
        } else if by_rows {
            (format!("lane % {threads}u"), format!("lane / {threads}u"))
        } else {
            (format!("lane / {rows}u"), format!("lane % {rows}u"))
        };
        code.line(&format!("let thread{suffix} = {thread};"));
        code.line(&format!("let row{suffix} = {row};"));
        code.line(&format!("let number{suffix} = workgroup * {rows}u + row{suffix};"));
        let count = outer.count(code.module);
        code.line(&format!("let is_row{suffix} = number{suffix} < {count};"));
        outer.locate(&format!("number{suffix}"), code);
    }

    /// Butterflies of a thread in a stage.
    fn butterflies(&self, radix: u32) -> u32 {
        (self.length / radix).div_ceil(self.threads)
    }

    /// The place of a number of a row in workgroup memory.
    fn place(&self, row: &str, index: &str) -> String {
        if self.is_by_columns && self.rows > 1 {
            format!("({index}) * {}u + {row}", self.rows)
        } else if self.is_spread() {
            format!("{row} * {}u + place_of({index})", self.length)
        } else {
            format!("{row} * {}u + {index}", self.length)
        }
    }

    fn is_spread(&self) -> bool {
        !(self.is_by_columns && self.rows > 1) && self.length.is_multiple_of(32) && self.radices.len() > 1
    }

    /// Whether workgroup memory has place for both parts.
    fn holds_both(&self) -> bool {
        2 * self.length * self.rows <= MEMORY
    }
}

/// The radices of the stages of a length: powers of two by sixteens at most, of about equal size, and then odd primes.
fn radices(length: u32) -> Option<Vec<u32>> {
    let primes = Of::radices(length)?;
    let twos = primes.iter().filter(|prime| **prime == 2).count() as u32;
    let stages = twos.div_ceil(4);
    let bits = |stage: u32| (twos + stages - 1 - stage) / stages;
    let powers = (0..stages).map(|stage| 1 << bits(stage));
    let radices: Vec<u32> = powers.chain(primes.into_iter().filter(|prime| *prime != 2)).list();
    // One number is its own transform.
    Some(if radices.is_empty() { vec![1] } else { radices })
}

/// Writes the kernel.
pub fn write(mut module: Module, fourier: &Fourier) -> Result<KernelText> {
    let division = Division::of(fourier)?;
    declare_pairs(&mut module, fourier);
    let mut declarations = TURNED.to_owned();
    if division.is_spread() {
        declarations += PLACE_OF;
    }
    if division.radices.len() > 1 {
        let element = if division.holds_both() { "vec2<f32>" } else { "f32" };
        declarations += &format!("\nvar<workgroup> held: array<{element}, {}>;\n", division.length * division.rows);
    }
    declarations += &number_at(&mut module, fourier);
    declarations += &store_at(&mut module, fourier);
    let outer = Axes::new(0, &fourier.outer, None);
    let mut code = Code::new(&mut module, None);
    division.locate(fourier.reads_rows, "", &outer, &mut code);
    let mut stages = Stages { division: &division, fourier, outer: &outer, before: 1, suffix: "" };
    let mut numbers: Vec<Vec<String>> = Vec::new();
    for stage in 0..division.radices.len() {
        let x = if stage == 0 { stages.first(&mut code) } else { stages.next(stage, &numbers, &mut code) };
        numbers = x.iter().map(|x| butterfly(x, &mut code)).list();
    }
    stages.last(&numbers, &mut code);
    let body = code.finish();
    let workgroups = Workgroups::new(outer.factors(), division.rows);
    module.finish(&declarations, &body, division.threads * division.rows, workgroups)
}

/// The stages of a row.
struct Stages<'a> {
    division: &'a Division,
    fourier: &'a Fourier,
    outer: &'a Axes,
    /// The product of the radices before the present stage.
    before: u32,
    /// What follows the names of the thread and of the row.
    suffix: &'static str,
}

impl Stages<'_> {
    /// Declares the numbers of a stage and names its butterflies.
    fn declare(&self, stage: usize, code: &mut Code) -> Vec<Vec<String>> {
        let Division { radices, threads, .. } = self.division;
        let radix = radices[stage];
        let mut x = Vec::new();
        for own in 0..self.division.butterflies(radix) {
            code.line(&format!("let j{stage}_{own} = thread{} + {}u;", self.suffix, own * threads));
            let names: Vec<String> = (0..radix).map(|q| format!("x{stage}_{own}_{q}")).list();
            names.iter().for_each(|name| code.line(&format!("var {name} = vec2<f32>();")));
            x.push(names);
        }
        x
    }

    /// Writes lines for each number of a stage, where there is one: of the number's butterfly, which it is of it, and its name.
    fn each(
        &self,
        stage: usize,
        x: &[Vec<String>],
        condition: Option<&str>,
        code: &mut Code,
        mut line: impl FnMut(&str, u32, &str, &mut Code),
    ) {
        let Division { radices, threads, length, .. } = self.division;
        let count = length / radices[stage];
        for (own, names) in (0..).zip(x) {
            let j = format!("j{stage}_{own}");
            let bound = ((own + 1) * threads > count).then(|| format!("{j} < {count}u"));
            let conditions = [condition.map(str::to_owned), bound].into_iter().flatten().list();
            if !conditions.is_empty() {
                code.open(&format!("if {}", conditions.join(" && ")));
            }
            for (q, name) in (0..).zip(names) {
                line(&j, q, name, code);
            }
            if !conditions.is_empty() {
                code.close();
            }
        }
    }

    /// The coordinates of the row as leading arguments.
    fn arguments(&self, code: &Code) -> String {
        (0..self.fourier.outer.len() as u32).map(|axis| code.coordinate(axis) + ", ").collect()
    }

    /// The numbers of the first stage, from memory.
    fn first(&self, code: &mut Code) -> Vec<Vec<String>> {
        let x = self.declare(0, code);
        let count = self.division.length / self.division.radices[0];
        let arguments = self.arguments(code);
        self.each(0, &x, Some("is_row"), code, |j, q, name, code| {
            code.line(&format!("{name} = number_at({arguments}{j} + {}u);", q * count));
        });
        x
    }

    /// The numbers of another stage, from those that the one before gives.
    fn next(&mut self, stage: usize, given: &[Vec<String>], code: &mut Code) -> Vec<Vec<String>> {
        let division = self.division;
        let (radix, before) = (division.radices[stage], self.before);
        let earlier = division.radices[stage - 1];
        let count = division.length / radix;
        let from = format!("row{}", self.suffix);
        if stage + 1 == division.radices.len() && self.fourier.reads_rows != self.fourier.writes_rows {
            self.suffix = "_of_result";
            division.locate(self.fourier.writes_rows, self.suffix, self.outer, code);
        }
        let to = format!("row{}", self.suffix);
        let x = self.declare(stage, code);
        let parts: &[&str] = if division.holds_both() { &[""] } else { &[".x", ".y"] };
        for (turn, part) in parts.iter().enumerate() {
            if stage > 1 || turn > 0 {
                code.line("workgroupBarrier();");
            }
            self.each(stage - 1, given, None, code, |j, q, name, code| {
                let first = if before == 1 {
                    format!("{j} * {earlier}u")
                } else {
                    format!("({j} / {before}u) * {}u + {j} % {before}u", before * earlier)
                };
                let place = division.place(&from, &format!("{first} + {}u", q * before));
                code.line(&format!("held[{place}] = {name}{part};"));
            });
            code.line("workgroupBarrier();");
            self.each(stage, &x, None, code, |j, q, name, code| {
                let place = division.place(&to, &format!("{j} + {}u", q * count));
                code.line(&format!("{name}{part} = held[{place}];"));
            });
        }
        self.before *= earlier;
        let before = self.before;
        // The root of the factor of a number is q · (j mod N) · n/(N r) parts of a turn.
        let roots = self.fourier.roots;
        let step = division.length / (before * radix);
        self.each(stage, &x, None, code, |j, q, name, code| {
            if q > 0 {
                let place = if before == count { j.to_owned() } else { format!("({j} % {before}u)") };
                let root = match roots {
                    Some(buffer) if !is_of_pairs(code.module, buffer) => {
                        let parts = [0, 1].map(|part| {
                            code.module.place(buffer).load(&format!("({place} * {}u + {part}u)", 2 * q * step))
                        });
                        format!("vec2<f32>({})", parts.join(", "))
                    }
                    roots => format!("{}[{place} * {}u]", roots.map(name_of_buffer).unwrap_or_default(), q * step),
                };
                code.line(&format!("{name} = turned({name}, {root});"));
            }
        });
        x
    }

    /// Writes what the last stage gives.
    fn last(&self, given: &[Vec<String>], code: &mut Code) {
        let stage = self.division.radices.len().saturating_sub(1);
        let radix = self.division.radices.last().copied().unwrap_or(1);
        let (count, kept) = (self.division.length / radix, self.fourier.of.given());
        let arguments = self.arguments(code);
        self.each(stage, given, Some(&format!("is_row{}", self.suffix)), code, |j, q, name, code| {
            let is_given = (q + 1) * count <= kept;
            if !is_given {
                code.open(&format!("if {j} + {}u < {kept}u", q * count));
            }
            code.line(&format!("store_at({arguments}{j} + {}u, {name});", q * count));
            if !is_given {
                code.close();
            }
        });
    }
}

/// Declares buffers; those of pairs that are read or written together, and the roots, as pairs, if each is one binding.
fn declare_pairs(module: &mut Module, fourier: &Fourier) {
    let values: Vec<Id> = [Some(fourier.re), fourier.im].into_iter().flatten().list();
    declare(module, &values, &fourier.elements);
    let read = match module.kernel.graph.node(fourier.re) {
        TypedNode::Load { buffer, .. } if fourier.has_pairs => Some(buffer),
        _ => None,
    };
    let written = fourier.elements[..2 * fourier.pairs].iter().map(|store| store.buffer);
    for buffer in written.chain(read).chain(fourier.roots) {
        if module.windows.of(buffer as usize) == 1 {
            module.layouts[buffer as usize] = Layout::Pairs;
        }
    }
}

/// The function of a number of a row: inverse transforms exchange the parts of numbers before and after.
fn number_at(module: &mut Module, fourier: &Fourier) -> String {
    let (of, axis) = (&fourier.of, fourier.outer.len() as u32);
    let mut code = Code::new(module, None);
    batch::set_coordinates(&mut code, &fourier.outer, &[axis, axis + 1]);
    if of.kind == FourierKind::Real {
        // Frequencies beyond the half are the conjugates of their opposites.
        code.line(&format!("let is_opposite = place >= {}u;", of.taken()));
        code.line(&format!("let own = select(place, {}u - place, is_opposite);", of.length));
        code.set_coordinate(axis, "own".to_owned());
    } else {
        code.set_coordinate(axis, "place".to_owned());
    }
    let x = match (code.module.kernel.graph.node(fourier.re), fourier.im) {
        (TypedNode::Load { buffer, index }, Some(_)) if is_of_pairs(code.module, buffer) => {
            let index = code.value(index).text;
            code.bind(&format!("{}[{index} >> 1u]", name_of_buffer(buffer)))
        }
        _ => {
            let re = code.value(fourier.re).text;
            let im = fourier.im.map_or("0.0f".to_owned(), |im| code.value(im).text);
            code.bind(&format!("vec2<f32>({re}, {im})"))
        }
    };
    let result = match of.kind {
        FourierKind::Forward | FourierKind::Half => x,
        FourierKind::Inverse => format!("{x}.yx"),
        FourierKind::Real => {
            let is_alone = if of.length.is_multiple_of(2) {
                format!("(place == 0u || place == {}u)", of.length / 2)
            } else {
                "(place == 0u)".to_owned()
            };
            format!("vec2<f32>(select(select({x}.y, -{x}.y, is_opposite), 0.0f, {is_alone}), {x}.x)")
        }
    };
    code.line(&format!("return {result};"));
    let parameters = batch::parameters(&fourier.outer);
    let body = code.finish();
    format!("\nfn number_at({parameters}place: u32) -> vec2<f32> {{\n{body}}}\n")
}

fn is_of_pairs(module: &Module, buffer: u32) -> bool {
    module.layouts[buffer as usize] == Layout::Pairs
}

/// The function that writes a result.
fn store_at(module: &mut Module, fourier: &Fourier) -> String {
    let (of, axis) = (&fourier.of, fourier.outer.len() as u32);
    let mut code = Code::new(module, None);
    batch::set_coordinates(&mut code, &fourier.outer, &[axis, axis + 1]);
    code.set_coordinate(axis + 1, "place".to_owned());
    let is_exchanged = matches!(of.kind, FourierKind::Inverse | FourierKind::Real);
    for (result, part) in ["x", "y"].into_iter().enumerate() {
        let part = if is_exchanged { if part == "x" { "y" } else { "x" } } else { part };
        let scale = if of.scale == 1.0 { String::new() } else { format!(" * {}", number(of.scale)) };
        let text = code.bind(&format!("x.{part}{scale}"));
        code.set_folded(0, result as u32, Text { text, ty: Type::F32, is_vector: false, literal: None });
    }
    let (pairs, others) = fourier.elements.split_at(2 * fourier.pairs);
    for pair in pairs.chunks_exact(2) {
        let buffer = pair[0].buffer;
        if is_of_pairs(code.module, buffer) {
            let [re, im] = [0, 1].map(|part| code.value(pair[part].value).text);
            let index = code.value(pair[0].index).text;
            let element = Layout::Pairs.element(code.module.kernel.buffers[buffer as usize].dtype);
            code.line(&format!("{}[{index} >> 1u] = {element}({re}, {im});", name_of_buffer(buffer)));
        } else {
            code.store(pair, None);
        }
    }
    code.store(others, None);
    let parameters = batch::parameters(&fourier.outer);
    let body = code.finish();
    format!("\nfn store_at({parameters}place: u32, x: vec2<f32>) {{\n{body}}}\n")
}
