//! Plans for a device whose bindings are shorter than some tensors: which buffers of which kernels are bound in windows.

use residua_base::error::Result;

use super::steps::{Place, Plan, Step, padded};
use crate::fuse::Target;
use crate::tape::Recipe;
use crate::wgsl::{Limits, Windows};

/// Windows begin at multiples of this, which every device takes as an offset.
const ALIGNMENT: u64 = 256;

impl Plan {
    /// The plan of a recipe for a device, and for each kernel how its buffers are bound. Where kernels have too many windows they are planned
    /// again with fewer buffers.
    pub fn in_windows(recipe: &Recipe, target: &Target, limits: &Limits) -> Result<(Plan, Vec<Windows>)> {
        let plan = Plan::new(recipe, target)?;
        let windows = plan.windows(limits, &recipe.dims);
        if windows.iter().all(|windows| windows.counts.iter().sum::<u32>() <= limits.storage_buffers) {
            return Ok((plan, windows));
        }
        let most = windows.iter().flat_map(|windows| &windows.counts).copied().max().unwrap_or(1);
        let target = Target { most_buffers: (target.most_buffers / most).max(2), ..*target };
        let plan = Plan::new(recipe, &target)?;
        let windows = plan.windows(limits, &recipe.dims);
        Ok((plan, windows))
    }

    /// How the buffers of each kernel are bound.
    fn windows(&self, limits: &Limits, most_dims: &[u32]) -> Vec<Windows> {
        let bytes = limits.binding_bytes / ALIGNMENT * ALIGNMENT;
        let mut all = vec![Windows::default(); self.kernels.len()];
        for step in &self.steps {
            let Step::Dispatch { kernel, places } = step else { continue };
            let position = *kernel as usize;
            let of_buffer = |(buffer, place): (usize, &u32)| {
                let bound = match self.places[*place as usize] {
                    Place::Temporary { bytes } | Place::Result { bytes } => bytes,
                    Place::Slot(_) => {
                        let count = self.counts[position][buffer].as_ref().map_or(0, |count| count.at(most_dims));
                        padded(count.max(0) as u64, self.kernels[position].buffers[buffer].dtype.bytes())
                    }
                };
                if bound <= limits.binding_bytes { 1 } else { bound.div_ceil(bytes) as u32 }
            };
            let counts: Vec<u32> = places.iter().enumerate().map(of_buffer).collect();
            if counts.iter().any(|count| *count > 1) {
                all[position] = Windows { bytes, counts };
            }
        }
        all
    }
}
