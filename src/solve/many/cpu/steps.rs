//! Steps of the problems of a chunk, each within its radius, and the verdicts on them.

use residua_base::error::Result;
use residua_base::list::Listed;
use residua_linalg::TrustRegionModel;
use residua_linalg::loops::small;

use super::{Arrival, Chunk, End, Solver};
use crate::solve::levenberg_marquardt::point::{GROWTH_AFTER_SHORT_STEP, Linearised};
use crate::solve::many::rule_tables::Rule;
use crate::solve::rules::{AcceptedStep, GROWTH, GROWTH_AFTER_REJECTION, Gain, PointBefore, TrialStep};
use crate::solve::summary::Termination;

/// The model of a problem where its step without a radius is too long, or it has hardly the digits of one.
#[derive(Default)]
pub(super) struct Ball {
    region: TrustRegionModel,
    jtj: Vec<f64>,
    /// D
    lengths: Vec<f64>,
}

impl Ball {
    /// Takes normal equations. `false` where they have not the digits of a good step, or do not determine all directions.
    fn take(&mut self, rows: usize, gradient: &[f64], triangle: &[f64], scale: &[f64], frozen: &[bool]) -> bool {
        let Ball { region, jtj, lengths } = self;
        jtj.resize(scale.len() * scale.len(), 0.0);
        small::spread(triangle, scale.len(), jtj);
        lengths.clear();
        lengths.extend(scale.iter().map(|square| square.sqrt()));
        region.take_sums(jtj, gradient, rows, lengths, frozen).is_ok() && region.deficiency() == 0
    }
}

impl Chunk {
    /// The step within its radius of every problem that runs, unless the problem ends where it is.
    pub(super) fn solve(&mut self, solver: &Solver) {
        let (free, width) = (solver.layout.free, solver.layout.numbers());
        let rows = solver.template.model.num_residuals as usize;
        let Chunk { problems, normal, step, scale, factor, ball, .. } = self;
        for (position, problem) in problems.iter_mut().enumerate().filter(|(_, problem)| problem.end.is_none()) {
            let (gradient, triangle) = solver.layout.parts(&normal[position * width..(position + 1) * width]);
            let of_problem = position * free..(position + 1) * free;
            let (scale, step) = (&scale[of_problem.clone()], &mut step[of_problem]);
            let undamped = small::undamped_step(gradient, triangle, scale, &problem.frozen, factor, step)
                .filter(|[.., trace]| *trace <= solver.most_trace);
            problem.promise = match undamped {
                Some([promise, ..]) => promise,
                None => {
                    let moved = problem.frozen.iter().filter(|frozen| !**frozen).count();
                    // What the sums do not tell is found by rows.
                    if problem.point.coordinates < moved as f64
                        || !ball.take(rows, gradient, triangle, scale, &problem.frozen)
                    {
                        problem.end = Some(End::HandedOver);
                        continue;
                    }
                    ball.region.promise()
                }
            };
            let rounding = solver.rounding(problem.noise, &problem.point);
            if problem.promise <= rounding && solver.epsilon > 0.0 {
                problem.stop.get_or_insert(Termination::CostTolerance);
            }
            if let Some(stop) = problem.stop.take() {
                if solver.is_minimum(problem.promise, problem.noise, &problem.point) {
                    problem.end = Some(End::At(stop));
                    continue;
                }
                problem.radius = problem.radius.max(GROWTH_AFTER_SHORT_STEP * problem.length);
            }
            if problem.iterations >= solver.most_iterations {
                let is_limit = problem.iterations >= solver.max_iterations;
                problem.end = Some(if is_limit { End::At(Termination::MaxIterations) } else { End::HandedOver });
                continue;
            }
            problem.iterations += 1;
            problem.length = match undamped {
                Some([_, length, _]) if length <= problem.radius => length,
                Some(_) if !ball.take(rows, gradient, triangle, scale, &problem.frozen) => {
                    problem.end = Some(End::HandedOver);
                    continue;
                }
                _ => ball.region.step(problem.radius, step).length,
            };
        }
    }

    /// Accepts or rejects the trial steps of the problems that run.
    pub(super) fn judge(&mut self, solver: &Solver, running: &[bool]) -> Result<()> {
        let mut trials = Vec::with_capacity(running.len());
        for position in (0..running.len()).filter(|&position| running[position]) {
            let trial = self.predict(solver, position);
            let problem = &self.problems[position];
            let Linearised { influence: cost, cosine, .. } = problem.point;
            let point = PointBefore { cost, noise: problem.noise, cosine, floor: problem.floor };
            self.rules.push(&Gain::arguments(&point, &trial, solver.epsilon));
            trials.push((position, trial));
        }
        self.rules.run(Rule::Gain, solver.program, solver.first_rule)?;
        let gains = (0..trials.len()).map(|row| Gain::of(self.rules.result(row))).list();
        self.rules.clear();
        for ((position, trial), gain) in trials.iter().zip(&gains) {
            let problem = &self.problems[*position];
            let growth = if problem.has_rejected { GROWTH_AFTER_REJECTION } else { GROWTH };
            self.rules.push(&gain.arguments_of_radius(problem.radius, problem.length, trial.change, growth));
        }
        self.rules.run(Rule::Radius, solver.program, solver.first_rule)?;
        for (row, ((position, trial), gain)) in trials.iter().zip(&gains).enumerate() {
            let problem = &mut self.problems[*position];
            [problem.radius] = self.rules.result(row);
            problem.floor = gain.floor;
            problem.has_rejected = !gain.accepted;
            if gain.accepted {
                self.accept(solver, *position, trial, gain.hidden);
            } else if let Some(end) = gain.end {
                let is_minimum =
                    end != Termination::NonFinite && solver.is_minimum(problem.promise, problem.noise, &problem.point);
                problem.end = Some(if is_minimum { End::At(Termination::CostTolerance) } else { End::HandedOver });
            }
        }
        self.rules.clear();
        Ok(())
    }

    /// The numbers of a problem's trial step.
    fn predict(&self, solver: &Solver, position: usize) -> TrialStep {
        let (free, width) = (solver.layout.free, solver.layout.numbers());
        let normal = &self.normal[position * width..(position + 1) * width];
        let projected = &self.projected_step[position * free..(position + 1) * free];
        let (gradient, triangle) = solver.layout.parts(normal);
        let [descent, square, step] = small::descent_square_and_length(gradient, triangle, projected);
        let (change, size) = (self.reduction[position], self.problems[position].size);
        TrialStep { change, predicted: descent - 0.5 * square, descent, step, size, is_complete: true }
    }

    /// Moves a problem to its trial point.
    fn accept(&mut self, solver: &Solver, position: usize, trial: &TrialStep, is_hidden: bool) {
        let numbers = solver.template.values.len();
        let place = position * numbers..(position + 1) * numbers;
        self.x[place.clone()].swap_with_slice(&mut self.trial[place]);
        let problem = &mut self.problems[position];
        let cost = problem.point.influence;
        problem.arrival = Arrival::ByStep(AcceptedStep { cost, cosine: f64::NAN, trial: *trial, is_hidden });
    }
}

impl Solver<'_> {
    /// What rounding leaves of a promise.
    fn rounding(&self, noise: f64, point: &Linearised) -> f64 {
        point.rounding(noise, self.epsilon)
    }

    /// Whether a point is a minimum, by the promise of its model.
    fn is_minimum(&self, promise: f64, noise: f64, point: &Linearised) -> bool {
        promise <= point.tolerable_promise(self.rounding(noise, point), self.options.tolerances.cost)
    }
}
