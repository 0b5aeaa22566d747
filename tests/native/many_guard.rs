//! The precision guard of many small problems: which solutions in f32 it takes, and what follows where it does not.

use crate::many::{
    Draft, Silent, block_on, message, noisy_peaks, numbers, on_cpu, on_device, on_device_in, options, peaks,
    samples_batch,
};
use residua::eval::Arithmetic;
use residua::model::losses::LossParameters;
use residua::solve::Termination;
use residua::solve::many::guard::{Guarded, PairSolver, guard};
use residua::solve::many::{Batch, ManyListener, ManyOptions, ManySolutions, SharedProblem, Varying};
use residua::solve::rules::Tolerances;
use residua_base::error::{Error, ErrorCode, Result};
use residua_codegen::wgsl::PairForm;

/// The default tolerances of the package.
fn defaults() -> ManyOptions {
    ManyOptions { tolerances: Tolerances { cost: 1e-8, gradient: 1e-8, parameter: 1e-8 }, ..options() }
}

/// A device without pairs.
struct NoPairs;

impl PairSolver for NoPairs {
    async fn solve(&mut self, _: &Batch<'_>, _: &mut dyn ManyListener) -> Result<ManySolutions> {
        Err(Error::new(ErrorCode::GpuUnavailable, "products are not rounded"))
    }
}

/// The device's kernel in pairs, in the interpreter.
struct InPairs<'a>(&'a SharedProblem);

impl PairSolver for InPairs<'_> {
    async fn solve(&mut self, batch: &Batch<'_>, _: &mut dyn ManyListener) -> Result<ManySolutions> {
        Ok(on_device_in(self.0, batch, &defaults(), 40, Some(PairForm::Split)))
    }
}

fn guarded(template: &SharedProblem, batch: &Batch, solutions: ManySolutions, may_hand_over: bool) -> Guarded {
    let mut none = NoPairs;
    let pairs = may_hand_over.then_some(&mut none);
    block_on(guard(template, batch, &defaults(), solutions, Arithmetic::F32, pairs, &mut Silent)).unwrap()
}

/// A line a + b·t through points whose t and y differ from problem to problem.
fn lines(points: usize) -> SharedProblem {
    let mut draft = Draft::default();
    draft.array(2, "euclidean", &[0.0, 0.0]);
    let zeros = vec![0.0; points];
    draft.block(&[(0, &vec![0; points])], &[&zeros, &zeros], LossParameters::squared(), |g, p, data| {
        let slope = g.mul(p[1], data[0]);
        let value = g.add(p[0], slope);
        vec![g.sub(value, data[1])]
    });
    draft.template()
}

/// So many lines through points that begin at `start`, fifty seconds apart, with slopes near 0.01 and noise.
fn points<'a>(count: u32, points: usize, start: f64) -> Batch<'a> {
    let noise = |number: usize| 0.2 * (number as f64 * number as f64 * 0.7).sin();
    let (mut t, mut y) = (Vec::new(), Vec::new());
    for number in 0..count as usize * points {
        let since = 50.0 * (number % points) as f64;
        t.push(start + since);
        y.push(0.01 * since + noise(number));
    }
    let of = |first_column, values| Varying {
        batch: 0,
        first_column,
        sources: (0..points as u32).collect(),
        length: points,
        numbers: numbers(values),
    };
    Batch { count, parameters: Vec::new(), data: vec![of(0, t), of(1, y)] }
}

#[test]
fn ordinary_fits_of_the_device_keep_their_digits() {
    let template = peaks(LossParameters::squared()).template();
    let (_, samples) = noisy_peaks(12, 0.05);
    let batch = samples_batch(12, samples, 1);
    let device = on_device(&template, &batch, &defaults(), 40);
    assert!(device.termination.iter().all(|end| end.converged()), "{:?}", device.termination);
    let found = guarded(&template, &batch, device.clone(), true);
    let precision = found.precision.unwrap();
    assert!(precision.suffices() && precision.problems == 12, "{precision:?}");
    // 25 squares in f32, as compared with the host elsewhere.
    assert!(precision.loss < 2e-5, "{precision:?}");
    assert_eq!((found.solutions, found.arithmetic), (device, Arithmetic::F32), "nothing changes");
}

