//! Many small problems at once: thousands of independent problems of one shape, each solved by Levenberg-Marquardt.
//!
//! A [`SharedProblem`] is what all of them share: residual blocks, losses, weights, bounds, constants, manifolds. A [`Batch`] says in
//! what they differ: their starts, and numbers of some data inputs. On the GPU a thread solves a problem, with all its
//! iterations inside the dispatch ([`program`] writes that kernel, `gpu` runs it); on the CPU ([`cpu`]) problems are instances
//! of generated kernels in f64, which add straight into each one's normal equations. Both take the terms of the normal
//! equations from the graphs of [`terms`], and decide by the rules of [`super::rules`]. [`guard`] checks what the GPU finds on a sample in f64.

pub mod batch;
mod coordinates;
pub mod cpu;
pub mod device;
#[cfg(target_arch = "wasm32")]
pub mod gpu;
pub mod guard;
pub mod kernels;
pub mod layout;
pub mod moves;
pub mod pattern;
pub mod program;
mod rule_tables;
mod single;
pub mod standard_errors;
mod starts;
mod sums;
pub mod template;
pub mod terms;
mod unrolled;

pub use batch::{Batch, Numbers, Varying};
pub use starts::check_starts;
pub use template::SharedProblem;

use super::rules::Tolerances;
use super::summary::Termination;
use residua_base::list::Listed;

/// Options of a solver of many problems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ManyOptions {
    /// Iterations of each problem, at most; rejected steps count. By default as many as of a single solve on the CPU, and 100 on a device.
    pub max_iterations: Option<u32>,
    /// When a problem is solved.
    pub tolerances: Tolerances,
    /// λ at the start, as in [`LevenbergMarquardtOptions`](super::options::LevenbergMarquardtOptions).
    pub initial_damping: Option<f64>,
}

impl ManyOptions {
    /// Options by their public names. Tolerances are given: the facade has their defaults, which do not depend on where the problems are solved.
    pub fn from_numbers(read: &dyn Fn(&str) -> Option<f64>) -> ManyOptions {
        ManyOptions {
            max_iterations: read("maxIterations").map(|limit| limit as u32),
            tolerances: Tolerances {
                cost: read("costTolerance").unwrap_or_default(),
                gradient: read("gradientTolerance").unwrap_or_default(),
                parameter: read("parameterTolerance").unwrap_or_default(),
            },
            initial_damping: read("initialDamping"),
        }
    }
}

/// What came of the problems, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManySolutions {
    /// All parameters of each problem, problem after problem.
    pub x: Vec<f64>,
    /// ½ Σ weight·ρ(‖r‖²) of each.
    pub cost: Vec<f64>,
    /// Iterations of each, rejected steps included.
    pub iterations: Vec<u32>,
    /// Why each ended.
    pub termination: Vec<Termination>,
    /// Whether the residuals leave a direction free where each ended, as far as it is known.
    pub deficient: Vec<bool>,
    /// Of a device: of which its arithmetic does not tell whether they ended at a minimum.
    pub unproven: Vec<bool>,
}

impl ManySolutions {
    /// Which have converged where the residuals leave a direction free.
    pub fn converged_deficient(&self) -> Vec<u32> {
        let is_both =
            |problem: &u32| self.termination[*problem as usize].converged() && self.deficient[*problem as usize];
        (0..self.deficient.len() as u32).filter(is_both).list()
    }

    /// Puts solutions of some problems in their places, unless a problem had come further. Iterations add up.
    fn replace(&mut self, problems: &[u32], numbers: usize, found: &ManySolutions) {
        for (position, &problem) in problems.iter().enumerate() {
            let problem = problem as usize;
            self.iterations[problem] += found.iterations[position];
            let end = found.termination[position];
            let is_better = end.converged()
                || self.termination[problem] == Termination::NonFinite
                || found.cost[position] <= self.cost[problem];
            if !is_better {
                // What has looked further has shown no minimum there either.
                let is_unproven = self.unproven.get(problem) == Some(&true) && self.termination[problem].converged();
                if is_unproven && end != Termination::Aborted {
                    self.termination[problem] = Termination::PrecisionLimit;
                }
                continue;
            }
            let own = &found.x[position * numbers..(position + 1) * numbers];
            self.x[problem * numbers..(problem + 1) * numbers].copy_from_slice(own);
            self.cost[problem] = found.cost[position];
            self.termination[problem] = end;
            for (own, found) in [(&mut self.deficient, &found.deficient), (&mut self.unproven, &found.unproven)] {
                if let Some(own) = own.get_mut(problem) {
                    *own = found.get(position) == Some(&true);
                }
            }
        }
    }
}

/// Relative differences of costs below this are no loss: sums of some hundred squares in f32 are right to 1e-5.
const NO_LOSS: f64 = 1e-4;

/// Receives progress while problems are solved.
pub trait ManyListener {
    /// So many problems are done.
    fn progress(&mut self, done: u32);
    /// Whether the caller requests a stop. Problems that were not begun end as they started.
    fn aborted(&mut self) -> bool;
}
