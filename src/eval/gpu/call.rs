//! The calls that have recordings.

use super::super::record_gradient::GradientCall;

/// Which call a recording serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RecordedCall {
    Gradient(GradientCall),
    Values,
    Partials,
}
