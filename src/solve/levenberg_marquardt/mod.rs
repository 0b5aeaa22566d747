//! Levenberg-Marquardt: minimises the least-squares cost F(x) = ½‖r̃(x)‖² within box bounds and along manifolds.
//!
//! K. Madsen, H. B. Nielsen and O. Tingleff, *Methods for Non-Linear Least Squares Problems* (2004), section 3.2, with the scaling of
//! J. J. Moré (1978), the inexact steps of Eisenstat and Walker (1996), and the tests of convergence of MINPACK on extended steps
//! ([`super::rules`]).
//!
//! # The loop
//!
//! Four loops run the same steps in the same order. x is the point, x′ the trial point, δ the step of the linear system, δ̄ the projected
//! step, λ the damping, D the diagonal that scales it. A *frozen* coordinate is constant, or at a bound with the descent pointing
//! outward; δ is 0 there.
//!
//! ```text
//! loop {
//!     linearise        cost F, gradient g = J̃ᵀr̃ and J̃ᵀJ̃ (or what stands for it) at x; frozen coordinates; the cosine of the others
//!     converge         end if the accepted step, or the start, meets a tolerance                            rule lm_convergence
//!     scale damping    D ← max(sD, diag J̃ᵀJ̃); the forcing term η of an iterative solver                rule lm_forcing
//!     solve            (J̃ᵀJ̃ + λD) δ = −g, up to η
//!     project          x′ = x ⊞ δ, clamped to the bounds; δ̄ is the step that leads there
//!     predict          predicted reduction −δ̄ᵀg − ½‖J̃δ̄‖²
//!     evaluate trial   reduction F(x) − F(x′), as a sum of differences
//!     gain             reduction / predicted reduction, against the rounding noise of F                     rules lm_noise, lm_gain
//!     accept           x ← x′, λ falls; back to `linearise`                                                 rule lm_damping
//!     or reject        x stays, λ grows; back to `scale damping`                                            rule lm_damping
//! }
//! ```
//!
//! What cannot be computed is a rejected step and raises λ: a singular system, NaN at x′, derivatives at x′ that are not finite. On the host, and on the device in problems of up to 65,536 numbers, so is a
//! damped step to where a column of J̃ has vanished; of many problems those that have lost one are solved a second time, where any such step is rejected. The loop also ends at a limit of iterations or time, and when a rule finds that precision or the trust region is exhausted.
//! Where columns of J̃ nearly depend on each other, the host reviews a convergence by a factorisation of J̃, and goes on with steps from it if the cost can fall ([`host`], `review`).
//! Where D holds a coordinate that the present diagonal would let go, the host takes the present one and goes on, in place of any of these ends and of convergence
//! by cost or step.
//!
//! With the dogleg (host alone, [`TrustRegion`](super::options::TrustRegion)) λ is as small as the linear solver allows, and the step is the point
//! where Powell's path to δ leaves a ball of radius Δ (rules lm_dogleg, lm_radius). Accepting and rejecting change Δ. After a rejected step
//! `solve` is left out, since the path is the same.
//!
//! # The four implementations
//!
//! | step | host: [`host`] | device: [`device`] | many problems, host: [`super::many::cpu`] | many problems, device: `shaders/solve_many.wgsl` |
//! |---|---|---|---|---|
//! | control | state machine `minimizer`; the caller computes what it asks for | command lists with gates in the state block | all problems of a chunk in step | one thread for each problem |
//! | linearise | `linearise` | [`crate::gauss_newton::device`], `begin` | `linearise` | `linearise` |
//! | converge | `converge` | `converge`, `settle` | `converge` | `lm_convergence` |
//! | scale damping | `strategy` | `begin` | `solve` | `damped_step` |
//! | solve | [`residua_linalg`] | product kernels, `update`, `direct` | `solve` | `damped_step` |
//! | project | `retraction` | `retract` | `project` | `moved_by` |
//! | predict | `predict` | `measure`, `decide` | `predict` | `predicted_reduction` |
//! | evaluate trial | [`crate::gauss_newton::host`] | [`crate::gauss_newton::device`] | `evaluate_trial` | `reduction` |
//! | gain | `gain` | `decide` | `gain` | `lm_gain` |
//! | accept or reject | `accept`, `reject` | `decide` | `accept`, `reject` | the end of its loop |
//!
//! The scalar rules exist once, as graphs in [`super::rules`]: hosts evaluate them in f64, and shaders contain them as generated functions.
//! The loops differ on purpose in one rule, the scale D of the damping ([`rescale`](super::rules::rescale)): single solves keep the largest diagonal
//! of J̃ᵀJ̃ so far, on the host less what all coordinates have fallen since ([`lower`](super::rules::lower)); many small problems have the present one, and where they are solved a second time the largest.

pub mod device;
pub mod ending;
pub mod host;
