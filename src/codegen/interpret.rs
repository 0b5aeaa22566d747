//! Runs a kernel by the reference evaluation, one instance after another: for machines that refuse generated code, and as what
//! generated code is compared with.
//!
//! The order of everything that rounding depends on is part of the meaning of a kernel on the CPU, and the compiled form keeps
//! to it: all loads of an instance come before its stores; its overwriting stores come before its accumulating ones, and those before what
//! is accumulated in places that are the same for all instances ([`Kernel::pinned`]); instances accumulate one after another; and the total is
//! kept in two sums, of the even and of the odd instances counted from the first, that are added at the end (two lanes of a vector). What is added to
//! a place that is the same for all instances is kept in two such sums as well, of all instances but the last of an odd number; they are added to what
//! stands there before that one's numbers are.

use super::memory::{Dispatch, View, index_out_of_range};
use super::{Address, Call, Function, Kernel, Load, Store};
use crate::error::{Error, Result};
use crate::graph::{self, Node, NodeId};
use crate::list::Listed;

/// Runs the instances of a dispatch and gives the sum of [`Kernel::total`] over them, 0 if it has none. The kernel has passed
/// [`Kernel::check`].
pub fn run(kernel: &Kernel, views: &mut [View], dispatch: &Dispatch) -> Result<f64> {
    dispatch.check(kernel, views)?;
    let uses = kernel.uses();
    let graph = kernel.graph.graph();
    let needed: Vec<NodeId> = graph.ids().filter(|id| uses[id.index()] > 0).list();
    let mut values = vec![0.0; graph.len()];
    let mut results: Vec<Option<Vec<f64>>> = vec![None; kernel.calls.len()];
    let (accumulating, overwriting): (Vec<&Store>, Vec<&Store>) =
        kernel.stores.iter().partition(|store| store.accumulate);
    let (last, first): (Vec<&Store>, Vec<&Store>) =
        accumulating.into_iter().partition(|store| kernel.is_same(store.address));
    let accumulating = first.into_iter().chain(last).list();
    let mut totals = [0.0; 2];
    let mut sums = vec![[0.0; 2]; accumulating.len()];
    let in_pairs = dispatch.instances.len() & !1;

    for (position, instance) in dispatch.instances.clone().enumerate() {
        results.fill(None);
        for id in &needed {
            values[id.index()] = match graph.node(*id) {
                Node::Literal(bits) => f64::from_bits(bits),
                Node::Apply(op, operands) => {
                    let operands = operands.map(|operand| values[operand.index()]);
                    graph::evaluate(op, &operands[..op.arity()])
                }
                Node::Input(input) => match kernel.loads[input.0 as usize] {
                    Load::Read { buffer, address } => {
                        let place = place(kernel, views, dispatch, buffer, address, instance)?;
                        match &views[buffer as usize] {
                            View::Read(numbers) => numbers[place],
                            View::Write(numbers) => numbers[place],
                            View::Index(indices) => f64::from(indices[place]),
                        }
                    }
                    Load::Call { call, result } => {
                        let results = &mut results[call as usize];
                        results.get_or_insert_with(|| evaluate_call(&kernel.calls[call as usize], &values))
                            [result as usize]
                    }
                },
            };
        }
        let mut write = |store: &Store, value: f64| {
            let place = place(kernel, views, dispatch, store.buffer, store.address, instance)?;
            let View::Write(numbers) = &mut views[store.buffer as usize] else {
                return Err(Error::internal(format!("kernel '{}' writes a buffer that is read only", kernel.name)));
            };
            numbers[place] = if store.accumulate { numbers[place] + value } else { value };
            Ok(())
        };
        for store in &overwriting {
            write(store, values[store.node.index()])?;
        }
        for (store, sums) in accumulating.iter().zip(&mut sums) {
            let value = values[store.node.index()];
            if !kernel.is_same(store.address) || position >= in_pairs {
                write(store, value)?;
                continue;
            }
            sums[position % 2] += value;
        }
        if position + 1 == in_pairs {
            for (store, sums) in accumulating.iter().zip(&sums).filter(|(store, _)| kernel.is_same(store.address)) {
                write(store, sums[0] + sums[1])?;
            }
        }
        if let Some(node) = kernel.total {
            totals[position % 2] += values[node.index()];
        }
    }
    Ok(totals[0] + totals[1])
}

/// Where an address leads; only an index can lead out of the buffer, once the dispatch is checked.
fn place(
    kernel: &Kernel,
    views: &[View],
    dispatch: &Dispatch,
    buffer: u32,
    address: Address,
    instance: u32,
) -> Result<usize> {
    let place = match address {
        Address::Column(column) => dispatch.column(column, instance),
        Address::Fixed(position) | Address::Layer(position) => u64::from(position),
        Address::Interleaved { width, component } => dispatch.interleaved(width, component, instance),
        Address::Indexed { indices, column, component } => {
            let View::Index(indices) = &views[indices as usize] else {
                return Err(Error::internal(format!("kernel '{}' takes indices from numbers", kernel.name)));
            };
            u64::from(indices[dispatch.column(column, instance) as usize]) + u64::from(component)
        }
        Address::Listed { .. } => {
            return Err(Error::internal(format!("kernel '{}' has an address of lists", kernel.name)));
        }
    };
    let length = views[buffer as usize].len();
    if place < length as u64 { Ok(place as usize) } else { Err(index_out_of_range(kernel, buffer, place, length)) }
}

/// The results of a call: of the case that the selector names, or of the first.
fn evaluate_call(call: &Call, values: &[f64]) -> Vec<f64> {
    let arguments: Vec<f64> = call.arguments.iter().map(|argument| values[argument.index()]).list();
    call.function.evaluate(values[call.selector.index()] as usize, &arguments)
}

