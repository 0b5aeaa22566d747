//! How a device rounds: a property that a test on the device finds, and that is kept until the context is disposed.

/// What holds for guarded operations of a device in single precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Sums and products are rounded to nearest, and `fma` rounds once.
    Fused,
    /// Sums and products are rounded to nearest.
    Separate,
    /// Neither. Says what is wrong.
    Unfit(&'static str),
}
