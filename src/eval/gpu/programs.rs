//! The pipelines of the GPU engine, made when a recording first names them.

use residua_base::list::Listed;

use residua_base::cooperative::Slices;
use residua_base::deadline::Deadline;
use residua_base::error::{Error, Result};
use residua_codegen::wgsl;
use residua_gpu::{Pipeline, PipelineRequest};

use super::super::record::{Program, kernel_layout, list_layout};
use super::GpuEngine;

impl GpuEngine {
    /// The pipelines that recordings declare as `programs`, in their order.
    pub async fn pipelines(&mut self, programs: &[Program]) -> Result<Vec<Pipeline>> {
        self.make_pipelines(programs).await?;
        let absent = || Error::internal("a pipeline was made and is not there");
        programs.iter().map(|program| self.pipelines.get(program).cloned().ok_or_else(absent)).list_or_error()
    }

    /// The same, and pipelines of a solver's own, all compiled at the same time. `None` if a deadline passes before they are there; the next call
    /// finds those that the browser has compiled by then.
    pub async fn pipelines_with(
        &mut self,
        programs: &[Program],
        own: &[PipelineRequest],
        deadline: Deadline,
    ) -> Result<Option<(Vec<Pipeline>, Vec<Pipeline>)>> {
        let (wanted, mut requests) = self.pipeline_requests(programs, &Slices::without_progress()).await?;
        requests.extend_from_slice(own);
        let Some(mut made) = self.context.pipelines_until(&requests, deadline).await? else { return Ok(None) };
        let own = made.split_off(wanted.len());
        self.enter_pipelines(wanted, made);
        Ok(Some((self.pipelines(programs).await?, own)))
    }

    pub(super) async fn make_pipelines(&mut self, programs: &[Program]) -> Result<()> {
        let (wanted, requests) = self.pipeline_requests(programs, &Slices::without_progress()).await?;
        if !wanted.is_empty() {
            let pipelines = self.context.pipelines(&requests, &mut |_, _| Ok(())).await?;
            self.enter_pipelines(wanted, pipelines);
        }
        Ok(())
    }

    /// Those programs that have no pipeline yet, each once, and what to compile for them.
    pub(super) async fn pipeline_requests(
        &self,
        programs: &[Program],
        slices: &Slices<'_>,
    ) -> Result<(Vec<Program>, Vec<PipelineRequest>)> {
        let (mut wanted, mut requests) = (Vec::new(), Vec::new());
        for &program in programs {
            if !self.pipelines.contains_key(&program) && !wanted.contains(&program) {
                wanted.push(program);
                requests.push(self.pipeline_request(program)?);
                slices.checkpoint(0.0).await?;
            }
        }
        Ok((wanted, requests))
    }

    pub(super) fn enter_pipelines(&mut self, programs: Vec<Program>, pipelines: Vec<Pipeline>) {
        for (program, pipeline) in programs.into_iter().zip(pipelines) {
            self.pipelines.insert(program, pipeline);
        }
    }

    fn pipeline_request(&self, program: Program) -> Result<PipelineRequest> {
        let request =
            |wgsl: String, entry: &str, layout: Vec<_>| PipelineRequest { wgsl, entry: entry.to_owned(), layout };
        let form = self.pair_form.unwrap_or(wgsl::PairForm::Split);
        Ok(match program {
            Program::Kernel(number, entry) => {
                let plan = self.access_plans.of_kernel(number, entry)?;
                request(wgsl::write(&plan.kernel, form)?, &plan.kernel.name, kernel_layout(plan))
            }
            Program::Lists(number, entry, size) => {
                let plan = self.access_plans.lists_of_kernel(number, entry, size)?;
                request(wgsl::write_recompute(&plan.kernel, form), plan.kernel.name(), list_layout(plan))
            }
            Program::Shader(shader) => request(shader.wgsl(), shader.entry(), shader.layout()),
        })
    }
}
