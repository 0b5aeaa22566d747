//! The left factor of a product of one row that depends on reductions of the row, such as a norm: each workgroup finds them and keeps the factor in its memory.
//!
//! Sums have the order of a kernel of rows by itself, whatever the threads of the product are.

use residua_base::list::Listed;

use super::functions::set_coordinates;
use super::roles::Roles;
use crate::kernel::{Fold, Product};
use crate::scalar::Id;
use crate::wgsl::code::Code;
use crate::wgsl::combine::States;
use crate::wgsl::module::{COMPONENTS, Module};
use crate::wgsl::rows::Schedule;
use crate::wgsl::rows::tree::{Shared, merge_arrays};

/// The function of the left factor along the depth.
pub fn left(suffix: &str) -> String {
    format!(
        "\nfn left_along_depth{suffix}(row: u32, depth: u32) -> vec4<f32> {{\n    return kept_row[depth / 4u];\n}}\n"
    )
}

/// What is kept, and the function that computes it, `keep_row(lane)`, of a workgroup of so many threads.
pub fn functions(module: &mut Module, product: &Product, roles: Roles, threads: u32) -> String {
    let [row, column, depth] = roles.axes;
    let length = module.kernel.known(product.depth).unwrap_or_default();
    let schedule = Schedule::of_row(length);
    let along = schedule.along;
    let states: Vec<States> =
        product.folds.iter().enumerate().map(|(position, fold)| States::new(position, fold, module)).list();
    let has_units = module.has_units();
    let mut code = Code::new(module, Some(depth));
    set_coordinates(&mut code, product);
    for axis in [row, column] {
        code.set_coordinate(axis, "0u".to_owned());
    }
    if has_units {
        code.line("make_units();");
    }
    code.line("let y = lane;");
    let mut shared = Shared::default();
    let names: Vec<(&States, Vec<String>)> = states.iter().map(|states| (states, vec![String::new()])).list();
    let arrays = shared.allocate(&names);
    // Each thread computes the states of one or more threads of a row by itself, in turn.
    code.open(&format!("for (var place = lane; place < {along}u; place += {threads}u)"));
    for (position, states) in states.iter().enumerate() {
        for lane in COMPONENTS {
            let identity = states.identity(code.module);
            code.line(&format!("var s{position}_{lane} = {identity};"));
        }
    }
    code.open(&format!("for (var chunk = place; chunk < {}u; chunk += {along}u)", length / 4));
    let first = code.bind("chunk * 4u");
    code.set_coordinate(depth, first);
    for (position, Fold { operands, .. }) in product.folds.iter().enumerate() {
        let operands: Vec<_> = operands.iter().map(|operand| code.value(*operand)).list();
        for (lane, name) in COMPONENTS.iter().enumerate() {
            let texts: Vec<String> = operands.iter().map(|operand| operand.component(lane)).list();
            let state = format!("s{position}_{name}");
            let next = states[position].with_point(&state, &texts, code.module);
            code.line(&format!("{state} = {next};"));
        }
    }
    code.close();
    for (position, array) in arrays.iter().enumerate() {
        let halves = [["x", "y"], ["z", "w"]].map(|[a, b]| {
            let merged = states[position].merged(&format!("s{position}_{a}"), &format!("s{position}_{b}"));
            code.bind(&merged)
        });
        let whole = states[position].merged(&halves[0], &halves[1]);
        code.line(&format!("{array}[place] = {whole};"));
    }
    code.close();
    let merged = merge_arrays(&names, &arrays, &schedule, &mut code);
    for (states, merged) in states.iter().zip(&merged) {
        states.name_results(merged, &mut code);
    }
    code.open(&format!("for (var chunk = lane; chunk < {}u; chunk += {threads}u)", length / 4));
    let first = code.bind("chunk * 4u");
    code.set_coordinate(depth, first);
    let value = code.value(product.left).vector();
    code.line(&format!("kept_row[chunk] = {value};"));
    code.close();
    code.line("workgroupBarrier();");
    let body = code.finish();
    let declarations = shared.declarations(&schedule);
    format!(
        "\n{declarations}var<workgroup> kept_row: array<vec4<f32>, {}>;\n\nfn keep_row(lane: u32) {{\n{body}}}\n",
        length / 4
    )
}

/// What a product of one row reads for its reductions.
pub fn operands(product: &Product) -> Vec<Id> {
    product.folds.iter().flat_map(|fold| fold.operands.iter().copied()).list()
}
