//! The Gauss-Newton model on a device, as recordings.

pub mod record;
