//! What a chunk of problems leaves.

use residua_base::list::PushAll;

use super::{Chunk, Solver};
use crate::solve::many::ManySolutions;
use crate::solve::summary::Termination;

impl Chunk {
    /// Appends the solutions of the problems, and the numbers of those that are to go the second way: they have lost a parameter, or what is not finite has
    /// ended them on the way.
    pub(super) fn finish(self, solver: &Solver, solutions: &mut ManySolutions, lost: &mut Vec<u32>) {
        let numbers = solver.template.values.len();
        let normal = self.normal.chunks_exact(solver.layout.numbers());
        let ends = self.x.chunks_exact(numbers).zip(&self.problems);
        solutions.without_effect.push_all(
            normal
                .zip(ends)
                .map(|(normal, (x, problem))| solver.layout.has_column_without_effect(normal, x, problem.cost)),
        );
        for (position, problem) in self.problems.into_iter().enumerate() {
            let place = position * numbers..(position + 1) * numbers;
            let end = problem.end.unwrap_or(Termination::Aborted);
            let number = solutions.termination.len();
            let is_lost = match end {
                Termination::NonFinite => problem.iterations > 0,
                end => end.converged() && problem.begins_whole && solutions.without_effect[number],
            };
            lost.push_all(is_lost.then_some(number as u32));
            let x = if end == Termination::NonFinite && problem.iterations == 0 { &self.starts } else { &self.x };
            solutions.x.extend_from_slice(&x[place]);
            solutions.cost.push(problem.cost);
            solutions.iterations.push(problem.iterations);
            solutions.termination.push(end);
        }
    }
}
