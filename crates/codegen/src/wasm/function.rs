//! A function with cases: a switch on the selector, which follows the arguments.

use super::encoding::instructions as wasm;
use super::encoding::{self, Instruction};
use super::expression::Expression;
use super::functions::Functions;
use super::locals::{Locals, Width};
use crate::uses::Uses;
use crate::{Case, Function};
use residua_base::list::Listed;
use residua_ir::graph::Node;

/// The function of one width.
pub(super) fn function(function: &Function, width: Width, functions: &Functions) -> encoding::Function {
    let selector = function.parameters.len() as u32;
    let mut locals = Locals::after(selector + 1);
    let mut bodies = Vec::new();
    for case in &function.cases {
        let body;
        (body, locals) = write_case(case, width, functions, locals);
        bodies.push(body);
    }

    let mut written = encoding::Function::new(locals.types());
    for _ in &bodies {
        written.instruction(&Instruction::Block);
    }
    let cases: Vec<u32> = (0..bodies.len() as u32).list();
    written.instruction(&Instruction::LocalGet(selector));
    written.instruction(&Instruction::BrTable(cases, 0));
    for body in bodies {
        written.instruction(&wasm::END);
        written.raw(&body);
        written.instruction(&wasm::RETURN);
    }
    written.instruction(&wasm::UNREACHABLE);
    written.instruction(&wasm::END);
    written
}

/// The code that pushes a case's results, and the locals for the next case to use again.
fn write_case(case: &Case, width: Width, functions: &Functions, locals: Locals) -> (Vec<u8>, Locals) {
    let graph = case.graph.graph();
    let mut body = Expression::new(graph, Uses::of_case(case), width, functions, locals);
    for id in graph.ids() {
        if body.uses(id) == 0 {
            continue;
        }
        match graph.node(id) {
            Node::Literal(_) => {}
            Node::Input(input) => body.set_local(id, input.0),
            Node::Apply(op, _) => body.apply(id, op),
            Node::Result(..) => unreachable!("cases of functions have no loops"),
        }
    }
    for result in &case.results {
        body.take(*result);
    }
    (body.code, body.locals)
}
