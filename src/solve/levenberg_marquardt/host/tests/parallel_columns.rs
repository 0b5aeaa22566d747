//! Columns of J̃ that nearly depend on each other, so that the gradient does not show what is left of the cost.

use super::dual::{Dual, linearised};
use super::*;
use crate::solve::options::TrustRegion;

/// Deviations of samples, so that a minimum has a cost.
const NOISE: [f64; 10] = [3e-2, -2e-2, 1e-2, -4e-2, 2e-2, 2.5e-2, -1.5e-2, 5e-3, -1e-2, 2e-2];

/// The share of the cost that a run may leave: 100 times the default of costTolerance.
const LEFT: f64 = 1e-6;

/// A curve of its parameters and two times: since an origin, and since the first sample. A better one takes the second time alone.
type Curve = fn(&[Dual], f64, f64) -> Dual;

fn line(x: &[Dual], t: f64, _: f64) -> Dual {
    x[0].clone() + x[1].clone() * t
}

fn parabola(x: &[Dual], t: f64, _: f64) -> Dual {
    x[0].clone() + x[1].clone() * t + x[2].clone() * (t * t)
}

/// A decay from the first sample on, upon a line.
fn decay(x: &[Dual], t: f64, since: f64) -> Dual {
    x[2].clone() * (-(x[3].clone() * since)).exp() + line(x, t, since)
}

struct Case {
    name: &'static str,
    curve: Curve,
    start: &'static [f64],
    /// What the samples rise by from each to the next.
    slope: f64,
    /// The time of the first sample; others follow at distances of 1.
    first: f64,
}

impl Case {
    /// Residuals with times since an origin, in other units: residuals and each parameter are numbers of units that are so many times smaller.
    fn residuals(&self, origin: f64, of_residuals: f64, units: &[f64], x: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
        linearised(x, |x| {
            let x: Vec<Dual> = x.iter().zip(units).map(|(x, unit)| x.clone() * (1.0 / unit)).collect();
            let sample = |(k, noise): (u32, &f64)| {
                let since = f64::from(k);
                let y = self.slope * since + 2.0 * (-0.7 * since).exp() + noise;
                ((self.curve)(&x, origin + since, since) - y) * of_residuals
            };
            (0..).zip(NOISE.iter().chain(&NOISE)).map(sample).collect()
        })
    }

    /// The least cost, by times since the middle of the samples, where columns are far from each other.
    fn least(&self) -> f64 {
        let units = vec![1.0; self.start.len()];
        let residuals = |x: &[f64]| self.residuals(-9.5, 1.0, &units, x);
        let mut fake = Fake::new(&residuals, self.start);
        fake.options.solve.cost_tolerance = 1e-15;
        let Run { summary, .. } = run(&fake);
        assert!(summary.success(), "{}", summary.message());
        summary.final_cost
    }
}

/// The angles between the columns 1 and t are 5.8 over the first time: 1e-6, 1e-8, 1.7e-8, 3e-9 and 1e-9.
const CASES: [Case; 8] = [
    Case { name: "line", curve: line, start: &[0.0; 2], slope: 0.1, first: 5.8e6 },
    Case { name: "line", curve: line, start: &[0.0; 2], slope: 0.1, first: 5.8e8 },
    Case { name: "line", curve: line, start: &[0.0; 2], slope: 0.1, first: 3.4e8 },
    Case { name: "line", curve: line, start: &[0.0; 2], slope: 0.1, first: 1.9e9 },
    Case { name: "line", curve: line, start: &[0.0; 2], slope: 0.1, first: 5.8e9 },
    // The third column is as far from the others as (5.2/t)².
    Case { name: "parabola", curve: parabola, start: &[0.0; 3], slope: 0.1, first: 5e3 },
    Case { name: "parabola", curve: parabola, start: &[0.0; 3], slope: 0.1, first: 5e4 },
    Case { name: "decay", curve: decay, start: &[0.0, 0.0, 1.5, 0.5], slope: 1e-3, first: 1.7e9 },
];

const WAYS: [(Option<usize>, TrustRegion); 3] =
    [(None, TrustRegion::LevenbergMarquardt), (Some(1), TrustRegion::LevenbergMarquardt), (None, TrustRegion::Dogleg)];

/// Whether a run has converged at the least cost.
fn has_arrived(run: &Run, least: f64) -> bool {
    run.summary.success() && (run.summary.final_cost / least - 1.0).abs() < LEFT
}

