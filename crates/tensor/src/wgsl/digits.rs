//! Kernels that sort long rows of keys by a digit: one counts the digits of each block of a row, the other moves the keys of each block. Between them
//! the counts are summed by a scan.

use residua_base::error::Result;
use residua_base::list::Listed;
use residua_codegen::template_parameters;
use residua_codegen::wgsl::Template;

use super::code::Code;
use super::module::{Module, bit, shader};
use super::operation::Text;
use super::points::Axes;
use super::sort::{declare, hoist, write_rank};
use super::text::KernelText;
use super::workgroups::{Factor, Workgroups};
use crate::expr::Digit;
use crate::kernel::{DigitCounts, DigitSort, Extent};
use crate::scalar::Type;

template_parameters! {
    /// Of `sort_digits.wgsl`.
    struct SortDigits {
        block: u32,
        share: u32,
    }
}

const SORT_DIGITS: Template<'static> = shader!("sort_digits");

/// Threads a workgroup: one for each value of a digit.
const THREADS: u32 = Digit::VALUES;
/// Keys a thread.
const SHARE: u32 = Digit::BLOCK / THREADS;

/// Writes the kernel that counts.
pub fn write_counts(mut module: Module, counts: &DigitCounts) -> Result<KernelText> {
    let [place, digit, block] = [0, 1, 2].map(|axis| counts.outer.len() as u32 + axis);
    declare(&mut module, &[counts.key], &counts.elements);
    let outer = Axes::new(0, &counts.outer, None);
    let mut code = Code::new(&mut module, None);
    locate(&outer, counts.blocks, &mut code);
    hoist(&mut code, &[counts.key], &counts.elements, bit(place) | bit(digit) | bit(block));
    let length = code.module.extent(counts.length);
    code.open(&format!("for (var i = 0u; i < {SHARE}u; i++)"));
    code.line(&format!("let place = block * {}u + i * {THREADS}u + lane;", Digit::BLOCK));
    code.open(&format!("if place < {length}"));
    code.set_coordinate(place, "place".to_owned());
    let key = code.value(counts.key).text;
    code.line(&format!("atomicAdd(&counts[({key} >> {}u) & {}u], 1u);", counts.digit.shift, Digit::VALUES - 1));
    code.close();
    code.close();
    code.line("workgroupBarrier();");
    code.set_coordinate(digit, "lane".to_owned());
    code.set_coordinate(block, "block".to_owned());
    let count = code.bind("atomicLoad(&counts[lane])");
    code.set_folded(0, 0, Text { text: count, ty: Type::U32, is_vector: false, literal: None });
    code.store(&counts.elements, None);
    let body = code.finish();
    let declarations = format!("var<workgroup> counts: array<atomic<u32>, {}>;\n", Digit::VALUES);
    module.finish(&declarations, &body, THREADS, workgroups(&outer, counts.blocks))
}

/// Writes the kernel that moves.
pub fn write_sort(mut module: Module, sort: &DigitSort) -> Result<KernelText> {
    let [place, rank, digit, block] = [0, 1, 2, 3].map(|axis| sort.outer.len() as u32 + axis);
    let values = [sort.key, sort.total, sort.before];
    declare(&mut module, &values, &sort.elements);
    module.push_shader_of(SORT_DIGITS, SORT_DIGITS.name, &SortDigits { block: Digit::BLOCK, share: SHARE });

    let outer = Axes::new(0, &sort.outer, None);
    let mut code = Code::new(&mut module, None);
    locate(&outer, sort.blocks, &mut code);
    hoist(&mut code, &values, &sort.elements, bit(place) | bit(rank) | bit(digit) | bit(block));
    let length = code.module.extent(sort.length);
    code.line(&format!("let first = block * {}u;", Digit::BLOCK));
    code.set_coordinate(digit, "lane".to_owned());
    code.set_coordinate(block, "block".to_owned());
    let total = code.value(sort.total).text;
    let before = code.value(sort.before).text;
    code.open(&format!("for (var i = lane; i < {}u; i += {THREADS}u)", Digit::BLOCK));
    // What stands beyond the row is moved to the end of the block, and not written.
    code.line(&format!("var digit = {}u;", Digit::VALUES - 1));
    code.open(&format!("if first + i < {length}"));
    let at = code.bind("first + i");
    code.set_coordinate(place, at);
    let key = code.value(sort.key).text;
    code.line(&format!("digit = ({key} >> {}u) & {}u;", sort.digit.shift, Digit::VALUES - 1));
    code.close();
    code.line("slots[i] = (digit << 16u) | i;");
    code.close();
    code.line(&format!("sort_digits(lane, {total}, {before});"));
    code.line(&format!("let end = min({length} - min(first, {length}), {}u);", Digit::BLOCK));
    code.open(&format!("for (var i = lane; i < end; i += {THREADS}u)"));
    code.line("let slot = slots[i];");
    code.line("let rank = starts[slot >> 16u] + i;");
    write_rank(&mut code, rank, "rank", "first + (slot & 0xffffu)", &sort.elements);
    code.close();
    let body = code.finish();
    module.finish("", &body, THREADS, workgroups(&outer, sort.blocks))
}

/// Writes which block of which row a workgroup has.
fn locate(outer: &Axes, blocks: u32, code: &mut Code) {
    let count = outer.count(code.module);
    code.open(&format!("if workgroup >= {count} * {blocks}u"));
    code.line("return;");
    code.close();
    code.line(&format!("let block = workgroup % {blocks}u;"));
    code.line(&format!("let row = workgroup / {blocks}u;"));
    outer.locate("row", code);
}

fn workgroups(outer: &Axes, blocks: u32) -> Workgroups {
    let blocks = Factor { extent: Extent::Known(blocks), divisor: 1 };
    Workgroups::new(outer.factors().into_iter().chain([blocks]).list(), 1)
}
