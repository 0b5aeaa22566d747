//! The precision guard of many problems: how much of their solutions in f32 is rounding, by solving some of them again in f64.
//!
//! The device gives a cost and a point for each problem and nothing that shows what rounding costs. So a fixed sample of the problems is solved on
//! the host with the caller's own numbers, from the points that the device has found: of those that have converged [`SAMPLE`] at equal distances, and for each
//! input that differs from problem to problem the one with the largest number. A few iterations each confirm a sound point.
//!
//! - **loss** is the relative difference of a problem's two costs.
//! - **shift** is the largest distance between the two points in a parameter, relative to its scale: the larger of its magnitude and its root
//!   mean square over the sample. It counts where the costs differ by [`NO_LOSS`] or more: below, the point is as good as the other one.
//!
//! A problem with a loss above [`MOST_LOSS`], or above ten times the largest tolerance, or with a shift above [`MOST_SHIFT`] has lost digits. One
//! such problem in the sample is enough for all to go on in another arithmetic: what happens to problems outside of it is not known. Where they may not
//! go on, all that have converged are checked like the sample, and those that have lost digits end with 'precision-limit'.
//!
//! A problem is *open* where the device has come to no minimum, or its arithmetic does not tell whether it has: the promise of its model is less certain than
//! that. Open problems go on in pairs, and then as single solves of the host. Where they may not, the host computes the promise of what has met a tolerance.

use residua_base::cooperative::Yielder;
use residua_base::error::{ErrorCode, Result};
use residua_base::list::{Listed, PushAll};

use super::batch::{Batch, Numbers, Varying};
use super::template::SharedProblem;
use super::{ManyListener, ManyOptions, ManySolutions, NO_LOSS, cpu, single};
use crate::eval::{Arithmetic, Place};
use crate::solve::findings::{Finding, Origin, sentences};
use crate::solve::precision::{MOST_LOSS, MOST_SHIFT};
use crate::solve::rules::LEAST_PROMISE;
use crate::solve::summary::Termination;

/// Problems that are sampled at equal distances, at least, if there are so many.
const SAMPLE: usize = 256;
/// A point that met a tolerance leaves the cost within so many times that.
const OF_TOLERANCE: f64 = 10.0;
/// Numbers that are looked at between two questions whether to yield.
const PIECE: usize = 1 << 16;

/// What rounding does to the problems that were checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ManyPrecision {
    /// The largest loss, from 0 to 1.
    pub loss: f64,
    /// The largest shift that counts.
    pub shift: f64,
    /// Problems that were solved again.
    pub problems: u32,
    /// Those of them that have lost digits.
    pub lost: u32,
}

impl ManyPrecision {
    /// Whether solutions with this estimate may count as converged.
    pub fn suffices(&self) -> bool {
        self.lost == 0
    }
}

/// Solves problems on a device in pairs, where its solutions in f32 have lost digits.
#[allow(async_fn_in_trait, reason = "futures stay on one thread")]
pub trait PairSolver {
    /// Solves a batch.
    ///
    /// # Errors
    /// `gpu-unavailable` and `limit-exceeded` where the device does not do this in pairs.
    async fn solve(&mut self, batch: &Batch<'_>, audience: &mut dyn ManyListener) -> Result<ManySolutions>;
}

/// The solutions of a device after the guard.
#[derive(Debug)]
pub struct Guarded {
    /// The solutions. Where the arithmetic does not suffice and nothing goes on, with 'precision-limit' for what had converged.
    pub solutions: ManySolutions,
    /// The last estimate; none where nothing had converged.
    pub precision: Option<ManyPrecision>,
    /// What the solutions are computed in.
    pub arithmetic: Arithmetic,
    /// Those of the problems that were checked that have converged where the residuals leave a direction free.
    deficient: Vec<u32>,
    /// What was found in each arithmetic that was checked, and where the problems were solved again.
    found: Vec<Finding>,
}

impl Guarded {
    /// Takes a check, and says what it has found.
    fn take(&mut self, check: Option<Check>) {
        self.deficient = check.as_ref().map_or(Vec::new(), |check| check.deficient.clone());
        self.precision = check.map(|check| check.precision);
        let arithmetic = self.arithmetic;
        self.found.push_all(self.precision.map(|ManyPrecision { loss, shift, problems, lost }| {
            let shift = (shift > MOST_SHIFT).then_some(shift);
            Finding::RoundingOfMany { arithmetic, loss, shift, problems, lost }
        }));
    }

    /// Solutions of the host, which nothing checks.
    pub fn of_host(solutions: ManySolutions) -> Guarded {
        Guarded { solutions, precision: None, arithmetic: Arithmetic::F64, deficient: Vec::new(), found: Vec::new() }
    }

