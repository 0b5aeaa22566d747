//! What a chunk of problems leaves.

use residua_base::list::PushAll;
use residua_linalg::loops::small;

use super::review::DOUBTED;
use super::{Chunk, Solver};
use crate::solve::many::ManySolutions;
use crate::solve::summary::Termination;

/// Problems with which something else follows.
#[derive(Default)]
pub(super) struct Again {
    pub(super) lost: Vec<u32>,
    pub(super) doubted: Vec<u32>,
}

impl Chunk {
    /// Appends the solutions of the problems, and the numbers of those that are to go the second way: they have lost a parameter, or what is not finite has
    /// ended them on the way. Of others that have converged, those that are to be reviewed.
    pub(super) fn finish(mut self, solver: &Solver, solutions: &mut ManySolutions, again: &mut Again) {
        let numbers = solver.template.values.len();
        let normal = self.normal.chunks_exact(solver.layout.numbers());
        let ends = self.x.chunks_exact(numbers).zip(&self.problems);
        solutions.without_effect.push_all(
            normal
                .zip(ends)
                .map(|(normal, (x, problem))| solver.layout.has_column_without_effect(normal, x, problem.cost)),
        );
        let width = solver.layout.numbers();
        for (position, problem) in self.problems.into_iter().enumerate() {
            let place = position * numbers..(position + 1) * numbers;
            let end = problem.end.unwrap_or(Termination::Aborted);
            let number = solutions.termination.len();
            let is_lost = match end {
                Termination::NonFinite => problem.iterations > 0,
                end => end.converged() && problem.begins_whole && solutions.without_effect[number],
            };
            if is_lost {
                again.lost.push(number as u32);
            } else if end.converged() {
                let (_, triangle) = solver.layout.parts(&self.normal[position * width..(position + 1) * width]);
                if !small::is_definite(triangle, DOUBTED, &problem.frozen, &mut self.factor) {
                    again.doubted.push(number as u32);
                }
            }
            let x = if end == Termination::NonFinite && problem.iterations == 0 { &self.starts } else { &self.x };
            solutions.x.extend_from_slice(&x[place]);
            solutions.cost.push(problem.cost);
            solutions.iterations.push(problem.iterations);
            solutions.termination.push(end);
        }
    }
}