fn about(case: &Case, run: &Run, least: f64) -> String {
    let Run { summary, point, .. } = run;
    let excess = summary.final_cost / least - 1.0;
    format!(
        "{} {:e}: {excess:e}, {point:?}, {} iterations, {}",
        case.name,
        case.first,
        summary.iterations,
        summary.message()
    )
}

#[test]
fn the_minimum_is_found_where_columns_nearly_depend_on_each_other() {
    for case in &CASES {
        let least = case.least();
        let units = vec![1.0; case.start.len()];
        let residuals = |x: &[f64]| case.residuals(case.first, 1.0, &units, x);
        for (pcg_blocks, trust_region) in WAYS {
            let mut fake = Fake { pcg_blocks, ..Fake::new(&residuals, case.start) };
            fake.options.trust_region = trust_region;
            let run = run(&fake);
            // The dogleg has a least damping that nothing lowers before a test of convergence holds.
            let may_stop = case.name == "decay" && trust_region == TrustRegion::Dogleg && !run.summary.success();
            assert!(
                may_stop || has_arrived(&run, least),
                "{pcg_blocks:?} {trust_region:?} {}",
                about(case, &run, least)
            );
        }
    }
}

#[test]
fn units_make_no_difference() {
    for case in &CASES[1..] {
        let (least, n) = (case.least(), case.start.len());
        let in_units = |of_residuals: f64, units: &[f64]| {
            let residuals = |x: &[f64]| case.residuals(case.first, of_residuals, units, x);
            let start: Vec<f64> = case.start.iter().zip(units).map(|(x, unit)| x * unit).collect();
            run(&Fake::new(&residuals, &start))
        };
        let usual = in_units(1.0, &vec![1.0; n]);
        for unit in [1e9, 1e-9, 2.0_f64.powi(30), 2.0_f64.powi(-30)] {
            for k in 0..=n {
                let mut units = vec![1.0; n];
                let of_residuals = if k < n { 1.0 } else { unit };
                if k < n {
                    units[k] = unit;
                }
                let other = in_units(of_residuals, &units);
                let cost = least * of_residuals * of_residuals;
                assert!(has_arrived(&other, cost), "{k} {unit:e} {}", about(case, &other, cost));
                // Powers of two change no rounding.
                if unit.log2().fract() == 0.0 {
                    let decisions = |run: &Run| -> Vec<_> {
                        run.summary.history.iter().map(|step| (step.accepted, step.damping)).collect()
                    };
                    assert_eq!(decisions(&other), decisions(&usual), "{k} {unit:e}");
                }
            }
        }
    }
}

#[test]
fn a_limit_in_a_review_is_no_success_before_the_minimum() {
    for case in &CASES[1..] {
        let (least, units) = (case.least(), vec![1.0; case.start.len()]);
        let residuals = |x: &[f64]| case.residuals(case.first, 1.0, &units, x);
        let mut ends = [0; 3];
        for most in 0..40 {
            let mut fake = Fake::new(&residuals, case.start);
            fake.options.solve.max_iterations = most;
            let by_iterations = run(&fake);
            assert!(by_iterations.summary.iterations <= most);
            fake.options.solve.max_iterations = 100;
            // A unit of time for each request.
            fake.options.solve.max_time_ms = f64::from(3 * most);
            let by_time = run(&fake);
            fake.options.solve.max_time_ms = f64::INFINITY;
            let stopped = run_with(&fake, |iteration, stop| *stop = iteration.iteration == most);
            let expected = [Termination::MaxIterations, Termination::MaxTime, Termination::Aborted];
            for (k, (run, end)) in [by_iterations, by_time, stopped].iter().zip(expected).enumerate() {
                let is_cut = run.summary.termination == end;
                ends[k] += u32::from(is_cut);
                assert!(is_cut || has_arrived(run, least), "{most}: {}", about(case, run, least));
            }
        }
        assert!(ends.iter().all(|cut| (1..40).contains(cut)), "{} {:e}: {ends:?}", case.name, case.first);
    }
}

