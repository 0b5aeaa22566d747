//! A pass over the problems of a batch, chunk after chunk.

use residua_base::cooperative::Yielder;
use residua_base::error::Result;

use super::{Chunk, End, Solver};
use crate::solve::many::{Batch, ManyListener, ManySolutions};
use crate::solve::summary::Termination;

impl Solver<'_> {
    /// Solves the problems of a batch; gives the numbers of those that are handed over.
    pub(super) async fn pass(
        &self,
        batch: &Batch<'_>,
        solutions: &mut ManySolutions,
        audience: &mut dyn ManyListener,
    ) -> Result<Vec<u32>> {
        let mut handed = Vec::new();
        let mut yielder = Yielder::new();
        let mut first = 0;
        while first < batch.count {
            let range = first..batch.count.min(first + self.at_a_time);
            let mut chunk = Chunk::new(self, batch, range.clone());
            loop {
                yielder.yield_if_due().await;
                if audience.aborted() || !chunk.iterate(self)? {
                    break;
                }
            }
            chunk.finish(self, solutions, &mut handed);
            first = range.end;
            audience.progress(first - handed.len() as u32);
        }
        Ok(handed)
    }
}

impl Chunk {
    /// Appends the solutions of the problems, and the numbers of those that are handed over.
    fn finish(self, solver: &Solver, solutions: &mut ManySolutions, handed: &mut Vec<u32>) {
        let numbers = solver.template.values.len();
        for (position, problem) in self.problems.into_iter().enumerate() {
            let place = position * numbers..(position + 1) * numbers;
            let end = match problem.end {
                Some(End::At(end)) => end,
                Some(End::HandedOver) => {
                    handed.push(solutions.termination.len() as u32);
                    Termination::Aborted
                }
                None => Termination::Aborted,
            };
            let x = if end == Termination::NonFinite { &self.starts } else { &self.x };
            solutions.x.extend_from_slice(&x[place]);
            solutions.cost.push(problem.point.cost);
            solutions.iterations.push(problem.iterations);
            solutions.termination.push(end);
            solutions.deficient.push(false);
        }
    }
}
