//! A kernel's function of one width: the loop over instances.

use super::encoding::{Function, Instruction, ValType};
use super::expression::Expression;
use super::locals::{Locals, Width};
use super::places::Places;
use super::rounds::{Rounds, unless_left};
use super::{Functions, frame};
use crate::codegen::{self, Address, Kernel, Load, Step, Store};
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
    let body = Expression::new(graph, kernel.uses(), width, functions, locals);
    let mut body = body.in_loop();

    let (begin, end) = (places.word(&mut body, frame::BEGIN), places.word(&mut body, frame::END));
    hoist(kernel, &mut body, &mut places);
    let hoisted = std::mem::take(&mut body.code);
    let summing = kernel.stores.iter().filter(|store| store.accumulate && kernel.is_same(store.address));
    let sums: Vec<(&Store, u32)> = summing.map(|store| (store, body.locals.add(width.value()))).list();
    let state = body.state();
    let rounds = Rounds::write(kernel, &mut body, &mut places, total, &sums);
    // The loop once more, without calls of functions that have nothing to do: while there may be a call, nothing stays in a register.
    let mut without_calls = None;
    if rounds.count > 1 && may_have_nothing_to_do(kernel, &body) {
        body.resume(state);
        body.has_calls = false;
        let selected = body.locals.add(ValType::I32);
        without_calls = Some((selected, Rounds::write(kernel, &mut body, &mut places, total, &sums)));
        for (number, call) in kernel.calls.iter().enumerate() {
            body.push_uniform(call.selector);
            body.write(Instruction::I32TruncSatF64U);
            if number > 0 {
                body.write(Instruction::LocalGet(selected));
                body.write(Instruction::I32Or);
            }
            body.write(Instruction::LocalSet(selected));
        }
    }
    let select = std::mem::take(&mut body.code);
    for &(store, local) in &sums {
        places.add(&mut body, store, local);
    }
    let Expression { locals, code: after, before, .. } = body;

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
    let (lanes, end_of_loop) = (i32::from(width.lanes()), (instance, end));
    function.instructions(first);
    function.instructions(&[Instruction::LocalSet(instance), Instruction::Block]);
    unless_left(&mut function, end_of_loop, lanes);
    function.raw(&before);
    function.raw(&hoisted);
    function.raw(&select);
    match without_calls {
        None => rounds.repeat(&mut function, end_of_loop, lanes),
        Some((selected, without_calls)) => {
            function.instructions(&[Instruction::LocalGet(selected), Instruction::If]);
            rounds.repeat(&mut function, end_of_loop, lanes);
            function.instruction(&Instruction::Else);
            without_calls.repeat(&mut function, end_of_loop, lanes);
            function.instruction(&Instruction::End);
        }
    }
    function.raw(&after);
    function.instructions(&[Instruction::End, Instruction::LocalGet(total), Instruction::End]);
    function
}

/// Whether all calls are of functions whose first case does nothing, and for all instances the same cases.
fn may_have_nothing_to_do(kernel: &Kernel, body: &Expression) -> bool {
    let mut calls = kernel.calls.iter();
    !kernel.calls.is_empty() && calls.all(|call| has_nothing_to_do(&call.function) && body.is_computed(call.selector))
}

/// Whether the first case gives arguments and numbers alone.
fn has_nothing_to_do(function: &codegen::Function) -> bool {
    let first = &function.cases[0];
    first.results.iter().all(|result| !matches!(first.graph.graph().node(*result), Node::Apply(..)))
}

/// What is the same for all instances, before the loop: addresses by way of pinned columns, numbers there and in fixed places, and what is
/// computed from these alone.
fn hoist(kernel: &Kernel, body: &mut Expression, places: &mut Places) {
    places.pin(body);
    let graph = body.graph;
    let mut same = vec![false; graph.len()];
    for id in graph.ids() {
        match graph.node(id) {
            Node::Literal(_) => same[id.index()] = true,
            Node::Input(input) => {
                if let Load::Read { buffer, address } = kernel.loads[input.0 as usize]
                    && body.uses(id) > 0
                    && !kernel.buffers[buffer as usize].written
                    && kernel.is_same(address)
                {
                    places.load(body, buffer, address);
                    body.assign(id);
                    body.keep(id);
                    same[id.index()] = true;
                }
            }
            Node::Apply(op, operands) => {
                if body.uses(id) > 0 && operands[..op.arity()].iter().all(|operand| same[operand.index()]) {
                    body.apply(id, op);
                    body.keep(id);
                    same[id.index()] = true;
                }
            }
        }
    }
}