impl Function {
    /// The results in f64, of the case that the selector names, or of the first.
    ///
    /// # Panics
    /// If there are fewer arguments than parameters.
    pub fn evaluate(&self, selector: usize, arguments: &[f64]) -> Vec<f64> {
        let case = self.cases.get(selector).unwrap_or(&self.cases[0]);
        let nodes = case.graph.evaluate(&arguments[..case.graph.input_count() as usize]);
        case.results.iter().map(|result| nodes[result.index()]).list()
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::codegen::{Buffer, Case, Element};
    use crate::graph::{Graph, InputId, Op};

    fn buffer(name: &'static str, element: Element, written: bool) -> Buffer {
        Buffer { name, element, written }
    }

    /// Two instances of r = f(s, p·d) with p indexed, d a column and s fixed, stored, accumulated and summed, where f is
    /// (a + 1) in its first case and (2a) in its second.
    fn kernel() -> Kernel {
        let case = |name, op, literal| {
            let mut graph = Graph::new();
            let (a, number) = (graph.input(InputId(0)), graph.literal(literal));
            let result = graph.apply_raw(op, &[a, number]);
            Case { name, graph: graph.check(1).unwrap(), results: vec![result] }
        };
        let function = Function {
            name: "f",
            parameters: &["a"],
            results: 1,
            cases: vec![case("plusOne", Op::Add, 1.0), case("twice", Op::Mul, 2.0)],
        };
        let mut graph = Graph::new();
        let [p, d, s] = [0, 1, 2].map(|input| graph.input(InputId(input)));
        let product = graph.apply_raw(Op::Mul, &[p, d]);
        let result = graph.input(InputId(3));
        let parameter = Address::Indexed { indices: 2, column: 0, component: 1 };
        Kernel {
            name: "example".into(),
            header: vec![],
            graph: graph.check(4).unwrap(),
            buffers: vec![
                buffer("parameters", Element::Real, false),
                buffer("data", Element::Real, false),
                buffer("blocks", Element::Index, false),
                buffer("values", Element::Real, true),
                buffer("gradient", Element::Real, true),
            ],
            loads: vec![
                Load::Read { buffer: 0, address: parameter },
                Load::Read { buffer: 1, address: Address::Column(1) },
                Load::Read { buffer: 1, address: Address::Fixed(0) },
                Load::Call { call: 0, result: 0 },
            ],
            calls: vec![Call { function: Rc::new(function), selector: s, arguments: vec![product] }],
            stores: vec![
                Store {
                    buffer: 3,
                    address: Address::Interleaved { width: 2, component: 1 },
                    node: result,
                    accumulate: false,
                },
                Store { buffer: 4, address: parameter, node: result, accumulate: true },
            ],
            total: Some(result),
            gated: false,
            layers: None,
            pinned: vec![],
        }
    }

    fn dispatch() -> Dispatch {
        Dispatch { instances: 0..2, stride: 2, first: 1, origin: 0 }
    }

    #[test]
    fn a_kernel_reads_calls_stores_accumulates_and_sums() {
        for (selector, expected) in
            [(0.0, [16.0, 22.0]), (1.0, [30.0, 42.0]), (2.0, [16.0, 22.0]), (-1.0, [16.0, 22.0])]
        {
            let (mut values, mut gradient) = ([-1.0; 5], [100.0; 3]);
            let mut views = [
                View::Read(&[0.0, 0.0, 3.0]),
                View::Read(&[selector, 0.0, 5.0, 7.0]),
                View::Index(&[1, 1]),
                View::Write(&mut values),
                View::Write(&mut gradient),
            ];
            let total = run(&kernel(), &mut views, &dispatch()).unwrap();
            assert_eq!(total, expected[0] + expected[1], "selector {selector}");
            assert_eq!(values, [-1.0, -1.0, expected[0], -1.0, expected[1]], "selector {selector}");
            assert_eq!(gradient, [100.0, 100.0, 100.0 + expected[0] + expected[1]], "selector {selector}");
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let run = |parameters: &[f64], data: &[f64], blocks: &[u32], values: &mut [f64]| {
            let mut gradient = [0.0; 3];
            let mut views = [
                View::Read(parameters),
                View::Read(data),
                View::Index(blocks),
                View::Write(values),
                View::Write(&mut gradient),
            ];
            run(&kernel(), &mut views, &dispatch()).map_err(|error| error.message.clone())
        };
        let says = |outcome: Result<f64, String>, words: &str| {
            let message = outcome.unwrap_err();
            assert!(message.contains(words), "'{message}' should say '{words}'");
        };
        assert!(run(&[0.0; 3], &[0.0; 4], &[0, 1], &mut [0.0; 5]).is_ok());
        says(run(&[0.0; 3], &[0.0; 4], &[0, 2], &mut [0.0; 5]), "index 3 into parameters");
        says(run(&[0.0; 3], &[0.0; 4], &[0, u32::MAX], &mut [0.0; 5]), "index 4294967296 into parameters");
        says(run(&[0.0; 1], &[0.0; 4], &[0, 0], &mut [0.0; 5]), "no component 1 in parameters");
        says(run(&[0.0; 3], &[0.0; 3], &[0, 1], &mut [0.0; 5]), "instance 1 is at 3 of data");
        says(run(&[0.0; 3], &[0.0; 4], &[0], &mut [0.0; 5]), "instance 1 is at 1 of blocks");
        says(run(&[0.0; 3], &[0.0; 4], &[0, 1], &mut [0.0; 4]), "instance 1 is at 4 of values");
        let mut missing = kernel();
        missing.loads.pop();
        says(missing.check().map(|()| 0.0).map_err(|error| error.message.clone()), "3 loads for 4 inputs");
    }
}
