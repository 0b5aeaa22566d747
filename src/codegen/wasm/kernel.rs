//! A kernel's function of one width: the loop over instances.

use super::encoding::{Function, Instruction, ValType};
use super::expression::{Expression, Locals, Width};
use super::places::Places;
use super::{Functions, frame};
use crate::codegen::{Kernel, Load, Step};
use crate::graph::{Node, NodeId};
use crate::list::Listed;

/// The function that takes a frame, runs the instances that the width is for (all pairs; or the one that pairs leave), and
/// gives the total, lane by lane.
pub(super) fn function(kernel: &Kernel, width: Width, functions: &Functions) -> Function {
    let graph = kernel.graph.graph();
    let mut locals = Locals::after(1);
    let instance = locals.add(ValType::I32);
    let total = locals.add(width.value());
    let mut places = Places::new(kernel, instance);
    let mut body = Expression::new(graph, kernel.uses(), width, functions, locals);

    let (begin, end) = (places.word(&mut body, frame::BEGIN), places.word(&mut body, frame::END));
    instances(kernel, &mut body, &mut places, total);
    let Expression { locals, code, .. } = body;

    let mut function = Function::new(locals.types());
    function.raw(&places.prologue);
    let first: &[Instruction] = match width {
        Width::Pair => &[Instruction::LocalGet(begin)],
        // end − (end − begin) mod 2
        Width::Single => &[
            Instruction::LocalGet(end),
            Instruction::LocalGet(end),
            Instruction::LocalGet(begin),
            Instruction::I32Sub,
            Instruction::I32Const(1),
            Instruction::I32And,
            Instruction::I32Sub,
        ],
    };
    let lanes = i32::from(width.lanes());
    for instruction in first {
        function.instruction(instruction);
    }
    for instruction in [
        Instruction::LocalSet(instance),
        Instruction::Block,
        Instruction::Loop,
        Instruction::LocalGet(end),
        Instruction::LocalGet(instance),
        Instruction::I32Sub,
        Instruction::I32Const(lanes),
        Instruction::I32LtU,
        Instruction::BrIf(1),
    ] {
        function.instruction(&instruction);
    }
    function.raw(&code);
    for instruction in [
        Instruction::LocalGet(instance),
        Instruction::I32Const(lanes),
        Instruction::I32Add,
        Instruction::LocalSet(instance),
        Instruction::Br(0),
        Instruction::End,
        Instruction::End,
        Instruction::LocalGet(total),
        Instruction::End,
    ] {
        function.instruction(&instruction);
    }
    function
}

/// One round of the loop.
fn instances(kernel: &Kernel, body: &mut Expression, places: &mut Places, total: u32) {
    let graph = body.graph;
    let mut late: Vec<bool> = vec![true; kernel.stores.len()];
    let mut called = vec![false; kernel.calls.len()];
    for step in kernel.schedule() {
        let id = match step {
            Step::Compute(id) => id,
            Step::Store(number) => {
                late[number as usize] = false;
                let store = kernel.stores[number as usize];
                places.store(body, store.buffer, store.address, store.node);
                continue;
            }
        };
        match graph.node(id) {
            Node::Literal(_) => {}
            Node::Input(input) => {
                if let Load::Call { call, .. } = kernel.loads[input.0 as usize]
                    && !std::mem::replace(&mut called[call as usize], true)
                {
                    write_call(kernel, call, body, places);
                }
            }
            Node::Apply(op, operands) => {
                for operand in &operands[..op.arity()] {
                    load(kernel, body, places, *operand);
                }
                body.apply(id, op);
            }
        }
    }

    // What is kept until the end is read by then, and added to memory instance by instance.
    let late = || kernel.stores.iter().zip(&late).filter(|(_, late)| **late).map(|(store, _)| store);
    for node in late().map(|store| store.node).chain(kernel.total) {
        load(kernel, body, places, node);
    }
    for store in late() {
        if !store.accumulate {
            places.store(body, store.buffer, store.address, store.node);
        }
    }
    for lane in 0..body.width.lanes() {
        for store in late() {
            if store.accumulate {
                places.accumulate(body, store.buffer, store.address, store.node, lane);
            }
        }
    }
    if let Some(node) = kernel.total {
        body.write(Instruction::LocalGet(total));
        body.take(node);
        body.either(Instruction::F64x2Add, Instruction::F64Add);
        body.write(Instruction::LocalSet(total));
    }
}

/// Reads an input that has not been read: as late as this, so that it holds a register no longer than it must.
fn load(kernel: &Kernel, body: &mut Expression, places: &mut Places, node: NodeId) {
    if let Node::Input(input) = body.graph.node(node)
        && let Load::Read { buffer, address } = kernel.loads[input.0 as usize]
        && !body.is_computed(node)
    {
        places.load(body, buffer, address);
        body.assign(node);
    }
}

/// Calls a function, and places all its results.
fn write_call(kernel: &Kernel, call: u32, body: &mut Expression, places: &mut Places) {
    let plan = &kernel.calls[call as usize];
    for argument in plan.arguments.iter().chain([&plan.selector]) {
        load(kernel, body, places, *argument);
    }
    for argument in &plan.arguments {
        body.take(*argument);
    }
    body.take_uniform(plan.selector);
    body.write(Instruction::I32TruncSatF64U);
    body.write(Instruction::Call(body.functions.call(&plan.function, body.width)));
    let results: Vec<u32> = (0..plan.function.results).map(|_| body.locals.add(body.width.value())).list();
    for local in results.iter().rev() {
        body.write(Instruction::LocalSet(*local));
    }
    let graph = body.graph;
    for id in graph.ids() {
        if let Node::Input(input) = graph.node(id)
            && let Load::Call { call: of, result } = kernel.loads[input.0 as usize]
            && of == call
        {
            body.place(id, results[result as usize]);
        }
    }
}
