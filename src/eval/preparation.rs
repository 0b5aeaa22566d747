//! The kernels of an entry on the CPU while they are made: piece by piece, so that a call with a limit of time ends between two pieces and the
//! next call goes on with what is there.

use std::ops::Range;

use crate::model::access_plan::{AccessPlan, Role};
use crate::model::scatter::Scatter;
use residua_base::deadline::Deadline;
use residua_base::error::Result;
use residua_base::list::PushAll;
use residua_codegen::CheckedKernel;
use residua_cpu::{CompiledKernels, Writing, Written};

/// Kernels of so many nodes are scheduled in a piece of their own. A module that has one is too long to be kept, so that it needs the schedule.
const LONG: usize = 4096;

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
    writing: Option<Writing>,
    written: Option<Written>,
    /// For each batch the roles of its kernel's buffers.
    pub roles: Vec<Vec<Role>>,
    pub scatters: Vec<Scatter>,
    pub pieces: Vec<Vec<Piece>>,
    /// For each batch what its partials are, see [`AccessPlan::partials`].
    pub partials: Vec<Vec<(u32, u32)>>,
}

impl Preparation {
    /// Goes on until the program is there. `None` if the deadline passes before; at least one piece is made. `plan` makes the plan of a batch.
    pub async fn advance(
        &mut self,
        batches: usize,
        deadline: Deadline,
        plan: &mut dyn FnMut(usize) -> Result<Planned>,
    ) -> Result<Option<CompiledKernels>> {
        loop {
            if let Some(written) = self.written.take() {
                return written.instantiate().await.map(Some);
            }
            self.make_piece(batches, plan)?;
            if deadline.has_passed_after_turn().await {
                return Ok(None);
            }
        }
    }

    /// Makes the plan of a batch, the schedule of a long kernel, or code.
    fn make_piece(&mut self, batches: usize, plan: &mut dyn FnMut(usize) -> Result<Planned>) -> Result<()> {
        if self.roles.len() < batches {
            let Planned { plan: AccessPlan { kernel, roles, partials }, scatter, pieces } = plan(self.roles.len())?;
            self.kernels.push(kernel);
            self.roles.push(roles);
            self.partials.push(partials);
            self.scatters.push_all(scatter);
            self.pieces.push_all(pieces);
            return Ok(());
        }
        // The kernel keeps its schedule. Natively there is no code that needs one.
        let is_due = |kernel: &&CheckedKernel| kernel.graph.graph().len() >= LONG && !kernel.is_scheduled();
        match self.kernels.iter().find(is_due).filter(|_| cfg!(target_arch = "wasm32")) {
            Some(kernel) => _ = kernel.steps(),
            None => {
                let mut writing =
                    self.writing.take().unwrap_or_else(|| Writing::new(std::mem::take(&mut self.kernels)));
                self.written = writing.advance()?;
                self.writing = self.written.is_none().then_some(writing);
            }
        }
        Ok(())
    }
}
