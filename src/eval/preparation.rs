//! The kernels of an entry on the CPU while they are made: piece by piece, so that a call with a limit of time ends between two pieces and the
//! next call goes on with what is there.

use std::ops::Range;

use crate::model::access_plan::{AccessPlan, Role};
use crate::model::scatter::Scatter;
use residua_base::deadline::Deadline;
use residua_base::error::Result;
use residua_base::list::PushAll;
use residua_codegen::CheckedKernel;
use residua_cpu::{Program, Written};

/// Instances whose entries stand side by side in a sparse matrix; places are relative to the first.
pub(super) struct Piece {
    pub instances: Range<u32>,
    pub entries: Range<usize>,
}

/// The plan of one batch.
pub(super) struct Planned {
    pub plan: AccessPlan,
    /// Its way into a sparse matrix, if there is one.
    pub scatter: Option<Scatter>,
    /// The pieces in which that is filled, if not as a whole.
    pub pieces: Option<Vec<Piece>>,
}

/// What is there so far.
#[derive(Default)]
pub(super) struct Preparation {
    kernels: Vec<CheckedKernel>,
    written: Option<Written>,
    /// For each batch the roles of its kernel's buffers.
    pub roles: Vec<Vec<Role>>,
    pub scatters: Vec<Scatter>,
    pub pieces: Vec<Vec<Piece>>,
}

impl Preparation {
    /// Goes on until the program is there. `None` if the deadline passes before; at least one piece is made. `plan` makes the plan of a batch.
    pub async fn advance(
        &mut self,
        batches: usize,
        deadline: Deadline,
        plan: &mut dyn FnMut(usize) -> Result<Planned>,
    ) -> Result<Option<Program>> {
        let written = match self.written.take() {
            Some(written) => written,
            None => {
                for number in self.roles.len()..batches {
                    let Planned { plan: AccessPlan { kernel, roles, .. }, scatter, pieces } = plan(number)?;
                    self.kernels.push(kernel);
                    self.roles.push(roles);
                    self.scatters.push_all(scatter);
                    self.pieces.push_all(pieces);
                    if deadline.has_passed() {
                        return Ok(None);
                    }
                }
                #[cfg(target_arch = "wasm32")]
                if !Program::is_kept(&self.kernels) {
                    for kernel in &self.kernels {
                        // The kernel keeps its schedule.
                        if !kernel.is_scheduled() {
                            kernel.steps();
                            if deadline.has_passed() {
                                return Ok(None);
                            }
                        }
                    }
                }
                let written = Program::write(std::mem::take(&mut self.kernels))?;
                if deadline.has_passed() {
                    self.written = Some(written);
                    return Ok(None);
                }
                written
            }
        };
        written.instantiate().await.map(Some)
    }
}
