//! The options of the solvers in the public contract, with their defaults and ranges.
//!
//! Options are passed as numbers by their public names. The result is checked, so that the solvers need no checks. A tolerance of 0 switches
//! its test off.

use super::rules::ROUNDINGS;
use crate::eval::{Arithmetic, Objective, Place};
use residua_base::decimal;
use residua_base::error::{Error, Result};
use residua_linalg::Kind;
use residua_linalg::loops::semidefinite::Negative;

/// Options that every solver has.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveOptions {
    /// Steps, at most, of which rejected ones are some; 100, or [`affordable_iterations`]. At 0 the start is evaluated and nothing more.
    pub max_iterations: u32,
    /// Milliseconds, at most; infinite.
    pub max_time_ms: f64,
    /// Converged when a step lowers the cost by at most this share of it, and its predicted reduction is no larger; 1e-8.
    pub cost_tolerance: f64,
    /// Converged when the gradient is so small relative to the cost, in units of the problem; 1e-8. Each solver says how it measures that.
    pub gradient_tolerance: f64,
    /// Converged when a step is at most this share of the parameters, in units of the problem; 1e-8.
    pub parameter_tolerance: f64,
    /// What earlier stages of the same run have used of the two limits, which are told as they were for the whole run; 0.
    pub used: Used,
}

/// Iterations and milliseconds of earlier stages of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// Iterations.
    pub iterations: u32,
    /// Milliseconds.
    pub ms: f64,
}

/// The first λ of devices where none is given.
pub const INITIAL_DAMPING: f64 = 1e-4;
/// Multiplications of all iterations that a default allows: a second on a processor.
const AFFORDABLE: f64 = 1e9;
/// Iterations that every default allows, and none exceeds.
const ITERATIONS: std::ops::RangeInclusive<f64> = 100.0..=2000.0;

/// Multiplications that the residuals and derivatives of a row count as, for each of its entries.
const OF_ENTRY: f64 = 100.0;

/// Iterations of Levenberg-Marquardt where no limit is given: as many as small problems make in about a second.
pub fn affordable_iterations(parameters: usize, residuals: usize) -> u32 {
    let (parameters, residuals) = (parameters as f64 + 1.0, residuals as f64);
    affordable((parameters * parameters + OF_ENTRY * parameters) * (parameters + residuals))
}

/// Multiplications of sparse systems and of the kernels of their rows in the time of one of dense ones: bundle adjustments of 20 to 50 cameras take 1 to 6 ms
/// a step.
const PACE_OF_SPARSE: f64 = 3.0;

/// The same for a Jacobian of so many entries, and a linear system of so many multiplications.
pub fn affordable_iterations_of_sparse(entries: usize, multiplications: f64) -> u32 {
    affordable((OF_ENTRY * entries as f64 + multiplications) / PACE_OF_SPARSE)
}

fn affordable(of_iteration: f64) -> u32 {
    (AFFORDABLE / of_iteration).clamp(*ITERATIONS.start(), *ITERATIONS.end()) as u32
}

/// What a tolerance of gradients and steps that is on and below this counts as: relative changes below it are rounding.
pub fn least_tolerance(arithmetic: Arithmetic) -> f64 {
    ROUNDINGS * arithmetic.epsilon()
}

/// Options of L-BFGS.
#[derive(Clone, Debug, PartialEq)]
pub struct LbfgsOptions {
    /// What every solver takes.
    pub solve: SolveOptions,
    /// Pairs of step and gradient change that are remembered; 10.
    pub history_size: u32,
    /// Evaluations of one line search, at most; 20.
    pub max_line_search_steps: u32,
    /// Share of the predicted decrease that a step must bring; 1e-4.
    pub c1: f64,
    /// Share of the initial slope that may remain after a step; 0.9.
    pub c2: f64,
    /// What is minimised; the sum.
    pub objective: Objective,
}

/// Options of Newton's method.
#[derive(Clone, Debug, PartialEq)]
pub struct NewtonOptions {
    /// What every solver takes. Of the tolerances that of the cost alone counts: converged where half of the squared Newton decrement, what the quadratic model
    /// still takes from the objective, is at most this share of it, or within rounding of its fall since the start.
    pub solve: SolveOptions,
    /// What becomes of negative eigenvalues of an instance's Hessian; they are 0.
    pub negative: Negative,
    /// Evaluations of one line search, at most; 64.
    pub max_line_search_steps: u32,
    /// Share of the predicted decrease that a step must bring; 1e-4.
    pub c1: f64,
    /// What is minimised; the sum.
    pub objective: Objective,
}

