//! Levenberg-Marquardt: minimises the least-squares cost F(x) = ½‖r̃(x)‖² within box bounds and along manifolds.
//!
//! K. Madsen, H. B. Nielsen and O. Tingleff, *Methods for Non-Linear Least Squares Problems* (2004), section 3.2, with the scaling of
//! J. J. Moré (1978), the inexact steps of Eisenstat and Walker (1996), and the tests of convergence of MINPACK on extended steps
//! ([`super::rules`]).
//!
//! # The loop on the host
//!
//! x is the point, x′ the trial point, δ the step, δ̄ the projected step, Δ the radius, D the lengths of the columns of J̃, which may fall by a tenth at each
//! point. A *frozen* coordinate is constant, or at a bound with the descent pointing outward; δ is 0 there.
//!
//! ```text
//! loop {
//!     linearise        cost F, gradient g = J̃ᵀr̃ and J̃, or what stands for it, at x; frozen coordinates; the cosine of the others
//!     solve            the model without a ball, and its promise p = ½ gᵀ(J̃ᵀJ̃)⁻¹g
//!     converge         end if the step, or the start, meets a tolerance and p is next to nothing                 rule lm_convergence
//!     step             δ, the minimum of the model where ‖Dδ‖ ≤ Δ, bent by r̃″ along it, or a point of a dogleg   rule lm_dogleg
//!     project          x′ = x ⊞ δ, clamped to the bounds; δ̄ is the step that leads there
//!     predict          predicted reduction of the model that made the step
//!     evaluate trial   reduction F(x) − F(x′), as a sum of differences
//!     gain             reduction / predicted reduction, against the rounding noise of F                          rules lm_noise, lm_gain
//!     accept           x ← x′, Δ may grow; back to `linearise`                                                   rule lm_radius
//!     or reject        x stays, Δ shrinks; back to `step`                                                        rule lm_radius
//! }
//! ```
//!
//! Small problems that have all of J̃ take exact steps ([`host`], `exact`; [`residua_linalg::trust_region`]), others those of a dogleg over the step of their
//! linear solver, which may be one of conjugate gradients. What cannot be computed is a rejected step: NaN at x′, derivatives there that are not finite.
//!
//! # The one test of convergence
//!
//! A point is a minimum where the promise is at most 10⁻⁴ σ², σ² = 2F/(m − n): every parameter is then within some hundredth of its standard error of it
//! (MINUIT's estimated distance to the minimum). With a robust loss F counts residuals by their influence. Tolerances are reasons to stop; none makes a
//! success by itself. A promise within rounding counts as none. Directions that rounding does not tell from those without effect take no part in it, unless the
//! start determined them: then the exact second order decides. It also tells a ridge, which has no promise either.
//!
//! An attempt of a small problem that ends without a minimum is followed by two more from the same start: one whose steps change each parameter by a share of
//! itself, and one whose first step is not cut.
//!
//! Many problems have radii on both engines; on the device steps on the surface of the ball solve (H + λD²) δ = −g, with λ by Newton's method. Its kernel tells
//! of each point whether its arithmetic suffices for the promise. Open problems go on elsewhere ([`super::many::guard`]).
//!
//! Single solves on the device have damping in place of a radius: (J̃ᵀJ̃ + λD²) δ = −g, up to a forcing term, with λ by rule lm_damping. Steps of theirs that
//! lose a column of J̃ are rejected, in problems of up to 65,536 numbers. Where a tolerance is met the next step solves the system without damping, to 10⁻³ of
//! its residual: the run ends if conjugate gradients get there and promise next to nothing, else that is a step like any other.
//!
//! # The four implementations
//!
//! | step | host: [`host`] | device: [`device`] | many problems, host: [`super::many::cpu`] | many problems, device: `shaders/solve_many.wgsl` |
//! |---|---|---|---|---|
//! | control | state machine `minimizer`; the caller computes what it asks for | command lists with gates in the state block | all problems of a chunk in step | one thread for each problem |
//! | linearise | `linearise` | [`crate::gauss_newton::device`], `begin` | `linearise` | `linearise` |
//! | converge | `converge` | `converge`, `settle` | `converge` | `lm_convergence`, `lm_minimum` |
//! | scale | `strategy`, [`point`] | `begin` | [`point::follow`] | `follow` |
//! | solve, step | `exact`, `dogleg`, [`residua_linalg`] | product kernels, `update`, `direct` | `solve` | `step_within` |
//! | project | `retraction` | `retract` | `project` | `moved_by` |
//! | predict | `predict` | `measure`, `decide` | `predict` | `predicted_reduction` |
//! | evaluate trial | [`crate::gauss_newton::host`] | [`crate::gauss_newton::device`] | `evaluate_trial` | `reduction` |
//! | gain | `gain` | `decide` | `gain` | `lm_gain` |
//! | accept or reject | `accept`, `reject` | `decide` | `judge` | the end of its loop |
//!
//! The scalar rules exist once, as graphs in [`super::rules`]: hosts evaluate them in f64, and shaders contain them as generated functions.

pub mod device;
pub mod ending;
pub mod host;
pub mod point;
