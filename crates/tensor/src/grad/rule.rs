//! Rules of folds and scans by a rule of the user, and linear recurrences.
//!
//! A merge m(a, b) of states is a graph of scalar operations, which `residua_ir::autodiff` differentiates. In a scan sᵢ = m(sᵢ₋₁, eᵢ), so that the
//! adjoints of the states are a linear recurrence from the end, λᵢ = gᵢ + (∂sᵢ₊₁/∂sᵢ)ᵀ λᵢ₊₁. Linear recurrences are scans of affine maps, whose
//! merge is their composition (Blelloch: "Prefix sums and their applications", 1990), and so have a derivative by the same rule. Only numbers of the
//! state that the result depends on take part: the vector of an affine map up to an element depends on no matrix before, so that derivatives of any
//! order have recurrences of as many numbers.

use std::rc::Rc;

use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_ir::autodiff::{gradient_without_loops as gradient, jacobian_without_loops as jacobian};
use residua_ir::graph::{Graph, InputId, NodeId};

use super::accumulate::Line;
use super::scalar::tensors_of;
use super::{Adjoint, PullBack, Shares};
use crate::dtype::DType;
use crate::expr::{Rule, Tensor, TensorId, TensorOp};

/// Most numbers of a state whose scan is differentiated: affine maps of so many are n² + n numbers, 56.
const MAX_STATE: usize = 7;

/// The inputs of a graph from one number up to another.
fn inputs(from: usize, to: usize) -> Vec<InputId> {
    (from..to).map(|input| InputId(input as u32)).list()
}

/// The rule that composes affine maps of so many numbers: states are a matrix by rows and a vector, the earlier map is applied first.
fn composition(count: usize) -> Result<Rule> {
    let state = count * count + count;
    let mut graph = Graph::new();
    let nodes: Vec<NodeId> = inputs(0, 2 * state).into_iter().map(|input| graph.input(input)).list();
    let (earlier, later) = nodes.split_at(state);
    let mut dot = |row: usize, column: &dyn Fn(usize) -> NodeId, first: Option<NodeId>| {
        let mut sum = first;
        for k in 0..count {
            let product = graph.mul(later[row * count + k], column(k));
            sum = Some(sum.map_or(product, |sum| graph.add(sum, product)));
        }
        sum.unwrap_or(later[0])
    };
    let mut results = Vec::new();
    for row in 0..count {
        for column in 0..count {
            results.push(dot(row, &|k| earlier[k * count + column], None));
        }
    }
    for row in 0..count {
        results.push(dot(row, &|k| earlier[count * count + k], Some(later[count * count + row])));
    }
    let one = |place: usize| f64::from(u8::from(place < count * count && place.is_multiple_of(count + 1)));
    Ok(Rule { identity: (0..state).map(one).list(), merge: graph.check(2 * state as u32)?, results })
}

/// The rule with the operands of its merge exchanged, for a scan from the end that merges in the order of the elements.
fn exchanged(rule: &Rule) -> Result<Rule> {
    let count = rule.identity.len();
    let mut graph = Graph::new();
    let mut exchanged: Vec<NodeId> = inputs(0, 2 * count).into_iter().map(|input| graph.input(input)).list();
    exchanged.rotate_left(count);
    let results = graph.substitute(rule.merge.graph(), &exchanged, &rule.results);
    Ok(Rule { identity: rule.identity.clone(), merge: graph.check(2 * count as u32)?, results })
}

