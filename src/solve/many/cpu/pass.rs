//! A pass over the problems of a batch, chunk after chunk.

use residua_base::cooperative::Yielder;
use residua_base::error::Result;

use super::finish::Again;
use super::{Chunk, Solver};
use crate::solve::many::{Batch, ManyListener, ManySolutions};

impl Solver<'_> {
    /// Solves the problems of a batch, and says which are to be solved otherwise.
    pub(super) async fn pass(
        &self,
        batch: &Batch<'_>,
        solutions: &mut ManySolutions,
        audience: &mut dyn ManyListener,
    ) -> Result<Again> {
        let mut again = Again::default();
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
            chunk.finish(self, solutions, &mut again);
            first = range.end;
            if !self.is_careful {
                audience.progress(first);
            }
        }
        Ok(again)
    }
}