#[test]
fn a_bound_that_holds_ends_a_step_along_such_a_direction() {
    let case = &CASES[2];
    let units = [1.0; 2];
    let residuals = |x: &[f64]| case.residuals(case.first, 1.0, &units, x);
    let centred = |x: &[f64]| case.residuals(-9.5, 1.0, &units, x);
    // The slope of the least squares is positive, and about 0.05.
    for (least, most) in [(f64::NEG_INFINITY, 0.01), (-1.0, 0.02), (0.08, 1.0)] {
        let bounds = (vec![f64::NEG_INFINITY, least], vec![f64::INFINITY, most]);
        let [at_origin, in_middle]: [Residuals; 2] = [&residuals, &centred];
        let start = [0.0, if least > 0.0 { 0.1 } else { 0.0 }];
        let bounded = |residuals| run(&Fake { bounds: bounds.clone(), ..Fake::new(residuals, &start) });
        let slope = if least > 0.0 { least } else { most };
        let least = bounded(in_middle).summary.final_cost;
        let run = bounded(at_origin);
        assert!(has_arrived(&run, least) && run.point[1] == slope, "{}", about(case, &run, least));
    }
}

#[test]
fn a_promise_that_no_step_keeps_is_no_reason_to_go_on() {
    // Freudenstein and Roth: J is singular at the second minimum, and the model promises all of the cost beside it.
    let residuals = |x: &[f64]| {
        linearised(x, |x| {
            let (a, b) = (x[0].clone(), x[1].clone());
            let cubic = |of: f64, square: f64, linear: f64| b.powi(3) * of + b.powi(2) * square + b.clone() * linear;
            vec![a.clone() + cubic(-1.0, 5.0, -2.0) - 13.0, a.clone() + cubic(1.0, 1.0, -14.0) - 29.0]
        })
    };
    for tolerance in [1e-7, 1e-8] {
        let mut fake = Fake { has_second_derivatives: true, ..Fake::new(&residuals, &[0.5, -2.0]) };
        fake.options.solve.cost_tolerance = 0.0;
        fake.options.solve.gradient_tolerance = tolerance;
        let Run { summary, .. } = run(&fake);
        let about = format!("{} iterations, {}", summary.iterations, summary.message());
        // The paper's cost has six digits.
        assert!(summary.success() && (2.0 * summary.final_cost / 48.9842 - 1.0).abs() < 1e-5, "{about}");
    }
}

/// A run over compiled functions: Unix times, and a slope of 0.01.
mod compiled {
    use super::*;
    use crate::eval::Functions;
    use crate::eval::tests::functions_with_losses;
    use crate::model::losses::{LossKind, LossParameters};
    use crate::model::tests::Recorder;
    use crate::solve::{Listener, Solution};
    use residua_ir::graph::Op;
    use residua_linalg::Kind;

    struct Deaf;

    impl Listener for Deaf {
        fn iteration(&mut self, _: &IterationSummary) -> bool {
            false
        }

        fn aborted(&mut self) -> bool {
            false
        }
    }

    const FIRST: f64 = 1.7e9;

    /// a + bt − y at so many times from a first one on, at distances of 10, with outliers.
    fn line(rows: u32, first: f64) -> Functions {
        let mut r = Recorder::default();
        let outputs = (0..rows)
            .map(|row| {
                let since = 10.0 * f64::from(row % 10);
                let outlier = if row % 10 == 3 { 1.0 } else { 0.0 };
                let y = 0.01 * since + 0.02 * f64::from(row * 7 % 10) + outlier;
                let (a, b, t, y) = (r.parameter(0), r.parameter(1), r.constant(first + since), r.constant(y));
                let product = r.apply(Op::Mul, &[b, t]);
                let sum = r.apply(Op::Add, &[a, product]);
                r.apply(Op::Sub, &[sum, y])
            })
            .collect();
        functions_with_losses(r, outputs, &[0.0; 2])
    }

    fn solve(functions: &mut Functions, options: &LevenbergMarquardtOptions) -> Solution {
        block_on(minimise_least_squares(functions, &mut SolverResources::default(), options, &mut Deaf)).unwrap()
    }

