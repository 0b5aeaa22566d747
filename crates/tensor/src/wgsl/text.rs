//! A kernel's text with what a dispatch of it needs.

use residua_codegen::wgsl::AccessMode;

use super::workgroups::Workgroups;
use crate::kernel::TensorKernel;

/// A kernel as the facade takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelText {
    /// A WGSL module with the entry point `main`.
    pub text: String,
    /// What is bound, by binding number: the kernel's buffers, then the uniform.
    pub bindings: Vec<AccessMode>,
    /// How many workgroups a dispatch has.
    pub workgroups: Workgroups,
}

/// Bytes of the uniform that a text declares: that many must be bound, even if it has no words.
pub fn uniform_bytes(kernel: &TensorKernel) -> u32 {
    (kernel.sizes.len() as u32).div_ceil(4).max(1) * 16
}
