//! The line search of the host, by [`line_rule`]: a state machine that takes the result of a trial step and returns the next step.

use std::rc::Rc;

use crate::solve::lbfgs::ending::Failure;
use crate::solve::lbfgs::rules::line_search as line_rule;
use crate::solve::scalar::evaluate;
use residua_codegen::Function;

/// The result of a trial step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trial {
    /// Cost and derivatives are finite.
    Finite {
        /// φ(α).
        cost: f64,
        /// φ′(α).
        slope: f64,
        /// Gradient at the start times the projected displacement; αφ′(0) on a straight path in exact arithmetic.
        predicted: f64,
        /// Whether bounds bend the path.
        bent: bool,
    },
    /// The cost, a derivative or the point is NaN or infinite.
    NonFinite,
    /// The trial point, rounded, is the point where the search began.
    Unmoved,
}

/// The decision on a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The last trial is the best so far, and the caller stores it, since the search may end with it.
    pub store: bool,
    /// The next action.
    pub then: Next,
}

/// The next action of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Evaluate this step.
    Try(f64),
    /// Accept the trial that was stored last.
    Accept,
    /// No trial is acceptable.
    Fail(Failure),
}

/// The start of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// φ(0).
    pub cost: f64,
    /// φ′(0), negative.
    pub slope: f64,
    /// Rounding error of costs near the start.
    pub noise: f64,
    /// The highest cost of an acceptable trial whose decrease is below the noise: φ(0) plus the noise, or less if a lower cost is known.
    pub ceiling: f64,
}

/// The parameters of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// c₁ of the Wolfe conditions.
    pub c1: f64,
    /// c₂ of the Wolfe conditions.
    pub c2: f64,
    /// Trials at most.
    pub max_trials: u32,
    /// Distance from 1 to the next number of the coordinates' arithmetic.
    pub resolution: f64,
}

/// A search: the arguments of [`line_rule`].
#[derive(Clone, Debug)]
pub struct LineSearch {
    rule: Rc<Rule>,
    origin: Origin,
    conditions: Conditions,
    /// The step of the current trial.
    step: f64,
    /// The step of the trial that was stored last.
    stored: f64,
    trials: u32,
    /// The bracket: the longest step that lowered the cost enough, and the shortest that did not; 0 means none.
    lower: f64,
    upper: f64,
    seen_finite: bool,
    /// Whether a step was refused. Then W is not required: it would lead to a step as long as that.
    refused: bool,
    /// Results of [`line_rule::contradictions`].
    contradictions: [f64; 3],
}

/// The functions of [`line_rule`], shared by the searches of a run.
#[derive(Debug)]
pub struct Rule {
    verdict: Rc<Function>,
    bracket: Rc<Function>,
    contradictions: Rc<Function>,
    outcome: Rc<Function>,
}

impl Rule {
    /// Builds the functions.
    pub fn new() -> Rc<Rule> {
        Rc::new(Rule {
            verdict: line_rule::verdict(),
            bracket: line_rule::bracket(),
            contradictions: line_rule::contradictions(),
            outcome: line_rule::outcome(),
        })
    }
}

impl LineSearch {
    /// A search whose first trial is `step`.
    pub fn new(rule: Rc<Rule>, origin: Origin, conditions: Conditions, step: f64) -> LineSearch {
        LineSearch {
            rule,
            origin,
            conditions,
            step,
            stored: 0.0,
            trials: 0,
            lower: 0.0,
            upper: 0.0,
            seen_finite: false,
            refused: false,
            contradictions: [0.0; 3],
        }
    }

    /// The step to evaluate.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The step of the trial that was stored last.
    pub fn accepted_step(&self) -> f64 {
        self.stored
    }

    /// Whether another trial may follow.
    pub fn has_trials(&self) -> bool {
        self.trials < self.conditions.max_trials
    }

    /// Goes on with a shorter step than the one that was to be accepted, as if its trial were not finite.
    pub fn refuse(&mut self) {
        self.refused = true;
        let figures = [line_rule::NON_FINITE_TRIAL, 0.0, self.upper, self.stored];
        [self.lower, self.upper, self.step] = evaluate(&self.rule.bracket, &figures);
    }

