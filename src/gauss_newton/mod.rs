//! The Gauss-Newton model ½‖r̃ + J̃δ‖² of the least-squares cost at a point x.
//!
//! It takes residuals r and their Jacobian J, each row scaled for the loss and the weight of its block:
//! [`crate::model::least_squares`] defines the scaled residuals r̃ and Jacobian J̃, and the kernels that compute both. It gives, in the order of the
//! data flow:
//!
//! | step | result |
//! |---|---|
//! | linearise at x | r̃, J̃, the cost, the gradient g = J̃ᵀr̃, the diagonal blocks of J̃ᵀJ̃ |
//! | product | J̃ᵀJ̃p and ‖J̃p‖² for a vector p, without assembling J̃ᵀJ̃ |
//! | assemble | J̃ᵀJ̃ itself where few parameters are shared by all residuals, or the sparse rows of J̃ |
//! | reduction | the cost at x minus that at a trial point |
//!
//! The damping of a solver is no part of the model. [`host`] computes it in f64. [`device`] records it for a device, to be built into a
//! solver's own command lists.

pub mod device;
pub mod host;
