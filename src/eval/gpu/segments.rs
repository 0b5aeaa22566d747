//! Lists of solvers bound to their buffers and pipelines.

use std::fmt::Debug;

use vecmap::VecMap;

use super::super::declare::{Owned, Segment};
use super::super::record::Program;
use super::GpuEngine;
use crate::model::Model;
use residua_base::deadline::Deadline;
use residua_base::error::{Error, Result};
use residua_base::list::Listed;
use residua_gpu::{Buffer, Pipeline, PipelineRequest, PreparedList};

/// Pipelines of a solver's lists.
type Pipelines<P> = VecMap<Owned<Program, P>, Pipeline>;

impl GpuEngine {
    /// The pipelines of a solver's lists, all compiled at the same time; `request` says what to compile for one of its own. `None` if a deadline passes
    /// before they are there; the next call finds those that the browser has compiled by then.
    pub async fn pipelines_of<B: Copy + Debug + Eq, P: Copy + Eq>(
        &mut self,
        segments: &[&Segment<B, P>],
        request: impl Fn(P) -> Result<PipelineRequest>,
        deadline: Deadline,
    ) -> Result<Option<Pipelines<P>>> {
        let (mut functions, mut own, mut requests) = (Vec::new(), Vec::new(), Vec::new());
        for program in segments.iter().flat_map(|segment| segment.programs.keys()) {
            match *program {
                Owned::Functions(program) if !functions.contains(&program) => functions.push(program),
                Owned::Solver(program) if !own.contains(&program) => {
                    own.push(program);
                    requests.push(request(program)?);
                }
                Owned::Functions(_) | Owned::Solver(_) => {}
            }
        }
        let made = self.pipelines_with(&functions, &requests, deadline).await?;
        let Some((of_functions, of_solver)) = made else { return Ok(None) };
        let mut found = Pipelines::default();
        for (program, pipeline) in functions.into_iter().zip(of_functions) {
            found.insert(Owned::Functions(program), pipeline);
        }
        for (program, pipeline) in own.into_iter().zip(of_solver) {
            found.insert(Owned::Solver(program), pipeline);
        }
        Ok(Some(found))
    }

    /// A list bound to its buffers, of which `own` gives the solver's, and to its pipelines.
    pub async fn bind_segment<B: Copy + Debug + Eq, P: Copy + Eq>(
        &mut self,
        model: &Model,
        segment: &Segment<B, P>,
        own: impl Fn(B) -> Result<Buffer>,
        pipelines: &Pipelines<P>,
    ) -> Result<PreparedList> {
        let mut buffers = Vec::new();
        for buffer in segment.buffers.keys() {
            buffers.push(match *buffer {
                Owned::Functions(memory) => self.buffer(model, memory).await?,
                Owned::Solver(buffer) => own(buffer)?,
            });
        }
        let absent = || Error::internal("a pipeline of a solver was not made");
        let programs = segment.programs.keys();
        let pipelines = programs.map(|program| pipelines.get(program).cloned().ok_or_else(absent)).list_or_error()?;
        self.context.prepare(&segment.list, &buffers, &pipelines).await
    }
}