impl NewtonOptions {
    /// The defaults of the public contract.
    pub fn defaults() -> NewtonOptions {
        NewtonOptions {
            solve: SolveOptions { gradient_tolerance: 0.0, parameter_tolerance: 0.0, ..SolveOptions::defaults() },
            negative: Negative::Clamped,
            max_line_search_steps: 64,
            c1: 1e-4,
            objective: Objective::Sum,
        }
    }

    /// Options by their public names; `number` answers `None` for those not given. The objective and the projection, which are no numbers, are the defaults.
    ///
    /// # Errors
    /// `invalid-argument` naming the option, what it got and what it takes.
    pub fn from_numbers(number: &dyn Fn(&str) -> Option<f64>) -> Result<NewtonOptions> {
        let defaults = NewtonOptions::defaults();
        let solve = SolveOptions::from_numbers(number)?;
        Ok(NewtonOptions {
            solve: SolveOptions { gradient_tolerance: 0.0, parameter_tolerance: 0.0, ..solve },
            max_line_search_steps: count(number, "maxLineSearchSteps", 1, defaults.max_line_search_steps)?,
            c1: in_range(number, "c1", "a number above 0 and below 0.5", defaults.c1, |v| 0.0 < v && v < 0.5)?,
            ..defaults
        })
    }
}

/// How steps are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustRegion {
    /// By damping.
    LevenbergMarquardt,
    /// By a radius, along Powell's path from the steepest descent to the Gauss-Newton step.
    Dogleg,
}

impl TrustRegion {
    /// The one of that public name.
    ///
    /// # Errors
    /// `invalid-argument` for any other name, for a device, and for a linear solver that does not factorise.
    fn from_name(name: Option<&str>, is_on_device: bool, linear_solver: Option<Kind>) -> Result<TrustRegion> {
        let refused = |takes: &str| Err(refusal("trustRegion", &format!("'{}'", name.unwrap_or_default()), takes));
        match (name, linear_solver) {
            (None | Some("levenberg-marquardt"), _) => Ok(TrustRegion::LevenbergMarquardt),
            (Some("dogleg"), _) if is_on_device => refused("'levenberg-marquardt' with backend 'gpu'"),
            (Some("dogleg"), Some(Kind::Pcg | Kind::IterativeSchur)) => refused(
                "'levenberg-marquardt' with a linear solver that iterates, since 'dogleg' uses exact steps again",
            ),
            (Some("dogleg"), _) => Ok(TrustRegion::Dogleg),
            _ => refused("'levenberg-marquardt' or 'dogleg'"),
        }
    }
}

/// Options of Levenberg-Marquardt.
#[derive(Clone, Debug, PartialEq)]
pub struct LevenbergMarquardtOptions {
    /// What every solver takes; of iterations, rejected ones count too.
    pub solve: SolveOptions,
    /// What solves the linear systems; `None` to choose by size and sparsity.
    pub linear_solver: Option<Kind>,
    /// How steps are bounded; by damping.
    pub trust_region: TrustRegion,
    /// The first λ. Where a radius bounds steps, it is the length of the first step with that damping, or without one ‖Dx‖; devices have [`INITIAL_DAMPING`].
    pub initial_damping: Option<f64>,
    /// The first radius, in units of the Jacobian's columns, in place of the one that [`Self::initial_damping`] gives: that with which an earlier run ended.
    pub initial_radius: Option<f64>,
    /// Iterations of conjugate gradients in a step, at most; 500.
    pub max_linear_iterations: u32,
    /// The most of its residual that conjugate gradients may leave: the forcing term's ceiling; 0.1. At 0 all iterations are made.
    pub linear_tolerance: f64,
    /// Whether no limit of iterations was given: a run on the host may make as many as take a second, by what an iteration costs; no.
    pub affords_more: bool,
}

impl LevenbergMarquardtOptions {
    /// The defaults of the public contract.
    pub fn defaults() -> LevenbergMarquardtOptions {
        LevenbergMarquardtOptions {
            solve: SolveOptions::defaults(),
            linear_solver: None,
            trust_region: TrustRegion::LevenbergMarquardt,
            initial_damping: None,
            initial_radius: None,
            max_linear_iterations: 500,
            linear_tolerance: 0.1,
            affords_more: false,
        }
    }

