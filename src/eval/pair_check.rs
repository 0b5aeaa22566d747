//! Whether pairs hold in the kernels of a model: residuals and gradients of some instances of each batch, as a device computes them, against
//! the reference evaluation in f64.
//!
//! A device's arithmetic can pass a test of single operations and still be rearranged in longer kernels, so the kernels themselves are tried.
//! They run over a [`Sample`], a model of a few instances with the classes of the whole, so that they are the same kernels. What differs from
//! the reference by more than 2⁻³⁸ of |r| + Σ|J x| (of a gradient Σ|r J|), and by more than 2⁻¹⁰ of what single precision loses in the same
//! batch, is a fault: where numbers cancel within a residual, pairs lose digits too, but some 2⁻²² of those that single precision does.

use residua_base::error::Result;
use residua_base::list::{Listed, PushAll};
use residua_ir::autodiff;
use residua_ir::graph::{CheckedGraph, InputId, Loop, Node, NodeId, Op, evaluate, look_up, steps};

use super::Arithmetic;
use crate::model::{Batch, Model, Rows, losses};

/// Instances of a batch that are tried, at most.
const MOST_INSTANCES: u32 = 64;

/// The same of instances whose reference takes all steps of a loop.
const MOST_WITH_LOOPS: u32 = 4;

/// 2⁻³⁸: pairs err by 2⁻⁴⁶ or so in an operation, and residuals have some hundred.
const RELATIVE: f64 = 1.0 / (1u64 << 38) as f64;

/// The share of single precision's error that pairs may have: 2⁻¹⁰, midway between theirs and that of pairs that do not hold.
const SHARE: f64 = 1.0 / (1u64 << 10) as f64;

/// What may be missed of any number: a hundred low parts below the smallest normal number of single precision, 2⁻¹²⁶, which devices take as 0.
const FLOOR: f64 = 1.5e-36;

/// So much of what is compared may be off: numbers at which a function jumps can fall on either side.
const MOST_OFF: f64 = 0.25;

/// A model of a few instances of another.
pub struct Sample {
    /// The model, of which the parameters are those that the instances have.
    pub model: Model,
    /// Its parameters, each a pair.
    pub x: Vec<f64>,
    /// For each of its residuals the row in the whole model.
    rows: Vec<u32>,
}

/// What is computed of a sample.
pub struct Computed {
    /// Its residuals.
    pub residuals: Vec<f64>,
    /// The gradient of the least-squares cost, in which an addend of a long sum is a residual of its own.
    pub gradient: Vec<f64>,
}

impl Sample {
    /// The sample of a model at a point.
    pub fn of(model: &Model, x: &[f64]) -> Sample {
        let chosen: Vec<Vec<usize>> = model.batches.iter().map(instances).list();
        // The parameters that are read, ascending: numbers of a block stay side by side.
        let mut read: Vec<u32> = Vec::new();
        for (batch, chosen) in model.batches.iter().zip(&chosen) {
            for (column, &dim) in (0u32..).zip(&batch.class.block_dims) {
                let addresses = batch.column(column);
                read.push_all(chosen.iter().flat_map(|&instance| addresses[instance]..addresses[instance] + dim));
            }
        }
        read.sort_unstable();
        read.dedup();
        let quantise = |&number: &f64| Arithmetic::F32x2.quantise(number);
        let mut rows: Vec<u32> = Vec::new();
        let mut batches = Vec::new();
        for (batch, chosen) in model.batches.iter().zip(&chosen) {
            let (outputs, blocks) = (batch.class.outputs.len() as u32, batch.class.block_dims.len());
            let first = rows.len() as u32;
            // Addends of one sum come to one row.
            let starts = chosen
                .iter()
                .map(|&instance| {
                    let row = batch.row(instance);
                    let known = rows[first as usize..].iter().position(|&known| known == row);
                    first
                        + known.unwrap_or_else(|| {
                            rows.push_all(row..row + outputs);
                            rows.len() - (first + outputs) as usize
                        }) as u32
                })
                .list();
            let count = batch.count as usize;
            let mut indices = Vec::new();
            for (column, table) in batch.indices.chunks_exact(count.max(1)).enumerate() {
                let place = |&instance: &usize| read.partition_point(|&known| known < table[instance]) as u32;
                if column < blocks {
                    indices.push_all(chosen.iter().map(place))
                } else {
                    indices.extend_from_slice(&starts)
                }
            }
            let columns = batch.data.chunks_exact(count.max(1));
            batches.push(Batch {
                class: batch.class.clone(),
                count: chosen.len() as u32,
                block: batch.block,
                indices,
                data: columns.flat_map(|column| chosen.iter().map(|&instance| quantise(&column[instance]))).list(),
                batch_constants: batch.batch_constants.iter().map(quantise).list(),
                rows: match batch.rows {
                    Rows::From(_) => Rows::From(first),
                    Rows::Column(column) => Rows::Column(column),
                    Rows::Addends(column) => Rows::Addends(column),
                },
                instances: None,
                plain: None,
            });
        }
        let mut blocks = model.blocks.clone();
        blocks.iter_mut().for_each(|block| block.enabled = true);
        let (num_params, num_residuals) = (read.len() as u32, rows.len() as u32);
        Sample {
            model: Model {
                arrays: Vec::new(),
                blocks,
                batches,
                tables: model.tables.iter().map(quantise).list(),
                num_params,
                num_residuals,
                eliminated: Vec::new(),
            },
            x: read.iter().map(|&parameter| quantise(&x[parameter as usize])).list(),
            rows,
        }
    }

