//! Functions that are defined as graphs, as WGSL functions.

use crate::wgsl::body::Body;
use crate::wgsl::import::Imports;
use crate::wgsl::inputs::Inputs;
use crate::wgsl::names::Names;
use crate::wgsl::value::number_type;
use crate::wgsl::writer::Writer;
use crate::width::Widths;
use crate::{Case, Function, Width};
use residua_base::list::PushAll;

/// A function with its selector as first parameter: a switch over the cases.
pub(super) fn write_function(function: &Function, width: Width, imports: &mut Imports) -> String {
    let mut writer = Writer::default();
    writer.blank_line();
    writer.open(&signature(function, width, &["selector: u32".to_owned()]));
    writer.open("switch selector");
    // The first case also serves selectors beyond the last, and WGSL requires a default: it is at the end.
    let numbered = function.cases.iter().enumerate();
    for (selector, case) in numbered.clone().skip(1).chain(numbered.take(1)) {
        let label = if selector == 0 { "default".to_owned() } else { format!("case {selector}u") };
        writer.open_with_comment(&format!("{label}:"), case.name);
        write_case(function, case, width, &["selector"], &mut writer, imports);
        writer.close();
    }
    writer.close();
    writer.close();
    writer.finish()
}

/// A function of one case, without a selector.
pub(super) fn write_plain_function(function: &Function, width: Width, imports: &mut Imports) -> String {
    let mut writer = Writer::default();
    writer.blank_line();
    writer.open(&signature(function, width, &[]));
    write_case(function, &function.cases[0], width, &[], &mut writer, imports);
    writer.close();
    writer.finish()
}

/// The head of a function whose own parameters follow some others.
fn signature(function: &Function, width: Width, others: &[String]) -> String {
    let mut parameters = others.to_vec();
    parameters.push_all(function.parameters.iter().map(|name| format!("{name}: {}", number_type(width))));
    format!("fn {}({}) -> {}", function.name_in(width), parameters.join(", "), result_type(function, width))
}

fn write_case(
    function: &Function,
    case: &Case,
    width: Width,
    taken: &[&str],
    writer: &mut Writer,
    imports: &mut Imports,
) {
    let name = function.name_in(width);
    let own = ["dispatch", &name];
    let names = Names::with_reserved(taken.iter().chain(&own).chain(function.parameters).copied());
    let inputs = Inputs::Parameters { names: function.parameters, width };
    let body = Body::new(case.graph.graph(), inputs, imports, names, writer.depth(), &case.results);
    let mut body = body.in_widths(Widths::of_case(case, width));
    body.return_results(&case.results, width, &result_type(function, width));
    writer.append(&body.finish());
}

/// The type of a function's results.
fn result_type(function: &Function, width: Width) -> String {
    match (function.results, width) {
        (1, _) => number_type(width).to_owned(),
        (results, Width::Single) => format!("vec{results}<f32>"),
        (results, Width::Pair) => format!("array<vec2<f32>, {results}>"),
    }
}