    /// Options by their public names; `number` and `text` answer `None` for those not given.
    ///
    /// # Errors
    /// `invalid-argument` naming the option, what it got and what it takes.
    pub fn from_numbers(
        place: Place,
        number: &dyn Fn(&str) -> Option<f64>,
        text: &dyn Fn(&str) -> Option<String>,
    ) -> Result<LevenbergMarquardtOptions> {
        let defaults = LevenbergMarquardtOptions::defaults();
        let kinds =
            [Kind::Pcg, Kind::SparseCholesky, Kind::DenseQr, Kind::SparseSchur, Kind::DenseSchur, Kind::IterativeSchur];
        let linear_solver = match text("linearSolver").as_deref() {
            None | Some("auto") => None,
            Some(name) => match kinds.into_iter().find(|kind| kind.name() == name) {
                None => {
                    let takes = "'auto', 'pcg', 'sparse-cholesky', 'dense-qr', 'sparse-schur', 'dense-schur' or 'iterative-schur'";
                    return Err(refusal("linearSolver", &format!("'{name}'"), takes));
                }
                Some(kind) if !matches!(kind, Kind::Pcg | Kind::IterativeSchur) && place == Place::Device => {
                    let takes = "'auto', 'pcg' or 'iterative-schur' with functions on the GPU";
                    return Err(refusal("linearSolver", &format!("'{name}'"), takes));
                }
                kind => kind,
            },
        };
        let finite = |v: f64| v.is_finite() && v >= 0.0;
        // A solve that may move to the host begins there.
        let is_on_device = place == Place::Device && number("takeOver") != Some(1.0);
        Ok(LevenbergMarquardtOptions {
            affords_more: number("maxIterations").is_none(),
            solve: SolveOptions::from_numbers(number)?,
            linear_solver,
            trust_region: TrustRegion::from_name(text("trustRegion").as_deref(), is_on_device, linear_solver)?,
            initial_damping: match number("initialDamping") {
                Some(_) => Some(in_range(number, "initialDamping", "a finite number of at least 0", 0.0, finite)?),
                None => None,
            },
            initial_radius: number("initialRadius").filter(|&radius| radius > 0.0),
            max_linear_iterations: count(number, "maxLinearIterations", 1, defaults.max_linear_iterations)?,
            linear_tolerance: in_range(
                number,
                "linearTolerance",
                "a number of at least 0 and below 1",
                defaults.linear_tolerance,
                |v| (0.0..1.0).contains(&v),
            )?,
        })
    }
}

impl SolveOptions {
    /// The defaults of the public contract.
    pub fn defaults() -> SolveOptions {
        SolveOptions {
            max_iterations: 100,
            max_time_ms: f64::INFINITY,
            cost_tolerance: 1e-8,
            gradient_tolerance: 1e-8,
            parameter_tolerance: 1e-8,
            used: Used::default(),
        }
    }

    /// Options by their public names; `number` answers `None` for those not given.
    ///
    /// # Errors
    /// `invalid-argument` naming the option, what it got and what it takes.
    pub fn from_numbers(number: &dyn Fn(&str) -> Option<f64>) -> Result<SolveOptions> {
        let defaults = SolveOptions::defaults();
        Ok(SolveOptions {
            max_iterations: count(number, "maxIterations", 0, defaults.max_iterations)?,
            max_time_ms: in_range(
                number,
                "maxTimeMs",
                "a number of milliseconds above 0",
                defaults.max_time_ms,
                |v| v > 0.0,
            )?,
            cost_tolerance: tolerance(number, "costTolerance", defaults.cost_tolerance)?,
            gradient_tolerance: tolerance(number, "gradientTolerance", defaults.gradient_tolerance)?,
            parameter_tolerance: tolerance(number, "parameterTolerance", defaults.parameter_tolerance)?,
            used: defaults.used,
        })
    }
}

impl Objective {
    /// The objective of that public name.
    ///
    /// # Errors
    /// `invalid-argument` for any other name.
    pub fn from_name(name: &str) -> Result<Objective> {
        match name {
            "sum" => Ok(Objective::Sum),
            "least-squares" => Ok(Objective::LeastSquares),
            other => Err(refusal("objective", &format!("'{other}'"), "'sum' or 'least-squares'")),
        }
    }
}