    /// The loss of the solutions: 0 in f64.
    pub fn loss(&self) -> f64 {
        let is_checked = self.arithmetic != Arithmetic::F64;
        self.precision.filter(|_| is_checked).map_or(0.0, |precision| precision.loss)
    }

    /// Why the host has solved again what the device had solved, if it has.
    pub fn reason(&self) -> Option<String> {
        (self.arithmetic == Arithmetic::F64 && !self.found.is_empty()).then(|| sentences(self.found.iter()))
    }

    /// How many problems have converged, what was found of the arithmetic, and which have converged where the residuals leave a direction free, of those that are
    /// known.
    pub fn findings(&self) -> Vec<Finding> {
        let ends = &self.solutions.termination;
        let (of, converged) = (ends.len(), ends.iter().filter(|end| end.converged()).count());
        let mut problems = self.solutions.converged_deficient();
        let checked = match (self.arithmetic, self.precision) {
            (Arithmetic::F64, _) => None,
            (_, Some(precision)) => {
                problems.push_all(self.deficient.iter().copied());
                problems.sort_unstable();
                problems.dedup();
                Some(precision.problems)
            }
            (_, None) => {
                problems.clear();
                None
            }
        };
        let undetermined = (!problems.is_empty()).then_some(Finding::Undetermined { problems, checked });
        let converged = Finding::Converged { problems: converged, of };
        std::iter::once(converged).chain(self.found.iter().cloned()).chain(undetermined).list()
    }
}

/// Checks what a device has found in an arithmetic, where problems may go on: all of them where that does not suffice, else those that are open. First the device
/// continues in pairs, then the host, which begins open problems at their starts. Without `pairs` problems stay where they are, and those that have lost digits, or
/// that are no minima in f64, end with 'precision-limit'.
pub async fn guard(
    template: &SharedProblem,
    batch: &Batch<'_>,
    options: &ManyOptions,
    solutions: ManySolutions,
    arithmetic: Arithmetic,
    pairs: Option<&mut impl PairSolver>,
    audience: &mut dyn ManyListener,
) -> Result<Guarded> {
    let mut guarded = Guarded { solutions, precision: None, arithmetic, deficient: Vec::new(), found: Vec::new() };
    let Some(pairs) = pairs else {
        guarded.confirm(template, batch, options, audience).await?;
        return Ok(guarded);
    };
    let (mut is_checked, mut tries_pairs) = (false, arithmetic == Arithmetic::F32);
    while !audience.aborted() {
        let mut is_lost = false;
        if !is_checked {
            let sample = sampled(template, batch, &guarded.solutions.termination).await;
            let checked = check(template, batch, options, &guarded.solutions, sample, &mut Deaf).await?;
            is_lost = checked.as_ref().is_some_and(|checked| !checked.precision.suffices());
            guarded.take(checked);
        }
        let goes_on = |problem: &u32| is_lost || guarded.is_open(*problem, options);
        let problems = (0..batch.count).filter(goes_on).list();
        if problems.is_empty() {
            break;
        }
        let is_all = problems.len() == batch.count as usize;
        let from = if is_all { Origin::Solutions(guarded.arithmetic) } else { Origin::Ends };
        let in_pairs = match std::mem::take(&mut tries_pairs) {
            true => {
                let again = batch.extract(template, &problems, Some(&guarded.solutions.x));
                match pairs.solve(&again, &mut Quiet(audience)).await {
                    Ok(solutions) => Some(solutions),
                    Err(error) if matches!(error.code, ErrorCode::GpuUnavailable | ErrorCode::LimitExceeded) => None,
                    Err(error) => return Err(error),
                }
            }
            false => None,
        };
        let (place, arithmetic, from, found) = match in_pairs {
            Some(found) => (Place::Device, Arithmetic::F32x2, from, found),
            None => {
                let x = (!guarded.is_any_open(&problems, options)).then_some(guarded.solutions.x.as_slice());
                let again = batch.extract(template, &problems, x);
                let found = cpu::solve_many(template, &again, options, &mut Quiet(audience)).await?;
                (Place::Host, Arithmetic::F64, if x.is_some() { from } else { Origin::Starts }, found)
            }
        };
        guarded.solutions.replace(&problems, template.values.len(), &found);
        let problems = (!is_all).then_some(problems.len());
        guarded.found.push(Finding::Again { place, arithmetic, problems, from });
        if is_all {
            guarded.arithmetic = arithmetic;
        }
        if arithmetic == Arithmetic::F64 {
            break;
        }
        is_checked = !is_all;
    }
    Ok(guarded)
}

impl Guarded {
    /// Whether it is open if a problem has a minimum where it ended.
    fn is_open(&self, problem: u32, options: &ManyOptions) -> bool {
        let problem = problem as usize;
        let is_unproven = self.solutions.unproven.get(problem) == Some(&true);
        match self.solutions.termination[problem] {
            Termination::PrecisionLimit | Termination::TrustRegionCollapsed | Termination::NonFinite => true,
            // By default the host has more of them, and those of too few digits do not count.
            Termination::MaxIterations => options.max_iterations.is_none() || is_unproven,
            end => end.converged() && is_unproven,
        }
    }