#[test]
fn unix_time_stamps_are_lost_on_the_device_and_solved_on_the_host() {
    let (template, batch) = (lines(40), points(6, 40, 1.7e9));
    let device = on_device(&template, &batch, &defaults(), 40);
    assert!(!device.termination.iter().any(|end| end.converged()), "{:?}", device.termination);

    let refused = guarded(&template, &batch, device.clone(), false);
    assert!(!refused.solutions.termination.iter().any(|end| end.converged()), "{:?}", refused.solutions.termination);
    assert!(refused.solutions.termination.contains(&Termination::PrecisionLimit));

    let continued = guarded(&template, &batch, device.clone(), true);
    assert_eq!(continued.arithmetic, Arithmetic::F64);
    let reason = continued.reason().unwrap();
    // None has converged: what is told of rounding is that of where they ended.
    let says = "of which 6 have lost digits. The CPU solved the problems again in double precision, from their starts.";
    assert!(
        reason.starts_with("Rounding in single precision explains up to 1e0 of a problem's cost")
            && reason.ends_with(says),
        "{reason}"
    );
    let exact = on_cpu(&template, &batch, &defaults());
    for problem in 0..6 {
        let (slope, expected) = (continued.solutions.x[2 * problem + 1], exact.x[2 * problem + 1]);
        // The condition of a line over 2,000 seconds at 1.7e9 is 3e6, and its square, 1e13, stands in normal equations.
        assert!((slope - expected).abs() < 1e-3 * expected.abs(), "{slope} {expected}");
        assert!((expected - 0.01).abs() < 2e-4, "noise of 0.2 over 2,000 seconds: {expected}");
        assert!(continued.solutions.iterations[problem] >= device.iterations[problem], "those of both");
    }
}

#[test]
fn what_single_precision_loses_the_device_solves_again_in_pairs() {
    let (template, batch) = (lines(40), points(6, 40, 1.7e6));
    let device = on_device(&template, &batch, &defaults(), 40);
    let mut pairs = InPairs(&template);
    let continued =
        block_on(guard(&template, &batch, &defaults(), device, Arithmetic::F32, Some(&mut pairs), &mut Silent))
            .unwrap();
    assert_eq!(continued.arithmetic, Arithmetic::F32x2);
    assert_eq!(continued.reason(), None, "the problems are solved on the device");
    assert!(continued.precision.unwrap().suffices(), "{:?}", continued.precision);
    let text = message(&continued);
    let again = "The GPU solved the problems again in double-single precision, from the solutions in single precision.";
    assert!(text.contains(again) && text.starts_with("6 of 6 problems converged."), "{text}");
    let exact = on_cpu(&template, &batch, &defaults());
    for (found, expected) in continued.solutions.x.iter().zip(&exact.x) {
        // The condition of a line over 2,000 seconds at 1.7e6 is 3e3.
        assert!((found - expected).abs() < 1e-6 * expected.abs(), "{found} {expected}");
    }
}

/// The device's kernel in pairs, which counts the problems that it is asked for.
struct CountedInPairs<'a>(InPairs<'a>, Vec<u32>);

impl PairSolver for CountedInPairs<'_> {
    async fn solve(&mut self, batch: &Batch<'_>, audience: &mut dyn ManyListener) -> Result<ManySolutions> {
        self.1.push(batch.count);
        self.0.solve(batch, audience).await
    }
}

