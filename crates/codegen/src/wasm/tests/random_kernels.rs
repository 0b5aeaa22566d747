//! Random kernels: loads, calls, outputs and dispatches of every kind, in any number and order, against the interpreter.
//!
//! Two instances of a pair compute before either writes, and an output is written for both before the next output is. So elements that a
//! kernel reads are of the instance itself where they are written too, and elements that instances share are stored by one output alone, or
//! are added to.

use std::cell::Cell;
use std::rc::Rc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index as Choice, select};
use proptest::test_runner::{RngSeed, TestRunner};

use super::machine::{Contents, assert_same, indices, real, run_compiled, run_interpreted, same};
use crate::{Call, Case, CheckedKernel, Function, Index, InstanceRange, Instances, Kernel, Load, Output, View};
use residua_ir::graph::{Graph, InputId, NodeId, Op};
use residua_portable::Random;

/// Buffers in their order.
const PARAMETERS: u32 = 0;
const DATA: u32 = 1;
const UNIFORMS: u32 = 2;
const SEEDS: u32 = 3;
const BLOCKS: u32 = 4;
const PLACES: u32 = 5;
const STATE: u32 = 6;
const VALUES: u32 = 7;
const GRADIENT: u32 = 8;
const ENTRIES: u32 = 9;
const SUMS: u32 = 10;
/// A second buffer of values, and a second one of gradients: neighbours are those of one buffer alone.
const IMAGES: u32 = 11;
const PRODUCTS: u32 = 12;

/// Components of a block, columns of a table, entries of a uniform.
const COMPONENTS: u32 = 4;
/// Few blocks for many instances, so that neighbours meet in one.
const BLOCK_COUNT: u32 = 5;
/// Columns of [`BLOCKS`] and the width of [`PLACES`].
const COLUMNS: u32 = 2;
/// Most instances: some rounds of eight pairs, and what they leave.
const MOST: u32 = 60;
/// The first instance that is run is below this.
const STARTS: u32 = 6;

/// The ops of sums and products, for which the writer has most forms.
const FAVOURED: &[Op] = &[
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::Neg,
    Op::Div,
    Op::Norm,
    Op::InverseNorm,
    Op::GuardedMul,
    Op::Select,
    Op::Min,
    Op::Exp,
    Op::Cos,
];

/// An operation, with its operands among the nodes before it.
#[derive(Clone, Debug)]
struct Application {
    op: Op,
    operands: [Choice; 3],
}

#[derive(Clone, Debug)]
enum Operation {
    Apply(Application),
    Call(CallPlan),
}

#[derive(Clone, Debug)]
struct CallPlan {
    /// Whether it is of the function of the call before it.
    is_of_last: bool,
    /// Whether the first case gives arguments and numbers alone.
    is_idle: bool,
    results: usize,
    cases: Vec<Vec<Application>>,
    arguments: [Choice; 2],
    selector: u32,
}

/// Where a number is read. Columns and components are below [`COMPONENTS`]; those of indices are reduced to what there is.
#[derive(Clone, Copy, Debug)]
enum Source {
    Indexed(u32, u32),
    IndexedByPosition(u32, u32),
    IndexedByLiteral(u32, u32),
    Data(u32),
    Uniform(u32),
    Seed(u32),
    ColumnOfIndices(u32),
    OneIndex(u32),
    State(u32),
    Value(u32),
}

/// What becomes of a node.
#[derive(Clone, Copy, Debug)]
enum Target {
    Store(Own),
    Accumulate(Own),
    AccumulateIndexed { is_second: bool, column: u32, component: u32 },
    AccumulateByPosition(u32, u32),
    AccumulateAtLiteral(u32),
    StoreIndexed(u32),
    StoreAtLiteral(u32),
    Reduce,
}

/// An element of the instance.
#[derive(Clone, Copy, Debug)]
enum Own {
    State(u32),
    Value(u32),
    Image(u32),
}

