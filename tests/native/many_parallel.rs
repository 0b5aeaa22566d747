//! Many small problems in which columns of the Jacobian nearly depend on each other: lines over Unix times.

use crate::many::{Draft, Random, Silent, block_on, on_cpu, on_device_in, samples_batch};
use residua::eval::cpu::CpuEngine;
use residua::eval::{Arithmetic, Engine, Functions};
use residua::model::losses::{LossKind, LossParameters};
use residua::solve::levenberg_marquardt::host::{SolverResources, minimise_least_squares};
use residua::solve::many::guard::{PairSolver, guard};
use residua::solve::many::{Batch, ManyListener, ManyOptions, ManySolutions, SharedProblem};
use residua::solve::rules::Tolerances;
use residua::solve::{IterationSummary, LevenbergMarquardtOptions, Listener, Solution, Termination};
use residua_base::error::{Error, ErrorCode, Result};
use residua_codegen::wgsl::PairForm;

const SAMPLES: usize = 10;
const PROBLEMS: u32 = 12;

/// The first times: centred ones, for which nothing is to be done, and some of which the columns 1 and t differ by angles of 1.7e-8 to 5e-9.
const FIRST: [f64; 4] = [-45.0, 1.7e9, -2.9e9, 6e9];

fn defaults() -> ManyOptions {
    ManyOptions {
        max_iterations: Some(100),
        tolerances: Tolerances { cost: 1e-8, gradient: 1e-8, parameter: 1e-8 },
        initial_damping: Some(1e-4),
    }
}

/// a + bt − y.
fn line(loss: LossParameters, bounds: Option<(&[f64], &[f64])>) -> SharedProblem {
    let mut draft = Draft::default();
    draft.array(2, "euclidean", &[0.0, 0.0]);
    draft.block(&[(0, &[0; SAMPLES])], &[&[0.0; SAMPLES], &[0.0; SAMPLES]], loss, |g, p, data| {
        let product = g.mul(p[1], data[0]);
        let sum = g.add(p[0], product);
        vec![g.sub(sum, data[1])]
    });
    SharedProblem::new(draft.model(), draft.values.clone(), &[false; 2], bounds).unwrap()
}

/// Times of each problem, then samples, of which the slope is 0.01: problem after problem. With `is_centred` all times are.
fn samples(is_centred: bool) -> Vec<f64> {
    let mut random = Random(11);
    let mut samples = Vec::new();
    for problem in 0..PROBLEMS as usize {
        let first = if is_centred { FIRST[0] } else { FIRST[problem % FIRST.len()] };
        let since = (0..SAMPLES).map(|k| 10.0 * k as f64);
        samples.extend(since.clone().map(|since| first + since));
        samples.extend(since.map(|since| 0.01 * since + 0.05 * random.next()));
    }
    samples
}

struct Deaf;

impl Listener for Deaf {
    fn iteration(&mut self, _: &IterationSummary) -> bool {
        false
    }

    fn aborted(&mut self) -> bool {
        false
    }
}

/// A problem on its own.
fn single(template: &SharedProblem, samples: &[f64]) -> Solution {
    let engine = Engine::Cpu(CpuEngine::new());
    let mut functions = Functions::new(template.model.clone(), engine, template.values.clone()).unwrap();
    functions.set_data(0, 0, samples).unwrap();
    if let Some((lower, upper)) = template.free[1].bounds {
        functions.set_bounds(vec![f64::NEG_INFINITY, lower], vec![f64::INFINITY, upper]).unwrap();
    }
    let options = LevenbergMarquardtOptions::defaults();
    block_on(minimise_least_squares(&mut functions, &mut SolverResources::default(), &options, &mut Deaf)).unwrap()
}

