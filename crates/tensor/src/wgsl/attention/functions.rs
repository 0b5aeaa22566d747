//! The generated functions of attention.

use super::super::batch;
use super::super::code::Code;
use super::super::module::Module;
use super::super::operation::Text;
use super::super::points;
use crate::kernel::{Attention, Store};
use crate::scalar::{Id, Type};
use residua_base::list::Listed;

/// Steps along the numbers of a query or a key.
const STEP: u32 = 16;

/// Axes of the query, the key, the place and the block.
fn axes(attention: &Attention) -> [u32; 4] {
    let first = attention.batch.len() as u32;
    [0, 1, 2, 3].map(|axis| first + axis)
}

/// The functions that `attention.wgsl` calls.
pub fn of_tiles(module: &mut Module, attention: &Attention) -> String {
    declare(module, attention, &attention.elements, &[]);
    let mut text = factors(module, attention);
    text += &score(module, attention);
    text + &store(module, attention, &attention.elements, "")
}

/// The functions that `attention_blocks.wgsl` calls.
pub fn of_blocks(module: &mut Module, attention: &Attention) -> String {
    let (vectors, states) = attention.elements.split_at(1);
    declare(module, attention, vectors, states);
    let mut text = factors(module, attention);
    text += &score(module, attention);
    text += &store(module, attention, vectors, "block: u32, ");
    text + &store_state(module, attention, states)
}

/// Declares buffers for what is done with them: queries, keys, values and results go by four along their places, terms of scores along the keys.
fn declare(module: &mut Module, attention: &Attention, vectors: &[Store], states: &[Store]) {
    let [_, key, place, _] = axes(attention);
    let roots: Vec<Id> = Store::roots(vectors).list();
    let loads = module.kernel.graph.loads(roots);
    points::declare(module, Some(place), &loads, vectors, states, false);
    let of = [(attention.query, place), (attention.key, place), (attention.value, place), (attention.score, key)];
    for (value, axis) in of {
        for (buffer, index) in module.kernel.graph.loads([value]) {
            module.read_vectors(buffer, index, axis);
        }
    }
}

/// Queries, keys and values at four places. A query or a key beyond the last is the last one; their places beyond the last, and values of
/// keys beyond the last, are 0.
fn factors(module: &mut Module, attention: &Attention) -> String {
    let [query, key, ..] = axes(attention);
    let table = [
        ("query_at", attention.query, query, attention.queries, false),
        ("key_at", attention.key, key, attention.keys, false),
        ("value_at", attention.value, key, attention.keys, true),
    ];
    let mut text = String::new();
    for (name, value, axis, extent, is_value) in table {
        let (extent, place_axis) = (module.extent(extent), axes(attention)[2]);
        let mut code = code(module, attention, place_axis);
        code.set_coordinate(place_axis, "place".to_owned());
        let row = if is_value {
            code.open(&format!("if row >= {extent}"));
            "row".to_owned()
        } else if attention.size.is_multiple_of(STEP) {
            code.bind(&format!("min(row, {extent} - 1u)"))
        } else {
            let row = code.bind(&format!("min(row, {extent} - 1u)"));
            code.open(&format!("if place >= {}u", attention.size));
            row
        };
        if is_value || !attention.size.is_multiple_of(STEP) {
            code.line("return vec4<f32>();");
            code.close();
        }
        code.set_coordinate(axis, row);
        let value = code.value(value).vector();
        code.line(&format!("return {value};"));
        let parameters = batch::parameters(&attention.batch);
        let body = code.finish();
        text += &format!("\nfn {name}({parameters}row: u32, place: u32) -> vec4<f32> {{\n{body}}}\n");
    }
    text
}

/// Scores of a query and four keys from their products.
fn score(module: &mut Module, attention: &Attention) -> String {
    let [query, key, ..] = axes(attention);
    let mut code = code(module, attention, key);
    code.set_coordinate(query, "row".to_owned());
    code.set_coordinate(key, "key".to_owned());
    code.folds_vary = true;
    code.set_folded(0, 0, vector("product"));
    let value = code.value(attention.score).vector();
    code.line(&format!("return {value};"));
    let parameters = batch::parameters(&attention.batch);
    let body = code.finish();
    format!("\nfn score_at({parameters}row: u32, key: u32, product: vec4<f32>) -> vec4<f32> {{\n{body}}}\n")
}

/// Writes four places of a result.
fn store(module: &mut Module, attention: &Attention, stores: &[Store], block: &str) -> String {
    let [query, _, place, of_block] = axes(attention);
    let mut code = code(module, attention, place);
    code.set_coordinate(query, "row".to_owned());
    code.set_coordinate(place, "place".to_owned());
    if !block.is_empty() {
        code.set_coordinate(of_block, "block".to_owned());
    }
    code.folds_vary = true;
    code.set_folded(1, 0, vector("result"));
    code.store(stores, None);
    let parameters = batch::parameters(&attention.batch);
    let body = code.finish();
    format!("\nfn store({parameters}row: u32, place: u32, {block}result: vec4<f32>) {{\n{body}}}\n")
}

/// Writes the largest score of a block and the sum of its weights.
fn store_state(module: &mut Module, attention: &Attention, stores: &[Store]) -> String {
    let [query, .., block] = axes(attention);
    let mut code = Code::new(module, None);
    batch::set_coordinates(&mut code, &attention.batch, &axes(attention));
    code.set_coordinate(query, "row".to_owned());
    code.set_coordinate(block, "block".to_owned());
    for (result, name) in [(1, "most"), (2, "total")] {
        code.set_folded(1, result, Text { is_vector: false, ..vector(name) });
    }
    code.store(stores, None);
    let parameters = batch::parameters(&attention.batch);
    let body = code.finish();
    format!("\nfn store_state({parameters}row: u32, block: u32, most: f32, total: f32) {{\n{body}}}\n")
}

fn vector(name: &str) -> Text {
    Text { text: name.to_owned(), ty: Type::F32, is_vector: true, literal: None }
}

/// Code at four points along an axis, with coordinates of the batch.
fn code<'m, 'a>(module: &'m mut Module<'a>, attention: &Attention, lanes: u32) -> Code<'m, 'a> {
    let mut code = Code::new(module, Some(lanes));
    batch::set_coordinates(&mut code, &attention.batch, &axes(attention));
    code
}
