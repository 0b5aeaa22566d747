//! What one instance adds: to the normal equations of its problem, and to what a trial point brings.
//! The former is what [`crate::model::normal_equations`] says, of a loss that is known.

use crate::model::losses;
use crate::model::manifolds;
use crate::model::normal_equations::{self, Column, sum};
use residua_base::error::Result;
use residua_base::list::{Listed, PushAll};
use residua_base::sort::ascending;
use residua_ir::autodiff;
use residua_ir::graph::{CheckedGraph, Graph, InputId, NodeId};

use super::template::{Group, ParameterBlock, SharedProblem};

/// What an input of a term's graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A parameter of the problem.
    Parameter(u32),
    /// A parameter at the trial point.
    Trial(u32),
    /// A data scalar of the instance.
    Data(u32),
    /// A number on which all instances of the class agree.
    Constant(u32),
    /// Weight of the block times the loss's factor.
    Weight,
    /// The loss's scales, a and b.
    Scale(u32),
}

/// What an instance adds to the normal equations.
#[derive(Clone, Debug)]
pub struct NormalTerms {
    /// What is computed.
    pub graph: CheckedGraph,
    /// What its inputs are.
    pub inputs: Vec<Source>,
    /// Added to the cost.
    pub cost: NodeId,
    /// Added to the cost by influence, ½ w ρ′(s)² s / ρ′(0), where it is asked for.
    pub influence: Option<NodeId>,
    /// Added to the gradient, by positions among the free coordinates.
    pub gradient: Vec<(usize, NodeId)>,
    /// Added to the upper triangle of JᵀJ: row, column not before it, node.
    pub jtj: Vec<(usize, usize, NodeId)>,
}

/// What an instance adds to normal equations in pairs: cost and gradient are pairs, and H is the sum of products of single numbers, each with its error.
#[derive(Clone, Debug)]
pub struct PairTerms {
    /// What is computed.
    pub graph: CheckedGraph,
    /// What its inputs are.
    pub inputs: Vec<Source>,
    /// Added to the cost.
    pub cost: NodeId,
    /// Added to the cost by influence, a single number, where it is asked for.
    pub influence: Option<NodeId>,
    /// Added to the gradient, by positions among the free coordinates.
    pub gradient: Vec<(usize, NodeId)>,
    /// Rows of which the products make H: J̃, and one for the loss's second derivative. Entries by positions, ascending.
    pub rows: Vec<Vec<(usize, NodeId)>>,
}

/// By how much the cost of an instance falls from the point to the trial point.
#[derive(Clone, Debug)]
pub struct ReductionTerm {
    /// What is computed.
    pub graph: CheckedGraph,
    /// What its inputs are.
    pub inputs: Vec<Source>,
    /// Added to the reduction.
    pub reduction: NodeId,
}

/// A group's graph under construction.
struct Draft<'a> {
    template: &'a SharedProblem,
    group: &'a Group,
    graph: Graph,
    inputs: Vec<Source>,
}

