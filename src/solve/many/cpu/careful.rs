//! What keeps a problem from losing a parameter, where it is solved a second time since the first has lost one: steps that lose a column of J̃ are
//! rejected, and the largest diagonal so far is the scale of the damping, as in single solves on the host. A step that is exact is no exception
//! here: the first solve took it.

use residua_linalg::loops::all_finite;

use super::{Arrival, Chunk, Solver};
use crate::solve::rules::{Damping, Gain, INITIAL_GROWTH, MOST_LOSSES, Rules};

/// What a problem has for that. The trial table has the point before the last accepted step until the next one is tried.
pub(super) struct Careful {
    /// λ and ν at that point.
    pub damping: Damping,
    /// Normal equations there.
    normal: Vec<f64>,
    /// D
    scale: Vec<f64>,
    /// Steps since the last accepted one that were rejected for a lost column.
    losses: u32,
}

impl Careful {
    pub(super) fn new(free: usize) -> Careful {
        let damping = Damping { lambda: 0.0, growth: INITIAL_GROWTH };
        Careful { damping, normal: Vec::new(), scale: vec![0.0; free], losses: 0 }
    }

    /// Keeps normal equations. Gives them with a diagonal that λ of itself damps as much as λD damps theirs.
    pub(super) fn damped(&mut self, solver: &Solver, lambda: f64, normal: &[f64]) -> Vec<f64> {
        self.normal = normal.to_vec();
        let mut damped = normal.to_vec();
        for (k, scale) in self.scale.iter_mut().enumerate() {
            let entry = &mut damped[solver.layout.jtj(k, k)];
            *scale = scale.max(*entry);
            *entry = (*entry + lambda * *scale) / (1.0 + lambda);
        }
        damped
    }
}

impl Chunk {
    /// Takes a problem back to the point before an accepted step, if its end is not finite or has lost a column.
    pub(super) fn go_back_if_lost(&mut self, solver: &Solver, position: usize) {
        let problem = &mut self.problems[position];
        let (Some(careful), Arrival::ByStep(_)) = (&mut problem.careful, problem.arrival) else { return };
        let (width, numbers) = (solver.layout.numbers(), solver.template.values.len());
        let normal = &mut self.normal[position * width..(position + 1) * width];
        let is_lost = |k: usize| {
            let entry = solver.layout.jtj(k, k);
            normal[entry] < f64::EPSILON * careful.normal[entry]
        };
        let loses = careful.losses < MOST_LOSSES && (0..solver.layout.free).any(is_lost);
        careful.losses = if loses { careful.losses + 1 } else { 0 };
        if !loses && all_finite(normal) {
            return;
        }
        let rejected = Gain { ratio: 0.0, accepted: false, hidden: false, floor: problem.floor, end: None };
        (problem.damping, problem.end) = Rules::shared().damping(careful.damping, rejected);
        problem.arrival = Arrival::None;
        normal.copy_from_slice(&careful.normal);
        let place = position * numbers..(position + 1) * numbers;
        self.x[place.clone()].swap_with_slice(&mut self.trial[place]);
    }
}
