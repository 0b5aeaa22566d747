//! The drivers of the solvers: in which place and arithmetic a solve runs, when it goes on in a more precise one, and how its stages make one
//! run. Takes compiled functions at their current parameters, which become the solution.
//!
//! [`stages`] has the rules, [`least_squares`] the loop over them, [`stagnation`] the observer that ends a stage, [`examine`] looks at its
//! solution, [`continuation`] the join of two. [`occupancy`] lets one call at a time run on compiled functions. They see solvers through the trait
//! [`Solvers`], so that tests use fakes.

#[cfg(target_arch = "wasm32")]
mod call;
mod continuation;
mod descent;
mod examine;
mod factorisation;
mod least_squares;
mod occupancy;
mod stages;
mod stagnation;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "wasm32")]
pub use call::SessionCall;
pub use descent::{descend, minimise, newton};
pub use least_squares::Request;
pub use occupancy::{Callable, Occupancy};

use crate::eval::{Objective, Place};
use crate::model::{Batch, BlockInfo};
use crate::solve::levenberg_marquardt::host;
use crate::solve::listener::Listener;
use crate::solve::options::LevenbergMarquardtOptions;
use crate::solve::session::{FactorisationQuestion, Session};
use crate::solve::solution::Solution;
use crate::solve::untouched::Untouched;
use examine::examine;
use least_squares::{Solvers, Take};
use residua_base::error::Result;
use residua_base::list::Listed;
#[cfg(target_arch = "wasm32")]
use stages::PAIRS;
use stages::Stage;

/// Minimises the least-squares cost of the functions by Levenberg-Marquardt from their current parameters, which become the solution. It runs
/// where the functions are evaluated, and on the host where the device's arithmetic does not suffice and the request allows it.
///
/// # Errors
/// `non-finite` naming the residual if the start is not finite; `invalid-argument` for a start that cannot be brought onto its manifold;
/// `limit-exceeded` for a linear solver that was asked for and does not fit; what evaluations and the device fail with.
pub async fn levenberg_marquardt(
    session: &mut Session,
    options: &LevenbergMarquardtOptions,
    request: Request,
    listener: &mut dyn Listener,
) -> Result<Solution> {
    least_squares::solve(session, options, request, listener).await
}

/// Checks the solve whose result was given and whose check is due. A later result carries the finding.
///
/// # Errors
/// What the device fails with.
pub async fn check_later(session: &mut Session) -> Result<()> {
    let Some(end) = session.device.checks.take_due() else { return Ok(()) };
    let (functions, host, device) = session.parts();
    let are_some_untouched = Untouched::of(functions.model(), functions.constant()).count > 0;
    let found = examine::check(functions, host, device, end, None, are_some_untouched).await?;
    session.device.checks.keep(found);
    Ok(())
}

impl Solvers for Session {
    fn stage(&self) -> Stage {
        Stage { place: self.functions.place(), arithmetic: self.functions.arithmetic() }
    }

    fn has_long_sums(&self) -> bool {
        self.functions.model().batches.iter().any(Batch::has_addends)
    }

    fn is_for_factorisation(&mut self, options: &LevenbergMarquardtOptions) -> bool {
        // A solver, or a number of iterations, that was asked for is meant.
        if options.linear_solver.is_some() || options.linear_tolerance <= 0.0 {
            return false;
        }
        let (functions, iterations) = (&self.functions, options.max_linear_iterations);
        let question = FactorisationQuestion {
            constraints: functions.constraints_version(),
            iterations,
            taking_part: functions.model().blocks.iter().map(BlockInfo::takes_part).list(),
        };
        match &self.is_for_factorisation {
            Some((known, answer)) if *known == question => *answer,
            _ => {
                let answer = factorisation::pays(functions.model(), functions.constant(), iterations);
                self.is_for_factorisation = Some((question, answer));
                answer
            }
        }
    }

    async fn values(&mut self) -> Result<Vec<f64>> {
        self.functions.bring_values().await?;
        Ok(self.functions.values().to_vec())
    }

    fn set_values(&mut self, x: Vec<f64>) -> Result<()> {
        self.functions.set_values(x)
    }

    async fn enter(&mut self, stage: Stage) -> Result<bool> {
        match stage {
            #[cfg(target_arch = "wasm32")]
            PAIRS => self.widen().await,
            _ => {
                self.leave().await?;
                Ok(true)
            }
        }
    }

    async fn leave(&mut self) -> Result<()> {
        #[cfg(target_arch = "wasm32")]
        self.narrow().await?;
        Ok(())
    }

    async fn solve(
        &mut self,
        stage: Stage,
        options: &LevenbergMarquardtOptions,
        take: Take<'_>,
        listener: &mut dyn Listener,
    ) -> Result<Solution> {
        let mut solution = match stage.place {
            Place::Host => host::minimise_least_squares(&mut self.functions, &mut self.host, options, listener).await?,
            #[cfg(target_arch = "wasm32")]
            Place::Device => {
                use crate::solve::levenberg_marquardt::device;
                let resources = self.device.levenberg_marquardt();
                device::minimise_on_device(&mut self.functions, resources, options, take.read_back, listener).await?
            }
            #[cfg(not(target_arch = "wasm32"))]
            Place::Device => {
                return Err(residua_base::Error::internal(
                    "functions are on a device, of which there is none natively",
                ));
            }
        };
        examine(self.parts(), Objective::LeastSquares, take, &mut solution).await?;
        Ok(solution)
    }
}