/// One round of the loop, marked where another's operations may stand between its own. What goes to places that are the same for all instances
/// is added to sums, one for each such store, as soon as it is computed.
pub(super) fn instances(
    kernel: &Kernel,
    body: &mut Expression,
    places: &mut Places,
    total: u32,
    sums: &[(&Store, u32)],
) {
    let graph = body.graph;
    let schedule = kernel.schedule();
    let mut late: Vec<bool> = vec![true; kernel.stores.len()];
    for step in &schedule {
        if let Step::Store(number) = step {
            late[*number as usize] = false;
        }
    }
    let of_kind = |late_ones: bool| {
        kernel.stores.iter().zip(&late).filter(move |(_, late)| **late == late_ones).map(|(store, _)| store).list()
    };
    let (early, late): (Vec<&Store>, Vec<&Store>) = (of_kind(false), of_kind(true));
    let mut waiting: Vec<&Store> = Vec::new();
    let (adding, overwriting): (Vec<&Store>, Vec<&Store>) = late.iter().partition(|store| store.accumulate);
    let accumulating: Vec<&Store> = adding.into_iter().filter(|store| !kernel.is_same(store.address)).list();
    let accumulating = by_two(&accumulating, body.width);
    let mut called = vec![false; kernel.calls.len()];
    for step in schedule {
        body.mark();
        let id = match step {
            Step::Compute(id) => id,
            Step::Store(number) => {
                let store = &kernel.stores[number as usize];
                if let Some(&(_, sum)) = sums.iter().find(|(of, _)| std::ptr::eq(*of, store)) {
                    add(body, store.node, sum);
                    continue;
                }
                // One that has another beside it waits for that.
                match waiting.iter().position(|other| are_beside(other, store)) {
                    Some(other) => {
                        let other = waiting.swap_remove(other);
                        let [even, odd] = if is_even(store.address) { [store, other] } else { [other, store] };
                        let nodes = [even.node, odd.node];
                        (0..body.width.lanes()).for_each(|lane| places.store_two(body, even, nodes, lane));
                    }
                    None if body.width == Width::Pair && early.iter().any(|other| are_beside(other, store)) => {
                        waiting.push(store);
                    }
                    None => places.store(body, store.buffer, store.address, store.node),
                }
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
                if body.is_computed(id) {
                    continue;
                }
                for operand in &operands[..op.arity()] {
                    load(kernel, body, places, *operand);
                }
                body.apply(id, op);
            }
        }
    }

    let added = accumulating.iter().flat_map(|(store, next)| [Some(*store), *next]).flatten().map(|store| store.node);
    let late_sums: Vec<(NodeId, u32)> = sums
        .iter()
        .filter(|(store, _)| late.iter().any(|late| std::ptr::eq(*late, *store)))
        .map(|&(store, sum)| (store.node, sum))
        .chain(kernel.total.map(|node| (node, total)))
        .list();
    let rest = overwriting.iter().map(|store| store.node).chain(late_sums.iter().map(|&(node, _)| node));
    for node in rest.chain(added) {
        load(kernel, body, places, node);
    }
    body.mark();
    let lanes = body.width.lanes();
    for (store, next) in by_two(&overwriting, body.width) {
        match next {
            None => places.store(body, store.buffer, store.address, store.node),
            Some(next) => (0..lanes).for_each(|lane| places.store_two(body, store, [store.node, next.node], lane)),
        }
    }
    for lane in 0..lanes {
        for &(store, next) in &accumulating {
            match next {
                Some(next) => places.accumulate_two(body, store, [store.node, next.node], lane),
                None => places.accumulate(body, store, store.node, lane),
            }
        }
    }
    late_sums.into_iter().for_each(|(node, sum)| add(body, node, sum));
}

/// Adds a node's value to a local, as one of its uses.
fn add(body: &mut Expression, node: NodeId, sum: u32) {
    body.write(Instruction::LocalGet(sum));
    body.add_taken(node);
    body.write(Instruction::LocalSet(sum));
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

/// The address of the next component of what an index names, or of an interleaved instance.
fn next_component(address: Address) -> Option<Address> {
    match address {
        Address::Indexed { indices, column, component } => {
            Some(Address::Indexed { indices, column, component: component + 1 })
        }
        Address::Interleaved { width, component } if component + 1 < width => {
            Some(Address::Interleaved { width, component: component + 1 })
        }
        Address::Column(_)
        | Address::Fixed(_)
        | Address::Layer(_)
        | Address::Interleaved { .. }
        | Address::Listed { .. } => None,
    }
}

/// Whether two stores go to neighbouring components of an interleaved instance, an even one and the next.
fn are_beside(one: &Store, other: &Store) -> bool {
    match (one.address, other.address) {
        (Address::Interleaved { component, .. }, Address::Interleaved { component: next, .. }) => {
            one.buffer == other.buffer && component ^ 1 == next
        }
        _ => false,
    }
}

/// Whether it is an even component of an interleaved instance.
fn is_even(address: Address) -> bool {
    matches!(address, Address::Interleaved { component, .. } if component % 2 == 0)
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
    let nothing_to_do = has_nothing_to_do(&plan.function);
    if body.has_calls {
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
    }
    if nothing_to_do {
        if body.has_calls {
            body.write(Instruction::Else);
        }
        let first = &plan.function.cases[0];
        for (result, local) in first.results.iter().zip(&results) {
            match first.graph.graph().node(*result) {
                Node::Input(parameter) => body.push(plan.arguments[parameter.0 as usize]),
                Node::Literal(bits) => body.number(f64::from_bits(bits)),
                Node::Apply(..) => unreachable!("there is nothing to compute"),
            }
            body.write(Instruction::LocalSet(*local));
        }
        if body.has_calls {
            body.write(Instruction::End);
        }
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
