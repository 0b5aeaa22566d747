//! A kernel's function of one width: the loop over instances.

use super::encoding::{Function, Instruction, ValType};
use super::expression::{Expression, Locals, Width};
use super::places::Places;
use super::{Functions, frame};
use crate::codegen::{Address, Kernel, Load, Step, Store};
use crate::graph::{Node, NodeId, Op};
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
    instances(kernel, &mut body, &mut places, total, &sums);
    let (round, marks) = (std::mem::take(&mut body.code), std::mem::take(&mut body.marks));
    let reads_what_it_writes =
        |load: &Load| matches!(load, Load::Read { buffer, .. } if kernel.buffers[*buffer as usize].written);
    let mut two_rounds = Vec::new();
    if width == Width::Pair && round.len() <= MOST_INTERLEAVED && !kernel.loads.iter().any(reads_what_it_writes) {
        let second = body.locals.add(ValType::I32);
        let next = [
            Instruction::LocalGet(instance),
            Instruction::I32Const(width.lanes().into()),
            Instruction::I32Add,
            Instruction::LocalSet(second),
        ];
        next.iter().for_each(|instruction| instruction.encode(&mut two_rounds));
        body.resume(state);
        places.go_to(second);
        instances(kernel, &mut body, &mut places, total, &sums);
        let [mut from, mut second_from] = [0, 0];
        for (&to, &second_to) in marks.iter().zip(&body.marks) {
            two_rounds.extend_from_slice(&round[from..to]);
            two_rounds.extend_from_slice(&body.code[second_from..second_to]);
            (from, second_from) = (to, second_to);
        }
        two_rounds.extend_from_slice(&round[from..]);
        two_rounds.extend_from_slice(&body.code[second_from..]);
        body.code.clear();
    }
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
    let lanes = i32::from(width.lanes());
    // Whether there are instances left for so many rounds, or fewer.
    let compare = |function: &mut Function, rounds: i32, comparison: Instruction| {
        function.instructions(&[
            Instruction::LocalGet(end),
            Instruction::LocalGet(instance),
            Instruction::I32Sub,
            Instruction::I32Const(rounds * lanes),
            comparison,
            Instruction::BrIf(0),
        ]);
    };
    function.instructions(first);
    function.instructions(&[Instruction::LocalSet(instance), Instruction::Block]);
    compare(&mut function, 1, Instruction::I32LtU);
    function.raw(&before);
    function.raw(&hoisted);
    let rounds = if two_rounds.is_empty() { 1 } else { 2 };
    let write_rounds = |function: &mut Function, code: &[u8], rounds: i32| {
        function.raw(code);
        function.instructions(&[
            Instruction::LocalGet(instance),
            Instruction::I32Const(rounds * lanes),
            Instruction::I32Add,
            Instruction::LocalSet(instance),
        ]);
    };
    function.instruction(&Instruction::Block);
    if rounds == 2 {
        // Of an odd number of rounds, the first.
        function.instructions(&[
            Instruction::LocalGet(end),
            Instruction::LocalGet(instance),
            Instruction::I32Sub,
            Instruction::I32Const(lanes),
            Instruction::I32And,
            Instruction::If,
        ]);
        write_rounds(&mut function, &round, 1);
        function.instruction(&Instruction::End);
        compare(&mut function, rounds, Instruction::I32LtU);
    }
    function.instruction(&Instruction::Loop);
    write_rounds(&mut function, if rounds == 2 { &two_rounds } else { &round }, rounds);
    compare(&mut function, rounds, Instruction::I32GeU);
    function.instruction(&Instruction::End);
    function.instruction(&Instruction::End);
    function.raw(&after);
    function.instructions(&[Instruction::End, Instruction::LocalGet(total), Instruction::End]);
    function
}

