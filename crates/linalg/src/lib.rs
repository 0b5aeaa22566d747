//! Solvers of damped linear least squares, in f64: what a step of Levenberg-Marquardt takes.
//!
//! Each solver finds the δ that minimises ‖J̃δ + r̃‖² + Σ dⱼδⱼ², which is (J̃ᵀJ̃ + diag(d)) δ = −J̃ᵀr̃, over the coordinates that are not
//! frozen; δ is 0 at frozen ones. They differ in what they pay for it: [`DenseQr`] never squares the condition of J̃ and suits few
//! parameters, of which [`normal_equations`] may do with less than rows; [`SparseCholesky`] works on the sparse J̃ᵀJ̃; [`IterativeSchur`] iterates on what is
//! left of it without independent blocks; [`Pcg`] needs memory for nothing but vectors. [`choose`] says which suits a problem, and why.
//! [`BayesTree`] is a factorisation of a problem that grows.
//!
//! A system that cannot be solved in this arithmetic is a [`Trouble`] and no error: the damping may be raised, and it can.

pub mod bayes_tree;
pub mod choice;
pub mod cholesky;
pub mod dense_qr;
mod elimination_group;
mod elimination_tree;
mod fronts;
pub mod iterative_schur;
mod layout;
pub mod normal_equations;
mod normal_matrix;
pub mod null_space;
mod ordering;
pub mod pcg;
pub mod sparse;
mod subtrees;
mod supernodes;
pub mod system;
pub mod trust_region;

#[cfg(test)]
mod cholesky_tests;
#[cfg(test)]
mod null_space_tests;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod ordering_tests;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod property_tests;
#[cfg(test)]
mod schur_tests;
#[cfg(test)]
mod slices_tests;
#[cfg(test)]
mod tests;

pub use residua_linalg_loops as loops;

pub use bayes_tree::{BayesTree, JacobianFactor, Undetermined, UpdateFailure, Updated};
pub use choice::{Kind, SolverChoice, choose, grouped};
pub use cholesky::{Factorisation, SparseCholesky};
pub use dense_qr::DenseQr;
pub use iterative_schur::IterativeSchur;
pub use null_space::{Inverse, NullSpace, null_space};
pub use pcg::{CoordinateBlocks, JtjOperator, NormalProducts, Pcg, PcgOptions, Solved};
pub use sparse::SparseMatrix;
pub use system::{LinearSolver, System, Trouble};
pub use trust_region::{Bounded, TrustRegionModel};
