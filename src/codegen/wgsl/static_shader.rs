//! Static shaders with functions that are defined as graphs.

use super::body::{Body, Inputs, Names};
use super::import::Imports;
use super::program::ProgramText;
use crate::codegen::Function;
use crate::list::Listed;
use crate::text::join;

/// A static shader together with functions of graphs and everything that either imports, each once.
///
/// In the text, a function of one case takes its parameters alone, `fn name(a: f32, b: f32) -> vec2<f32>`; one of several takes the
/// selector before them. Functions answer out-of-domain operands from the uniform: the shader declares a `dispatch` with members
/// `nan` and `zero`, as generated kernels do.
pub fn compose_with(source: &'static str, functions: &[&Function]) -> String {
    let mut program = ProgramText::new();
    program.push_shader(source);
    functions.iter().for_each(|function| program.push_function(function));
    program.finish()
}

/// A function of one case, without a selector.
pub(super) fn write_plain_function(function: &Function, imports: &mut Imports) -> String {
    let case = &function.cases[0];
    let result = super::result_type(function);
    let parameters: Vec<String> = function.parameters.iter().map(|name| format!("{name}: f32")).list();
    let mut text = format!("\nfn {}({}) -> {result} {{\n", function.name, join(&parameters, ", "));
    let names = Names::with_reserved(["dispatch", function.name].iter().chain(function.parameters).copied());
    let inputs = Inputs::Parameters(function.parameters);
    let mut body = Body::new(case.graph.graph(), inputs, imports, names, 1, &case.results);
    body.return_results(&case.results, &result);
    text += &body.finish();
    text += "}\n";
    text
}
