//! Kernels that sort rows of keys: a workgroup has a row in its memory.

use residua_base::error::{Error, Result};
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
    /// Of `sort_row.wgsl`.
    struct SortRow {
        capacity: u32,
        threads: u32,
    }
}

const SORT_ROW: Template<'static> = shader!("sort_row");

/// Most threads a workgroup.
const THREADS: u32 = 256;
/// Shortest row for which there is a text of its own.
const SHORTEST: u32 = 64;

/// Writes the kernel.
pub fn write(mut module: Module, sort: &Sort) -> Result<KernelText> {
    if sort.most > Sort::LONGEST {
        return Err(Error::internal("a workgroup sorts no row of so many keys"));
    }
    let capacity = sort.most.next_power_of_two().max(SHORTEST);
    let threads = (capacity / 2).min(THREADS);
    let (place, rank) = (sort.outer.len() as u32, sort.outer.len() as u32 + 1);
    declare(&mut module, &[sort.key], &sort.elements);
    module.push_shader_of(SORT_ROW, SORT_ROW.name, &SortRow { capacity, threads });

    let outer = Axes::new(0, &sort.outer, None);
    let mut code = Code::new(&mut module, None);
    let count = outer.count(code.module);
    code.open(&format!("if workgroup >= {count}"));
    code.line("return;");
    code.close();
    outer.locate("workgroup", &mut code);
    hoist(&mut code, &[sort.key], &sort.elements, bit(place) | bit(rank));
    let [length, kept] = [sort.length, sort.kept].map(|extent| code.module.extent(extent));
    code.open(&format!("for (var i = lane; i < {length}; i += {threads}u)"));
    code.set_coordinate(place, "i".to_owned());
    let key = code.value(sort.key).text;
    code.line(&format!("sorted_keys[i] = {key};"));
    code.line("sorted_places[i] = i;");
    code.close();
    code.line(&format!("sort_row(lane, {length});"));
    code.open(&format!("for (var i = lane; i < {kept}; i += {threads}u)"));
    write_rank(&mut code, rank, "i", "sorted_places[i]", &sort.elements);
    code.close();
    let body = code.finish();
    module.finish("", &body, threads, Workgroups::new(outer.factors(), 1))
}

/// Declares buffers that are read and written element by element.
pub fn declare(module: &mut Module, values: &[Id], stores: &[Store]) {
    let of_stores = stores.iter().flat_map(|store| [store.index, store.value]);
    let roots: Vec<Id> = values.iter().copied().chain(of_stores).collect();
    let loads = points::loads(module, &roots);
    points::declare(module, None, &loads, stores, &[], true);
}

/// Writes what depends on none of some coordinates, nor on what is found.
pub fn hoist(code: &mut Code, values: &[Id], stores: &[Store], coordinates: u32) {
    let values: Vec<Id> = values.iter().copied().chain(stores.iter().map(|store| store.value)).collect();
    let indices: Vec<Id> = stores.iter().map(|store| store.index).collect();
    code.hoist(&values, &indices, coordinates, u32::MAX);
}

/// Writes what is computed from the place of a rank.
pub fn write_rank(code: &mut Code, axis: u32, rank: &str, place: &str, stores: &[Store]) {
    code.set_coordinate(axis, rank.to_owned());
    let place = code.bind(place);
    code.set_folded(0, 0, Text { text: place, ty: Type::U32, is_vector: false, literal: None });
    code.store(stores, None);
}
