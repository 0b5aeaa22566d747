//! A plan: which kernels run in which order, on which memory. Plain data, which the facade executes.
//!
//! A plan has *places*, pieces of memory: slots that the facade binds (stored tensors, inputs), temporaries that live within a run, and
//! results. Its *steps* are dispatches of kernels and copies between places. Extents that depend on dims are words of each step's uniform;
//! [`Plan::words`] computes all of them for a run, so that other sizes change numbers alone.

use residua_base::error::Result;

use crate::fuse::Target;
use crate::tape::Recipe;

mod attention;
mod dispatches;
#[cfg(not(target_arch = "wasm32"))]
pub mod execute;
mod lists;
mod memory;
mod prepare;
mod sort;
mod steps;

use dispatches::Ordered;
pub use steps::{GRAIN, Place, Plan, Step, padded};

impl Plan {
    /// The plan of a recipe without derivatives.
    pub fn new(recipe: &Recipe, target: &Target) -> Result<Plan> {
        // Slots that are not written by parts, since no order of the kernels keeps what they held for those that read it.
        let mut whole = Vec::new();
        loop {
            let prepared = prepare::prepare(recipe, target, &whole);
            match dispatches::dispatches(&prepared, target, &recipe.dims)? {
                Ordered::Dispatches(dispatches) => return Ok(memory::place(&prepared, dispatches, &recipe.dims)),
                Ordered::Conflict { slot } => whole.push(slot),
            }
        }
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
