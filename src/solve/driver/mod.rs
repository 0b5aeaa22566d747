//! The drivers of the solvers: in which place and arithmetic a solve runs, when it goes on in a more precise one, and how its stages make one
//! run. Takes compiled functions at their current parameters, which become the solution.
//!
//! [`stages`] has the rules, [`least_squares`] the loop over them, [`stagnation`] the observer that ends a stage, [`guard`] the check of its
//! digits, [`continuation`] the join of two. [`occupancy`] lets one call at a time run on compiled functions. They see solvers through the trait
//! [`Solvers`], so that tests use fakes.

#[cfg(target_arch = "wasm32")]
mod call;
mod continuation;
mod descent;
mod guard;
mod least_squares;
mod occupancy;
mod remark;
mod stages;
mod stagnation;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "wasm32")]
pub use call::Call;
pub use descent::{descend, minimise};
pub use least_squares::Request;
pub use occupancy::{Callable, Occupancy};

use crate::eval::{Objective, Place};
use crate::model::Batch;
use crate::solve::check_schedule::CheckTime;
use crate::solve::levenberg_marquardt::host;
use crate::solve::listener::Listener;
use crate::solve::options::LevenbergMarquardtOptions;
use crate::solve::precision::Checked;
use crate::solve::session::Session;
use crate::solve::solution::Solution;
use crate::solve::untouched::Untouched;
use least_squares::Solvers;
use remark::remark;
use residua_base::decimal::scientific;
use residua_base::error::Result;
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
    let mut solution = least_squares::solve(session, options, request, listener).await?;
    remark(&mut solution, &session.functions);
    Ok(solution)
}

/// Checks the solve whose result was given and whose check is due. A later result carries the finding.
///
/// # Errors
/// What the device fails with.
pub async fn check_later(session: &mut Session) -> Result<()> {
    let Some((objective, cost)) = session.device.checks.take_due() else { return Ok(()) };
    let found = match objective {
        Objective::LeastSquares => session.check(cost, None).await?,
        Objective::Sum => guard::check(&mut session.functions, &session.device, objective, cost, None).await?,
    };
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

    fn check_time(&mut self, read_back: bool, cost: f64) -> CheckTime {
        self.device.checks.time(read_back, Objective::LeastSquares, cost)
    }

    async fn check(&mut self, cost: f64, start: Option<&[f64]>) -> Result<Checked> {
        let Session { functions, host, device, .. } = self;
        let mut checked = guard::check(functions, device, Objective::LeastSquares, cost, start).await?;
        if checked.estimate.suffices() && cost > 0.0 {
            let arithmetic = functions.arithmetic();
            let left = host::deficiency::promise(functions, &mut host.model, arithmetic).await?;
            checked.estimate.left = left.unwrap_or(0.0);
            if !checked.estimate.suffices() {
                let left = scientific(checked.estimate.left, Some(0));
                let sentence = &checked.sentence;
                checked.sentence = format!(
                    "{sentence} By the derivatives in double precision another choice of the parameters lowers the cost by {left} of the residuals' variance."
                );
            }
        }
        if checked.estimate.is_undetermined {
            let untouched = Untouched::of(functions.model(), functions.constant());
            let rank = host::deficiency::sentence(functions, &mut host.model, untouched.count > 0).await?;
            if !rank.is_empty() {
                checked.sentence = format!("{} {rank}", checked.sentence);
            }
        }
        Ok(checked)
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
        read_back: bool,
        listener: &mut dyn Listener,
    ) -> Result<Solution> {
        match stage.place {
            Place::Host => host::minimise_least_squares(&mut self.functions, &mut self.host, options, listener).await,
            #[cfg(target_arch = "wasm32")]
            Place::Device => {
                use crate::solve::levenberg_marquardt::device;
                let resources = self.device.levenberg_marquardt();
                device::minimise_on_device(&mut self.functions, resources, options, read_back, listener).await
            }
            #[cfg(not(target_arch = "wasm32"))]
            Place::Device => {
                let _ = read_back;
                Err(residua_base::Error::internal("functions are on a device, of which there is none natively"))
            }
        }
    }
}
