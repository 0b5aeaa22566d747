//! The evaluation of single instances of a batch in f64, with the reference evaluation of graphs.

use super::point::Evaluated;
use crate::model::Batch;
use residua_base::error::Result;
use residua_base::list::Listed;
use residua_ir::autodiff;
use residua_ir::graph::{CheckedGraph, InputId, NodeId};

/// The mean square of a rounding error that is uniform over an interval of length ε, in units of ε².
const MEAN_SQUARE: f64 = 1.0 / 12.0;

/// Evaluations with random roundings.
const EVALUATIONS: u32 = 4;

/// A linear congruential generator, whose highest bit is used (D. E. Knuth, MMIX).
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
const SEED: u64 = 1;

/// Evaluates residuals and partials of a batch's instances at a point.
pub(super) struct Probe<'a> {
    batch: &'a Batch,
    tables: &'a [f64],
    point: Evaluated<'a>,
    graph: CheckedGraph,
    /// For each residual of an instance its partials with respect to the local parameters, where there is one.
    partials: Vec<Vec<Option<NodeId>>>,
    inputs: Vec<f64>,
    nodes: Vec<f64>,
    /// The instance that was evaluated last.
    instance: usize,
}

/// Sums over the residuals of an instance, and its weight.
pub(super) struct Found {
    /// Of the block times that of the instance.
    pub weight: f64,
    /// Of squares, in f64.
    pub squared: f64,
    /// Of squares, in the arithmetic of the solve.
    pub squared_as_computed: f64,
    /// Of squared differences between the two.
    pub squared_difference: f64,
    /// Of squared changes when every free parameter moves by its rounding error.
    pub squared_quantisation: f64,
}

impl<'a> Probe<'a> {
    pub(super) fn new(batch: &'a Batch, tables: &'a [f64], point: &Evaluated<'a>) -> Result<Probe<'a>> {
        let class = &batch.class;
        let mut graph = class.graph.graph().clone();
        let locals = (0..class.locals.len() as u32).map(InputId).list();
        let partials = autodiff::jacobian(&mut graph, &class.outputs, &locals);
        let graph = graph.check(class.graph.input_count())?;
        let inputs = vec![0.0; graph.input_count() as usize];
        let nodes = vec![0.0; graph.graph().len()];
        Ok(Probe { batch, tables, point: *point, graph, partials, inputs, nodes, instance: 0 })
    }

    /// Evaluates an instance of a block with a weight.
    pub(super) fn evaluate(&mut self, instance: usize, of_block: f64) -> Found {
        let class = &self.batch.class;
        self.instance = instance;
        for local in 0..class.locals.len() {
            self.inputs[local] = self.point.x[self.parameter(local)];
        }
        let (count, first_data) = (self.batch.count as usize, class.locals.len());
        let first_constant = first_data + class.data as usize;
        for (column, input) in self.inputs[first_data..first_constant].iter_mut().enumerate() {
            *input = self.batch.data[column * count + instance];
        }
        self.inputs[first_constant..].copy_from_slice(&self.batch.batch_constants);
        self.graph.evaluate_with(&self.inputs, self.tables, &mut self.nodes);
        let mut found = Found {
            weight: of_block * self.batch.instance_weight(instance),
            squared: 0.0,
            squared_as_computed: 0.0,
            squared_difference: 0.0,
            squared_quantisation: 0.0,
        };
        let epsilon = self.point.arithmetic.epsilon();
        for output in 0..class.outputs.len() {
            let (exact, computed) = (self.residual(output), self.computed(output));
            found.squared += exact * exact;
            found.squared_as_computed += computed * computed;
            found.squared_difference += (exact - computed) * (exact - computed);
            for (parameter, partial) in self.partials_of(output) {
                let moved = partial * epsilon * self.point.x[parameter];
                found.squared_quantisation += MEAN_SQUARE * moved * moved;
            }
        }
        found
    }

    /// The mean square of what rounding in f64 does to the residuals of the last instance, at most, by evaluations in which every operation is off by ε up or
    /// down, at random: a unit in the last place or two.
    pub(super) fn squared_rounding(&self) -> f64 {
        let class = &self.batch.class;
        let mut rounded = vec![0.0; class.graph.graph().len()];
        let (mut random, mut sum) = (SEED, 0.0);
        for _ in 0..EVALUATIONS {
            let change = |value: f64| {
                random = random.wrapping_mul(MULTIPLIER).wrapping_add(1);
                value * if random >> 63 == 0 { 1.0 + f64::EPSILON } else { 1.0 - f64::EPSILON }
            };
            class.graph.evaluate_by(&self.inputs, self.tables, &mut rounded, change);
            let differs = |output: &NodeId| rounded[output.index()] - self.nodes[output.index()];
            sum += class.outputs.iter().map(differs).map(|difference| difference * difference).sum::<f64>();
        }
        sum / f64::from(EVALUATIONS)
    }

    /// The residuals of an instance.
    pub(super) fn outputs(&self) -> std::ops::Range<usize> {
        0..self.batch.class.outputs.len()
    }

    /// How much larger a residual of the last instance is in f64 than it was computed.
    pub(super) fn difference(&self, output: usize) -> f64 {
        self.residual(output) - self.computed(output)
    }

    /// The free parameters of a residual of the last instance, with its partials. A parameter can occur several times.
    pub(super) fn partials_of(&self, output: usize) -> impl Iterator<Item = (usize, f64)> {
        let partials = self.partials[output].iter().enumerate();
        partials
            .filter_map(|(local, partial)| Some((self.parameter(local), self.nodes[partial.as_ref()?.index()])))
            .filter(|&(parameter, _)| !self.point.constant[parameter])
    }

    /// A residual of the last instance, in f64.
    pub(super) fn residual(&self, output: usize) -> f64 {
        self.nodes[self.batch.class.outputs[output].index()]
    }

    fn computed(&self, output: usize) -> f64 {
        self.point.residuals[self.batch.row(self.instance) as usize + output]
    }

    fn parameter(&self, local: usize) -> usize {
        let local = self.batch.class.locals[local];
        (self.batch.column(local.column)[self.instance] + local.component) as usize
    }
}