    /// What is wrong with numbers that a device has computed of the sample, in words; none if they are those of the reference.
    pub fn find_fault(&self, of_whole: &Model, computed: &Computed) -> Result<Option<String>> {
        let mut expected = Expected::new(&self.model);
        for batch in &self.model.batches {
            Reference::new(batch)?.add_to(&mut expected, &self.model, &self.x);
        }
        let fault = |of: &str, row: usize| {
            let name = of_whole.residual_name(self.rows[row]);
            Ok(Some(format!("{of}{name} is not what the CPU computes to that precision")))
        };
        // Every batch has rows of its own.
        let mut first = 0;
        for batch in &self.model.batches {
            let outputs = batch.class.outputs.len();
            let ends = (0..batch.count as usize).map(|instance| batch.row(instance) as usize + outputs);
            let rows = first..ends.fold(first, usize::max);
            if let Some(row) = first_missed(&expected.residuals[rows.clone()], &computed.residuals[rows.clone()]) {
                return fault("", first + row);
            }
            first = rows.end;
        }
        match first_missed(&expected.gradient, &computed.gradient) {
            Some(parameter) => fault("the gradient of ", expected.rows_of_parameters[parameter]),
            None => Ok(None),
        }
    }
}

/// The place of the first number that is missed, if so many are that they are a fault.
fn first_missed(expected: &[Bounded], found: &[f64]) -> Option<usize> {
    let missed = (0..expected.len()).filter(|&place| expected[place].is_missed_by(found[place])).list();
    if missed.len() as f64 > MOST_OFF * expected.len() as f64 { Some(missed[0]) } else { None }
}

/// The instances of a batch that are tried, at equal distances.
fn instances(batch: &Batch) -> Vec<usize> {
    let count = u64::from(batch.count);
    let has_loops = !batch.class.graph.graph().loops().is_empty();
    let tried = count.min(if has_loops { MOST_WITH_LOOPS } else { MOST_INSTANCES }.into());
    (0..tried).map(|number| (number * count / tried) as usize).list()
}

/// A number, and by how much it may be missed.
#[derive(Clone, Copy, Default)]
struct Bounded {
    number: f64,
    bound: f64,
}

impl Bounded {
    fn add(&mut self, number: f64, bound: f64) {
        self.number += number;
        self.bound += bound;
    }

    /// What is not finite here, or beyond the range of single precision, says nothing.
    fn is_missed_by(&self, found: f64) -> bool {
        let difference = (found - self.number).abs();
        let is_in_range = Arithmetic::F32.quantise(self.number).is_finite() && self.bound.is_finite();
        is_in_range && (difference > self.bound + FLOOR || difference.is_nan())
    }
}

struct Expected {
    residuals: Vec<Bounded>,
    gradient: Vec<Bounded>,
    /// For each parameter a residual that it takes part in.
    rows_of_parameters: Vec<usize>,
}

impl Expected {
    fn new(model: &Model) -> Expected {
        let [parameters, residuals] = [model.num_params, model.num_residuals].map(|count| count as usize);
        Expected {
            residuals: vec![Bounded::default(); residuals],
            gradient: vec![Bounded::default(); parameters],
            rows_of_parameters: vec![0; parameters],
        }
    }
}

/// The reference evaluation of a batch.
struct Reference<'a> {
    batch: &'a Batch,
    graph: CheckedGraph,
    /// For each residual of an instance its derivatives by the local parameters.
    partials: Vec<Vec<Option<NodeId>>>,
    /// Half the derivatives of the sum of squares.
    gradient: Vec<Option<NodeId>>,
}