impl<'a> Draft<'a> {
    fn new(template: &'a SharedProblem, group: &'a Group) -> Draft<'a> {
        Draft { template, group, graph: Graph::new(), inputs: Vec::new() }
    }

    fn input(&mut self, source: Source) -> NodeId {
        let position = self.inputs.iter().position(|known| *known == source).unwrap_or_else(|| {
            self.inputs.push(source);
            self.inputs.len() - 1
        });
        self.graph.input(InputId(position as u32))
    }

    /// The residuals at the point, or at the trial point.
    fn residuals(&mut self, point: fn(u32) -> Source) -> Vec<NodeId> {
        let class = &self.template.model.batches[self.group.batch].class;
        let mut inputs = Vec::new();
        for &parameter in &self.group.parameters {
            inputs.push(self.input(point(parameter)));
        }
        for column in 0..class.data {
            inputs.push(self.input(Source::Data(column)));
        }
        for number in 0..class.batch_constants {
            inputs.push(self.input(Source::Constant(number)));
        }
        self.graph.substitute(class.graph.graph(), &inputs, &class.outputs)
    }

    /// ρ(s), ρ′(s), and ρ″(s) unless that is 0 or negative for every s.
    fn loss(&mut self, s: NodeId) -> (NodeId, NodeId, Option<NodeId>) {
        let function = losses::function();
        let case = &function.cases[self.group.loss as usize];
        let arguments = [s, self.input(Source::Scale(0)), self.input(Source::Scale(1))];
        let results = self.graph.substitute(case.graph.graph(), &arguments, &case.results);
        let bend = self.group.loss.can_be_convex().then(|| {
            let case = &losses::bend().cases[self.group.loss as usize];
            self.graph.substitute(case.graph.graph(), &arguments, &case.results)[0]
        });
        (results[0], results[1], bend)
    }

    /// The cost of residuals, and what the terms of their derivatives take.
    fn weighted(&mut self, residuals: &[NodeId]) -> Weighted {
        let s = self.dot(residuals, residuals);
        let (rho, slope, bend) = self.loss(s);
        let weight = self.weight();
        let half = self.graph.literal(0.5);
        let half_weight = self.graph.mul(half, weight);
        let cost = self.graph.mul(half_weight, rho);
        let scale = self.graph.mul(weight, slope);
        Weighted { cost, scale, weight, bend }
    }

    /// Weight times the loss's factor, of the block times that of the instance.
    fn weight(&mut self) -> NodeId {
        let weight = self.input(Source::Weight);
        let class = &self.template.model.batches[self.group.batch].class;
        class.weight.map_or(weight, |column| {
            let of_instance = self.input(Source::Data(column));
            self.graph.mul(weight, of_instance)
        })
    }

    /// ½ w ρ′(s)² s / ρ′(0), from the cost and w ρ′(s).
    fn influence(&mut self, residuals: &[NodeId], cost: NodeId, scale: NodeId) -> NodeId {
        if self.group.loss == losses::LossKind::Squared {
            return cost;
        }
        let zero = self.graph.literal(0.0);
        let (_, first_slope, _) = self.loss(zero);
        let weight = self.weight();
        let s = self.dot(residuals, residuals);
        let g = &mut self.graph;
        let half = g.literal(0.5);
        let square = g.mul(scale, s);
        let square = g.mul(square, scale);
        let first_scale = g.mul(weight, first_slope);
        let share = g.div(square, first_scale);
        // Without weight there is no quotient.
        let is_weighted = g.lt(zero, first_scale);
        let share = g.select(is_weighted, share, zero);
        g.mul(half, share)
    }

    fn dot(&mut self, a: &[NodeId], b: &[NodeId]) -> NodeId {
        let mut products = Vec::with_capacity(a.len());
        for (&a, &b) in a.iter().zip(b) {
            products.push(self.graph.mul(a, b));
        }
        sum(&mut self.graph, &products).unwrap_or_else(|| self.graph.literal(0.0))
    }

    /// The parameters among the inputs so far, and which inputs they are.
    fn parameters(&self) -> (Vec<u32>, Vec<InputId>) {
        let (mut parameters, mut wrt) = (Vec::new(), Vec::new());
        for (position, source) in (0..).zip(&self.inputs) {
            if let Source::Parameter(parameter) = *source {
                parameters.push(parameter);
                wrt.push(InputId(position));
            }
        }
        (parameters, wrt)
    }

    /// 2 w max(ρ″, 0), the factor of v vᵀ.
    fn factor_of_bend(&mut self, weight: NodeId, bend: NodeId) -> NodeId {
        let g = &mut self.graph;
        let (zero, two) = (g.literal(0.0), g.literal(2.0));
        let convex = g.lt(zero, bend);
        let positive = g.select(convex, bend, zero);
        let twice = g.mul(two, weight);
        g.mul(twice, positive)
    }

    /// For each free coordinate that the residuals depend on, its position and the column of ∂r/∂x.
    fn columns(&mut self, residuals: &[NodeId]) -> Vec<(usize, Column)> {
        let (parameters, wrt) = self.parameters();
        let rows = autodiff::jacobian(&mut self.graph, residuals, &wrt);
        let mut columns: Vec<(usize, Column)> = Vec::new();
        for block in &self.template.blocks {
            let mut places = Vec::new();
            for number in block.first..block.first + block.dim {
                places.push(parameters.iter().position(|&parameter| parameter == number));
            }
            if places.iter().all(Option::is_none) {
                continue;
            }
            let mut of_block = Vec::new();
            for row in &rows {
                let row: Vec<Option<NodeId>> = places.iter().map(|place| row[(*place)?]).list();
                of_block.push(self.tangent_row(block, row));
            }
            for component in 0..block.dim {
                let Some(position) = self.template.free_position(block.first + component) else { continue };
                let mut column = Vec::new();
                for row in &of_block {
                    column.push(row.get(component as usize).copied().flatten());
                }
                if column.iter().any(Option::is_some) {
                    columns.push((position, column));
                }
            }
        }
        columns
    }

    /// The gradient of a node in free coordinates by a reverse sweep, by positions.
    fn gradient(&mut self, seeds: &[(NodeId, NodeId)]) -> Vec<(usize, NodeId)> {
        let (parameters, wrt) = self.parameters();
        let partials = autodiff::gradient(&mut self.graph, seeds, &wrt);
        let of_parameter = |parameter: u32| partials[parameters.iter().position(|&known| known == parameter)?];
        let mut gradient = Vec::new();
        for block in &self.template.blocks {
            let row = (block.first..block.first + block.dim).map(of_parameter).list();
            if row.iter().all(Option::is_none) {
                continue;
            }
            for (component, partial) in (0..).zip(self.tangent_row(block, row)) {
                let position = self.template.free_position(block.first + component);
                gradient.push_all(position.zip(partial));
            }
        }
        gradient
    }

    /// The graph of these nodes alone, which become its nodes.
    fn extract(&self, nodes: Vec<&mut NodeId>) -> Result<CheckedGraph> {
        let wanted = nodes.iter().map(|node| **node).list();
        let (graph, kept) = self.graph.extract(&wanted);
        for (node, kept) in nodes.into_iter().zip(kept) {
            *node = kept;
        }
        graph.check(self.inputs.len() as u32)
    }

    /// A row of partials by a block's numbers, in the block's tangent coordinates.
    fn tangent_row(&mut self, block: &ParameterBlock, row: Vec<Option<NodeId>>) -> Vec<Option<NodeId>> {
        if block.manifold.has_unit_basis() {
            return row;
        }
        let numbers: Vec<NodeId> =
            (block.first..block.first + block.dim).map(|parameter| self.input(Source::Parameter(parameter))).list();
        manifolds::tangent_partials(&mut self.graph, block.manifold, &numbers, &row)
    }
}

