//! The numbers of the rules.

/// Lower bound of λ: below it λ changes no digit of J̃ᵀJ̃ + λD.
pub const MIN_DAMPING: f64 = 1e-16;
/// The least factor of λ after a step (H. B. Nielsen, "Damping Parameter in Marquardt's Method", 1999).
pub const LEAST_SHRINK: f64 = 1.0 / 3.0;
/// λ above this is the end: Ceres' min_trust_region_radius, inverted.
pub const MAX_DAMPING: f64 = 1e32;
/// ν at the start and after each accepted step: the factor by which the next rejected step raises λ.
pub const INITIAL_GROWTH: f64 = 2.0;
/// A step is accepted if its gain ratio is above this: Ceres' min_relative_decrease.
pub(super) const LEAST_GAIN: f64 = 1e-3;
/// A column of J̃ is lost where its square falls to less than this, relative to the column that falls least if all fall.
pub const LEAST_FALL_OF_COLUMN: f64 = f64::EPSILON;
/// A step does what the model says of a coordinate where it leaves less than this share of the gradient.
pub const LEFT_OF_GRADIENT: f64 = 0.05;
/// And the model does not overstate a step whose gain ratio is above this.
pub const EXACT_GAIN: f64 = 0.99;
/// Steps in a row that are rejected for a lost column, at most: with Nielsen's rule they raise λ by 2³⁶.
pub const MOST_LOSSES: u32 = 8;
/// A dogleg step whose gain ratio is above this shows that the trust region may be larger.
pub(super) const GOOD_GAIN: f64 = 0.75;
/// The radius shrinks after a step whose gain ratio is below this.
pub const POOR_GAIN: f64 = 0.25;
/// The radius after a step that was as good as predicted, in lengths of the step.
pub const GROWTH: f64 = 3.0;
/// The same where a step from the point before it was rejected: the radius was found, and a large factor would find it again and again.
pub const GROWTH_AFTER_REJECTION: f64 = 1.5;
/// The promise of a minimum in units of σ²: each parameter is within √(2 · 10⁻⁴) of its standard error of it.
pub const LEAST_PROMISE: f64 = 1e-4;
/// The share of the cost tolerance that quadratic convergence leaves of the cost with one step more.
pub const LEFT_OF_TOLERANCE: f64 = 1e-5;
/// A cost is uncertain by so many times the rounding of its residuals, taken as independent. A tolerance of the cosine
/// or the step below as many times ε counts as that, one of the cost below the square of it.
pub const ROUNDINGS: f64 = 4.0;
/// What rounding moves a coordinate by, at most, in units of ε times the coordinate.
pub const HALF_A_UNIT: f64 = 0.5;
/// A tolerance of the cost up to this asks for all digits, and counts as the least: four units in the last place of double precision, below which
/// no arithmetic shows a change of the cost.
pub(super) const ALL_DIGITS: f64 = 1e-15;
/// The largest share of the floor that the predicted reduction of a hidden step may have.
pub(super) const LEAST_FALL: f64 = 0.5;
/// The cosine up to which a run that rounding ends has converged.
pub(super) const SETTLED: f64 = 1e-6;
/// The share of noise in a cost of which rounding leaves digits enough.
pub(super) const MOST_NOISE: f64 = 1e-3;
/// The cosine above which a run without acceptable steps does not end for want of digits.
pub(super) const STEEP: f64 = 1e-2;
/// The predicted reduction of the extended step of a settled run may be so many times the noise.
pub const NOISES: f64 = 16.0;
/// The floor before any hidden step: no predicted reduction is above it.
pub const NO_FLOOR: f64 = f64::MAX;