/// A kernel, its buffers and its dispatch.
#[derive(Clone, Debug)]
struct Plan {
    sources: Vec<Source>,
    operations: Vec<Operation>,
    outputs: Vec<(Target, Choice)>,
    /// Numbers of an instance in the interleaved buffers.
    width: u32,
    /// Which columns of [`BLOCKS`] all instances share.
    shared: [bool; COLUMNS as usize],
    count: Instances,
    instances: std::ops::Range<u32>,
    /// Instances in the tables beyond those that are run.
    rest: u32,
    first: u32,
    has_origin: bool,
    /// A place of an index, and how much it is above the least that leads the last component out of its buffer.
    fault: Option<(Choice, u32)>,
    seed: u64,
}

fn application() -> impl Strategy<Value = Application> {
    let op = prop_oneof![3 => select(FAVOURED), 1 => select(Op::ALL)];
    (op, any::<[Choice; 3]>()).prop_map(|(op, operands)| Application { op, operands })
}

fn call() -> impl Strategy<Value = CallPlan> {
    let cases = vec(vec(application(), 1..6), 1..4);
    (any::<bool>(), any::<bool>(), 1..5_usize, cases, any::<[Choice; 2]>(), 0..COMPONENTS).prop_map(
        |(is_of_last, is_idle, results, cases, arguments, selector)| CallPlan {
            is_of_last,
            is_idle,
            results,
            cases,
            arguments,
            selector,
        },
    )
}

fn source() -> impl Strategy<Value = Source> {
    let some = || 0..COMPONENTS;
    prop_oneof![
        4 => (some(), some()).prop_map(|(column, component)| Source::Indexed(column, component)),
        1 => (some(), some()).prop_map(|(column, component)| Source::IndexedByPosition(column, component)),
        1 => (some(), some()).prop_map(|(entry, component)| Source::IndexedByLiteral(entry, component)),
        2 => some().prop_map(Source::Data),
        1 => some().prop_map(Source::Uniform),
        2 => some().prop_map(Source::Seed),
        1 => some().prop_map(Source::ColumnOfIndices),
        1 => some().prop_map(Source::OneIndex),
        1 => some().prop_map(Source::State),
        1 => some().prop_map(Source::Value),
    ]
}