/// The cost w ρ(s)/2 of an instance, w ρ′(s), w, and ρ″(s) unless that is 0 or negative for every s.
struct Weighted {
    cost: NodeId,
    scale: NodeId,
    weight: NodeId,
    bend: Option<NodeId>,
}

/// What an instance of a group adds to the normal equations.
pub fn normal_terms(template: &SharedProblem, group: &Group, with_influence: bool) -> Result<NormalTerms> {
    let mut draft = Draft::new(template, group);
    let residuals = draft.residuals(Source::Parameter);
    let columns = draft.columns(&residuals);
    let Weighted { mut cost, scale, weight, bend } = draft.weighted(&residuals);
    let mut influence = with_influence.then(|| draft.influence(&residuals, cost, scale));
    let bend = bend.map(|bend| draft.factor_of_bend(weight, bend));

    let normal = normal_equations::terms(&mut draft.graph, &residuals, &columns, Some(scale), bend);
    let mut gradient = normal.gradient;
    let mut jtj: Vec<(usize, usize, NodeId)> = normal.jtj.iter().map(|&(a, b, node)| (a.min(b), a.max(b), node)).list();

    let mut nodes = vec![&mut cost];
    nodes.push_all(influence.as_mut());
    nodes.push_all(gradient.iter_mut().map(|(_, node)| node));
    nodes.push_all(jtj.iter_mut().map(|(.., node)| node));
    let graph = draft.extract(nodes)?;
    Ok(NormalTerms { graph, inputs: draft.inputs, cost, influence, gradient, jtj })
}