impl PullBack<'_> {
    /// The vectors λ of λᵢ = Aᵢ λᵢ₋₁ + bᵢ along an axis, in the order of a scan; the matrices by rows.
    pub(super) fn recurrence(
        &mut self,
        matrices: &[TensorId],
        vectors: &[TensorId],
        axis: u32,
        reverse: bool,
    ) -> Result<Vec<TensorId>> {
        let count = vectors.len();
        let known = self.sweep.recurrences.iter().find(|(known, _)| *known == count);
        let rule = match known {
            Some((_, rule)) => rule.clone(),
            None => {
                let rule = Rc::new(composition(count)?);
                self.sweep.recurrences.push((count, rule.clone()));
                rule
            }
        };
        let dtype = self.sweep.expr.dtype(vectors[0]);
        let states: Vec<TensorId> = matrices.iter().chain(vectors).map(|id| self.expr().cast(*id, DType::F32)).list();
        let vectors = (count * count..states.len()).map(|result| {
            let vector = self.scan_of(&rule, &states, axis, [false, reverse], result);
            self.expr().cast(vector, dtype)
        });
        Ok(vectors.list())
    }

    fn scan_of(
        &mut self,
        rule: &Rc<Rule>,
        states: &[TensorId],
        axis: u32,
        [exclusive, reverse]: [bool; 2],
        result: usize,
    ) -> TensorId {
        let op = TensorOp::ScanBy { rule: rule.clone(), axis, exclusive, reverse, result: result as u32 };
        let shape = self.sweep.expr.shape(states[0]).to_vec();
        self.expr().push(Tensor { op, operands: states.to_vec(), dtype: DType::F32, shape })
    }

    /// The last state merges what is before an element, the element, and what is after it.
    pub(super) fn fold(&mut self, rule: &Rc<Rule>, axes: &[u32], result: u32) -> Result<Shares> {
        let (count, shape) = (self.operands.len(), self.shape(0));
        let line = Line::of(&shape, axes);
        let operands = self.operands;
        let states: Vec<TensorId> = operands.iter().map(|state| self.flattened(*state, &line)).list();
        let turned = Rc::new(exchanged(rule)?);
        let mut numbers: Vec<TensorId> = Vec::new();
        numbers.extend((0..count).map(|k| self.scan_of(rule, &states, line.axis(), [true, false], k)));
        numbers.extend(&states);
        numbers.extend((0..count).map(|k| self.scan_of(&turned, &states, line.axis(), [true, true], k)));
        let adjoint = self.adjoint.node;
        let adjoint = self.expr().restore(adjoint, axes, &shape);
        let adjoint = self.flattened(adjoint, &line);
        numbers.push(adjoint);

        let mut graph = Graph::new();
        let nodes: Vec<NodeId> = inputs(0, numbers.len()).into_iter().map(|input| graph.input(input)).list();
        let merged = graph.substitute(rule.merge.graph(), &nodes[..2 * count], &rule.results);
        let with_rest = [merged.as_slice(), &nodes[2 * count..3 * count]].concat();
        let last = graph.substitute(rule.merge.graph(), &with_rest, &rule.results[result as usize..][..1]);
        let partials = gradient(&mut graph, &[(last[0], nodes[3 * count])], &inputs(count, 2 * count));
        Ok(self.shares_of(&graph, &partials, &numbers, Some(&line)))
    }

    /// Partials of a graph as shares of the operands.
    fn shares_of(
        &mut self,
        graph: &Graph,
        partials: &[Option<NodeId>],
        numbers: &[TensorId],
        line: Option<&Line>,
    ) -> Shares {
        let there: Vec<NodeId> = partials.iter().flatten().copied().list();
        let mut nodes = tensors_of(&mut self.sweep.expr, graph, numbers, &there).into_iter();
        let guarded = self.adjoint.guarded;
        let mut share = |partial: &Option<NodeId>| {
            partial.as_ref()?;
            let node = nodes.next()?;
            let node = line.map_or(node, |line| self.unflattened(node, line));
            Some(Adjoint { node, guarded })
        };
        partials.iter().map(&mut share).list()
    }

    pub(super) fn scan_by(
        &mut self,
        rule: &Rc<Rule>,
        axis: u32,
        [exclusive, reverse]: [bool; 2],
        result: u32,
    ) -> Result<Shares> {
        let count = self.operands.len();
        // The numbers of the state that the result depends on, and the partials of each by those before.
        let mut graph = rule.merge.graph().clone();
        let (mut deciding, mut rows) = (vec![result as usize], Vec::new());
        while let Some(number) = deciding.get(rows.len()) {
            let row = jacobian(&mut graph, &rule.results[*number..][..1], &inputs(0, count)).concat();
            let more = (0..count).filter(|column| row[*column].is_some() && !deciding.contains(column)).list();
            deciding.extend(more);
            rows.push(row);
        }
        let size = deciding.len();
        if size > MAX_STATE {
            return Err(Error::invalid_graph(format!(
                "grad: got a scan by a rule whose result depends on {size} numbers of its state; takes at most {MAX_STATE}"
            )));
        }
        let states = self.operands;
        let shape = self.shape(0);
        let mut numbers: Vec<TensorId> = Vec::new();
        for k in 0..count {
            let is_result = exclusive && k == result as usize;
            let earlier = if is_result { self.result } else { self.scan_of(rule, states, axis, [true, reverse], k) };
            numbers.push(earlier);
        }
        numbers.extend(states);

        // The recurrence takes the partials from the next element, transposed.
        let rows = rows.iter().map(|row| deciding.iter().map(|column| row[*column]).list()).list();
        let there: Vec<NodeId> = rows.iter().flatten().flatten().copied().list();
        let mut partials = tensors_of(&mut self.sweep.expr, &graph, &numbers, &there).into_iter();
        let zeros = self.expr().full(0.0, DType::F32, &shape);
        let mut matrices = vec![zeros; size * size];
        for (row, entries) in rows.iter().enumerate() {
            for (column, entry) in entries.iter().enumerate() {
                if entry.is_some()
                    && let Some(partial) = partials.next()
                {
                    matrices[column * size + row] = self.next(partial, axis, reverse);
                }
            }
        }
        let adjoint = self.adjoint.node;
        let mut seeds = vec![zeros; size];
        seeds[0] = if exclusive { self.next(adjoint, axis, reverse) } else { adjoint };
        numbers.extend(self.recurrence(&matrices, &seeds, axis, !reverse)?);

        let mut graph = rule.merge.graph().clone();
        let nodes: Vec<NodeId> = inputs(2 * count, 2 * count + size).into_iter().map(|input| graph.input(input)).list();
        let seeds: Vec<(NodeId, NodeId)> = deciding.iter().map(|number| rule.results[*number]).zip(nodes).list();
        let partials = gradient(&mut graph, &seeds, &inputs(count, 2 * count));
        Ok(self.shares_of(&graph, &partials, &numbers, None))
    }
}
