//! A kernel's function of one width: the loop over instances.

use std::ops::Range;

use super::addresses::{Addresses, is_run_once};
use super::encoding::instructions as wasm;
use super::encoding::{Function, Instruction, ValType};
use super::expression::Expression;
use super::frame;
use super::functions::Functions;
use super::locals::{Locals, Width};
use super::round::{Sum, has_nothing_to_do};
use super::rounds::{Rounds, unless_left};
use crate::{CheckedKernel, Load};
use residua_base::list::Listed;
use residua_ir::graph::{Node, Op};

/// The function that takes a frame, runs the instances that the width is for (all pairs; or the one that pairs leave), and
/// gives the total, lane by lane. Or several such, which do it together one after another; the last gives the total.
pub(super) fn functions(kernel: &CheckedKernel, width: Width, functions: &Functions) -> Vec<Function> {
    let graph = kernel.graph.graph();
    let mut locals = Locals::after(1);
    let instance = locals.add(ValType::I32);
    let total = locals.add(width.value());
    let mut addresses = Addresses::new(kernel, instance, &mut locals);
    let body = Expression::new(graph, kernel.uses().clone(), width, functions, locals);
    let mut body = body.in_loop();
    body.free_variables = kernel.is_parted().then(Vec::new);

    let (begin, end) = (addresses.word(&mut body, frame::BEGIN), addresses.word(&mut body, frame::END));
    hoist(kernel, &mut body, &mut addresses);
    let hoisted = std::mem::take(&mut body.code);
    let mut sums: Vec<Sum> = Vec::new();
    for (output, element) in
        (0u32..).zip(&kernel.outputs).filter_map(|(number, output)| Some((number, output.element()?)))
    {
        if addresses.is_summed(&kernel.outputs[output as usize]) {
            sums.push(Sum { output, element, local: body.locals.add(width.value()) });
        }
    }
    let state = body.state();
    let rounds = Rounds::write(kernel, &mut body, &mut addresses, total, &sums);
    // The loop once more, without calls of functions that have nothing to do: while there may be a call, nothing stays in a register.
    let mut without_calls = None;
    if rounds.count > 1 && may_have_nothing_to_do(kernel, &body) {
        body.resume(state);
        body.has_calls = false;
        let selected = body.locals.add(ValType::I32);
        without_calls = Some((selected, Rounds::write(kernel, &mut body, &mut addresses, total, &sums)));
        for (number, call) in kernel.calls.iter().enumerate() {
            body.push_uniform(call.selector);
            body.write(wasm::I32_TRUNC_SAT_F64_U);
            if number > 0 {
                body.write(Instruction::LocalGet(selected));
                body.write(wasm::I32_OR);
            }
            body.write(Instruction::LocalSet(selected));
        }
    }
    let select = std::mem::take(&mut body.code);
    for sum in &sums {
        addresses.add(&mut body, sum.element, sum.local);
    }
    let Expression { locals, code: after, before, cuts, .. } = body;

    let first: &[Instruction] = match width {
        Width::Pair => &[Instruction::LocalGet(begin)],
        // end − (end − begin) mod 2
        Width::Single => &[
            Instruction::LocalGet(end),
            Instruction::LocalGet(end),
            Instruction::LocalGet(begin),
            wasm::I32_SUB,
            Instruction::I32Const(1),
            wasm::I32_AND,
            wasm::I32_SUB,
        ],
    };
    let (lanes, end_of_loop) = (i32::from(width.lanes()), (instance, end));
    let write = |part: Range<usize>| {
        let mut function = Function::new(locals.types());
        function.raw(&addresses.prologue);
        function.instructions(first);
        function.instructions(&[Instruction::LocalSet(instance), Instruction::Block]);
        unless_left(&mut function, end_of_loop, lanes);
        function.raw(&before);
        function.raw(&hoisted);
        function.raw(&select);
        match &without_calls {
            None => rounds.repeat(&mut function, part, end_of_loop, lanes),
            Some((selected, without_calls)) => {
                function.instructions(&[Instruction::LocalGet(*selected), Instruction::If]);
                rounds.repeat(&mut function, part, end_of_loop, lanes);
                function.instruction(&wasm::ELSE);
                without_calls.repeat(&mut function, without_calls.all(), end_of_loop, lanes);
                function.instruction(&wasm::END);
            }
        }
        function.raw(&after);
        function.instructions(&[wasm::END, Instruction::LocalGet(total), wasm::END]);
        function
    };
    rounds.parts(&cuts).into_iter().map(write).list()
}

/// Whether all calls are of functions whose first case does nothing, and for all instances the same cases.
fn may_have_nothing_to_do(kernel: &CheckedKernel, body: &Expression) -> bool {
    let mut calls = kernel.calls.iter();
    !kernel.calls.is_empty() && calls.all(|call| has_nothing_to_do(&call.function) && body.is_computed(call.selector))
}

/// Computes before the loop what is the same for all instances: shared columns of indices, numbers in elements that all instances share,
/// and nodes of these alone.
fn hoist(kernel: &CheckedKernel, body: &mut Expression, addresses: &mut Addresses) {
    addresses.read_shared(body);
    if is_run_once(kernel) {
        return;
    }
    let graph = body.graph;
    let mut same = vec![false; graph.len()];
    for id in graph.ids() {
        match graph.node(id) {
            Node::Literal(_) => same[id.index()] = true,
            Node::Input(input) => {
                if let Load::Read(element) = &kernel.loads[input.0 as usize]
                    && body.uses(id) > 0
                    && !kernel.buffers[element.buffer as usize].written
                    && element.index.is_same()
                {
                    addresses.load(body, element);
                    body.assign(id);
                    body.keep(id);
                    same[id.index()] = true;
                }
            }
            Node::Apply(op, operands) => {
                if body.uses(id) > 0
                    && op != Op::Lookup
                    && operands[..op.arity()].iter().all(|operand| same[operand.index()])
                {
                    body.apply(id, op);
                    body.keep(id);
                    same[id.index()] = true;
                }
            }
            // Loops are run where their results are needed.
            Node::Result(..) => {}
        }
    }
}
