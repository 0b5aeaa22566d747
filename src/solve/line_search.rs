//! A line search for the strong Wolfe conditions, as a state machine: it takes what a trial step brought and answers with the next one.
//!
//! Bracketing and zoom are algorithms 3.5 and 3.6 of Nocedal and Wright, Numerical Optimization (2nd ed.), with φ(α) the cost along the
//! direction: c₁ asks for decrease, c₂ for a flatter slope. What is added:
//!
//! - Trials that are NaN or infinite bound the interval from above, and the next one is much nearer.
//! - Where costs differ by less than their rounding error, slopes decide: the approximate Wolfe conditions of W. Hager and H. Zhang, "A new
//!   conjugate gradient method with guaranteed descent and an efficient line search", SIAM J. Optim. 16 (2005).
//! - A search that cannot go on ends with the lowest step that brought enough decrease; without one it says whether rounding is why.
//! - On a path that bends at the bounds, decrease is measured against the displacement that was really made (D. Bertsekas, "On the
//!   Goldstein-Levitin-Polyak gradient projection method", IEEE Trans. Automatic Control 21, 1976), and it is all that is asked there: the
//!   slope jumps at a bend, so that no step need satisfy the other condition.

/// What a trial step brought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trial {
    /// Cost and derivatives there are finite.
    Finite {
        /// φ(α).
        cost: f64,
        /// φ′(α).
        slope: f64,
        /// Gradient at the start times the displacement really made; αφ′(0) on a straight path in exact arithmetic.
        predicted: f64,
        /// Bounds bent the path on the way there.
        bent: bool,
    },
    /// The cost, a derivative or the point is NaN or infinite.
    NonFinite,
    /// Rounded, the point is where the search began.
    Unmoved,
}

/// What follows from a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The trial just judged is the best so far: to be stored, since it may be what the search ends with.
    pub store: bool,
    /// What to do.
    pub then: Next,
}

/// How a search goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Try this step.
    Try(f64),
    /// Take the trial last stored.
    Accept,
    /// There is nothing to take.
    Fail(Failure),
}

/// Why a search found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The steps that are left change the cost by less than its rounding error.
    Precision,
    /// Every trial was NaN or infinite.
    NonFinite,
    /// However short the step, the cost rises in proportion where its derivative says that it falls.
    Contradiction,
    /// All trials allowed are spent.
    Exhausted,
}

/// What a search starts from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// φ(0).
    pub cost: f64,
    /// φ′(0), negative.
    pub slope: f64,
    /// Rounding error of costs near the start.
    pub noise: f64,
    /// A trial whose decrease is hidden by rounding may cost at most this; φ(0) plus the noise, or less if a lower cost was seen before.
    pub ceiling: f64,
}

/// The constants of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Share of the predicted decrease that is enough.
    pub c1: f64,
    /// Share of the slope that may remain.
    pub c2: f64,
    /// Trials, at most.
    pub max_trials: u32,
}

/// An evaluation chains many roundings, up to about this many that add up; `noise` counts one. It decides what an exhausted search is called,
/// not how it goes.
pub(super) const ROUNDINGS: f64 = 100.0;

/// So many shorter and shorter trials in a row whose cost rises in proportion to the step are no accident of rounding, which knows no steps.
const CONTRADICTIONS: u32 = 4;