#[test]
fn lines_over_unix_times_have_the_slopes_of_centred_ones() {
    let bounds = (&[f64::NEG_INFINITY, -1.0][..], &[f64::INFINITY, 0.004][..]);
    for (loss, bounds) in [
        (LossParameters::squared(), None),
        (LossParameters::new("cauchy", 0.03, 1.0, 1.0).unwrap(), None),
        (LossParameters::squared(), Some(bounds)),
    ] {
        let template = line(loss, bounds);
        let at_origin = samples_batch(PROBLEMS, samples(false), 0);
        let found = on_cpu(&template, &at_origin, &defaults());
        let centred = on_cpu(&template, &samples_batch(PROBLEMS, samples(true), 0), &defaults());
        for problem in 0..PROBLEMS as usize {
            let numbers = 2 * SAMPLES;
            let alone = single(&template, &samples(false)[problem * numbers..(problem + 1) * numbers]);
            let about = format!(
                "{problem}: {:?} {:?} {} {} {} {} and {:?} {} {}",
                &found.x[2 * problem..2 * problem + 2],
                &centred.x[2 * problem..2 * problem + 2],
                found.cost[problem],
                centred.cost[problem],
                found.iterations[problem],
                found.termination[problem].as_str(),
                alone.x,
                alone.summary.final_cost,
                alone.summary.message()
            );
            let ends = [found.termination[problem], alone.summary.termination];
            for (end, cost) in ends.into_iter().zip([found.cost[problem], alone.summary.final_cost]) {
                // With a robust loss steps from J̃ᵀJ̃ may creep, or rounding hide them, before a test of convergence holds.
                let is_honest = loss.kind != LossKind::Squared && !end.converged();
                // 100 times the cost tolerance.
                assert!(is_honest || (end.converged() && (cost / centred.cost[problem] - 1.0).abs() < 1e-6), "{about}");
            }
            if problem % FIRST.len() == 0 {
                assert_eq!(found.iterations[problem], centred.iterations[problem], "{about}");
            }
        }
    }
}

#[test]
fn a_limit_of_iterations_holds_in_a_review() {
    let template = line(LossParameters::squared(), None);
    let batch = samples_batch(PROBLEMS, samples(false), 0);
    let centred = on_cpu(&template, &samples_batch(PROBLEMS, samples(true), 0), &defaults());
    let mut cut = 0;
    for max_iterations in 0..12 {
        let found = on_cpu(&template, &batch, &ManyOptions { max_iterations: Some(max_iterations), ..defaults() });
        for (problem, end) in found.termination.iter().enumerate() {
            let excess = found.cost[problem] / centred.cost[problem] - 1.0;
            assert!(found.iterations[problem] <= max_iterations);
            assert!(!end.converged() || excess < 1e-6, "{max_iterations}, {problem}: {excess}, {}", end.as_str());
            cut += u32::from(*end == Termination::MaxIterations);
        }
    }
    assert!((1..12 * PROBLEMS).contains(&cut), "{cut}");
}

struct NoPairs;

impl PairSolver for NoPairs {
    async fn solve(&mut self, _: &Batch<'_>, _: &mut dyn ManyListener) -> Result<ManySolutions> {
        Err(Error::new(ErrorCode::GpuUnavailable, "products are not rounded"))
    }
}

#[test]
fn a_device_calls_no_other_slope_a_success() {
    let template = line(LossParameters::squared(), None);
    let batch = samples_batch(PROBLEMS, samples(false), 0);
    let exact = on_cpu(&template, &batch, &defaults());
    for (arithmetic, form) in [(Arithmetic::F32, None), (Arithmetic::F32x2, Some(PairForm::Split))] {
        let device = on_device_in(&template, &batch, &defaults(), 10, form);
        for may_hand_over in [false, true] {
            let mut none = NoPairs;
            let pairs = may_hand_over.then_some(&mut none);
            let solutions = device.clone();
            let guarded =
                block_on(guard(&template, &batch, &defaults(), solutions, arithmetic, pairs, &mut Silent)).unwrap();
            for (problem, end) in guarded.solutions.termination.iter().enumerate() {
                let excess = guarded.solutions.cost[problem] / exact.cost[problem] - 1.0;
                // What a check of digits may leave.
                assert!(!end.converged() || excess < 1e-3, "{problem}: {excess}, {}", end.as_str());
                assert!(!may_hand_over || end.converged(), "{problem}: {}", end.as_str());
            }
        }
    }
}
