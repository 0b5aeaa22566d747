//! What a generated function is called with: the address of a frame of 32-bit words.

use crate::InstanceRange;

/// The parameter that holds the frame's address.
pub(super) const PARAMETER: u32 = 0;
/// First instance.
pub(super) const BEGIN: u32 = 0;
/// The instance after the last.
pub(super) const END: u32 = 1;
/// [`InstanceRange::stride`]
pub(super) const STRIDE: u32 = 2;
/// [`InstanceRange::first`]
pub(super) const FIRST: u32 = 3;
/// [`InstanceRange::origin`]
pub(super) const ORIGIN: u32 = 4;

/// Word that holds the address of a buffer.
pub(super) fn pointer(buffer: u32) -> u32 {
    5 + 2 * buffer
}

/// Word that holds the number of elements of a buffer.
pub(super) fn length(buffer: u32) -> u32 {
    6 + 2 * buffer
}

/// The frame of a call, from the address and the number of elements of each buffer.
pub fn frame(dispatch: &InstanceRange, buffers: impl IntoIterator<Item = (u32, u32)>) -> Vec<u32> {
    let InstanceRange { instances, stride, first, origin } = dispatch;
    let mut words = vec![instances.start, instances.end, *stride, *first, *origin];
    for (pointer, length) in buffers {
        words.extend_from_slice(&[pointer, length]);
    }
    words
}