impl LbfgsOptions {
    /// The defaults of the public contract.
    pub fn defaults() -> LbfgsOptions {
        LbfgsOptions {
            solve: SolveOptions::defaults(),
            history_size: 10,
            max_line_search_steps: 20,
            c1: 1e-4,
            c2: 0.9,
            objective: Objective::Sum,
        }
    }

    /// Options by their public names; `number` answers `None` for those not given. The objective, which is no number, is the default.
    ///
    /// # Errors
    /// `invalid-argument` naming the option, what it got and what it takes.
    pub fn from_numbers(number: &dyn Fn(&str) -> Option<f64>) -> Result<LbfgsOptions> {
        let defaults = LbfgsOptions::defaults();
        // At c1 ≥ ½ a line search would refuse the exact minimiser of a parabola.
        let c1 = in_range(number, "c1", "a number above 0 and below 0.5", defaults.c1, |v| 0.0 < v && v < 0.5)?;
        let takes = format!("a number above c1, here {}, and below 1", decimal::shortest(c1));
        Ok(LbfgsOptions {
            solve: SolveOptions::from_numbers(number)?,
            history_size: count(number, "historySize", 1, defaults.history_size)?,
            max_line_search_steps: count(number, "maxLineSearchSteps", 1, defaults.max_line_search_steps)?,
            c1,
            c2: in_range(number, "c2", &takes, defaults.c2, |v| c1 < v && v < 1.0)?,
            objective: defaults.objective,
        })
    }
}

fn refusal(name: &str, got: &str, takes: &str) -> Error {
    Error::invalid_argument(format!("option {name}: got {got}, takes {takes}"))
}

fn in_range(
    number: &dyn Fn(&str) -> Option<f64>,
    name: &str,
    takes: &str,
    default: f64,
    accepts: impl Fn(f64) -> bool,
) -> Result<f64> {
    let value = number(name).unwrap_or(default);
    if accepts(value) { Ok(value) } else { Err(refusal(name, &decimal::shortest(value), takes)) }
}

fn tolerance(number: &dyn Fn(&str) -> Option<f64>, name: &str, default: f64) -> Result<f64> {
    in_range(number, name, "a finite number of at least 0", default, |v| v.is_finite() && v >= 0.0)
}

