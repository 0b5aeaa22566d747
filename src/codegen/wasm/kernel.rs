//! A kernel's function of one width: the loop over instances.

use super::encoding::{Function, Instruction, ValType};
use super::expression::{Expression, Locals, Width};
use super::places::Places;
use super::{Functions, frame};
use crate::codegen::{Address, Kernel, Load, Step, Store};
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

    let late: Vec<&Store> = kernel.stores.iter().zip(late).filter(|(_, late)| *late).map(|(store, _)| store).list();
    for node in late.iter().map(|store| store.node).chain(kernel.total) {
        load(kernel, body, places, node);
    }
    let (accumulating, overwriting): (Vec<&Store>, Vec<&Store>) = late.into_iter().partition(|store| store.accumulate);
    let lanes = body.width.lanes();
    for (store, next) in by_two(&overwriting, body.width) {
        match next {
            None => places.store(body, store.buffer, store.address, store.node),
            Some(next) => (0..lanes).for_each(|lane| places.store_two(body, store, [store.node, next.node], lane)),
        }
    }
    for lane in 0..lanes {
        for (store, next) in by_two(&accumulating, body.width) {
            match next {
                None => places.accumulate(body, store.buffer, store.address, store.node, lane),
                Some(next) => places.store_two(body, store, [store.node, next.node], lane),
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

/// Stores, each with the one that follows it where that writes the next component of the same: two numbers side by side in memory.
fn by_two<'a>(stores: &[&'a Store], width: Width) -> Vec<(&'a Store, Option<&'a Store>)> {
    let mut grouped = Vec::new();
    let mut rest = stores.iter().copied().peekable();
    while let Some(store) = rest.next() {
        let beside = |next: &&Store| {
            width == Width::Pair && next.buffer == store.buffer && Some(next.address) == next_component(store.address)
        };
        grouped.push((store, rest.next_if(beside)));
    }
    grouped
}

/// The address of the next component of what an index names.
fn next_component(address: Address) -> Option<Address> {
    match address {
        Address::Indexed { indices, column, component } => {
            Some(Address::Indexed { indices, column, component: component + 1 })
        }
        Address::Column(_)
        | Address::Fixed(_)
        | Address::Layer(_)
        | Address::Interleaved { .. }
        | Address::Listed { .. } => None,
    }
}

/// Reads an input that has not been read: as late as this, so that it holds a register no longer than it must. Even components of what
/// an index names bring the odd ones after them along.
fn load(kernel: &Kernel, body: &mut Expression, places: &mut Places, node: NodeId) {
    if let Node::Input(input) = body.graph.node(node)
        && let Load::Read { buffer, address } = kernel.loads[input.0 as usize]
        && !body.is_computed(node)
    {
        if body.width == Width::Pair
            && let Address::Indexed { indices, column, component } = address
        {
            let of = |component| Address::Indexed { indices, column, component };
            let pair = [component & !1, component | 1].map(of);
            let nodes = pair.map(|address| unread(kernel, body, places, Load::Read { buffer, address }));
            if let [Some(even), Some(odd)] = nodes
                && (node == even || node == odd)
            {
                return places.load_two(body, buffer, pair[0], [even, odd]);
            }
        }
        places.load(body, buffer, address);
        body.assign(node);
    }
}

/// The node that a load is for, if it is needed and has not been read.
fn unread(kernel: &Kernel, body: &Expression, places: &Places, load: Load) -> Option<NodeId> {
    let input = kernel.loads.iter().position(|known| *known == load)?;
    let node = places.inputs[input]?;
    (body.uses(node) > 0 && !body.is_computed(node)).then_some(node)
}

/// Calls a function, and places all its results.
fn write_call(kernel: &Kernel, call: u32, body: &mut Expression, places: &mut Places) {
    let plan = &kernel.calls[call as usize];
    for argument in plan.arguments.iter().chain([&plan.selector]) {
        load(kernel, body, places, *argument);
    }
    let results: Vec<u32> = (0..plan.function.results).map(|_| body.locals.add(body.width.value())).list();
    let first = &plan.function.cases[0];
    let nothing_to_do =
        first.results.iter().all(|result| !matches!(first.graph.graph().node(*result), Node::Apply(..)));
    if nothing_to_do {
        // A branch that always goes one way is cheaper than a call.
        body.push_uniform(plan.selector);
        body.write(Instruction::I32TruncSatF64U);
        body.write(Instruction::If);
    }
    for argument in &plan.arguments {
        body.push(*argument);
    }
    body.push_uniform(plan.selector);
    body.write(Instruction::I32TruncSatF64U);
    body.write(Instruction::Call(body.functions.call(&plan.function, body.width)));
    for local in results.iter().rev() {
        body.write(Instruction::LocalSet(*local));
    }
    if nothing_to_do {
        body.write(Instruction::Else);
        for (result, local) in first.results.iter().zip(&results) {
            match first.graph.graph().node(*result) {
                Node::Input(parameter) => body.push(plan.arguments[parameter.0 as usize]),
                Node::Literal(bits) => body.number(f64::from_bits(bits)),
                Node::Apply(..) => unreachable!("there is nothing to compute"),
            }
            body.write(Instruction::LocalSet(*local));
        }
        body.write(Instruction::End);
    }
    for argument in plan.arguments.iter().chain([&plan.selector]) {
        body.release(*argument);
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
