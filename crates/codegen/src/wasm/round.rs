//! One round of a kernel's loop: one instance, or a pair of them.

use super::addresses::{Addresses, is_run_once};
use super::encoding::Instruction;
use super::encoding::instructions as wasm;
use super::expression::Expression;
use super::locals::Width;
use crate::{CheckedKernel, Element, ElementType, Index, Kernel, Load, Step};
use residua_base::list::Listed;
use residua_ir::graph::{Node, NodeId, Op};

/// A local that an output's values are added up in.
pub(super) struct Sum<'k> {
    /// Position in [`Kernel::outputs`].
    pub output: u32,
    /// The element that the sum is added to after the loop.
    pub element: &'k Element,
    pub local: u32,
}

/// An output that is written to memory.
#[derive(Clone, Copy)]
struct Write<'k> {
    /// Position in [`Kernel::outputs`].
    number: u32,
    node: NodeId,
    element: &'k Element,
}

/// Writes one round of the loop, with marks where another's operations may stand between its own. What goes to elements that are the same for
/// all instances is added to sums, one for each such output, as soon as it is computed.
pub(super) fn write_round(
    kernel: &CheckedKernel,
    body: &mut Expression,
    addresses: &mut Addresses,
    total: u32,
    sums: &[Sum],
) {
    let graph = body.graph;
    let schedule = kernel.steps();
    let mut is_late: Vec<bool> = vec![true; kernel.outputs.len()];
    for step in schedule {
        if let Step::Write(number) = step {
            is_late[*number as usize] = false;
        }
    }
    let write = |number: u32| {
        let output = &kernel.outputs[number as usize];
        output.element().map(|element| Write { number, node: output.node, element })
    };
    let writes = (0..kernel.outputs.len() as u32).filter_map(write);
    let (late, early): (Vec<Write>, Vec<Write>) = writes.partition(|write| is_late[write.number as usize]);
    let mut waiting: Vec<Write> = Vec::new();
    let mut sum_of: Vec<Option<u32>> = vec![None; kernel.outputs.len()];
    for sum in sums {
        sum_of[sum.output as usize] = Some(sum.local);
    }
    let accumulates = |write: &Write| kernel.outputs[write.number as usize].accumulates();
    let (adding, overwriting): (Vec<Write>, Vec<Write>) = late.into_iter().partition(accumulates);
    let accumulating: Vec<Write> = adding.into_iter().filter(|write| sum_of[write.number as usize].is_none()).list();
    let accumulating = by_two(&accumulating, body.width);
    let mut called = vec![false; kernel.calls.len()];
    let mut has_run = vec![false; graph.loops().len()];
    for step in schedule {
        body.mark();
        addresses.cut(body);
        let id = match *step {
            Step::Compute(id) => id,
            Step::Write(number) => {
                let Some(store) = write(number) else { continue };
                if let Some(sum) = sum_of[number as usize] {
                    add(body, store.node, sum);
                    continue;
                }
                if accumulates(&store) {
                    (0..body.width.lanes())
                        .for_each(|lane| addresses.accumulate(body, store.element, store.node, lane));
                    continue;
                }
                // One that has another beside it waits for that.
                match waiting.iter().position(|other| are_adjacent(other.element, store.element)) {
                    Some(other) => {
                        let other = waiting.swap_remove(other);
                        let is_even = store.element.index.offset().is_multiple_of(2);
                        let [even, odd] = if is_even { [store, other] } else { [other, store] };
                        let nodes = [even.node, odd.node];
                        (0..body.width.lanes()).for_each(|lane| addresses.store_two(body, even.element, nodes, lane));
                    }
                    None if body.width == Width::Pair
                        && !is_run_once(kernel)
                        && early.iter().any(|other| are_adjacent(other.element, store.element)) =>
                    {
                        waiting.push(store);
                    }
                    None => addresses.store(body, store.element, store.node),
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
                    write_call(kernel, call, body, addresses);
                }
            }
            Node::Apply(op, operands) => {
                if body.is_computed(id) {
                    continue;
                }
                for operand in &operands[..op.arity()] {
                    load(kernel, body, addresses, *operand);
                }
                match op {
                    Op::Lookup => addresses.look_up(body, id, operands),
                    _ => body.apply(id, op),
                }
            }
            Node::Result(of, _) => {
                if !std::mem::replace(&mut has_run[of.index()], true) {
                    for operand in graph.operands(id) {
                        load(kernel, body, addresses, *operand);
                    }
                    if graph.loop_of(of).body().graph().graph().reads_tables() {
                        addresses.hand_tables_on(body);
                    }
                    body.run_loop(of);
                }
            }
        }
    }

    let added = accumulating.iter().flat_map(|(write, next)| [Some(*write), *next]).flatten().map(|write| write.node);
    let late_sums: Vec<(NodeId, u32)> = sums
        .iter()
        .filter(|sum| is_late[sum.output as usize])
        .map(|sum| (kernel.outputs[sum.output as usize].node, sum.local))
        .chain(kernel.reduced().map(|node| (node, total)))
        .list();
    let rest = overwriting.iter().map(|store| store.node).chain(late_sums.iter().map(|&(node, _)| node));
    for node in rest.chain(added) {
        addresses.cut(body);
        load(kernel, body, addresses, node);
    }
    body.mark();
    let lanes = body.width.lanes();
    for (store, next) in by_two(&overwriting, body.width) {
        addresses.cut(body);
        match next {
            None => addresses.store(body, store.element, store.node),
            Some(next) => {
                (0..lanes).for_each(|lane| addresses.store_two(body, store.element, [store.node, next.node], lane));
            }
        }
    }
    for lane in 0..lanes {
        for &(store, next) in &accumulating {
            addresses.cut(body);
            match next {
                Some(next) => addresses.accumulate_two(body, store.element, [store.node, next.node], lane),
                None => addresses.accumulate(body, store.element, store.node, lane),
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

/// Writes, each with the one that follows it where that goes to the next component of the same: two numbers side by side in memory.
fn by_two<'k>(writes: &[Write<'k>], width: Width) -> Vec<(Write<'k>, Option<Write<'k>>)> {
    let mut grouped = Vec::new();
    let mut rest = writes.iter().copied().peekable();
    while let Some(write) = rest.next() {
        let beside = |next: &Write| {
            width == Width::Pair
                && next.element.buffer == write.element.buffer
                && Some(&next.element.index) == next_component(&write.element.index).as_ref()
        };
        grouped.push((write, rest.next_if(beside)));
    }
    grouped
}

/// The next component of what an index names, or of an interleaved instance.
fn next_component(index: &Index) -> Option<Index> {
    let has_next =
        index.as_loaded().is_some() || index.as_interleaved().is_some_and(|(width, component)| component + 1 < width);
    has_next.then(|| index.clone().plus(1))
}

/// Whether two elements are neighbouring components of an interleaved instance, an even one and the next.
fn are_adjacent(one: &Element, other: &Element) -> bool {
    one.buffer == other.buffer
        && one.index.as_interleaved().is_some()
        && one.index.terms() == other.index.terms()
        && one.index.offset() ^ 1 == other.index.offset()
}

/// Reads an input that has not been read: as late as this, so that it holds a register no longer than it must. Even components of what
/// an index names bring the odd ones after them along.
fn load(kernel: &Kernel, body: &mut Expression, addresses: &mut Addresses, node: NodeId) {
    if let Node::Input(input) = body.graph.node(node)
        && let Load::Read(element) = &kernel.loads[input.0 as usize]
        && !body.is_computed(node)
    {
        if body.width == Width::Pair
            && !is_run_once(kernel)
            && element.index.as_loaded().is_some()
            && kernel.buffers[element.buffer as usize].dtype == ElementType::Real
        {
            let component = element.index.offset();
            let pair = [component & !1, component | 1]
                .map(|component| Element::single(element.buffer, element.index.with_offset(component)));
            let nodes = pair.each_ref().map(|element| unread(kernel, body, addresses, element));
            if let [Some(even), Some(odd)] = nodes
                && (node == even || node == odd)
            {
                return addresses.load_two(body, &pair[0], [even, odd]);
            }
        }
        addresses.load(body, element);
        body.assign(node);
    }
}

/// The node that an element is read for, if it is needed and has not been read.
fn unread(kernel: &Kernel, body: &Expression, addresses: &Addresses, element: &Element) -> Option<NodeId> {
    let input = kernel.loads.iter().position(|known| matches!(known, Load::Read(known) if known == element))?;
    let node = addresses.inputs[input]?;
    (body.uses(node) > 0 && !body.is_computed(node)).then_some(node)
}

/// Calls a function, and leaves its results to the nodes of its inputs.
fn write_call(kernel: &Kernel, call: u32, body: &mut Expression, addresses: &mut Addresses) {
    let plan = &kernel.calls[call as usize];
    for argument in plan.arguments.iter().chain([&plan.selector]) {
        load(kernel, body, addresses, *argument);
    }
    let results: Vec<u32> = (0..plan.function.results).map(|_| body.add_kept()).list();
    let nothing_to_do = has_nothing_to_do(&plan.function);
    if body.has_calls {
        if nothing_to_do {
            // A branch that always goes one way is cheaper than a call.
            body.push_uniform(plan.selector);
            body.write(wasm::I32_TRUNC_SAT_F64_U);
            body.write(Instruction::If);
        }
        for argument in &plan.arguments {
            body.push(*argument);
        }
        body.push_uniform(plan.selector);
        body.write(wasm::I32_TRUNC_SAT_F64_U);
        body.write(Instruction::Call(body.functions.call(&plan.function, body.width)));
        for local in results.iter().rev() {
            body.set(*local);
        }
    }
    if nothing_to_do {
        if body.has_calls {
            body.write(wasm::ELSE);
        }
        let first = &plan.function.cases[0];
        for (result, local) in first.results.iter().zip(&results) {
            match first.graph.graph().node(*result) {
                Node::Input(parameter) => body.push(plan.arguments[parameter.0 as usize]),
                Node::Literal(bits) => body.number(f64::from_bits(bits)),
                Node::Apply(..) | Node::Result(..) => unreachable!("there is nothing to compute"),
            }
            body.set(*local);
        }
        if body.has_calls {
            body.write(wasm::END);
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
            body.set_local(id, results[result as usize]);
        }
    }
}

/// Whether the first case gives arguments and numbers alone.
pub(super) fn has_nothing_to_do(function: &crate::Function) -> bool {
    let first = &function.cases[0];
    let is_leaf = |node| matches!(node, Node::Input(_) | Node::Literal(_));
    first.results.iter().all(|result| is_leaf(first.graph.graph().node(*result)))
}
