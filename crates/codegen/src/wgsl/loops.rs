//! Loops as WGSL functions: start, count, the initial state and what the body takes from outside are the parameters, and they give the final state. States are
//! structures, and so is what comes from outside: functions have 255 parameters at most. A module has each loop once, for each choice of widths.

use std::rc::Rc;

use residua_base::list::{Listed, PushAll};
use residua_ir::graph::{LoopBody, MOST_STEPS};

use super::import::{Imports, LoopFunction};
use super::inputs::BoundInput;
use super::names::Names;
use super::value::number_type;
use super::writer::Writer;
use crate::Width;

/// Writes the code of a step within so many blocks: the statements, and the expressions of the next state, whose widths are given. Loops do not know how
/// graphs are written, since graphs have loops.
pub(super) type WriteStep = fn(Step<'_>, &mut Imports) -> (String, Vec<String>);

/// What a step is written for.
pub(super) struct Step<'a> {
    pub body: &'a LoopBody,
    pub inputs: &'a [BoundInput],
    pub names: Names,
    pub depth: usize,
    /// Those of the state.
    pub widths: &'a [Width],
}

/// A number of the final state.
pub(super) fn member(state: &str, number: u32) -> String {
    format!("{state}.x{number}")
}

/// A call of the function of a loop, which is written if it is new. The operands are start, count, the initial state and what the body takes from outside.
pub(super) fn call(
    body: &Rc<LoopBody>,
    widths: &[Width],
    operands: &[String],
    write_step: WriteStep,
    imports: &mut Imports,
) -> String {
    let number = require(body, widths, write_step, imports);
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
fn require(body: &Rc<LoopBody>, widths: &[Width], write_step: WriteStep, imports: &mut Imports) -> usize {
    let is_known = |known: &LoopFunction| known.body == *body && known.widths == widths;
    imports.loops.iter().position(is_known).unwrap_or_else(|| {
        let number = imports.loops.len();
        let function = LoopFunction { body: body.clone(), widths: widths.to_vec(), text: String::new() };
        imports.loops.push(function);
        imports.loops[number].text = write(body, widths, number, write_step, imports);
        number
    })
}

/// The definition of a loop by its number.
fn write(body: &LoopBody, widths: &[Width], number: usize, write_step: WriteStep, imports: &mut Imports) -> String {
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
    let binding = |name: String, expression: String, width: Width| BoundInput { name, expression, width };
    let mut bindings = vec![binding("counter".into(), "start + f32(step)".into(), Width::Single)];
    let states = (0u32..).zip(of_state);
    bindings.push_all(states.map(|(state, width)| binding(format!("x{state}"), member("state", state), *width)));
    let captured = (0u32..).zip(of_captured);
    bindings.push_all(captured.map(|(outer, width)| binding(format!("o{outer}"), member("outer", outer), *width)));
    let step = Step { body, inputs: &bindings, names, depth: writer.depth(), widths: of_state };
    let (code, next) = write_step(step, imports);
    writer.append(&code);
    writer.line(&format!("state = {structure}({});", next.join(", ")));
    writer.close();
    writer.line("return state;");
    writer.close();
    writer.finish()
}
