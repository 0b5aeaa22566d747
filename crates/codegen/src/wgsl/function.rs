//! Functions that are defined as graphs, as WGSL functions.

use crate::wgsl::body::{Body, Names};
use crate::wgsl::import::Imports;
use crate::wgsl::inputs::Inputs;
use crate::wgsl::writer::Writer;
use crate::{Case, Function};

/// A function with its selector as first parameter: a switch over the cases.
pub(super) fn write_function(function: &Function, imports: &mut Imports) -> String {
    let mut writer = Writer::default();
    writer.blank_line();
    writer.open(&signature(function, &["selector: u32".to_owned()]));
    writer.open("switch selector");
    // The first case also serves selectors beyond the last, and WGSL requires a default: it is at the end.
    let numbered = function.cases.iter().enumerate();
    for (selector, case) in numbered.clone().skip(1).chain(numbered.take(1)) {
        let label = if selector == 0 { "default".to_owned() } else { format!("case {selector}u") };
        writer.open_with_comment(&format!("{label}:"), case.name);
        write_case(function, case, &["selector"], &mut writer, imports);
        writer.close();
    }
    writer.close();
    writer.close();
    writer.finish()
}

/// A function of one case, without a selector.
pub(super) fn write_plain_function(function: &Function, imports: &mut Imports) -> String {
    let mut writer = Writer::default();
    writer.blank_line();
    writer.open(&signature(function, &[]));
    write_case(function, &function.cases[0], &[], &mut writer, imports);
    writer.close();
    writer.finish()
}

/// The head of a function whose own parameters follow some others.
fn signature(function: &Function, others: &[String]) -> String {
    let mut parameters = others.to_vec();
    parameters.extend(function.parameters.iter().map(|name| format!("{name}: f32")));
    format!("fn {}({}) -> {}", function.name, parameters.join(", "), result_type(function))
}

fn write_case(function: &Function, case: &Case, taken: &[&str], writer: &mut Writer, imports: &mut Imports) {
    let own = ["dispatch", function.name];
    let names = Names::with_reserved(taken.iter().chain(&own).chain(function.parameters).copied());
    let inputs = Inputs::Parameters(function.parameters);
    let mut body = Body::new(case.graph.graph(), inputs, imports, names, writer.depth(), &case.results);
    body.return_results(&case.results, &result_type(function));
    writer.append(&body.finish());
}

/// The type of a function's results.
fn result_type(function: &Function) -> String {
    match function.results {
        1 => "f32".to_owned(),
        results => format!("vec{results}<f32>"),
    }
}