fn count(number: &dyn Fn(&str) -> Option<f64>, name: &str, least: u32, default: u32) -> Result<u32> {
    let takes = format!("a whole number from {least} to {}", u32::MAX);
    let fits = |v: f64| v.fract() == 0.0 && f64::from(least) <= v && v <= f64::from(u32::MAX);
    in_range(number, name, &takes, f64::from(default), fits).map(|v| v as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use residua_base::error::ErrorCode;

    fn with(name: &'static str, value: f64) -> Result<LbfgsOptions> {
        LbfgsOptions::from_numbers(&move |asked| (asked == name).then_some(value))
    }

    #[test]
    fn nothing_given_gives_the_defaults_of_the_contract() {
        let options = LbfgsOptions::from_numbers(&|_| None).unwrap();
        assert_eq!(options, LbfgsOptions::defaults());
        let SolveOptions { cost_tolerance, gradient_tolerance, parameter_tolerance, .. } = options.solve;
        assert_eq!([cost_tolerance, gradient_tolerance, parameter_tolerance], [1e-8; 3]);
    }

    #[test]
    fn a_default_allows_as_many_iterations_as_take_a_second() {
        // 20 cameras that see 100 points 400 times: 0.4 to 1.3 ms a step. A net of a million springs: seconds a step.
        assert!((1_000..=2_000).contains(&affordable_iterations_of_sparse(9_600, 1.2e6)));
        assert_eq!(affordable_iterations_of_sparse(6_000_000, 1e10), 100);
        let affords_more = |given: Option<f64>| {
            let number = |name: &str| given.filter(|_| name == "maxIterations");
            LevenbergMarquardtOptions::from_numbers(Place::Host, &number, &|_| None).unwrap().affords_more
        };
        assert!(affords_more(None) && !affords_more(Some(100.0)));
    }

    #[test]
    fn values_in_range_are_taken() {
        assert_eq!(with("maxIterations", 0.0).unwrap().solve.max_iterations, 0);
        assert_eq!(with("maxTimeMs", f64::INFINITY).unwrap().solve.max_time_ms, f64::INFINITY);
        assert_eq!(with("costTolerance", 0.0).unwrap().solve.cost_tolerance, 0.0);
        assert_eq!(with("historySize", 1.0).unwrap().history_size, 1);
        assert_eq!(with("maxLineSearchSteps", 3.0).unwrap().max_line_search_steps, 3);
        assert_eq!(with("c2", 0.1).unwrap().c2, 0.1);
        assert_eq!(Objective::from_name("least-squares").unwrap(), Objective::LeastSquares);
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let cases: &[(&'static str, &[f64])] = &[
            ("maxIterations", &[-1.0, 1.5, f64::NAN, f64::INFINITY, 1e12]),
            ("maxTimeMs", &[0.0, -3.0, f64::NAN]),
            ("costTolerance", &[-1e-9, f64::NAN, f64::INFINITY]),
            ("gradientTolerance", &[-1.0, f64::NAN]),
            ("parameterTolerance", &[-1.0, f64::NAN]),
            ("historySize", &[0.0, 2.5]),
            ("maxLineSearchSteps", &[0.0, -1.0]),
            ("c1", &[0.0, 0.5, f64::NAN]),
            ("c2", &[1e-5, 1.0, f64::NAN]),
        ];
        for &(name, values) in cases {
            for &value in values {
                let error = with(name, value).unwrap_err();
                assert_eq!(error.code, ErrorCode::InvalidArgument);
                assert!(error.message.contains(&format!("option {name}: got {value}, takes ")), "{}", error.message);
            }
        }
        let message = Objective::from_name("max").unwrap_err().message.clone();
        assert_eq!(message, "option objective: got 'max', takes 'sum' or 'least-squares'");
    }

    #[test]
    fn a_damping_is_what_was_given() {
        let read = |given: Option<f64>| {
            let number = move |name: &str| given.filter(|_| name == "initialDamping");
            LevenbergMarquardtOptions::from_numbers(Place::Host, &number, &|_| None)
                .map(|options| options.initial_damping)
        };
        assert_eq!([read(None), read(Some(0.0)), read(Some(2.0))], [Ok(None), Ok(Some(0.0)), Ok(Some(2.0))]);
        let message = read(Some(-1.0)).unwrap_err().message.clone();
        assert!(message.starts_with("option initialDamping: got -1, takes a finite number of at least 0"), "{message}");
    }

    #[test]
    fn the_dogleg_takes_the_host_and_a_factorisation() {
        let read = |place: Place, take_over: f64, solver: Option<&str>, region: &str| {
            let number = move |name: &str| (name == "takeOver").then_some(take_over);
            let text = |name: &str| match name {
                "linearSolver" => solver.map(str::to_owned),
                "trustRegion" => Some(region.to_owned()),
                _ => None,
            };
            LevenbergMarquardtOptions::from_numbers(place, &number, &text)
                .map(|options| options.trust_region)
                .map_err(|error| error.message.clone())
        };
        for solver in [None, Some("auto"), Some("dense-qr"), Some("sparse-cholesky"), Some("dense-schur")] {
            assert_eq!(read(Place::Host, 0.0, solver, "dogleg"), Ok(TrustRegion::Dogleg));
        }
        assert_eq!(read(Place::Device, 1.0, None, "dogleg"), Ok(TrustRegion::Dogleg), "the solve begins on the host");
        assert_eq!(read(Place::Device, 0.0, None, "levenberg-marquardt"), Ok(TrustRegion::LevenbergMarquardt));
        for (place, solver, region, takes) in [
            (Place::Device, None, "dogleg", "'levenberg-marquardt' with backend 'gpu'"),
            (Place::Host, Some("pcg"), "dogleg", "'levenberg-marquardt' with a linear solver that iterates"),
            (
                Place::Host,
                Some("iterative-schur"),
                "dogleg",
                "'levenberg-marquardt' with a linear solver that iterates",
            ),
            (Place::Host, None, "ball", "'levenberg-marquardt' or 'dogleg'"),
        ] {
            let message = read(place, 0.0, solver, region).unwrap_err();
            assert!(message.starts_with(&format!("option trustRegion: got '{region}', takes {takes}")), "{message}");
        }
    }
}
