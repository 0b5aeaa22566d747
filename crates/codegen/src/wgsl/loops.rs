//! Loops as WGSL functions: start, count, the initial state and what the body takes from outside are the parameters, a structure of the final state is what
//! they give. A module has each once, for each choice of widths.

use std::rc::Rc;

use residua_base::list::{Listed, PushAll};
use residua_ir::graph::{LoopBody, MOST_STEPS};

use super::body::Body;
use super::function::number_type;
use super::import::Imports;
use super::inputs::{Binding, Inputs};
use super::names::Names;
use super::writer::Writer;
use crate::Width;
use crate::width::Widths;

/// A loop that has been written.
#[derive(Debug)]
pub(super) struct LoopFunction {
    body: Rc<LoopBody>,
    /// Those of the state, and of what the body takes from outside.
    widths: Vec<Width>,
    /// Its definition.
    pub text: String,
}

/// A number of the final state.
pub(super) fn member(state: &str, number: u32) -> String {
    format!("{state}.x{number}")
}

/// The name of the function of a loop, which is written if it is new.
pub(super) fn require(body: &Rc<LoopBody>, widths: &[Width], imports: &mut Imports) -> String {
    let is_known = |known: &LoopFunction| known.body == *body && known.widths == widths;
    let number = imports.loops.iter().position(is_known).unwrap_or_else(|| {
        let number = imports.loops.len();
        let function = LoopFunction { body: body.clone(), widths: widths.to_vec(), text: String::new() };
        imports.loops.push(function);
        imports.loops[number].text = write(body, widths, number, imports);
        number
    });
    format!("loop_{number}")
}

/// The definition of a loop by its number.
fn write(body: &LoopBody, widths: &[Width], number: usize, imports: &mut Imports) -> String {
    let (of_state, of_captured) = widths.split_at(body.states());
    let structure = format!("Loop{number}");
    let members = of_state.iter().enumerate().map(|(state, width)| format!("x{state}: {}", number_type(*width))).list();
    let parameter = |name: &str, number: usize, width: Width| format!("{name}_{number}: {}", number_type(width));
    let mut parameters = vec!["start: f32".to_owned(), "count: f32".to_owned()];
    parameters.push_all(of_state.iter().enumerate().map(|(state, width)| parameter("initial", state, *width)));
    parameters.push_all(of_captured.iter().enumerate().map(|(state, width)| parameter("outer", state, *width)));
    let initial = (0..of_state.len()).map(|state| format!("initial_{state}")).list();

    let mut writer = Writer::default();
    writer.line(&format!("struct {structure} {{ {} }}", members.join(", ")));
    writer.blank_line();
    writer.open(&format!("fn loop_{number}({}) -> {structure}", parameters.join(", ")));
    writer.line(&format!("var state = {structure}({});", initial.join(", ")));
    // What the conversion of a NaN gives is not defined, but bounded.
    writer.line(&format!("let steps = min(u32(max(count, 0.0)), {MOST_STEPS}u);"));
    writer.open("for (var step = 0u; step < steps; step++)");
    let names: Vec<String> = ["start", "count", "state", "step", "steps"].map(str::to_owned).into();
    let parameters = (0..of_captured.len()).map(|outer| format!("outer_{outer}"));
    let names = names.into_iter().chain(initial).chain(parameters).list();
    let names = Names::with_reserved(names.iter().map(String::as_str));
    let binding = |name: String, expression: String, width: Width| Binding { name, expression, width };
    let mut bindings = vec![binding("counter".into(), "start + f32(step)".into(), Width::Single)];
    let states = (0u32..).zip(of_state);
    bindings.push_all(states.map(|(state, width)| binding(format!("x{state}"), member("state", state), *width)));
    let captured = of_captured.iter().enumerate();
    bindings.push_all(captured.map(|(outer, width)| binding(format!("o{outer}"), format!("outer_{outer}"), *width)));
    let graph = body.graph().graph();
    let code = Body::new(graph, Inputs::Bound(&bindings), imports, names, writer.depth(), body.next());
    let mut code = code.in_widths(Widths::of_body(body, of_state).0);
    let next = body.next().iter().zip(of_state).map(|(next, width)| code.require_in(*next, *width)).list();
    code.line(&format!("state = {structure}({});", next.join(", ")));
    let code = code.finish();
    writer.append(&code);
    writer.close();
    writer.line("return state;");
    writer.close();
    writer.finish()
}
