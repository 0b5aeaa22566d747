//! A step of a problem's parameters, as a graph: retraction on manifolds, projection on bounds.

use crate::model::Manifold;
use crate::model::manifolds;
use residua_base::error::Result;
use residua_ir::graph::{CheckedGraph, Graph, InputId, NodeId, Op};

use super::template::SharedProblem;

/// What an input of the graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveSource {
    /// A parameter of the problem.
    Parameter(u32),
    /// The step of a free coordinate, by its position.
    Step(usize),
    /// Its lower bound.
    Lower(usize),
    /// Its upper bound.
    Upper(usize),
}

/// Where a step leads.
#[derive(Clone, Debug)]
pub struct Move {
    /// What is computed.
    pub graph: CheckedGraph,
    /// What its inputs are.
    pub inputs: Vec<MoveSource>,
    /// The parameters that move, and where to.
    pub trial: Vec<(u32, NodeId)>,
    /// The projected step, one number a free coordinate: shorter than the step where a bound is in the way.
    pub projected_step: Vec<NodeId>,
}

/// The move of a template's free coordinates. A coordinate whose step is 0 stays as it is, bit for bit.
pub fn moves(template: &SharedProblem) -> Result<Move> {
    let mut g = Graph::new();
    let mut inputs = Vec::new();
    let mut input = |g: &mut Graph, source: MoveSource| {
        inputs.push(source);
        g.input(InputId(inputs.len() as u32 - 1))
    };
    let (mut trial, mut projected_step) = (Vec::new(), Vec::new());
    for block in &template.blocks {
        let numbers = block.first..block.first + block.dim;
        if block.manifold != Manifold::Euclidean {
            let (mut x, mut step) = (Vec::new(), Vec::new());
            for number in numbers.clone() {
                x.push(input(&mut g, MoveSource::Parameter(number)));
            }
            for position in numbers.clone().filter_map(|number| template.free_position(number)) {
                step.push(input(&mut g, MoveSource::Step(position)));
            }
            for moved in numbers.zip(manifolds::retract(&mut g, block.manifold, &x, &step)) {
                trial.push(moved);
            }
            projected_step.extend_from_slice(&step);
            continue;
        }
        for number in numbers {
            let Some(position) = template.free_position(number) else { continue };
            let x = input(&mut g, MoveSource::Parameter(number));
            let step = input(&mut g, MoveSource::Step(position));
            let moved = manifolds::retract(&mut g, Manifold::Euclidean, &[x], &[step])[0];
            if template.free[position].bounds.is_none() {
                trial.push((number, moved));
                projected_step.push(step);
                continue;
            }
            let (lower, upper) =
                (input(&mut g, MoveSource::Lower(position)), input(&mut g, MoveSource::Upper(position)));
            let raised = g.apply(Op::Max, &[moved, lower]);
            let projected = g.apply(Op::Min, &[raised, upper]);
            let zero = g.literal(0.0);
            let stays = g.eq(step, zero);
            let projected = g.select(stays, x, projected);
            trial.push((number, projected));
            projected_step.push(g.sub(projected, x));
        }
    }
    Ok(Move { graph: g.check(inputs.len() as u32)?, inputs, trial, projected_step })
}
