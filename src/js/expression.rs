//! A single recorded expression, evaluated by the reference: what `Value.data` shows.

use wasm_bindgen::prelude::*;

use crate::model::{Tape, TapeNode};
use residua_base::error::Error;
use residua_ir::graph;

use super::error::to_js;

/// The f64 value of the tape's entry `output` at the given parameters.
#[wasm_bindgen(js_name = evaluateExpression)]
pub fn evaluate_expression(
    ops: Vec<u8>,
    a: Vec<u32>,
    b: Vec<u32>,
    c: Vec<u32>,
    constants: Vec<f64>,
    parameters: Vec<f64>,
    output: u32,
) -> Result<f64, JsValue> {
    let tape = Tape::new(ops, [a, b, c], constants, vec![output], parameters.len() as u32, 0).map_err(to_js)?;
    let mut values: Vec<f64> = Vec::with_capacity(tape.len());
    for position in 0..tape.len() as u32 {
        values.push(match tape.node(position) {
            TapeNode::Literal(value) | TapeNode::Constant(value) => value,
            TapeNode::Parameter(parameter) => parameters[parameter as usize],
            TapeNode::Counter(_)
            | TapeNode::State(..)
            | TapeNode::Link(..)
            | TapeNode::Loop(..)
            | TapeNode::Result(..) => {
                return Err(to_js(Error::invalid_graph("a loop has no number outside of residual functions")));
            }
            TapeNode::Data(_) => return Err(to_js(Error::invalid_graph("data has no one number"))),
            TapeNode::Apply(op, operands) => {
                graph::evaluate(op, &operands.map(|operand| values[operand.min(position - 1) as usize])[..op.arity()])
            }
        });
    }
    Ok(values[output as usize])
}