#[test]
fn problems_at_the_precision_limit_go_on_in_pairs_alone() {
    const NUMBERS: usize = 5;
    let template = peaks(LossParameters::squared()).template();
    let (_, samples) = noisy_peaks(12, 0.05);
    let batch = samples_batch(12, samples, 1);
    let mut device = on_device(&template, &batch, &defaults(), 40);
    let exact = on_cpu(&template, &batch, &defaults());
    for limited in [vec![7], vec![2, 7, 11]] {
        // Ended 1 % beside the solution.
        for &problem in &limited {
            device.x[NUMBERS * problem] = 1.01 * exact.x[NUMBERS * problem];
            device.cost[problem] = 1.1 * exact.cost[problem];
            device.termination[problem] = Termination::PrecisionLimit;
        }
        let mut pairs = CountedInPairs(InPairs(&template), Vec::new());
        let solutions = device.clone();
        let found =
            block_on(guard(&template, &batch, &defaults(), solutions, Arithmetic::F32, Some(&mut pairs), &mut Silent))
                .unwrap();
        assert_eq!(pairs.1, [limited.len() as u32], "one solve, of these problems");
        assert!(found.precision.unwrap().suffices(), "those that have converged keep their digits");
        assert_eq!((found.arithmetic, found.reason()), (Arithmetic::F32, None), "that of the others");
        for problem in 0..12 {
            let of = |solutions: &ManySolutions| {
                let x = solutions.x[NUMBERS * problem..NUMBERS * (problem + 1)].to_vec();
                (x, solutions.cost[problem], solutions.iterations[problem], solutions.termination[problem])
            };
            let (x, cost, iterations, end) = of(&found.solutions);
            if !limited.contains(&problem) {
                assert_eq!((x, cost, iterations, end), of(&device), "{problem} is as it was");
                continue;
            }
            assert!(end.converged() && iterations > device.iterations[problem], "{problem}: {end:?}, {iterations}");
            // The cost changes by less than 1e-8 at the last step.
            assert!((cost / exact.cost[problem] - 1.0).abs() < 1e-8, "{problem}: {cost}");
        }
        let which = match limited.len() {
            1 => "1 problem that had come to no minimum for certain".to_owned(),
            count => format!("{count} problems that had come to no minimum for certain"),
        };
        let says = format!("The GPU solved {which} again in double-single precision, from where they had ended.");
        let text = message(&found);
        assert!(text.starts_with("12 of 12 problems converged.") && text.ends_with(&says), "{text}");
    }
    // Without pairs the host begins them at their starts.
    let found = guarded(&template, &batch, device, true);
    for problem in [2, 7, 11] {
        assert_eq!(found.solutions.cost[problem], exact.cost[problem], "{problem}");
    }
    assert!(message(&found).ends_with("again in double precision, from their starts."), "{}", message(&found));
}

/// What a device would give that loses nothing: solutions of the host, rounded.
fn rounded(mut solutions: ManySolutions) -> ManySolutions {
    let round = |number: &mut f64| *number = f64::from(*number as f32);
    solutions.x.iter_mut().chain(&mut solutions.cost).for_each(round);
    solutions
}

#[test]
fn a_sample_has_256_problems_and_those_with_the_largest_numbers() {
    let (template, count) = (lines(5), 2_000);
    let mut batch = points(count, 5, 0.0);
    let mut y = vec![0.0; 5 * count as usize];
    (batch.data[1].numbers)(0, &mut y);
    // The one problem with a large number, at a position that regular samples leave out.
    y[5 * 1_230 + 1] = 1e6;
    batch.data[1].numbers = numbers(y);
    let sound = rounded(on_cpu(&template, &batch, &defaults()));
    let precision = guarded(&template, &batch, sound.clone(), false).precision.unwrap();
    assert!(precision.suffices(), "{precision:?}");
    assert!(precision.problems == 257, "{precision:?}");
    let mut lost = sound.clone();
    lost.cost[1_230] *= 1.01;
    let precision = guarded(&template, &batch, lost, false).precision.unwrap();
    assert_eq!(precision.lost, 1, "{precision:?}");
    // A cost that is right to 5e-4 at a point that is off.
    let mut moved = sound.clone();
    moved.x[2 * 1_230] *= 1.001;
    moved.cost[1_230] *= 1.0005;
    let precision = guarded(&template, &batch, moved, false).precision.unwrap();
    assert!(precision.lost == 1 && precision.loss < 1e-3 && precision.shift > 1e-4, "{precision:?}");
}

#[test]
fn only_problems_that_have_lost_digits_end_at_the_limit() {
    let (template, batch) = (lines(5), points(2_000, 5, 0.0));
    let sound = rounded(on_cpu(&template, &batch, &defaults()));
    let mut solutions = sound.clone();
    // 0 is in every sample; regular samples leave the others out.
    let lost = [0, 777, 1_501];
    for problem in lost {
        solutions.cost[problem] *= 1.01;
    }
    let found = guarded(&template, &batch, solutions, false);
    let precision = found.precision.unwrap();
    assert_eq!((precision.problems, precision.lost), (2_000, 3), "all are checked: {precision:?}");
    for (problem, end) in found.solutions.termination.iter().enumerate() {
        let expected = if lost.contains(&problem) { Termination::PrecisionLimit } else { sound.termination[problem] };
        assert_eq!(*end, expected, "{problem}");
    }
    let text = message(&found);
    assert!(
        text.starts_with("1997 of 2000 problems converged.") && text.contains("of which 3 have lost digits"),
        "{text}"
    );
}

