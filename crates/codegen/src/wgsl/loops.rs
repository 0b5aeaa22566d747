//! Loops as WGSL functions: start, count, the initial state and what the body takes from outside are the parameters, and they give the final state. States are
//! structures, and so is what comes from outside: functions have 255 parameters at most. A module has each loop once, for each choice of widths.

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

/// A call of the function of a loop, which is written if it is new. The operands are start, count, the initial state and what the body takes from outside.
pub(super) fn call(body: &Rc<LoopBody>, widths: &[Width], operands: &[String], imports: &mut Imports) -> String {
    let number = require(body, widths, imports);
    let (figures, rest) = operands.split_at(2);
    let (initial, outer) = rest.split_at(body.states());
    let mut arguments = figures.to_vec();
    arguments.push(format!("Loop{number}({})", initial.join(", ")));
    if !outer.is_empty() {
        arguments.push(format!("Outer{number}({})", outer.join(", ")));
    }
    format!("loop_{number}({})", arguments.join(", "))
}

/// The number of the function of a loop.
fn require(body: &Rc<LoopBody>, widths: &[Width], imports: &mut Imports) -> usize {
    let is_known = |known: &LoopFunction| known.body == *body && known.widths == widths;
    imports.loops.iter().position(is_known).unwrap_or_else(|| {
        let number = imports.loops.len();
        let function = LoopFunction { body: body.clone(), widths: widths.to_vec(), text: String::new() };
        imports.loops.push(function);
        imports.loops[number].text = write(body, widths, number, imports);
        number
    })
}

/// The definition of a loop by its number.
fn write(body: &LoopBody, widths: &[Width], number: usize, imports: &mut Imports) -> String {
    let (of_state, of_captured) = widths.split_at(body.states());
    let structure = format!("Loop{number}");
    let members = |widths: &[Width]| {
        let member = |(number, width): (usize, &Width)| format!("x{number}: {}", number_type(*width));
        widths.iter().enumerate().map(member).list().join(", ")
    };
    let mut writer = Writer::default();
    writer.line(&format!("struct {structure} {{ {} }}", members(of_state)));
    writer.blank_line();
    let mut parameters = format!("start: f32, count: f32, initial: {structure}");
    if !of_captured.is_empty() {
        writer.line(&format!("struct Outer{number} {{ {} }}", members(of_captured)));
        writer.blank_line();
        parameters += &format!(", outer: Outer{number}");
    }
    writer.open(&format!("fn loop_{number}({parameters}) -> {structure}"));
    writer.line("var state = initial;");
    // What the conversion of a NaN gives is not defined, but bounded.
    writer.line(&format!("let steps = min(u32(max(count, 0.0)), {MOST_STEPS}u);"));
    writer.open("for (var step = 0u; step < steps; step++)");
    let names = Names::with_reserved(["start", "count", "initial", "outer", "state", "step", "steps"]);
    let binding = |name: String, expression: String, width: Width| Binding { name, expression, width };
    let mut bindings = vec![binding("counter".into(), "start + f32(step)".into(), Width::Single)];
    let states = (0u32..).zip(of_state);
    bindings.push_all(states.map(|(state, width)| binding(format!("x{state}"), member("state", state), *width)));
    let captured = (0u32..).zip(of_captured);
    bindings.push_all(captured.map(|(outer, width)| binding(format!("o{outer}"), member("outer", outer), *width)));
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
