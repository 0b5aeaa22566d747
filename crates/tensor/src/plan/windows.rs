//! Plans for a device whose bindings are shorter than some tensors: which buffers of which kernels are bound in windows.

use residua_base::error::Result;
use residua_base::list::Listed;

use super::steps::{Plan, padded};
use crate::fuse::Target;
use crate::kernel::{TensorBuffer, TensorKernel};
use crate::size::Size;
use crate::tape::Recipe;
use crate::wgsl::{DeviceLimits, Windows};

/// Windows begin at multiples of this, which every device takes as an offset.
const ALIGNMENT: u64 = 256;

impl Plan {
    /// The plan of a recipe for a device, and for each kernel how its buffers are bound. Where kernels have too many windows they are planned
    /// again with fewer buffers.
    pub async fn in_windows(recipe: &Recipe, target: &Target, limits: &DeviceLimits) -> Result<(Plan, Vec<Windows>)> {
        let plan = Plan::in_turns(recipe, target).await?;
        let windows = plan.windows(limits, &recipe.dims);
        if windows.iter().all(|windows| windows.counts.iter().sum::<u32>() <= limits.storage_buffers) {
            return Ok((plan, windows));
        }
        let most = windows.iter().flat_map(|windows| &windows.counts).copied().max().unwrap_or(1);
        let target = Target { most_buffers: (target.most_buffers / most).max(2), ..*target };
        let plan = Plan::in_turns(recipe, &target).await?;
        let windows = plan.windows(limits, &recipe.dims);
        Ok((plan, windows))
    }

    /// How the buffers of each kernel are bound.
    fn windows(&self, limits: &DeviceLimits, most_dims: &[u32]) -> Vec<Windows> {
        let bytes = limits.binding_bytes / ALIGNMENT * ALIGNMENT;
        let of_buffer = |(buffer, count): (&TensorBuffer, &Size)| {
            let bound = padded(count.at(most_dims).max(0) as u64, buffer.dtype.bytes());
            if bound <= limits.binding_bytes { 1 } else { bound.div_ceil(bytes) as u32 }
        };
        let of_kernel = |(kernel, counts): (&TensorKernel, &Vec<Size>)| {
            let counts: Vec<u32> = kernel.buffers.iter().zip(counts).map(of_buffer).list();
            if counts.iter().all(|count| *count == 1) { Windows::default() } else { Windows { bytes, counts } }
        };
        self.kernels.iter().zip(&self.counts).map(of_kernel).list()
    }
}