#[derive(Clone, Copy, Debug)]
struct Sample {
    step: f64,
    cost: f64,
    slope: f64,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct LineSearch {
    origin: Origin,
    conditions: Conditions,
    /// The step being tried.
    step: f64,
    trials: u32,
    /// The step with the least cost among those of sufficient decrease; the origin at first.
    low: Sample,
    /// The other end of the bracket; its cost is infinite where nothing is known. `None` while bracketing.
    high: Option<Sample>,
    /// Widths of the bracket after the last two trials, the older first.
    widths: [f64; 2],
    seen_finite: bool,
    /// The last trial that rose against its slope, and how many in a row agree with it on the true slope.
    risen: Option<Sample>,
    contradictions: u32,
}

impl LineSearch {
    /// A search whose first trial is `step`.
    pub fn new(origin: Origin, conditions: Conditions, step: f64) -> LineSearch {
        LineSearch {
            origin,
            conditions,
            step,
            trials: 0,
            low: Sample { step: 0.0, cost: origin.cost, slope: origin.slope },
            high: None,
            widths: [f64::INFINITY; 2],
            seen_finite: false,
            risen: None,
            contradictions: 0,
        }
    }

    /// The step to try now.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The step that was last stored.
    pub fn accepted_step(&self) -> f64 {
        self.low.step
    }

    /// Judges the trial of [`LineSearch::step`].
    pub fn judge(&mut self, trial: Trial) -> Decision {
        self.trials += 1;
        match trial {
            Trial::Unmoved => Decision { store: false, then: self.after_unmoved() },
            Trial::NonFinite => {
                self.high = Some(Sample { step: self.step, cost: f64::INFINITY, slope: f64::NAN });
                Decision { store: false, then: self.go_on() }
            }
            Trial::Finite { cost, slope, predicted, bent } => {
                self.seen_finite = true;
                let sample = Sample { step: self.step, cost, slope };
                let enough = self.decreases_enough(sample, predicted);
                if enough && (bent || slope.abs() <= self.conditions.c2 * self.origin.slope.abs()) {
                    self.low = sample;
                    return Decision { store: true, then: Next::Accept };
                }
                self.compare_slope_with_cost(sample);
                let store = self.narrow(sample, enough);
                // Its whole effect is below the noise, yet its cost rose beyond it and against its slope: the noise is all there is.
                let hidden = self.low.step == 0.0
                    && self.step * self.origin.slope.abs() <= self.origin.noise
                    && slope < 0.0
                    && !self.within_noise(sample);
                let then = if hidden { self.end(Failure::Precision) } else { self.go_on() };
                Decision { store, then }
            }
        }
    }

    /// The first Wolfe condition, or where rounding hides it, what is equivalent to it on a parabola (Hager and Zhang).
    fn decreases_enough(&self, sample: Sample, predicted: f64) -> bool {
        let Conditions { c1, .. } = self.conditions;
        let seen = predicted < 0.0 && sample.cost <= self.origin.cost + c1 * predicted;
        let hidden = self.within_noise(sample) && sample.slope <= (2.0 * c1 - 1.0) * self.origin.slope;
        seen || hidden
    }

    /// Whether the cost there says nothing, so that slopes decide.
    fn within_noise(&self, sample: Sample) -> bool {
        sample.cost <= self.origin.ceiling && (sample.cost - self.origin.cost).abs() <= self.origin.noise
    }

    /// Places the sample in the bracket; says whether it is the new low end.
    fn narrow(&mut self, sample: Sample, enough: bool) -> bool {
        let bracketing = self.high.is_none();
        let first = self.low.step == 0.0;
        let higher = if bracketing && first { false } else { sample.cost >= self.low.cost + self.origin.noise };
        if !enough || higher {
            self.high = Some(sample);
            return false;
        }
        let toward_high = match self.high {
            Some(high) => sample.slope * (high.step - self.low.step) >= 0.0,
            None => sample.slope >= 0.0,
        };
        if toward_high {
            self.high = Some(self.low);
        }
        if self.high.is_none() {
            self.step = self.extrapolate(sample);
        }
        self.low = sample;
        true
    }

    fn after_unmoved(&mut self) -> Next {
        if self.high.is_some() || self.low.step > 0.0 {
            return self.end(Failure::Precision);
        }
        if self.trials >= self.conditions.max_trials {
            return self.end(Failure::Precision);
        }
        // Nothing is known yet: the first guess was too short to be seen.
        self.step *= 10.0;
        Next::Try(self.step)
    }