#[test]
fn the_sample_is_of_problems_that_have_converged() {
    let (template, batch) = (lines(5), points(2_000, 5, 0.0));
    let mut solutions = rounded(on_cpu(&template, &batch, &defaults()));
    // Positions that regular samples of all problems leave out.
    let few = [777, 1_501];
    for (problem, end) in solutions.termination.iter_mut().enumerate().filter(|(problem, _)| !few.contains(problem)) {
        assert!(end.converged(), "{problem}");
        *end = Termination::MaxIterations;
    }
    solutions.cost[1_501] *= 1.01;
    let precision = guarded(&template, &batch, solutions, false).precision.unwrap();
    assert_eq!((precision.problems, precision.lost), (2, 1), "{precision:?}");
}

#[test]
fn loose_tolerances_are_no_loss() {
    let template = peaks(LossParameters::squared()).template();
    let (_, samples) = noisy_peaks(12, 0.05);
    let batch = samples_batch(12, samples, 1);
    let loose = ManyOptions { tolerances: Tolerances { cost: 1e-2, gradient: 1e-2, parameter: 1e-2 }, ..options() };
    let device = on_device(&template, &batch, &loose, 40);
    let found =
        block_on(guard(&template, &batch, &loose, device, Arithmetic::F32, None::<&mut NoPairs>, &mut Silent)).unwrap();
    assert!(found.precision.unwrap().suffices(), "{:?}", found.precision);
}

/// A caller who has aborted.
struct Aborted;

impl ManyListener for Aborted {
    fn progress(&mut self, _: u32) {}
    fn aborted(&mut self) -> bool {
        true
    }
}

#[test]
fn nothing_is_checked_after_an_abort_or_without_a_converged_problem() {
    let (template, batch) = (lines(3), points(2, 3, 0.0));
    let mut solutions = on_cpu(&template, &batch, &defaults());
    let found = block_on(guard(
        &template,
        &batch,
        &defaults(),
        solutions.clone(),
        Arithmetic::F32,
        Some(&mut NoPairs),
        &mut Aborted,
    ))
    .unwrap();
    assert_eq!(found.precision, None);
    solutions.termination.fill(Termination::MaxIterations);
    assert_eq!(guarded(&template, &batch, solutions, true).precision, None);
    assert_eq!(guarded(&template, &Batch::default(), ManySolutions::default(), true).precision, None);
}

#[test]
fn the_message_counts_problems_that_do_not_determine_all_parameters() {
    let (_, samples) = noisy_peaks(3, 0.0);
    let message_from = |centre: f64| {
        let mut draft = peaks(LossParameters::default());
        draft.values[1] = centre;
        let (template, batch) = (draft.template(), samples_batch(3, samples.clone(), 1));
        let exact = on_cpu(&template, &batch, &defaults());
        let on_host = message(&Guarded::of_host(exact));
        let checked = message(&guarded(&template, &batch, on_device(&template, &batch, &defaults(), 40), false));
        [on_host, checked]
    };
    let what = "converged where the residuals do not determine all parameters, by position 0, 1, 2";
    // The bell lies so far from all samples that it is 0 there, or far below the rounding error of the residuals, and only the line is fitted.
    for centre in [100.0, 12.0] {
        let [on_host, checked] = message_from(centre);
        assert!(on_host.starts_with(&format!("3 of 3 problems converged. 3 {what}")), "{centre}: {on_host}");
        assert!(checked.contains(&format!("3 of the 3 that were checked {what}")), "{centre}: {checked}");
    }
    assert!(message_from(0.0).iter().all(|message| !message.contains(what)));
}

#[test]
fn what_the_device_does_not_prove_and_the_host_does_not_reach_is_no_success() {
    let (template, batch) = (lines(40), points(3, 40, 0.0));
    let exact = on_cpu(&template, &batch, &defaults());
    assert!(exact.termination.iter().all(|end| end.converged()));
    // Beside the minima, with a tolerance met there; the host begins at the starts, and may not take a step.
    let x = exact.x.iter().map(|number| number + 1e-3).collect();
    let device = ManySolutions { x, unproven: vec![true; 3], ..exact };
    let few = ManyOptions { max_iterations: Some(0), ..defaults() };
    let found =
        block_on(guard(&template, &batch, &few, device.clone(), Arithmetic::F32, Some(&mut NoPairs), &mut Silent))
            .unwrap();
    assert_eq!(found.solutions.termination, [Termination::PrecisionLimit; 3]);
    assert_eq!(found.solutions.x, device.x, "the lower cost is that of the device");
}
