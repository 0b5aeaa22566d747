//! The pipelines of the GPU engine, made when a recording first names them.

use std::pin::pin;

use crate::codegen::wgsl;
use crate::error::{Error, Result};
use crate::gpu::shaders;
use crate::gpu::{Pipeline, PipelineRequest};
use crate::list::Listed;
use crate::turn::{Pace, both};

use super::super::normal;
use super::super::record::{GATHER_LAYOUT, Program, REDUCE_LAYOUT, kernel_layout, list_layout};
use super::super::record_gradient::HOLD_LAYOUT;
use super::GpuEngine;

impl GpuEngine {
    /// The pipelines that recordings declare as `programs`, in their order.
    pub async fn pipelines(&mut self, programs: &[Program]) -> Result<Vec<Pipeline>> {
        self.make_pipelines(programs).await?;
        let absent = || Error::internal("a pipeline was made and is not there");
        programs.iter().map(|program| self.pipelines.get(program).cloned().ok_or_else(absent)).list_or_error()
    }

    /// The same, and pipelines of a solver's own, all compiled at the same time.
    pub async fn pipelines_with(
        &mut self,
        programs: &[Program],
        own: &[PipelineRequest],
    ) -> Result<(Vec<Pipeline>, Vec<Pipeline>)> {
        let context = self.context.clone();
        let nobody = &mut |_, _| Ok(());
        let own = pin!(context.pipelines(own, nobody));
        let (programs, own) = both(pin!(self.pipelines(programs)), own).await;
        Ok((programs?, own?))
    }

    pub(super) async fn make_pipelines(&mut self, programs: &[Program]) -> Result<()> {
        let (wanted, requests) = self.pipeline_requests(programs, &Pace::unheard()).await?;
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
        pace: &Pace<'_>,
    ) -> Result<(Vec<Program>, Vec<PipelineRequest>)> {
        let (mut wanted, mut requests) = (Vec::new(), Vec::new());
        for &program in programs {
            if !self.pipelines.contains_key(&program) && !wanted.contains(&program) {
                wanted.push(program);
                requests.push(self.pipeline_request(program)?);
                pace.rest(0.0).await?;
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
        Ok(match program {
            Program::Kernel(number, entry) => {
                let plan = self.plans.of_kernel(number, entry)?;
                request(wgsl::write(&plan.kernel)?, &plan.kernel.name, kernel_layout(plan))
            }
            Program::Lists(number, entry, size) => {
                let plan = self.plans.lists_of_kernel(number, entry, size)?;
                request(wgsl::write_list_sum(&plan.sum)?, &plan.sum.name, list_layout(plan))
            }
            Program::Gather => request(shaders::gather(), "gather", GATHER_LAYOUT.to_vec()),
            Program::ReduceSum => request(shaders::reduce_sum(), "reduce_sum", REDUCE_LAYOUT.to_vec()),
            Program::GatedGather => {
                request(shaders::gated(&shaders::gather()), "gather", normal::gated_layout(&GATHER_LAYOUT))
            }
            Program::Curvature => {
                request(shaders::gated(&shaders::curvature()), "curvature", normal::CURVATURE_LAYOUT.to_vec())
            }
            Program::Assemble(dim, parts) => {
                request(shaders::gated(&shaders::assemble(dim, parts)), "assemble", normal::ASSEMBLE_LAYOUT.to_vec())
            }
            Program::GatherJoint => request(
                shaders::gated(&shaders::gather_joint()),
                "gather",
                normal::gated_layout(&normal::gated_layout(&GATHER_LAYOUT)),
            ),
            Program::CurvatureJoint => request(
                shaders::gated(&shaders::curvature_joint()),
                "curvature",
                normal::gated_layout(&normal::CURVATURE_LAYOUT),
            ),
            Program::AssembleJoint(dim, pairs) => request(
                shaders::gated(&shaders::assemble_joint(dim, pairs)),
                "assemble",
                normal::ASSEMBLE_JOINT_LAYOUT.to_vec(),
            ),
            Program::Hold => request(shaders::hold(), "hold", HOLD_LAYOUT.to_vec()),
            Program::Clear => request(shaders::gated(&shaders::clear()), "clear", normal::CLEAR_LAYOUT.to_vec()),
        })
    }
}
