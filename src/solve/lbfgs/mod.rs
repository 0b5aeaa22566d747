//! L-BFGS: minimises a function f(x) from cost and gradient g, within box bounds and along manifolds.
//!
//! D. Liu and J. Nocedal, "On the limited memory BFGS method for large scale optimization", Math. Programming 45 (1989), with the line search
//! of A. Lewis and M. Overton (2013). Convergence: [`rules::convergence`].
//!
//! # The loop
//!
//! Two loops run the same steps in the same order. x is the point, x′ the trial point, d the direction, α the step along it. The *history* is
//! the last pairs s = x′ − x and y = g(x′) − g(x); it defines H, the limited-memory inverse Hessian, which starts from γI with
//! γ = sᵀy/yᵀy of the last pair. A *frozen* coordinate is constant, or at a bound with the descent pointing outward; g and d are 0 there.
//!
//! ```text
//! evaluate f and g at x
//! loop {
//!     converge             end if the accepted step, or the start, meets a tolerance                  rules progress, share_limit, ending
//!     direction            d = −Hg; −γg if the history is empty or d does not descend                 rule descends
//!     line search {
//!         place trial      x′ = x ⊞ αd, clamped to the bounds
//!         evaluate trial   f and g at x′
//!         judge trial      f(x′) − f(x), slope and predicted change: accept, or the next α            rules line_verdict, line_contradictions, line_bracket, line_outcome
//!     }
//!     refuse               a step that loses a parameter: search along −γg, or a shorter step along it          rules entry_fallen, step_refused
//!     accept               add (s, y) to the history, or γ ← ‖s‖/‖g(x′)‖ if it is not kept and d = −γg; x ← x′; a change of the frozen coordinates clears the history    rule curvature_pair
//!     or restart           without a step: clear the history and search along −γg; end if that was the direction
//! }
//! ```
//!
//! The loop also ends at a limit of iterations or time, when −γg does not descend, and when no visible progress is made.
//!
//! # The two implementations
//!
//! | step | host: [`host`] | device: [`device`] |
//! |---|---|---|
//! | control | state machine `minimizer`; the caller evaluates the points that it returns | rounds of kernels with gates in the state block |
//! | converge | `converge`, `convergence` | `decide` |
//! | direction | `compute_direction`, `history` | `advance` and `decide` compute it, `place` tests it |
//! | place trial | `place_trial` | `place`, and a kernel for each array on a manifold |
//! | evaluate trial | the caller | the kernels of the functions |
//! | judge trial | `measure_trial`, `judge_trial`, `line_search` | `measure`, `decide`; `walk` for several steps at once |
//! | refuse | `is_refused`, `shares` | `measure`, `decide` |
//! | accept | `accept`, `update_history` | `decide`, `advance` |
//! | restart | `restart` | `decide`, `walk` |
//!
//! The scalar rules exist once, as graphs in [`rules`]: the host evaluates them in f64, and the kernels contain them as generated functions in
//! f32.
//!
//! Blocks on manifolds move in tangent coordinates: [`super::manifold_map`]. In f32, trial points are rounded before they are evaluated and s
//! is a difference of rounded points, so that both loops work on the function as evaluated.

pub mod device;
pub mod ending;
pub mod host;
pub mod rules;
