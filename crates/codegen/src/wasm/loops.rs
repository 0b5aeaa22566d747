//! Loops as functions: start, count, the initial state and what the body takes from outside are the parameters, the final state is what they give.
//!
//! Engines take a thousand parameters at most. A loop with more numbers has them in variables of the module: it calls itself nowhere.
//!
//! Of two instances at a time the steps are those of the larger count. A lane that has done its own keeps its state from then on.

use residua_base::list::{Listed, PushAll};
use residua_ir::graph::{LoopBody, LoopId, MOST_STEPS, Node, NodeId, Op};

use super::encoding::instructions as wasm;
use super::encoding::{self, Instruction, ValType};
use super::expression::Expression;
use super::functions::Functions;
use super::locals::{Locals, Width};
use super::lookup;
use crate::uses::Uses;

const START: u32 = 0;
const COUNT: u32 = 1;
const STATE: u32 = 2;

/// Parameters of a function at most.
const MOST_PARAMETERS: u32 = 900;

/// How many numbers a loop takes.
fn operands(body: &LoopBody) -> u32 {
    STATE + (body.states() + body.captured()) as u32
}

/// The first of the variables for a loop's operands, if they are too many for parameters.
pub(super) fn variables(body: &LoopBody, width: Width, functions: &Functions) -> Option<u32> {
    let operands = operands(body);
    (operands > MOST_PARAMETERS).then(|| {
        let first = functions.add_variable(width);
        (1..operands).for_each(|_| _ = functions.add_variable(width));
        first
    })
}

/// The types of a loop's parameters and results.
pub(super) fn signature(body: &LoopBody, width: Width, variables: Option<u32>) -> [Vec<ValType>; 2] {
    match variables {
        Some(_) => [Vec::new(), Vec::new()],
        None => [vec![width.value(); operands(body) as usize], vec![width.value(); body.states()]],
    }
}

/// The function of one width. Loops within the body have been written.
pub(super) fn function(
    body: &LoopBody,
    width: Width,
    variables: Option<u32>,
    functions: &Functions,
) -> encoding::Function {
    let graph = body.graph().graph();
    let states = body.states() as u32;
    // Operands are the first locals either way.
    let mut locals = Locals::after(if variables.is_some() { 0 } else { operands(body) });
    if variables.is_some() {
        (0..operands(body)).for_each(|_| _ = locals.add(width.value()));
    }
    let [step, steps] = [0; 2].map(|_| locals.add(ValType::I32));
    let [counter, done, mask] = [0; 3].map(|_| locals.add(width.value()));
    let uses = Uses::of_nodes(graph, body.next().iter().copied());
    let mut code = Expression::new(graph, uses, width, functions, locals).in_loop();

    write_steps(&mut code, steps);
    let before_loop = std::mem::take(&mut code.code);
    let mut has_run = vec![false; graph.loops().len()];
    let mut takes_counter = false;
    let mut places = lookup::Places::default();
    for id in graph.ids() {
        if code.uses(id) == 0 || code.is_computed(id) {
            continue;
        }
        match graph.node(id) {
            Node::Literal(_) => {}
            Node::Input(LoopBody::COUNTER) => {
                takes_counter = true;
                code.set_local(id, counter);
            }
            Node::Input(input) => code.set_local(id, STATE - 1 + input.0),
            Node::Apply(Op::Lookup, operands) => lookup::look_up_in_loop(&mut code, &mut places, id, operands),
            Node::Apply(op, _) => code.apply(id, op),
            Node::Result(of, _) => {
                if !std::mem::replace(&mut has_run[of.index()], true) {
                    code.run_loop(of);
                }
            }
        }
    }
    // All of the next state is on the stack before any of it replaces the last one.
    for (state, next) in (STATE..).zip(body.next()) {
        code.take(*next);
        if width == Width::Pair {
            for instruction in [Instruction::LocalGet(state), Instruction::LocalGet(mask), wasm::V128_BITSELECT] {
                code.write(instruction);
            }
        }
    }
    let Expression { code: in_loop, before, locals, .. } = code;

    let mut function = encoding::Function::new(locals.types());
    if let Some(first) = variables {
        (0..operands(body)).for_each(|operand| {
            function.instructions(&[Instruction::GlobalGet(first + operand), Instruction::LocalSet(operand)]);
        });
    }
    function.raw(&before);
    function.raw(&before_loop);
    function.instructions(&[
        Instruction::Block,
        Instruction::Loop,
        Instruction::LocalGet(step),
        Instruction::LocalGet(steps),
        wasm::I32_GE_U,
        Instruction::BrIf(1),
    ]);
    function.instructions(&match width {
        Width::Pair => vec![
            Instruction::LocalGet(START),
            Instruction::LocalGet(done),
            wasm::F64X2_ADD,
            Instruction::LocalSet(counter),
            Instruction::LocalGet(COUNT),
            Instruction::LocalGet(done),
            wasm::F64X2_GT,
            Instruction::LocalSet(mask),
            Instruction::LocalGet(done),
            Instruction::V128Const(splat(1.0)),
            wasm::F64X2_ADD,
            Instruction::LocalSet(done),
        ],
        Width::Single if takes_counter => vec![
            Instruction::LocalGet(START),
            Instruction::LocalGet(step),
            wasm::F64_CONVERT_I32_U,
            wasm::F64_ADD,
            Instruction::LocalSet(counter),
        ],
        Width::Single => Vec::new(),
    });
    function.raw(&in_loop);
    for state in (STATE..STATE + states).rev() {
        function.instruction(&Instruction::LocalSet(state));
    }
    function.instructions(&[
        Instruction::LocalGet(step),
        Instruction::I32Const(1),
        wasm::I32_ADD,
        Instruction::LocalSet(step),
        Instruction::Br(0),
        wasm::END,
        wasm::END,
    ]);
    for state in STATE..STATE + states {
        function.instruction(&Instruction::LocalGet(state));
        if let Some(first) = variables {
            function.instruction(&Instruction::GlobalSet(first + state));
        }
    }
    function.instruction(&wasm::END);
    function
}