fn target() -> impl Strategy<Value = Target> {
    let some = || 0..COMPONENTS;
    let own = || prop_oneof![some().prop_map(Own::State), some().prop_map(Own::Value), some().prop_map(Own::Image)];
    prop_oneof![
        3 => own().prop_map(Target::Store),
        1 => own().prop_map(Target::Accumulate),
        3 => (any::<bool>(), some(), some()).prop_map(|(is_second, column, component)| Target::AccumulateIndexed { is_second, column, component }),
        1 => (some(), some()).prop_map(|(column, component)| Target::AccumulateByPosition(column, component)),
        1 => some().prop_map(Target::AccumulateAtLiteral),
        2 => some().prop_map(Target::StoreIndexed),
        1 => some().prop_map(Target::StoreAtLiteral),
        1 => some().prop_map(|_| Target::Reduce),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let operation = prop_oneof![7 => application().prop_map(Operation::Apply), 1 => call().prop_map(Operation::Call)];
    let sources = prop_oneof![
        vec(source(), 1..10),
        // Kernels without loaded indices run eight pairs at a time.
        vec((0..COMPONENTS).prop_flat_map(|column| select(vec![Source::Data(column), Source::Seed(column)])), 1..5),
    ];
    let body = (sources, vec(operation, 0..24), vec((target(), any::<Choice>()), 1..10), 1..=COMPONENTS);
    let fault = proptest::option::weighted(0.3, (any::<Choice>(), select(vec![0, 1, 2, 3, 4, u32::MAX])));
    let dispatch = (0..STARTS, 0..MOST, 0..3_u32, 0..4_u32, any::<bool>());
    let few = prop_oneof![3 => Just(Instances::Many), 1 => Just(Instances::Few), 1 => Just(Instances::One)];
    (body, any::<[bool; COLUMNS as usize]>(), few, dispatch, fault, any::<u64>()).prop_map(
        |((sources, operations, outputs, width), shared, of, dispatch, fault, seed)| {
            let (start, count, rest, first, has_origin) = dispatch;
            let instances = start..start + if of == Instances::One { count.min(1) } else { count };
            Plan {
                sources,
                operations,
                outputs,
                width,
                shared,
                count: of,
                instances,
                rest,
                first,
                has_origin,
                fault,
                seed,
            }
        },
    )
}

/// A node among those so far: the operand of an application.
fn apply(graph: &mut Graph, nodes: &mut Vec<NodeId>, application: &Application) {
    let Application { op, operands } = application;
    let operands: Vec<NodeId> = operands[..op.arity()].iter().map(|operand| *operand.get(nodes)).collect();
    nodes.push(graph.apply_raw(*op, &operands));
}

impl CallPlan {
    /// The function of its cases, of which the last nodes are the results.
    fn function(&self) -> Function {
        let case = |number: usize, applications: &[Application]| {
            let mut graph = Graph::new();
            let mut nodes: Vec<NodeId> = [0, 1].map(|input| graph.input(InputId(input))).into();
            nodes.extend([0.5, -1.5].map(|literal| graph.literal(literal)));
            if number > 0 || !self.is_idle {
                applications.iter().for_each(|application| apply(&mut graph, &mut nodes, application));
            }
            let results = nodes.iter().rev().take(self.results).copied().collect();
            Case { name: "case", graph: graph.check(2).unwrap(), results }
        };
        let cases = self.cases.iter().enumerate().map(|(number, applications)| case(number, applications)).collect();
        Function { name: "f", parameters: &["a", "b"], results: self.results, cases }
    }
}

impl Plan {
    fn own(&self, own: Own) -> (u32, Index) {
        match own {
            Own::State(column) => (STATE, Index::column(column)),
            Own::Value(component) => (VALUES, Index::interleaved(self.width, component % self.width)),
            Own::Image(component) => (IMAGES, Index::interleaved(self.width, component % self.width)),
        }
    }

    fn load(&self, source: Source) -> Load {
        let (buffer, index) = match source {
            Source::Indexed(column, component) => (PARAMETERS, Index::indexed(BLOCKS, column % COLUMNS, component)),
            Source::IndexedByPosition(column, component) => (PARAMETERS, by_position(column, component)),
            Source::IndexedByLiteral(entry, component) => {
                (PARAMETERS, Index::loaded(PLACES, Index::literal(entry % COLUMNS)).plus(component))
            }
            Source::Data(column) => (DATA, Index::column(column)),
            Source::Uniform(entry) => (UNIFORMS, Index::literal(entry)),
            Source::Seed(component) => (SEEDS, Index::interleaved(self.width, component % self.width)),
            Source::ColumnOfIndices(column) => (BLOCKS, Index::column(column % COLUMNS)),
            Source::OneIndex(entry) => (PLACES, Index::literal(entry % COLUMNS)),
            Source::State(column) => self.own(Own::State(column)),
            Source::Value(component) => self.own(Own::Value(component)),
        };
        Load::read(buffer, index)
    }

    fn output(&self, target: Target, node: NodeId) -> Output {
        match target {
            Target::Store(own) => {
                let (buffer, index) = self.own(own);
                Output::store(node, buffer, index)
            }
            Target::Accumulate(own) => {
                let (buffer, index) = self.own(own);
                Output::accumulate(node, buffer, index)
            }
            Target::AccumulateIndexed { is_second, column, component } => {
                let buffer = if is_second { PRODUCTS } else { GRADIENT };
                Output::accumulate(node, buffer, Index::indexed(BLOCKS, column % COLUMNS, component))
            }
            Target::AccumulateByPosition(column, component) => {
                Output::accumulate(node, GRADIENT, by_position(column, component))
            }
            Target::AccumulateAtLiteral(component) => Output::accumulate(node, GRADIENT, Index::literal(component)),
            Target::StoreIndexed(component) => Output::store(node, ENTRIES, Index::indexed(BLOCKS, 1, component)),
            Target::StoreAtLiteral(component) => Output::store(node, SUMS, Index::literal(component)),
            Target::Reduce => Output::reduce(node),
        }
    }

    fn kernel(&self) -> CheckedKernel {
        let mut graph = Graph::new();
        let mut loads: Vec<Load> = self.sources.iter().map(|source| self.load(*source)).collect();
        let mut nodes: Vec<NodeId> = (0..loads.len() as u32).map(|input| graph.input(InputId(input))).collect();
        nodes.extend([0.75, -1.0].map(|literal| graph.literal(literal)));
        let mut calls: Vec<Call> = Vec::new();
        for operation in &self.operations {
            let call = match operation {
                Operation::Apply(application) => {
                    apply(&mut graph, &mut nodes, application);
                    continue;
                }
                Operation::Call(call) => call,
            };
            let mut input = |graph: &mut Graph, load: Load| {
                loads.push(load);
                graph.input(InputId(loads.len() as u32 - 1))
            };
            let selector = input(&mut graph, self.load(Source::Uniform(call.selector)));
            let function = match calls.last() {
                Some(last) if call.is_of_last => last.function.clone(),
                _ => Rc::new(call.function()),
            };
            let number = calls.len() as u32;
            for result in 0..function.results as u32 {
                nodes.push(input(&mut graph, Load::Call { call: number, result }));
            }
            let arguments = call.arguments.map(|argument| *argument.get(&nodes[..nodes.len() - function.results]));
            calls.push(Call { function, selector, arguments: arguments.into() });
        }
        let mut outputs: Vec<Output> = Vec::new();
        for (target, node) in &self.outputs {
            // The host has one total.
            if !matches!(target, Target::Reduce) || outputs.iter().all(|output| output.element().is_some()) {
                outputs.push(self.output(*target, *node.get(&nodes)));
            }
        }
        let mut kernel = Kernel {
            buffers: vec![
                real("parameters", false),
                real("data", false),
                real("uniforms", false),
                real("seeds", false),
                indices("blocks"),
                indices("places"),
                real("state", true),
                real("values", true),
                real("gradient", true),
                real("entries", true),
                real("sums", true),
                real("images", true),
                real("products", true),
            ],
            calls,
            outputs,
            instances: self.count,
            ..Kernel::new("random", graph.check(loads.len() as u32).unwrap())
        };
        kernel.loads = loads;
        kernel.share_columns(&|buffer, column| buffer == BLOCKS && self.shared[column as usize]);
        kernel.check().unwrap()
    }

    /// The distance between columns: more than the last instance, so that tables have room for one more and are not empty.
    fn stride(&self) -> u32 {
        self.instances.end + self.rest + 1
    }

    fn dispatch(&self) -> InstanceRange {
        let origin = if self.has_origin { self.instances.start } else { 0 };
        InstanceRange { instances: self.instances.clone(), stride: self.stride(), first: self.first, origin }
    }

    fn buffers(&self) -> Vec<Contents> {
        let mut random = Random(self.seed);
        let numbers = COMPONENTS * BLOCK_COUNT;
        let stride = self.stride();
        // Small integers too, so that some operands are equal, zero or one.
        let mut reals = |count: u32| {
            let mut number = || match random.below(4) {
                0 => random.below(4) as f64 - 1.0,
                _ => random.between((-2.0, 2.0)),
            };
            Contents::Reals((0..count).map(|_| number()).collect())
        };
        let interleaved = self.first + self.width * stride;
        let [parameters, data, uniforms, seeds] =
            [numbers, COMPONENTS * stride, COMPONENTS, interleaved].map(&mut reals);
        // The least length counts.
        let [gradient, entries, products] = [numbers + 1, numbers + 2, numbers].map(&mut reals);
        let [state, sums, values, images] = [COMPONENTS * stride, COMPONENTS, interleaved, interleaved].map(&mut reals);
        let mut block = |_| COMPONENTS * random.below(BLOCK_COUNT as usize) as u32;
        let mut blocks: Vec<u32> = (0..COLUMNS * stride).map(&mut block).collect();
        let mut places: Vec<u32> = (0..self.first + COLUMNS * stride).map(&mut block).collect();
        if let Some((place, beyond)) = &self.fault {
            let place = place.index(blocks.len() + places.len());
            let index = (numbers + 1 - COMPONENTS).saturating_add(*beyond);
            match blocks.get_mut(place) {
                Some(block) => *block = index,
                None => places[place - blocks.len()] = index,
            }
        }
        for (column, _) in self.shared.iter().enumerate().filter(|(_, shared)| **shared) {
            let column = &mut blocks[column * stride as usize..][..stride as usize];
            column.fill(column[self.instances.start as usize]);
        }
        let (blocks, places) = (Contents::Indices(blocks), Contents::Indices(places));
        vec![
            parameters, data, uniforms, seeds, blocks, places, state, values, gradient, entries, sums, images, products,
        ]
    }
}

/// A component of what an interleaved buffer of indices names.
fn by_position(column: u32, component: u32) -> Index {
    Index::loaded(PLACES, Index::interleaved(COLUMNS, column % COLUMNS)).plus(component)
}

/// Whether an index that the instances read leads out of its buffer, also one that no result depends on.
fn has_fault(kernel: &CheckedKernel, buffers: &mut [Contents], dispatch: &InstanceRange) -> bool {
    let views: Vec<View> = buffers
        .iter_mut()
        .map(|contents| match contents {
            Contents::Reals(numbers) => View::Write(numbers),
            Contents::Indices(indices) => View::Index(indices),
        })
        .collect();
    dispatch.check_indices(kernel, &views).is_err()
}

#[test]
fn random_kernels_do_what_their_interpretation_does() {
    let asked = std::env::var("RESIDUA_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = ProptestConfig {
        cases: asked.unwrap_or(600),
        rng_seed: RngSeed::Fixed(2026),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let (written, finite, stopped) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let outcome = TestRunner::new(config).run(&plan(), |plan| {
        let (kernel, dispatch, buffers) = (plan.kernel(), plan.dispatch(), plan.buffers());
        let (mut compiled, mut interpreted) = (buffers.clone(), buffers.clone());
        let total = run_compiled(&kernel, &mut compiled, &dispatch);
        match (total, run_interpreted(&kernel, &mut interpreted, &dispatch)) {
            (Ok(total), Ok(expected)) => {
                prop_assert!(same(total, expected), "total {total} compiled, {expected} interpreted");
                assert_same(&compiled, &interpreted, "memory");
            }
            (Ok(_), Err(error)) => return Err(TestCaseError::fail(format!("no trap, but: {error}"))),
            (Err(trap), _) => {
                prop_assert!(trap.contains("unreachable"), "{trap}");
                prop_assert!(has_fault(&kernel, &mut buffers.clone(), &dispatch), "a trap without a fault");
                stopped.set(stopped.get() + 1);
                return Ok(());
            }
        }
        for (before, after) in buffers.iter().zip(&compiled) {
            if let (Contents::Reals(before), Contents::Reals(after)) = (before, after) {
                let changed = || before.iter().zip(after).filter(|(before, after)| before != after);
                written.set(written.get() + changed().count());
                finite.set(finite.get() + changed().filter(|(_, after)| after.is_finite()).count());
            }
        }
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    let (written, finite, stopped) = (written.get(), finite.get(), stopped.get());
    assert!(3 * finite > 2 * written && written > 10_000, "{finite} of {written} numbers are finite: too few to tell");
    assert!(stopped > 5, "{stopped} kernels met an index out of range: too few to tell");
}