impl<'a> Reference<'a> {
    fn new(batch: &'a Batch) -> Result<Reference<'a>> {
        let class = &batch.class;
        let mut graph = class.graph.graph().clone();
        let locals = (0..class.locals.len() as u32).map(InputId).list();
        let partials = autodiff::jacobian(&mut graph, &class.outputs, &locals);
        let seeds = class.outputs.iter().map(|&output| (output, output)).list();
        let gradient = autodiff::gradient(&mut graph, &seeds, &locals);
        Ok(Reference { batch, graph: graph.check(class.graph.input_count())?, partials, gradient })
    }

    fn add_to(&self, expected: &mut Expected, model: &Model, x: &[f64]) {
        let class = &self.batch.class;
        let block = &model.blocks[self.batch.block as usize];
        let parameter = |instance: usize, local: usize| {
            let local = class.locals[local];
            (self.batch.column(local.column)[instance] + local.component) as usize
        };
        let of_instances: Vec<[Vec<f64>; 2]> = (0..self.batch.count as usize)
            .map(|instance| {
                let locals = (0..class.locals.len()).map(|local| x[parameter(instance, local)]);
                let data = self.batch.data.chunks_exact(self.batch.count as usize).map(|column| column[instance]);
                let inputs = locals.chain(data).chain(self.batch.batch_constants.iter().copied()).list();
                [Arithmetic::F64, Arithmetic::F32]
                    .map(|arithmetic| rounded(&self.graph, &inputs, &model.tables, arithmetic))
            })
            .list();
        // The error of single precision in a node, the largest of all instances.
        let lost = |node: NodeId| {
            let errors = of_instances.iter().map(|[exact, single]| (exact[node.index()] - single[node.index()]).abs());
            SHARE * errors.filter(|error| error.is_finite()).fold(0.0, f64::max)
        };
        let residuals_lost = class.outputs.iter().map(|&output| lost(output)).list();
        let gradient_lost = self.gradient.iter().map(|entry| entry.map_or(0.0, lost)).list();
        for (instance, [nodes, _]) in of_instances.iter().enumerate() {
            let row = self.batch.row(instance) as usize;
            let value = |node: Option<NodeId>| node.map_or(0.0, |node| nodes[node.index()]);
            let residuals = class.outputs.iter().map(|&output| nodes[output.index()]).list();
            let (_, slope) = losses::evaluate(&block.loss, residuals.iter().map(|r| r * r).sum());
            let factor = block.weight * self.batch.instance_weight(instance) * slope;
            for (output, &r) in residuals.iter().enumerate() {
                let moved = self.partials[output].iter().enumerate();
                let moved = moved.map(|(local, &partial)| (value(partial) * x[parameter(instance, local)]).abs());
                let bound = RELATIVE * (r.abs() + moved.sum::<f64>()) + residuals_lost[output];
                expected.residuals[row + output].add(r, bound);
            }
            for (local, &entry) in self.gradient.iter().enumerate() {
                let products = residuals.iter().zip(&self.partials);
                let products = products.map(|(r, partials)| (r * value(partials[local])).abs()).sum::<f64>();
                let bound = factor.abs() * (RELATIVE * products + gradient_lost[local]);
                let parameter = parameter(instance, local);
                expected.gradient[parameter].add(factor * value(entry), bound);
                expected.rows_of_parameters[parameter] = row;
            }
        }
    }
}

/// The values of all nodes, each rounded, those of the steps of loops too.
fn rounded(graph: &CheckedGraph, inputs: &[f64], tables: &[f64], arithmetic: Arithmetic) -> Vec<f64> {
    let graph = graph.graph();
    let mut states: Vec<Option<Vec<f64>>> = vec![None; graph.loops().len()];
    let mut nodes: Vec<f64> = Vec::with_capacity(graph.len());
    for node in graph.nodes() {
        let value = match node {
            Node::Literal(bits) => f64::from_bits(*bits),
            Node::Input(input) => inputs[input.0 as usize],
            Node::Apply(Op::Lookup, operands) => look_up(tables, operands.map(|operand| nodes[operand.index()])),
            Node::Apply(op, operands) => {
                let operands = operands.map(|operand| nodes[operand.index()]);
                evaluate(*op, &operands[..op.arity()])
            }
            Node::Result(of, number) => {
                let run = || run_rounded(graph.loop_of(*of), &nodes, tables, arithmetic);
                states[of.index()].get_or_insert_with(run)[*number as usize]
            }
        };
        nodes.push(arithmetic.quantise(value));
    }
    nodes
}

/// The final state of a loop over the values of the nodes before it.
fn run_rounded(of_loop: &Loop, nodes: &[f64], tables: &[f64], arithmetic: Arithmetic) -> Vec<f64> {
    let (body, start) = (of_loop.body(), nodes[of_loop.start().index()]);
    let mut inputs = [start].to_vec();
    inputs.push_all(of_loop.inputs().iter().map(|input| nodes[input.index()]));
    for step in 0..steps(nodes[of_loop.count().index()]) {
        inputs[0] = start + f64::from(step);
        let values = rounded(body.graph(), &inputs, tables, arithmetic);
        for (number, next) in body.next().iter().enumerate() {
            inputs[1 + number] = values[next.index()];
        }
    }
    inputs[1..][..body.states()].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::cpu::CpuEngine;
    use crate::eval::{Engine, Objective};
    use crate::model::tests::{Recorder, params_model};
    use residua_base::cooperative::run_synchronously;

    /// x sin(y) − c and x y, of 200 pairs of parameters, and their sum of exponentials as a long sum.
    fn model() -> (Model, Vec<f64>) {
        let mut r = Recorder::default();
        let (mut outputs, mut addends) = (Vec::new(), Vec::new());
        for number in 0..200 {
            let (x, y) = (r.parameter(2 * number), r.parameter(2 * number + 1));
            let sine = r.apply(Op::Sin, &[y]);
            let product = r.apply(Op::Mul, &[x, sine]);
            let target = r.constant(f64::from(number) / 7.0);
            outputs.push(r.apply(Op::Sub, &[product, target]));
            outputs.push(r.apply(Op::Mul, &[x, y]));
            addends.push(r.apply(Op::Exp, &[y]));
        }
        let sum = addends.into_iter().reduce(|a, b| r.apply(Op::Add, &[a, b])).unwrap();
        outputs.push(sum);
        let x = (0..400).map(|number| 0.5 + 1.0 / f64::from(3 + number)).collect();
        (params_model(r.tape(outputs, 400), 400), x)
    }

    fn computed(sample: &Sample) -> Computed {
        let mut engine = Engine::Cpu(CpuEngine::new());
        let Sample { model, x, .. } = sample;
        let residuals = run_synchronously(engine.values(model, x)).unwrap();
        let gradient = run_synchronously(engine.gradient(model, Objective::LeastSquares, x, None)).unwrap().gradient;
        Computed { residuals, gradient }
    }

    #[test]
    fn a_sample_is_computed_as_the_reference_says_and_rounded_to_pairs_holds() {
        let (model, x) = model();
        assert!(model.batches.iter().any(Batch::has_addends));
        let sample = Sample::of(&model, &x);
        assert!(sample.model.batches.iter().all(|batch| batch.count <= MOST_INSTANCES));
        let Computed { mut residuals, mut gradient } = computed(&sample);
        residuals.iter_mut().chain(&mut gradient).for_each(|number| *number = Arithmetic::F32x2.quantise(*number));
        assert_eq!(sample.find_fault(&model, &Computed { residuals, gradient }).unwrap(), None);
    }

    #[test]
    fn numbers_beyond_the_range_of_single_precision_are_no_fault() {
        // Multiples of x − 1, whose squares overflow or vanish in pairs, and so does the gradient.
        for factor in [1e25, 1e-19] {
            let mut r = Recorder::default();
            let (x, one, factor) = (r.parameter(0), r.constant(1.0), r.constant(factor));
            let difference = r.apply(Op::Sub, &[x, one]);
            let output = r.apply(Op::Mul, &[difference, factor]);
            let (model, x) = (params_model(r.tape(vec![output], 1), 1), [3.0]);
            let sample = Sample::of(&model, &x);
            let Computed { residuals, mut gradient } = computed(&sample);
            gradient.iter_mut().for_each(|number| *number = if *number > 1.0 { f64::INFINITY } else { 0.0 });
            assert_eq!(sample.find_fault(&model, &Computed { residuals, gradient }).unwrap(), None);
        }
    }

    #[test]
    fn what_is_right_to_single_precision_alone_is_a_fault() {
        let (model, x) = model();
        let sample = Sample::of(&model, &x);
        let Computed { mut residuals, gradient } = computed(&sample);
        let round = |numbers: &[f64]| numbers.iter().map(|&number| Arithmetic::F32.quantise(number)).collect();
        let fault = sample.find_fault(&model, &Computed { residuals: residuals.clone(), gradient: round(&gradient) });
        assert!(fault.unwrap().is_some_and(|fault| fault.starts_with("the gradient of residual ")));
        residuals = round(&residuals);
        let fault = sample.find_fault(&model, &Computed { residuals, gradient }).unwrap();
        assert!(fault.is_some_and(|fault| fault.starts_with("residual ")));
    }
}
