//! Runs a kernel by the reference evaluation, one instance after another: for machines that refuse generated code, and as what
//! generated code is compared with.
//!
//! The order of everything that rounding depends on is part of the meaning of a kernel on the host, and the compiled form keeps to it:
//!
//! - All loads of an instance come before its writes. Stores come before accumulations, and accumulations in elements of the instance before
//!   those in elements that are the same for all instances ([`Index::is_same`](crate::Index::is_same)).
//! - Instances accumulate one after another.
//! - A total is kept in two sums (two lanes of a vector), of the even and of the odd instances counted from the first, that are added at
//!   the end.
//! - What is accumulated in an element that is the same for all instances is kept in two such sums as well, of all instances but the last of
//!   an odd number. The two are added to what stands there before the last instance's value is. A kernel that [is parted](crate::Kernel::is_parted) adds each
//!   instance's value at once.

use super::memory::{InstanceRange, View, index_out_of_range};
use super::{Call, Case, CheckedKernel, Element, Function, Load, Output};
use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_ir::graph::{self, Node, NodeId, Op};

/// Functions of so many nodes are evaluated without memory of their own.
const FEW_NODES: usize = 128;

/// The numbers of all tables, which are in a buffer; none without one.
fn tables_in<'v>(views: &'v [View], buffer: Option<usize>) -> &'v [f64] {
    match buffer.map(|buffer| &views[buffer]) {
        Some(View::Read(tables)) => tables,
        _ => &[],
    }
}

/// Runs the instances of a dispatch and gives the total, the sum of the node that is reduced; 0 if there is none.
pub fn run(kernel: &CheckedKernel, views: &mut [View], dispatch: &InstanceRange) -> Result<f64> {
    kernel.check_for_host()?;
    dispatch.check(kernel, views)?;
    let graph = kernel.graph.graph();
    let needed: Vec<NodeId> = kernel.uses().needed(graph).list();
    let mut values = vec![0.0; graph.len()];
    let mut results: Vec<Option<Vec<f64>>> = vec![None; kernel.calls.len()];
    let mut states: Vec<Option<Vec<f64>>> = vec![None; graph.loops().len()];
    let writes = kernel.outputs.iter().filter_map(|output| Some((output, output.element()?)));
    let (accumulating, stores): (Vec<Write>, Vec<Write>) = writes.partition(|(output, _)| output.accumulates());
    let is_same = |write: &Write| write.1.index.is_same();
    let (last, first): (Vec<Write>, Vec<Write>) = accumulating.into_iter().partition(is_same);
    let accumulating = first.into_iter().chain(last).list();
    let reduced = kernel.reduced().next();
    let mut totals = [0.0; 2];
    let mut sums = vec![[0.0; 2]; accumulating.len()];
    let in_pairs = dispatch.instances.len() & !1;
    let of_tables = kernel.tables.map(|tables| tables.buffer as usize);

    for (position, instance) in dispatch.instances.clone().enumerate() {
        results.fill(None);
        states.fill(None);
        for id in &needed {
            values[id.index()] = match graph.node(*id) {
                Node::Literal(bits) => f64::from_bits(bits),
                Node::Apply(Op::Lookup, operands) => {
                    graph::look_up(tables_in(views, of_tables), operands.map(|operand| values[operand.index()]))
                }
                Node::Apply(op, operands) => {
                    let operands = operands.map(|operand| values[operand.index()]);
                    graph::evaluate(op, &operands[..op.arity()])
                }
                Node::Result(of, number) => {
                    let run = || graph.loop_of(of).run(|node| values[node.index()], tables_in(views, of_tables));
                    states[of.index()].get_or_insert_with(run)[number as usize]
                }
                Node::Input(input) => match &kernel.loads[input.0 as usize] {
                    Load::Read(element) => {
                        let index = locate(kernel, views, dispatch, element, instance)?;
                        match &views[element.buffer as usize] {
                            View::Read(numbers) => numbers[index],
                            View::Write(numbers) => numbers[index],
                            View::Index(indices) => f64::from(indices[index]),
                        }
                    }
                    Load::Call { call, result } => {
                        let results = &mut results[*call as usize];
                        results.get_or_insert_with(|| evaluate_call(&kernel.calls[*call as usize], &values))
                            [*result as usize]
                    }
                },
            };
        }
        let mut write = |(output, element): &Write, value: f64| {
            let index = locate(kernel, views, dispatch, element, instance)?;
            let View::Write(numbers) = &mut views[element.buffer as usize] else {
                return Err(Error::internal(format!("kernel '{}' writes a buffer that is read only", kernel.name)));
            };
            numbers[index] = if output.accumulates() { numbers[index] + value } else { value };
            Ok(())
        };
        for store in &stores {
            write(store, values[store.0.node.index()])?;
        }
        for (accumulated, sums) in accumulating.iter().zip(&mut sums) {
            let value = values[accumulated.0.node.index()];
            if !is_same(accumulated) || position >= in_pairs || kernel.is_parted() {
                write(accumulated, value)?;
                continue;
            }
            sums[position % 2] += value;
        }
        if position + 1 == in_pairs && !kernel.is_parted() {
            for (accumulated, sums) in accumulating.iter().zip(&sums).filter(|(accumulated, _)| is_same(accumulated)) {
                write(accumulated, sums[0] + sums[1])?;
            }
        }
        if let Some(node) = reduced {
            totals[position % 2] += values[node.index()];
        }
    }
    Ok(totals[0] + totals[1])
}