    fn is_any_open(&self, problems: &[u32], options: &ManyOptions) -> bool {
        problems.iter().any(|&problem| self.is_open(problem, options))
    }

    /// Has what the device calls a minimum without being certain end with 'precision-limit' where its derivatives in f64 do not agree, and what has lost digits.
    async fn confirm(
        &mut self,
        template: &SharedProblem,
        batch: &Batch<'_>,
        options: &ManyOptions,
        audience: &mut dyn ManyListener,
    ) -> Result<()> {
        let ends = &self.solutions.termination;
        let unproven = &self.solutions.unproven;
        let is_uncertain =
            |problem: &u32| ends[*problem as usize].converged() && unproven.get(*problem as usize) == Some(&true);
        let uncertain = (0..batch.count).filter(is_uncertain).list();
        let promises = single::promises(template, batch, &uncertain, &self.solutions.x, audience).await?;
        // False of a NaN.
        let is_minimum = |promise: &f64| *promise <= LEAST_PROMISE;
        let mut refused = 0;
        for (&problem, _) in uncertain.iter().zip(&promises).filter(|(_, promise)| !is_minimum(promise)) {
            self.solutions.termination[problem as usize] = Termination::PrecisionLimit;
            refused += 1;
        }
        if refused > 0 {
            self.found.push(Finding::RefusedMinima { arithmetic: self.arithmetic, problems: refused });
        }
        if audience.aborted() {
            return Ok(());
        }
        let sample = sampled(template, batch, &self.solutions.termination).await;
        let mut checked = check(template, batch, options, &self.solutions, sample, &mut Deaf).await?;
        if let Some(of_sample) = checked.as_ref().filter(|checked| !checked.precision.suffices()) {
            let ends = &self.solutions.termination;
            let all = (0..batch.count).filter(|&problem| ends[problem as usize].converged()).list();
            if of_sample.precision.problems < all.len() as u32 {
                checked = check(template, batch, options, &self.solutions, all, &mut Quiet(audience)).await?;
            }
            let lost = checked.iter().flat_map(|checked| &checked.lost);
            lost.for_each(|&problem| self.solutions.termination[problem as usize] = Termination::PrecisionLimit);
        }
        self.take(checked);
        let ends = &self.solutions.termination;
        let limited = ends.iter().filter(|end| **end == Termination::PrecisionLimit).count();
        if limited > 0 {
            self.found.push(Finding::Limited { arithmetic: self.arithmetic, problems: limited });
        }
        Ok(())
    }
}

/// What the check of some problems has found.
struct Check {
    precision: ManyPrecision,
    /// Those that have lost digits.
    lost: Vec<u32>,
    /// Those that have converged where the residuals leave a direction free.
    deficient: Vec<u32>,
}

/// Solves problems that have converged again in f64, from their solutions. None without problems. A problem that is not solved, since the caller
/// has aborted, counts as lost.
async fn check(
    template: &SharedProblem,
    batch: &Batch<'_>,
    options: &ManyOptions,
    solutions: &ManySolutions,
    problems: Vec<u32>,
    audience: &mut dyn ManyListener,
) -> Result<Option<Check>> {
    if problems.is_empty() {
        return Ok(None);
    }
    let again = batch.extract(template, &problems, Some(&solutions.x));
    let exact = cpu::solve_many(template, &again, options, audience).await?;
    Ok(Some(compare(template, options, &problems, solutions, &exact)))
}

/// Compares problems with their solutions in f64.
fn compare(
    template: &SharedProblem,
    options: &ManyOptions,
    problems: &[u32],
    computed: &ManySolutions,
    exact: &ManySolutions,
) -> Check {
    let numbers = template.values.len();
    let tolerances = &options.tolerances;
    let left = OF_TOLERANCE * tolerances.cost.max(tolerances.gradient).max(tolerances.parameter);
    let scales = root_mean_squares(&exact.x, numbers);
    let precision = ManyPrecision { loss: 0.0, shift: 0.0, problems: problems.len() as u32, lost: 0 };
    let deficient = exact.converged_deficient().iter().map(|&position| problems[position as usize]).list();
    let mut found = Check { precision, lost: Vec::new(), deficient };
    for (position, &problem) in problems.iter().enumerate() {
        let loss = difference(computed.cost[problem as usize], exact.cost[position]);
        let (of_computed, of_exact) = (problem as usize * numbers, position * numbers);
        let shifts = template.blocks.iter().flat_map(|block| block.first..block.first + block.dim).map(|number| {
            let number = number as usize;
            let (before, after) = (computed.x[of_computed + number], exact.x[of_exact + number]);
            let scale = scales[number].max(after.abs());
            if before == after { 0.0 } else { (before - after).abs() / scale }
        });
        let shift = if loss < NO_LOSS.max(left) { 0.0 } else { shifts.fold(0.0, f64::max) };
        found.precision.loss = found.precision.loss.max(loss);
        found.precision.shift = found.precision.shift.max(shift);
        let is_unknown = exact.termination[position] == Termination::Aborted;
        if loss > MOST_LOSS.max(left) || shift > MOST_SHIFT || is_unknown {
            found.lost.push(problem);
        }
    }
    found.precision.lost = found.lost.len() as u32;
    found
}

/// The relative difference of two costs; 1 if either is not a number.
fn difference(a: f64, b: f64) -> f64 {
    if a == b {
        return 0.0;
    }
    let difference = (a - b).abs() / a.max(b);
    if difference.is_nan() { 1.0 } else { difference.min(1.0) }
}

/// The root mean square of each number over some problems.
fn root_mean_squares(x: &[f64], numbers: usize) -> Vec<f64> {
    let count = (x.len() / numbers).max(1) as f64;
    let mean = |number: usize| x.iter().skip(number).step_by(numbers).map(|x| x * x / count).sum::<f64>();
    (0..numbers).map(|number| mean(number).sqrt()).list()
}

/// The problems of the sample, ascending, of those that have converged; where none has, of those that ended with 'precision-limit', so that rounding is told.
async fn sampled(template: &SharedProblem, batch: &Batch<'_>, ends: &[Termination]) -> Vec<u32> {
    let any = ends.iter().any(|end| end.converged());
    let is_taken = |end: Termination| if any { end.converged() } else { end == Termination::PrecisionLimit };
    let taken = (0..batch.count).filter(|&problem| is_taken(ends[problem as usize])).list();
    let regular = taken.len().min(SAMPLE);
    let mut sample = (0..regular).map(|number| taken[number * taken.len() / regular]).list();
    if regular < taken.len() {
        let mut yielder = Yielder::new();
        for (_, length, read) in &batch.parameters {
            sample.push_all(largest(read, *length, (ends, &is_taken), &mut yielder).await);
        }
        let is_used = |varying: &&Varying| template.groups.iter().any(|group| group.batch == varying.batch);
        for varying in batch.data.iter().filter(is_used) {
            sample.push_all(largest(&varying.numbers, varying.length, (ends, &is_taken), &mut yielder).await);
        }
        sample.sort_unstable();
        sample.dedup();
    }
    sample
}

/// The problem with the number of largest magnitude, of `length` each, among those whose ends are taken.
async fn largest(
    read: &Numbers<'_>,
    length: usize,
    (ends, is_taken): (&[Termination], &impl Fn(Termination) -> bool),
    yielder: &mut Yielder,
) -> Option<u32> {
    let (mut most, mut found) = (f64::NEG_INFINITY, None);
    let at_a_time = (PIECE / length.max(1)).max(1);
    let mut piece = Vec::new();
    for first in (0..ends.len()).step_by(at_a_time) {
        yielder.yield_if_due().await;
        piece.resize(length * at_a_time.min(ends.len() - first), 0.0);
        read(first * length, &mut piece);
        for (position, number) in piece.iter().enumerate().filter(|(_, number)| number.is_finite()) {
            let problem = first + position / length;
            if number.abs() > most && is_taken(ends[problem]) {
                (most, found) = (number.abs(), Some(problem as u32));
            }
        }
    }
    found
}

/// A listener of the sample: it hears nothing and never stops.
struct Deaf;

impl ManyListener for Deaf {
    fn progress(&mut self, _: u32) {}
    fn aborted(&mut self) -> bool {
        false
    }
}

/// A listener of a second solve: all problems have been reported as done.
struct Quiet<'a>(&'a mut dyn ManyListener);

impl ManyListener for Quiet<'_> {
    fn progress(&mut self, _: u32) {}
    fn aborted(&mut self) -> bool {
        self.0.aborted()
    }
}