    #[test]
    fn every_linear_solver_and_loss_ends_at_the_minimum() {
        let kinds =
            [Kind::DenseQr, Kind::SparseCholesky, Kind::SparseSchur, Kind::DenseSchur, Kind::IterativeSchur, Kind::Pcg];
        let losses = [
            LossParameters::squared(),
            LossParameters::new("huber", 0.2, 1.0, 1.0).unwrap(),
            LossParameters::new("cauchy", 0.2, 1.0, 1.0).unwrap(),
        ];
        let mut arrived = 0;
        for loss in losses {
            for rows in [10, 600] {
                let mut centred = line(rows, -45.0);
                centred.set_loss(0, loss).unwrap();
                let least = solve(&mut centred, &LevenbergMarquardtOptions::defaults());
                for kind in [None].into_iter().chain(kinds.map(Some)) {
                    let mut functions = line(rows, FIRST);
                    functions.set_loss(0, loss).unwrap();
                    let options =
                        LevenbergMarquardtOptions { linear_solver: kind, ..LevenbergMarquardtOptions::defaults() };
                    let Solution { x, summary, details, .. } = solve(&mut functions, &options);
                    let about = format!(
                        "{kind:?} {rows} {:?}: {x:?}, {} {}, {} {}",
                        loss.kind,
                        summary.final_cost,
                        least.summary.final_cost,
                        summary.message(),
                        details.linear_solver
                    );
                    let excess = summary.final_cost / least.summary.final_cost - 1.0;
                    // With a robust loss factorisations of J̃ᵀJ̃ and conjugate gradients may use their iterations up before any test of convergence holds.
                    let is_chosen = matches!(kind, None | Some(Kind::DenseQr));
                    if loss.kind == LossKind::Squared || is_chosen || summary.success() {
                        assert!(summary.success() && excess.abs() < LEFT, "{about}");
                    }
                    arrived += u32::from(summary.success());
                }
            }
        }
        // Of robust losses by the solvers that were asked for, half use their iterations up.
        assert!(arrived >= 28, "{arrived} of 42");
    }

    /// 200 residuals of 150 parameters. Columns are random, but the second one is nearly the first. Dense QR takes more work there than the test of J̃ᵀJ̃ may.
    #[test]
    fn the_pivots_of_a_larger_problem_are_looked_at() {
        for difference in [1e-8, 1.0] {
            let mut state = 1_u64;
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
            };
            let mut r = Recorder::default();
            let outputs = (0..200)
                .map(|_| {
                    let mut factors: Vec<f64> = (0..150).map(|_| random()).collect();
                    let own = factors[1];
                    factors[1] = factors[0] + difference * own;
                    // All parameters are 1, but for 0.1 times what is the second column's own.
                    let y = r.constant(factors.iter().sum::<f64>() + 0.1 * own + 1e-3 * random());
                    (0..).zip(factors).fold(y, |rest, (k, factor)| {
                        let (parameter, factor) = (r.parameter(k), r.constant(factor));
                        let term = r.apply(Op::Mul, &[parameter, factor]);
                        r.apply(Op::Sub, &[rest, term])
                    })
                })
                .collect();
            let mut functions = functions_with_losses(r, outputs, &[0.0; 150]);
            let Solution { x, summary, details, .. } = solve(&mut functions, &LevenbergMarquardtOptions::defaults());
            let about = format!("{:?} {} {} {}", &x[..3], summary.final_cost, summary.message(), details.linear_solver);
            assert!(details.linear_solver.starts_with("dense QR"), "{about}");
            // 1e-3 over the least singular value, some 2.
            assert!(summary.success() && (difference * (x[1] - 1.0) - 0.1).abs() < 1e-3, "{about}");
        }
    }

    #[test]
    fn a_promise_that_no_step_keeps_is_told() {
        // Freudenstein and Roth with b in a unit of 1e-6.
        let mut r = Recorder::default();
        let (a, scaled, unit) = (r.parameter(0), r.parameter(1), r.constant(1e-6));
        let b = r.apply(Op::Mul, &[scaled, unit]);
        let square = r.square(b);
        let cube = r.apply(Op::Mul, &[square, b]);
        let mut outputs = Vec::new();
        for (of_cube, of_square, of_b, less) in [(-1.0, 5.0, -2.0, 13.0), (1.0, 1.0, -14.0, 29.0)] {
            let terms = [(cube, of_cube), (square, of_square), (b, of_b)].map(|(power, factor)| {
                let factor = r.constant(factor);
                r.apply(Op::Mul, &[power, factor])
            });
            let sum = terms.into_iter().fold(a, |sum, term| r.apply(Op::Add, &[sum, term]));
            let less = r.constant(less);
            outputs.push(r.apply(Op::Sub, &[sum, less]));
        }
        let mut functions = functions_with_losses(r, outputs, &[0.5, -2e6]);
        let mut options = LevenbergMarquardtOptions::defaults();
        options.solve.cost_tolerance = 0.0;
        let message = solve(&mut functions, &options).summary.message();
        assert!(message.starts_with("Converged: "), "{message}");
        let found = block_on(deficiency::finding(&mut functions, &mut HostModel::default(), false)).unwrap();
        let names = ["parameter 0", "parameter 1"].map(str::to_owned).to_vec();
        assert_eq!(found, Some(Finding::Rank { rank: 1, columns: 2, names }));
    }
}
