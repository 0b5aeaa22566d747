//! Kernels that sort rows of keys: a workgroup has a row in its memory.

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_codegen::template_parameters;
use residua_codegen::wgsl::Template;

use super::code::Code;
use super::module::{Module, bit, shader};
use super::operation::Text;
use super::points::{self, Axes};
use super::text::KernelText;
use super::workgroups::Workgroups;
use crate::kernel::{Sort, Store};
use crate::scalar::{Id, Type};

template_parameters! {
    /// Of `sort_row.wgsl`. Texts are lines that compare pairs of a thread.
    struct SortRow {
        capacity: u32,
        mirrored_eight: String,
        mirrored_four: String,
        wholes: String,
        halves: String,
        quarters: String,
    }
}

const SORT_ROW: Template<'static> = shader!("sort_row");

/// Fewest threads a workgroup: they read and write together.
const FEWEST_THREADS: u32 = 32;
/// Shortest row for which there is a text of its own.
const SHORTEST: u32 = 64;

/// Writes the kernel.
pub fn write(mut module: Module, sort: &Sort) -> Result<KernelText> {
    if sort.most > Sort::LONGEST {
        return Err(Error::internal("a workgroup sorts no row of so many keys"));
    }
    let capacity = sort.most.next_power_of_two().max(SHORTEST);
    let threads = (capacity / 8).max(FEWEST_THREADS);
    let (place, rank) = (sort.outer.len() as u32, sort.outer.len() as u32 + 1);
    declare(&mut module, &[sort.key], &sort.elements);
    module.push_shader_of(SORT_ROW, SORT_ROW.name, &sort_row(capacity));

    let outer = Axes::new(0, &sort.outer, None);
    let mut code = Code::new(&mut module, None);
    let count = outer.count(code.module);
    code.open(&format!("if workgroup >= {count}"));
    code.line("return;");
    code.close();
    outer.locate("workgroup", &mut code);
    hoist(&mut code, &[sort.key], &sort.elements, bit(place) | bit(rank));
    let [length, kept] = [sort.length, sort.kept].map(|extent| code.module.extent(extent));
    code.open(&format!("for (var i = lane; i < {capacity}u; i += {threads}u)"));
    // What stands beyond the row is not smaller than any key, and stands behind it.
    code.line(&format!("var key = {}u;", u32::MAX));
    code.open(&format!("if i < {length}"));
    code.set_coordinate(place, "i".to_owned());
    let key = code.value(sort.key).text;
    code.line(&format!("key = {key};"));
    code.close();
    code.line("pairs[i] = vec2<u32>(key, i);");
    code.close();
    code.line(&format!("sort_row(lane, {length});"));
    code.open(&format!("for (var i = lane; i < {kept}; i += {threads}u)"));
    write_rank(&mut code, rank, "i", "pairs[i].y", &sort.elements);
    code.close();
    let body = code.finish();
    module.finish("", &body, threads, Workgroups::new(outer.factors(), 1))
}

/// The comparisons of the eight pairs that a thread has.
fn sort_row(capacity: u32) -> SortRow {
    SortRow {
        capacity,
        mirrored_eight: comparisons([[0, 7], [1, 6], [2, 5], [3, 4]]),
        mirrored_four: comparisons([[0, 3], [1, 2], [4, 7], [5, 6]]),
        wholes: comparisons([[0, 4], [1, 5], [2, 6], [3, 7]]),
        halves: comparisons([[0, 2], [1, 3], [4, 6], [5, 7]]),
        quarters: comparisons([[0, 1], [2, 3], [4, 5], [6, 7]]),
    }
}

/// Lines that put the smaller of two pairs first.
fn comparisons(of: [[u32; 2]; 4]) -> String {
    let lines = of.iter().map(|[a, b]| {
        format!(
            "    swaps = comes_before(p{b}, p{a});\n    low = select(p{a}, p{b}, swaps);\n    p{b} = select(p{b}, p{a}, \
             swaps);\n    p{a} = low;"
        )
    });
    lines.list().join("\n")
}

/// Declares buffers that are read and written element by element.
pub fn declare(module: &mut Module, values: &[Id], stores: &[Store]) {
    let of_stores = Store::roots(stores);
    let roots: Vec<Id> = values.iter().copied().chain(of_stores).list();
    let loads = module.kernel.graph.loads(roots);
    points::declare(module, None, &loads, stores, &[], true);
}

/// Writes what depends on none of some coordinates, nor on what is found.
pub fn hoist(code: &mut Code, values: &[Id], stores: &[Store], coordinates: u32) {
    let values: Vec<Id> = values.iter().copied().chain(stores.iter().map(|store| store.value)).list();
    let indices: Vec<Id> = stores.iter().map(|store| store.index).list();
    code.hoist(&values, &indices, coordinates, u32::MAX);
}

/// Writes what is computed from the place of a rank.
pub fn write_rank(code: &mut Code, axis: u32, rank: &str, place: &str, stores: &[Store]) {
    code.set_coordinate(axis, rank.to_owned());
    let place = code.bind(place);
    code.set_folded(0, 0, Text { text: place, ty: Type::U32, is_vector: false, literal: None });
    code.store(stores, None);
}