/// Sets the number of steps, as [`residua_ir::graph::steps`] has it, of the instance that has most; of two instances each count becomes a whole number.
fn write_steps(code: &mut Expression, steps: u32) {
    let most = f64::from(MOST_STEPS);
    match code.width {
        // The conversion makes a NaN and what is below 0 zeros, and the smaller of a NaN and a number is a NaN.
        Width::Single => {
            for instruction in [Instruction::LocalGet(COUNT), Instruction::F64Const(most), wasm::F64_MIN] {
                code.write(instruction);
            }
        }
        Width::Pair => {
            // Of a NaN and a number the first operand.
            for instruction in [
                Instruction::V128Const(splat(0.0)),
                Instruction::LocalGet(COUNT),
                wasm::F64X2_PMAX,
                Instruction::V128Const(splat(most)),
                wasm::F64X2_PMIN,
                wasm::F64X2_FLOOR,
                Instruction::LocalTee(COUNT),
                wasm::f64x2_extract_lane(0),
                Instruction::LocalGet(COUNT),
                wasm::f64x2_extract_lane(1),
                wasm::F64_MAX,
            ] {
                code.write(instruction);
            }
        }
    }
    code.write(wasm::I32_TRUNC_SAT_F64_U);
    code.write(Instruction::LocalSet(steps));
}

/// A number in both lanes.
fn splat(value: f64) -> u128 {
    let bits = u128::from(value.to_bits());
    bits << 64 | bits
}

impl Expression<'_> {
    /// Runs a loop whose operands are computed, and leaves its results to their nodes.
    pub fn run_loop(&mut self, of: LoopId) {
        let graph = self.graph;
        let of_loop = graph.loop_of(of);
        let function = self.functions.of_loop(of_loop.body(), self.width);
        for (number, operand) in (0..).zip(of_loop.operands()) {
            self.push(*operand);
            if let Some(first) = function.variables {
                self.write(Instruction::GlobalSet(first + number));
            }
        }
        self.write(Instruction::Call(function.position));
        for operand in of_loop.operands() {
            self.release(*operand);
        }
        let mut results: Vec<Option<NodeId>> = vec![None; of_loop.body().states()];
        for &(node, number) in &self.results_of(of) {
            results[number as usize] = Some(node);
        }
        for (number, node) in (STATE..).zip(results).list().into_iter().rev() {
            let is_used = node.is_some_and(|node| self.uses(node) > 0);
            match (function.variables, node) {
                (Some(first), Some(node)) if is_used => {
                    self.write(Instruction::GlobalGet(first + number));
                    self.assign(node);
                }
                (Some(_), _) => {}
                (None, Some(node)) if is_used => self.assign(node),
                (None, _) => self.write(wasm::DROP),
            }
        }
    }

    /// The results of a loop among the nodes, with their numbers.
    fn results_of(&mut self, of: LoopId) -> Vec<(NodeId, u32)> {
        if self.results.is_empty() {
            self.results.resize(self.graph.loops().len(), Vec::new());
            for id in self.graph.ids() {
                if let Node::Result(of, number) = self.graph.node(id) {
                    self.results[of.index()].push_all([(id, number)]);
                }
            }
        }
        self.results[of.index()].iter().copied().list()
    }
}