/// An output and the element that it is written to.
type Write<'a> = (&'a Output, &'a Element);

/// The index of an element for an instance. Only a loaded index can lead out of the buffer, once the dispatch is checked.
fn locate(
    kernel: &CheckedKernel,
    views: &[View],
    dispatch: &InstanceRange,
    element: &Element,
    instance: u32,
) -> Result<usize> {
    let index = dispatch.evaluate(kernel, &element.index, instance, views)?;
    let length = views[element.buffer as usize].len();
    if index < length as u64 {
        Ok(index as usize)
    } else {
        Err(index_out_of_range(kernel, element.buffer, index, length))
    }
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

    /// The results of the first case, of a small function, without memory of its own.
    ///
    /// # Panics
    /// If there are fewer arguments than parameters.
    pub fn evaluate_into(&self, arguments: &[f64], results: &mut [f64]) {
        let Case { graph, results: nodes, .. } = &self.cases[0];
        let (mut few, mut many) = ([0.0; FEW_NODES], Vec::new());
        let values = match few.get_mut(..graph.graph().len()) {
            Some(values) => values,
            None => {
                many.resize(graph.graph().len(), 0.0);
                &mut many
            }
        };
        graph.evaluate_into(arguments, values);
        for (result, node) in results.iter_mut().zip(nodes) {
            *result = values[node.index()];
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::{Case, ElementType, Index, Kernel, KernelBuffer};
    use residua_ir::graph::{Graph, InputId, Op};

    fn buffer(name: &'static str, dtype: ElementType, written: bool) -> KernelBuffer {
        KernelBuffer { name, dtype, written }
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
        let parameter = Index::indexed(2, 0, 1);
        Kernel {
            buffers: vec![
                buffer("parameters", ElementType::Real, false),
                buffer("data", ElementType::Real, false),
                buffer("blocks", ElementType::U32, false),
                buffer("values", ElementType::Real, true),
                buffer("gradient", ElementType::Real, true),
            ],
            loads: vec![
                Load::read(0, parameter.clone()),
                Load::read(1, Index::column(1)),
                Load::read(1, Index::literal(0)),
                Load::Call { call: 0, result: 0 },
            ],
            calls: vec![Call { function: Rc::new(function), selector: s, arguments: vec![product] }],
            outputs: vec![
                Output::store(result, 3, Index::interleaved(2, 1)),
                Output::accumulate(result, 4, parameter),
                Output::reduce(result),
            ],
            ..Kernel::new("example", graph.check(4).unwrap())
        }
    }

    fn dispatch() -> InstanceRange {
        InstanceRange { instances: 0..2, stride: 2, first: 1, origin: 0 }
    }

    #[test]
    fn code_serves_kernels_that_differ_in_names_alone() {
        let first = kernel();
        let change = |work: fn(&mut Kernel)| {
            let mut other = first.clone();
            work(&mut other);
            first.has_code_of(&other)
        };
        assert!(
            change(|_| {}) && change(|other| other.name.push('2')) && change(|other| other.header.push("a".into()))
        );
        assert!(!change(|other| other.instances = crate::Instances::Few));
        assert!(!change(|other| other.loads[1] = Load::read(1, Index::column(2))));
        assert!(!change(|other| other.outputs.truncate(1)) && !change(|other| other.buffers[0].written = true));
        assert!(!change(|other| other.calls.clear()) && !change(|other| other.calls[0].arguments.clear()));
        assert!(!change(|other| other.graph = Graph::new().check(0).unwrap()));
        assert!(!first.has_code_of(&kernel()), "another object may be another function");
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
            let total = run(&kernel().check().unwrap(), &mut views, &dispatch()).unwrap();
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
            run(&kernel().check().unwrap(), &mut views, &dispatch()).map_err(|error| error.message.clone())
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
        says(missing.check().map(|_| 0.0).map_err(|error| error.message.clone()), "3 loads for 4 inputs");
    }
}