/// Where a round has at most so many bytes of code the loop makes two at a time, of which the operations alternate: a processor looks ahead less
/// far than a round is long, and would wait for the results of one alone.
const MOST_INTERLEAVED: usize = 1600;

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
fn instances(kernel: &Kernel, body: &mut Expression, places: &mut Places, total: u32, sums: &[(&Store, u32)]) {
    let graph = body.graph;
    let schedule = kernel.schedule();
    let mut late: Vec<bool> = vec![true; kernel.stores.len()];
    for step in &schedule {
        if let Step::Store(number) = step {
            late[*number as usize] = false;
        }
    }
    let late: Vec<&Store> = kernel.stores.iter().zip(late).filter(|(_, late)| *late).map(|(store, _)| store).list();
    let (adding, overwriting): (Vec<&Store>, Vec<&Store>) = late.iter().partition(|store| store.accumulate);
    let accumulating: Vec<&Store> = adding.into_iter().filter(|store| !kernel.is_same(store.address)).list();
    let accumulating = by_two(&accumulating, body.width);
    // Instead of adding the negative of a number that nobody else takes, the number is subtracted.
    let negated = |store: &Store| match graph.node(store.node) {
        Node::Apply(Op::Neg, [operand, ..]) if body.uses(store.node) == 1 && !body.is_computed(store.node) => {
            Some(operand)
        }
        _ => None,
    };
    let mut skipped = vec![false; graph.len()];
    let sums = sums
        .iter()
        .map(|&(store, local)| {
            let operand = negated(store);
            if operand.is_some() {
                skipped[store.node.index()] = true;
            }
            Sum { store, local, node: operand.unwrap_or(store.node), subtract: operand.is_some() }
        })
        .list();
    let additions = accumulating
        .iter()
        .map(|&(store, next)| {
            let all = [Some(store), next];
            let operands = all.map(|store| store.and_then(negated));
            let subtract = operands[0].is_some() && operands[1].is_some() == next.is_some();
            let nodes = all.map(|store| store.map(|store| store.node));
            if subtract {
                nodes.into_iter().flatten().for_each(|node| skipped[node.index()] = true);
            }
            (store, if subtract { operands } else { nodes }, subtract)
        })
        .list();

    let mut called = vec![false; kernel.calls.len()];
    for step in schedule {
        body.mark();
        let id = match step {
            Step::Compute(id) => id,
            Step::Store(number) => {
                let store = &kernel.stores[number as usize];
                match sums.iter().find(|sum| std::ptr::eq(sum.store, store)) {
                    Some(sum) => {
                        load(kernel, body, places, sum.node);
                        sum.add(body);
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
                if skipped[id.index()] || body.is_computed(id) {
                    continue;
                }
                for operand in &operands[..op.arity()] {
                    load(kernel, body, places, *operand);
                }
                body.apply(id, op);
            }
        }
    }

    let added = additions.iter().flat_map(|(_, nodes, _)| nodes.iter().flatten().copied());
    let late_sums: Vec<&Sum> = sums.iter().filter(|sum| late.iter().any(|late| std::ptr::eq(*late, sum.store))).list();
    let rest = overwriting.iter().map(|store| store.node).chain(late_sums.iter().map(|sum| sum.node));
    for node in rest.chain(added).chain(kernel.total) {
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
        for &(store, nodes, subtract) in &additions {
            match nodes {
                [Some(node), Some(next)] => places.accumulate_two(body, store, [node, next], lane, subtract),
                [node, _] => places.accumulate(body, store, node.unwrap_or(store.node), lane, subtract),
            }
        }
    }
    late_sums.iter().for_each(|sum| sum.add(body));
    if let Some(node) = kernel.total {
        add_to(body, total, node, false);
    }
}

/// A sum over instances in a local.
struct Sum<'k> {
    /// What becomes of it.
    store: &'k Store,
    local: u32,
    /// What is added to it, or subtracted.
    node: NodeId,
    subtract: bool,
}

impl Sum<'_> {
    fn add(&self, body: &mut Expression) {
        add_to(body, self.local, self.node, self.subtract);
    }
}

/// Adds a node's value to a local, as one of its uses, or subtracts it.
fn add_to(body: &mut Expression, local: u32, node: NodeId, subtract: bool) {
    body.write(Instruction::LocalGet(local));
    body.take(node);
    if subtract {
        body.either(Instruction::F64x2Sub, Instruction::F64Sub);
    } else {
        body.either(Instruction::F64x2Add, Instruction::F64Add);
    }
    body.write(Instruction::LocalSet(local));
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
