//! What a device can take, and the arithmetic of staying within it. Takes figures, gives figures or an error that names the
//! limit; no device is touched.

use residua_base::{Error, ErrorCode, Result};

/// The limits that apply to this crate's work. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest buffer.
    pub max_buffer_size: u64,
    /// Largest part of a buffer that a kernel can bind as storage.
    pub max_storage_buffer_binding_size: u64,
    /// Largest part of a buffer that a kernel can bind as uniform.
    pub max_uniform_buffer_binding_size: u64,
    /// Storage buffers that one kernel can bind.
    pub max_storage_buffers_per_shader_stage: u32,
    /// Uniform buffers that one kernel can bind.
    pub max_uniform_buffers_per_shader_stage: u32,
    /// A storage binding starts at a multiple of it.
    pub min_storage_buffer_offset_alignment: u64,
    /// A uniform binding starts at a multiple of it.
    pub min_uniform_buffer_offset_alignment: u64,
    /// Workgroups in one dimension of a dispatch.
    pub max_compute_workgroups_per_dimension: u32,
    /// Threads of a workgroup.
    pub max_compute_invocations_per_workgroup: u32,
    /// Threads of a workgroup in its first dimension.
    pub max_compute_workgroup_size_x: u32,
    /// Workgroup memory of a kernel.
    pub max_compute_workgroup_storage_size: u32,
}

impl Default for Limits {
    /// What every WebGPU device has at least (WebGPU specification, section 3.6.2).
    fn default() -> Limits {
        Limits {
            max_buffer_size: 256 << 20,
            max_storage_buffer_binding_size: 128 << 20,
            max_uniform_buffer_binding_size: 64 << 10,
            max_storage_buffers_per_shader_stage: 8,
            max_uniform_buffers_per_shader_stage: 12,
            min_storage_buffer_offset_alignment: 256,
            min_uniform_buffer_offset_alignment: 256,
            max_compute_workgroups_per_dimension: 65_535,
            max_compute_invocations_per_workgroup: 256,
            max_compute_workgroup_size_x: 256,
            max_compute_workgroup_storage_size: 16 << 10,
        }
    }
}

impl Limits {
    /// Refuses a buffer larger than the device allows. `what` names it in the message.
    pub fn check_buffer_size(&self, what: &str, size: u64) -> Result<()> {
        check("maxBufferSize", what, "bytes", size, self.max_buffer_size)
    }

    /// Spreads `count` workgroups over two dimensions: `[x, y]` with `x · y ≥ count` and fewer than `y` workgroups too many.
    /// A kernel numbers its workgroup `id.x + id.y · x` and leaves when that is beyond the work.
    pub fn split_workgroups(&self, count: u64) -> Result<[u32; 2]> {
        let most = u64::from(self.max_compute_workgroups_per_dimension);
        let y = count.div_ceil(most).max(1);
        check("maxComputeWorkgroupsPerDimension squared", "a dispatch", "workgroups", count, most * most)?;
        let x = count.div_ceil(y);
        Ok([x as u32, y as u32])
    }
}

/// [`ErrorCode::LimitExceeded`] unless `needed ≤ limit`; the message has both figures.
pub(super) fn check(name: &str, what: &str, unit: &str, needed: u64, limit: u64) -> Result<()> {
    if needed <= limit {
        return Ok(());
    }
    let message = format!("{what} needs {needed} {unit}, and the device's {name} is {limit}");
    Err(Error::new(ErrorCode::LimitExceeded, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workgroups_split_over_two_dimensions_with_little_waste() {
        let limits = Limits::default();
        for (count, expected) in [
            (0, [0, 1]),
            (1, [1, 1]),
            (65_535, [65_535, 1]),
            (65_536, [32_768, 2]),
            (131_071, [43_691, 3]),
            (65_535 * 65_535, [65_535, 65_535]),
        ] {
            let [x, y] = limits.split_workgroups(count).unwrap();
            assert_eq!([x, y], expected, "{count} workgroups");
            let room = u64::from(x) * u64::from(y);
            assert!(room >= count && room - count < u64::from(y), "{count} workgroups in {x} × {y}");
        }
    }

    #[test]
    fn more_workgroups_than_two_dimensions_hold_are_refused() {
        let error = Limits::default().split_workgroups(65_535 * 65_535 + 1).unwrap_err();
        assert_eq!(error.code, ErrorCode::LimitExceeded);
        for part in ["maxComputeWorkgroupsPerDimension", "4294836226", "4294836225"] {
            assert!(error.message.contains(part), "{part} in {}", error.message);
        }
    }

    #[test]
    fn an_oversize_buffer_is_refused_naming_the_limit_and_both_figures() {
        let limits = Limits { max_buffer_size: 1000, ..Limits::default() };
        assert!(limits.check_buffer_size("residuals", 1000).is_ok());
        let error = limits.check_buffer_size("residuals", 1001).unwrap_err();
        assert_eq!(error.code, ErrorCode::LimitExceeded);
        assert_eq!(error.message, "residuals needs 1001 bytes, and the device's maxBufferSize is 1000");
    }
}