/// What an instance of a group adds to normal equations in pairs. The gradient is w ρ′ Jᵀr by a reverse sweep, which in pairs takes far fewer operations
/// than the rows of J, of which single numbers do: their products are exact, so that H is the Gram matrix of a J̃ that is rounded once.
pub fn pair_terms(template: &SharedProblem, group: &Group, with_influence: bool) -> Result<PairTerms> {
    let mut draft = Draft::new(template, group);
    let residuals = draft.residuals(Source::Parameter);
    let Weighted { mut cost, scale, weight, bend } = draft.weighted(&residuals);
    let mut influence = with_influence.then(|| draft.influence(&residuals, cost, scale));
    let root_of_scale = draft.graph.sqrt(scale);
    let seeds = residuals.iter().map(|&residual| (residual, draft.graph.mul(scale, residual))).list();
    let mut gradient = draft.gradient(&seeds);
    let columns = draft.columns(&residuals);
    let g = &mut draft.graph;
    let mut rows: Vec<Vec<(usize, NodeId)>> = Vec::new();
    for output in 0..residuals.len() {
        let entries = columns.iter().filter_map(|(position, column)| Some((*position, column[output]?)));
        rows.push(entries.map(|(position, entry)| (position, g.mul(root_of_scale, entry))).list());
    }
    if let Some(bend) = bend {
        let square = draft.factor_of_bend(weight, bend);
        let g = &mut draft.graph;
        let root = g.sqrt(square);
        let mut row = Vec::new();
        for (position, column) in &columns {
            let terms = column.iter().zip(&residuals).filter_map(|(entry, &r)| Some(g.mul((*entry)?, r))).list();
            if let Some(product) = sum(g, &terms) {
                row.push((*position, g.mul(root, product)));
            }
        }
        rows.push(row);
    }
    for row in &mut rows {
        ascending(row);
    }
    let mut nodes = vec![&mut cost];
    nodes.push_all(influence.as_mut());
    nodes.push_all(gradient.iter_mut().map(|(_, node)| node));
    nodes.push_all(rows.iter_mut().flatten().map(|(_, node)| node));
    let graph = draft.extract(nodes)?;
    Ok(PairTerms { graph, inputs: draft.inputs, cost, influence, gradient, rows })
}

/// By how much the cost of an instance of a group falls: ½ w (ρ(s) − ρ(s′)) for r at the point and r′ at the trial point. Where s
/// and s′ are closer than `close` of them, the difference of losses is (r − r′)·(r + r′) times the slope in the middle, which
/// does not cancel.
pub fn reduction_term(template: &SharedProblem, group: &Group, close: f64) -> Result<ReductionTerm> {
    let mut draft = Draft::new(template, group);
    let before = draft.residuals(Source::Parameter);
    let after = draft.residuals(Source::Trial);
    let (mut differences, mut sums) = (Vec::new(), Vec::new());
    for (&a, &b) in before.iter().zip(&after) {
        differences.push(draft.graph.sub(a, b));
        sums.push(draft.graph.add(a, b));
    }
    let difference = draft.dot(&differences, &sums);
    let change = if group.loss == losses::LossKind::Squared {
        difference
    } else {
        let (s_before, s_after) = (draft.dot(&before, &before), draft.dot(&after, &after));
        let half = draft.graph.literal(0.5);
        let sum = draft.graph.add(s_before, s_after);
        let middle = draft.graph.mul(half, sum);
        let ((rho_before, ..), (rho_after, ..)) = (draft.loss(s_before), draft.loss(s_after));
        let (_, slope, _) = draft.loss(middle);
        let g = &mut draft.graph;
        let size = g.abs(difference);
        let close = g.literal(close);
        let bound = g.mul(close, middle);
        let is_close = g.lt(size, bound);
        let near = g.mul(slope, difference);
        let far = g.sub(rho_before, rho_after);
        g.select(is_close, near, far)
    };
    let weight = draft.weight();
    let half = draft.graph.literal(0.5);
    let half_weight = draft.graph.mul(half, weight);
    let mut reduction = draft.graph.mul(half_weight, change);
    let graph = draft.extract(vec![&mut reduction])?;
    Ok(ReductionTerm { graph, inputs: draft.inputs, reduction })
}

/// For [`reduction_term`] in f32: the midpoint rule is right to about close²/24 of the difference, and the difference of two
/// losses to 2⁻²⁴/close of it.
pub const CLOSE_SINGLE: f64 = 0.01;

/// The same in pairs: 2⁻⁴⁶/close is as much as close²/24.
pub const CLOSE_PAIR: f64 = 1e-4;

/// The same in f64: 2⁻⁵³/close is as much as close²/24.
pub const CLOSE_DOUBLE: f64 = 1e-5;
