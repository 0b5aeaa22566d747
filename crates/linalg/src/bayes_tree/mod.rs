//! A factorisation of linear least squares that changes with its factors: the Bayes tree of M. Kaess, H. Johannsson, R. Roberts, V. Ila, J. Leonard and
//! F. Dellaert, "iSAM2: Incremental Smoothing and Mapping Using the Bayes Tree" (2012). Pure linear algebra: it knows no residual function.
//!
//! A *variable* is a few coordinates; a *factor* is the rows ‖Jδ − b‖² of some variables. The sum over all factors is minimised by the δ of JᵀJ δ = Jᵀb.
//! Eliminating variable after variable gives the cliques of the tree: a *clique* has the *frontal* variables that it eliminates and its *separator*, the variables
//! that are left of its factors, which are frontal nearer to the root. It holds its columns of Cholesky's factor, and the *update matrix* that its
//! elimination leaves on the separator, as in a multifrontal factorisation.
//!
//! What a changed factor invalidates are the cliques from those of its variables up to the root, and no other: below them the update matrices stay as they are.
//! [`BayesTree::update`] takes these cliques away, orders their variables anew (`symbolic`), with the newest last so that the next change stays near the
//! root, and eliminates them from their own factors and the update matrices of the subtrees that were cut off (`numeric`). The back-substitution goes down
//! into subtrees as far as something changes that they depend on (`substitution`).
//!
//! A variable that was linearised at another point has other numbers in all of its factors, which may have been eliminated deeper in the tree: then the cliques
//! that have it in their separator go, too.
//!
//! An update that fails for what the factors do not determine leaves the tree as it was; the changes stay noted, and the next update tries again. One whose δ
//! is beyond the range of numbers leaves δ as it was, and the next update computes all of it.

mod marginal;
mod numeric;
mod state;
mod substitution;
mod symbolic;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
mod update;

pub use state::{BayesTree, JacobianFactor, Undetermined, UpdateFailure, Updated};
