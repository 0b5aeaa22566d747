//! A plan: which kernels run in which order, on which memory. Plain data, which the facade executes.
//!
//! A plan has *places*, pieces of memory: slots that the facade binds (stored tensors, inputs), temporaries that live within a run, and
//! results. Its *steps* are dispatches of kernels and copies between places. Extents that depend on dims are words of each step's uniform;
//! other sizes change numbers alone.
//!
//! | file | what |
//! |---|---|
//! | `prepare` | rewrites what kernels have no form for (`attention`, `fourier`, `sort`, `scatter`, `linalg`, `rotations`, `matrices`, `sparse`) or a better
//! one (`reshapes`), leaves each operation once, and finds assignments to parts of slots |
//! | `dispatches` | has [`crate::fuse`] make groups and their kernels, and puts these in order |
//! | `memory` | gives each tensor, slot and piece of scratch memory a place, and lists the steps |
//! | `steps` | the plan itself |
//! | `execute` | runs plans natively, for tests |

use residua_base::cooperative::run_synchronously;
use residua_base::error::Result;

use crate::fuse::Target;
use crate::tape::Recipe;
use crate::turns;

mod attention;
mod concat;
mod dispatches;
#[cfg(not(target_arch = "wasm32"))]
pub mod execute;
mod fourier;
mod linalg;
mod matrices;
mod memory;
mod prepare;
mod reshapes;
mod rotations;
mod scatter;
mod sort;
mod sparse;
mod steps;
mod windows;

use dispatches::Ordered;
pub use steps::{GRAIN, Place, Plan, Step, bytes_of_roots, padded};

impl Plan {
    /// The plan of a recipe without derivatives.
    pub fn new(recipe: &Recipe, target: &Target) -> Result<Plan> {
        run_synchronously(Plan::in_turns(recipe, target))
    }

    /// The same in parts.
    pub async fn in_turns(recipe: &Recipe, target: &Target) -> Result<Plan> {
        // Slots that are not written by parts, since no order of the kernels keeps what they held for those that read it.
        let mut whole = Vec::new();
        loop {
            let prepared = prepare::prepare(recipe, target, &whole);
            turns::checkpoint().await;
            match dispatches::dispatches(&prepared, target, &recipe.dims).await? {
                Ordered::Dispatches(dispatches) => return Ok(memory::place(&prepared, dispatches, &recipe.dims)),
                Ordered::Conflict { slot } => whole.push(slot),
            }
        }
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
