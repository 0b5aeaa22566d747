//! Newton's method for energies that are sums of many small terms: projected Newton with a line search. The host decides in f64; evaluations and linear systems
//! are its own, or those of a device in f32.
//!
//! Each iteration adds up the instances' Hessians, of which negative eigenvalues are replaced (J. Teran, E. Sifakis, G. Irving and R. Fedkiw, "Robust
//! quasistatic finite elements and flesh simulation", SCA 2005), so that the sum H is positive semi-definite, solves Hd = −g by a factorisation
//! ([`crate::gauss_newton::host::hessian_system`]) or by conjugate gradients ([`device`]) and takes the first of the steps 1, 0.8, 0.8², … along d that lowers
//! the objective by a share of what the slope promises (P. Schmidt et al., "TinyAD: Automatic differentiation in geometry processing made simple", SGP 2022).
//! A step to where the objective is not finite is shortened too, so that barriers hold. Where no step of those is of use, H gets a larger damping.
//!
//! Blocks on manifolds move by x ⊞ sd, in tangent coordinates. With bounds it is the projected Newton method of [`super::feasible`]: coordinates at a
//! bound that the gradient pushes outward are frozen, and points are projected. Of those that the gradient pushes inward and d outward, d is −gⱼ/Hⱼⱼ instead.
//!
//! Near a minimum, as a step of full size tells, and before a run ends, d is refined to that of the sum of the Hessians as they are. A run has converged where
//! the model's own fall, −gᵀd/2, is a small share of the objective and of its fall since the start, or within rounding of its fall or of
//! the point.

pub mod device;
mod linear_system;
mod run;
#[cfg(test)]
mod tests;

pub use run::minimise;