    /// The next trial, or the end.
    fn go_on(&mut self) -> Next {
        if self.trials >= self.conditions.max_trials {
            let all = self.step * self.origin.slope.abs();
            let hidden = self.high.is_some() && all <= ROUNDINGS * self.origin.noise;
            return self.end(match (self.seen_finite, hidden) {
                (false, _) => Failure::NonFinite,
                (true, true) => Failure::Precision,
                (true, false) => Failure::Exhausted,
            });
        }
        let Some(high) = self.high else { return Next::Try(self.step) };
        let width = (high.step - self.low.step).abs();
        if width <= 4.0 * f64::EPSILON * high.step.max(self.low.step) {
            return self.end(Failure::Precision);
        }
        self.step = self.interpolate(high, width);
        self.widths = [self.widths[1], width];
        Next::Try(self.step)
    }

    fn end(&self, failure: Failure) -> Next {
        if self.low.step > 0.0 {
            Next::Accept
        } else if self.contradictions >= CONTRADICTIONS {
            Next::Fail(Failure::Contradiction)
        } else {
            Next::Fail(failure)
        }
    }

    /// Counts trials that show a derivative to be wrong.
    fn compare_slope_with_cost(&mut self, sample: Sample) {
        if self.contradictions >= CONTRADICTIONS {
            return;
        }
        let secant = |sample: Sample| (sample.cost - self.origin.cost) / sample.step;
        let against = sample.slope < 0.0 && sample.cost > self.origin.cost + self.origin.noise;
        let agrees = self.risen.is_some_and(|risen| {
            let ratio = secant(sample) / secant(risen);
            sample.step <= 0.5 * risen.step && (0.7..1.4).contains(&ratio)
        });
        self.contradictions = if against && agrees { self.contradictions + 1 } else { 0 };
        self.risen = against.then_some(sample);
    }

    /// Beyond `sample`, where the secant of the slopes sees the minimum, two to ten times as far.
    fn extrapolate(&self, sample: Sample) -> f64 {
        let rise = sample.slope - self.low.slope;
        let secant = sample.step - sample.slope * (sample.step - self.low.step) / rise;
        if rise > 0.0 { secant.max(2.0 * sample.step).min(10.0 * sample.step) } else { 10.0 * sample.step }
    }