    /// Judges the trial of [`LineSearch::step`].
    pub fn judge(&mut self, trial: Trial) -> Decision {
        let Origin { cost: before, slope: slope0, noise, ceiling } = self.origin;
        let Conditions { c1, c2, max_trials, resolution } = self.conditions;
        let (step, headroom) = (self.step, ceiling - before);
        self.trials += 1;
        let (verdict, rise, slope) = match trial {
            Trial::Unmoved => (line_rule::UNMOVED, 0.0, 0.0),
            Trial::NonFinite => (line_rule::NON_FINITE_TRIAL, 0.0, 0.0),
            Trial::Finite { cost, slope, predicted, bent } => {
                self.seen_finite = true;
                let (rise, bent) = (cost - before, f64::from(u8::from(bent || self.refused)));
                let figures = [rise, slope, predicted, bent, slope0, noise, headroom, c1, c2];
                let [verdict] = evaluate(&self.rule.verdict, &figures);
                (verdict, rise, slope)
            }
        };
        let [contradictions, risen_step, risen_secant] = self.contradictions;
        let figures = [verdict, rise, slope, noise, step, contradictions, risen_step, risen_secant];
        self.contradictions = evaluate(&self.rule.contradictions, &figures);
        [self.lower, self.upper, self.step] = evaluate(&self.rule.bracket, &[verdict, self.lower, self.upper, step]);
        let [outcome] = evaluate(
            &self.rule.outcome,
            &[
                verdict,
                rise,
                slope,
                self.lower,
                self.upper,
                step,
                f64::from(self.trials),
                f64::from(max_trials),
                f64::from(u8::from(self.seen_finite)),
                self.contradictions[0],
                slope0,
                noise,
                headroom,
                resolution,
            ],
        );
        let store = verdict == line_rule::ACCEPTABLE || verdict == line_rule::TOO_SHORT;
        if store {
            self.stored = step;
        }
        let then = match outcome {
            line_rule::CONTINUE => Next::Try(self.step),
            line_rule::ACCEPT_TRIAL | line_rule::ACCEPT_LOWER => Next::Accept,
            other => Next::Fail(Failure::of(other)),
        };
        Decision { store, then }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONDITIONS: Conditions = Conditions { c1: 1e-4, c2: 0.9, max_trials: 20, resolution: f64::EPSILON };

    fn origin(cost: f64, slope: f64, noise: f64) -> Origin {
        Origin { cost, slope, noise, ceiling: cost + noise }
    }

    fn straight(step: f64, cost: f64, slope: f64, origin: Origin) -> Trial {
        Trial::Finite { cost, slope, predicted: step * origin.slope, bent: false }
    }

    /// Runs a search over φ and φ′; returns how it ended, the step it stored last and all steps it tried.
    fn search(
        phi: impl Fn(f64) -> (f64, f64),
        noise: f64,
        conditions: Conditions,
        first: f64,
    ) -> (Next, Option<f64>, Vec<f64>) {
        let (cost, slope) = phi(0.0);
        let origin = origin(cost, slope, noise);
        let mut search = LineSearch::new(Rule::new(), origin, conditions, first);
        let (mut stored, mut tried) = (None, Vec::new());
        loop {
            let step = search.step();
            tried.push(step);
            let (cost, slope) = phi(step);
            let trial = if cost.is_finite() && slope.is_finite() {
                straight(step, cost, slope, origin)
            } else {
                Trial::NonFinite
            };
            let decision = search.judge(trial);
            if decision.store {
                stored = Some(step);
            }
            match decision.then {
                Next::Try(next) => assert_eq!(next, search.step()),
                end => return (end, stored, tried),
            }
        }
    }

    /// The functions of Moré and Thuente (1994), section 5, with their conditions on c₁ and c₂, from starts eight decades apart.
    #[test]
    fn the_wolfe_conditions_hold_on_the_functions_of_more_and_thuente() {
        type Phi = fn(f64) -> (f64, f64);
        let yanai = |a: f64, b1: f64, b2: f64| {
            let gamma = |b: f64| (1.0 + b * b).sqrt() - b;
            let (g1, g2) = (gamma(b1), gamma(b2));
            let (r1, r2) = (((1.0 - a).powi(2) + b2 * b2).sqrt(), (a * a + b1 * b1).sqrt());
            (g1 * r1 + g2 * r2, -g1 * (1.0 - a) / r1 + g2 * a / r2)
        };
        let cases: [(Phi, f64, f64); 3] = [
            (|a| (-a / (a * a + 2.0), (a * a - 2.0) / (a * a + 2.0).powi(2)), 0.001, 0.1),
            (
                |a| {
                    let t = a + 0.004;
                    (t.powi(5) - 2.0 * t.powi(4), 5.0 * t.powi(4) - 8.0 * t.powi(3))
                },
                0.1,
                0.1,
            ),
            (|a| (a * a - a, 2.0 * a - 1.0), 1e-4, 0.9),
        ];
        let check = |phi: &dyn Fn(f64) -> (f64, f64), c1: f64, c2: f64| {
            for first in [3e-3, 3e-1, 3e1, 3e3] {
                let conditions = Conditions { c1, c2, max_trials: 60, ..CONDITIONS };
                let (end, stored, tried) = search(phi, 0.0, conditions, first);
                assert_eq!(end, Next::Accept, "{first} {tried:?}");
                let step = stored.unwrap();
                let ((cost0, slope0), (cost, slope)) = (phi(0.0), phi(step));
                assert!(cost <= cost0 + c1 * step * slope0, "{first}: {step}");
                assert!(slope >= c2 * slope0, "{first}: {step} {slope} {slope0}");
                assert!(tried.len() <= 25, "{first}: {tried:?}");
            }
        };
        for (phi, c1, c2) in cases {
            check(&phi, c1, c2);
        }
        for (b1, b2) in [(0.001, 0.001), (0.01, 0.001), (0.001, 0.01)] {
            check(&|a| yanai(a, b1, b2), 0.001, 0.001);
        }
    }

    #[test]
    fn a_first_step_that_satisfies_both_conditions_is_accepted() {
        let (end, stored, tried) = search(|a| ((a - 1.0).powi(2), 2.0 * (a - 1.0)), 0.0, CONDITIONS, 1.0);
        assert_eq!((end, stored, tried), (Next::Accept, Some(1.0), vec![1.0]));
    }

    #[test]
    fn a_step_without_w_is_lengthened_and_one_without_a_closes_the_bracket() {
        let origin = origin(0.0, -1.0, 0.0);
        let mut search = LineSearch::new(Rule::new(), origin, CONDITIONS, 1.0);
        let decision = search.judge(straight(1.0, -1.0, -1.0, origin));
        assert_eq!(decision, Decision { store: true, then: Next::Try(4.0) });
        // The middle of 1 and 4.
        let decision = search.judge(straight(4.0, 2.0, 5.0, origin));
        assert_eq!(decision, Decision { store: false, then: Next::Try(2.5) });
        // The cost is low enough, and a positive slope satisfies W.
        let decision = search.judge(straight(2.5, -1.5, 3.0, origin));
        assert_eq!(decision, Decision { store: true, then: Next::Accept });
    }

    #[test]
    fn steps_depend_on_the_verdicts_alone() {
        let rule = Rule::new();
        // Verdicts, and the steps that follow them from 1.
        let cases: [(&[f64], &[f64]); 5] = [
            (&[line_rule::TOO_LONG, line_rule::TOO_LONG, line_rule::TOO_LONG], &[0.5, 0.25, 0.25 / 64.0]),
            (&[line_rule::TOO_LONG, line_rule::TOO_SHORT, line_rule::TOO_SHORT], &[0.5, 0.75, 0.875]),
            (&[line_rule::TOO_SHORT, line_rule::TOO_SHORT, line_rule::TOO_LONG], &[4.0, 16.0, 10.0]),
            (&[line_rule::NON_FINITE_TRIAL, line_rule::TOO_SHORT], &[0.25, 0.625]),
            (&[line_rule::UNMOVED, line_rule::TOO_LONG], &[16.0, 8.0]),
        ];
        for (verdicts, steps) in cases {
            let (mut lower, mut upper, mut step) = (0.0, 0.0, 1.0);
            for (&verdict, &expected) in verdicts.iter().zip(steps) {
                [lower, upper, step] = evaluate(&rule.bracket, &[verdict, lower, upper, step]);
                assert_eq!(step, expected, "{verdicts:?}");
            }
        }
    }

    #[test]
    fn non_finite_trials_shrink_the_step_to_a_quarter() {
        let barrier = |a: f64| if a < 0.3 { (-a, -1.0 + 2.0 * a) } else { (f64::NAN, f64::NAN) };
        let (end, stored, tried) = search(barrier, 0.0, CONDITIONS, 1.0);
        assert_eq!((end, stored), (Next::Accept, Some(0.25)));
        assert_eq!(tried, [1.0, 0.25]);
        let nowhere = |a: f64| if a == 0.0 { (0.0, -1.0) } else { (f64::INFINITY, 0.0) };
        let (end, _, tried) = search(nowhere, 0.0, CONDITIONS, 1.0);
        assert_eq!((end, tried.len()), (Next::Fail(Failure::NonFinite), 20));
    }

    #[test]
    fn an_exhausted_search_accepts_its_lower_end_and_fails_without_one() {
        // The cost falls at every step, so the last trial is the lowest.
        let two = Conditions { max_trials: 2, ..CONDITIONS };
        let (end, stored, _) = search(|a| (-a, -1.0), 0.0, two, 1.0);
        assert_eq!((end, stored), (Next::Accept, Some(4.0)));
        let (end, stored, tried) = search(|a| (if a > 0.0 { 1.0 } else { 0.0 }, -1.0), 1e-16, two, 1.0);
        assert_eq!((end, stored, tried.len()), (Next::Fail(Failure::Exhausted), None, 2));
    }

    #[test]
    fn a_wrong_derivative_is_distinguished_from_rounding() {
        // With a derivative of the wrong sign the cost rises at every step.
        let (end, stored, _) = search(|a| (1.0 + a, -1.0), 1e-16, CONDITIONS, 1.0);
        assert_eq!((end, stored), (Next::Fail(Failure::Contradiction), None));
        // Noise a thousand times the expected noise rises too, but by the same amount at every step.
        let noisy = |a: f64| (1.0 + if a > 0.0 { 1e-4 } else { 0.0 } - 1e-7 * a, -1e-7);
        let (end, stored, _) = search(noisy, 1e-7, CONDITIONS, 1.0);
        assert_eq!((end, stored), (Next::Fail(Failure::Precision), None));
    }

    #[test]
    fn below_the_noise_slopes_decide() {
        // The parabola is 1e-9 deep and the noise 1e-7, so costs carry no information.
        let noisy = |a: f64| (1.0 + if a > 0.0 { 0.9e-7 } else { 0.0 }, 1e-9 * 2.0 * (a - 1.0));
        let (end, stored, tried) = search(noisy, 1e-7, CONDITIONS, 1.0);
        assert_eq!((end, stored, tried.len()), (Next::Accept, Some(1.0), 1));
        // At 2 the slope is minus the slope at the start, so the step is rejected; at the middle it is 0.
        let (end, _, tried) = search(noisy, 1e-7, CONDITIONS, 2.0);
        assert_eq!((end, tried.len()), (Next::Accept, 2));
        assert!((tried[1] - 1.0).abs() < 1e-9, "{tried:?}");
        // What is predicted is within the noise, and rounding errors of a sum of 20 numbers are more than that.
        let sum = |a: f64| (1.0 + if a > 0.0 { 20e-7 } else { 0.0 }, 1e-9 * 2.0 * (a - 1.0));
        let (end, stored, _) = search(sum, 1e-7, CONDITIONS, 1.0);
        assert_eq!((end, stored), (Next::Accept, Some(1.0)));
        // Above the ceiling a trial is rejected, although its slope is almost 0.
        let mut search =
            LineSearch::new(Rule::new(), Origin { ceiling: 1.0, ..origin(1.0, -1e-9, 1e-7) }, CONDITIONS, 1.0);
        let trial = Trial::Finite { cost: 1.0 + 101e-7, slope: -1e-12, predicted: -1e-9, bent: false };
        assert_eq!(search.judge(trial).then, Next::Fail(Failure::Precision));
    }

    #[test]
    fn on_a_bent_path_decrease_over_the_projected_displacement_is_enough() {
        let mut search = LineSearch::new(Rule::new(), origin(1.0, -1.0, 0.0), CONDITIONS, 1.0);
        let trial = Trial::Finite { cost: 0.9, slope: -1.0, predicted: -0.1, bent: true };
        assert_eq!(search.judge(trial), Decision { store: true, then: Next::Accept });
        // A displacement that points uphill is rejected.
        let mut search = LineSearch::new(Rule::new(), origin(1.0, -1.0, 0.0), CONDITIONS, 1.0);
        let trial = Trial::Finite { cost: 0.9, slope: -1.0, predicted: 0.1, bent: true };
        let decision = search.judge(trial);
        assert!(!decision.store && matches!(decision.then, Next::Try(step) if step < 1.0), "{decision:?}");
    }

    #[test]
    fn an_unmoved_first_trial_lengthens_the_step_and_a_later_one_ends_the_search() {
        let origin = origin(1.0, -1.0, 0.0);
        let mut search = LineSearch::new(Rule::new(), origin, CONDITIONS, 1.0);
        assert_eq!(search.judge(Trial::Unmoved).then, Next::Try(16.0));
        assert!(matches!(search.judge(straight(16.0, 2.0, 1.0, origin)).then, Next::Try(step) if step < 16.0));
        assert_eq!(search.judge(Trial::Unmoved).then, Next::Fail(Failure::Precision));
    }
}