    /// A step inside the bracket, at least a hundredth of its width from its low end, where a step far too long sends it, and a tenth from the
    /// other.
    fn interpolate(&self, high: Sample, width: f64) -> f64 {
        let low = self.low;
        if high.cost.is_infinite() {
            return low.step + 0.25 * (high.step - low.step);
        }
        let middle = 0.5 * (low.step + high.step);
        // Two trials have to shrink the bracket to two thirds (J. Moré and D. Thuente, "Line search algorithms with guaranteed sufficient
        // decrease", ACM TOMS 20, 1994).
        if width > 0.66 * self.widths[0] {
            return middle;
        }
        let minimum = if (high.cost - low.cost).abs() <= self.origin.noise {
            low.step - low.slope * (high.step - low.step) / (high.slope - low.slope)
        } else {
            cubic_minimum(low, high)
        };
        let share = (minimum - low.step) / (high.step - low.step);
        if !share.is_finite() {
            return middle;
        }
        // `clamp` would bring the code that writes numbers into the module, for a message that nobody can see.
        #[expect(clippy::manual_clamp, reason = "see above")]
        let share = share.min(0.9).max(0.01);
        low.step + share * (high.step - low.step)
    }
}

/// The minimiser of the cubic with the costs and slopes of both samples (Nocedal and Wright, (3.59)).
fn cubic_minimum(a: Sample, b: Sample) -> f64 {
    let d1 = a.slope + b.slope - 3.0 * (a.cost - b.cost) / (a.step - b.step);
    let d2 = (b.step - a.step).signum() * (d1 * d1 - a.slope * b.slope).sqrt();
    b.step - (b.step - a.step) * (b.slope + d2 - d1) / (b.slope - a.slope + 2.0 * d2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONDITIONS: Conditions = Conditions { c1: 1e-4, c2: 0.9, max_trials: 20 };

    fn origin(cost: f64, slope: f64, noise: f64) -> Origin {
        Origin { cost, slope, noise, ceiling: cost + noise }
    }

    fn straight(step: f64, cost: f64, slope: f64, origin: Origin) -> Trial {
        Trial::Finite { cost, slope, predicted: step * origin.slope, bent: false }
    }

    /// Runs a search over φ and φ′; gives how it ended, the step it stored last and all steps it tried.
    fn search(
        phi: impl Fn(f64) -> (f64, f64),
        noise: f64,
        conditions: Conditions,
        first: f64,
    ) -> (Next, Option<f64>, Vec<f64>) {
        let (cost, slope) = phi(0.0);
        let origin = origin(cost, slope, noise);
        let mut search = LineSearch::new(origin, conditions, first);
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
    fn the_strong_wolfe_conditions_hold_on_the_functions_of_more_and_thuente() {
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
            for first in [1e-3, 1e-1, 1e1, 1e3] {
                let conditions = Conditions { c1, c2, max_trials: 60 };
                let (end, stored, tried) = search(phi, 0.0, conditions, first);
                assert_eq!(end, Next::Accept, "{first} {tried:?}");
                let step = stored.unwrap();
                let ((cost0, slope0), (cost, slope)) = (phi(0.0), phi(step));
                assert!(cost <= cost0 + c1 * step * slope0, "{first}: {step}");
                assert!(slope.abs() <= c2 * slope0.abs(), "{first}: {step} {slope} {slope0}");
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
    fn a_step_that_satisfies_both_conditions_is_taken_at_once() {
        let (end, stored, tried) = search(|a| ((a - 1.0).powi(2), 2.0 * (a - 1.0)), 0.0, CONDITIONS, 1.0);
        assert_eq!((end, stored, tried), (Next::Accept, Some(1.0), vec![1.0]));
    }

    #[test]
    fn a_steep_step_downhill_is_lengthened_and_one_past_the_minimum_brackets_it() {
        let origin = origin(0.0, -1.0, 0.0);
        let mut search = LineSearch::new(origin, CONDITIONS, 1.0);
        let decision = search.judge(straight(1.0, -1.0, -1.0, origin));
        assert_eq!(decision, Decision { store: true, then: Next::Try(10.0) });
        let decision = search.judge(straight(10.0, -2.0, 5.0, origin));
        let Next::Try(step) = decision.then else { panic!("{decision:?}") };
        assert!(decision.store && 1.0 < step && step < 10.0, "{decision:?}");
    }

    #[test]
    fn non_finite_trials_shrink_the_step_to_a_quarter() {
        let barrier = |a: f64| if a < 0.1 { (-a, -1.0 + 20.0 * a) } else { (f64::NAN, f64::NAN) };
        let (end, stored, tried) = search(barrier, 0.0, CONDITIONS, 1.0);
        assert_eq!((end, stored), (Next::Accept, Some(0.0625)));
        assert_eq!(tried, [1.0, 0.25, 0.0625]);
        let nowhere = |a: f64| if a == 0.0 { (0.0, -1.0) } else { (f64::INFINITY, 0.0) };
        let (end, _, tried) = search(nowhere, 0.0, CONDITIONS, 1.0);
        assert_eq!((end, tried.len()), (Next::Fail(Failure::NonFinite), 20));
    }

    #[test]
    fn an_exhausted_search_takes_what_decreased_and_fails_without_it() {
        // Falls without end: the last step is the lowest.
        let two = Conditions { max_trials: 2, ..CONDITIONS };
        let (end, stored, _) = search(|a| (-a, -1.0), 0.0, two, 1.0);
        assert_eq!((end, stored), (Next::Accept, Some(10.0)));
        let (end, stored, tried) = search(|a| (if a > 0.0 { 1.0 } else { 0.0 }, -1.0), 1e-16, two, 1.0);
        assert_eq!((end, stored, tried.len()), (Next::Fail(Failure::Exhausted), None, 2));
    }

    #[test]
    fn a_wrong_derivative_is_told_from_rounding() {
        // Of the wrong sign, the cost rises however short the step.
        let (end, stored, _) = search(|a| (1.0 + a, -1.0), 1e-16, CONDITIONS, 1.0);
        assert_eq!((end, stored), (Next::Fail(Failure::Contradiction), None));
        // Noise a hundred times what was announced rises too, but the same for every step.
        let noisy = |a: f64| (1.0 + if a > 0.0 { 1e-5 } else { 0.0 } - 1e-7 * a, -1e-7);
        let (end, stored, _) = search(noisy, 1e-7, CONDITIONS, 1.0);
        assert_eq!((end, stored), (Next::Fail(Failure::Precision), None));
    }

    #[test]
    fn below_the_noise_slopes_decide() {
        // The parabola is 1e-9 deep, the noise 1e-7 high: its cost says nothing, its slope all.
        let noisy = |a: f64| (1.0 + if a > 0.0 { 0.9e-7 } else { 0.0 }, 1e-9 * 2.0 * (a - 1.0));
        let (end, stored, tried) = search(noisy, 1e-7, CONDITIONS, 1.0);
        assert_eq!((end, stored, tried.len()), (Next::Accept, Some(1.0), 1));
        // Past the minimum the slope rises as steeply as it fell at the start: refused, and the secant finds the zero between.
        let (end, _, tried) = search(noisy, 1e-7, CONDITIONS, 2.0);
        assert_eq!((end, tried.len()), (Next::Accept, 2));
        assert!((tried[1] - 1.0).abs() < 1e-9, "{tried:?}");
        // Above the ceiling even an almost perfect slope is refused.
        let mut search = LineSearch::new(Origin { ceiling: 1.0, ..origin(1.0, -1e-9, 1e-7) }, CONDITIONS, 1.0);
        let trial = Trial::Finite { cost: 1.0 + 5e-8, slope: -1e-12, predicted: -1e-9, bent: false };
        assert_eq!(search.judge(trial).then, Next::Fail(Failure::Precision));
    }

    #[test]
    fn on_a_bent_path_decrease_over_the_real_displacement_is_enough() {
        let mut search = LineSearch::new(origin(1.0, -1.0, 0.0), CONDITIONS, 1.0);
        let trial = Trial::Finite { cost: 0.9, slope: -1.0, predicted: -0.1, bent: true };
        assert_eq!(search.judge(trial), Decision { store: true, then: Next::Accept });
        // A displacement that the gradient calls uphill is none.
        let mut search = LineSearch::new(origin(1.0, -1.0, 0.0), CONDITIONS, 1.0);
        let trial = Trial::Finite { cost: 0.9, slope: -1.0, predicted: 0.1, bent: true };
        let decision = search.judge(trial);
        assert!(!decision.store && matches!(decision.then, Next::Try(step) if step < 1.0), "{decision:?}");
    }

    #[test]
    fn a_first_step_too_short_to_be_seen_grows_and_a_last_one_ends_the_search() {
        let origin = origin(1.0, -1.0, 0.0);
        let mut search = LineSearch::new(origin, CONDITIONS, 1.0);
        assert_eq!(search.judge(Trial::Unmoved).then, Next::Try(10.0));
        assert!(matches!(search.judge(straight(10.0, 2.0, 1.0, origin)).then, Next::Try(step) if step < 10.0));
        assert_eq!(search.judge(Trial::Unmoved).then, Next::Fail(Failure::Precision));
    }
}
