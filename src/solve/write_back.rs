//! Which parameters are the current ones after a solve.

use super::start::Start;
use super::summary::SolveSummary;
use crate::eval::{Arithmetic, Functions};
use residua_base::error::{Error, Result};

/// Where a solver has left its solution.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Left {
    /// In these numbers.
    Host(Vec<f64>),
    /// In the parameters of the device.
    Device {
        /// Whether they are copied to the host.
        read_back: bool,
    },
}

/// The current parameters of compiled functions.
pub(crate) trait CurrentParameters {
    /// Sets all of them.
    fn set_values(&mut self, x: Vec<f64>) -> Result<()>;
    /// The parameters of the device become the current ones.
    fn leave_on_device(&mut self);
    /// Copies the parameters to the host, if only the device has the current ones.
    async fn bring_values(&mut self) -> Result<()>;
    /// The current parameters as the host has them.
    fn values(&self) -> &[f64];
    /// Writes the current parameters to the device after a solve that has moved the device's.
    fn publish_again(&mut self);
    /// The error for a start that is not finite, which names the residual.
    async fn non_finite_error(&mut self, arithmetic: Arithmetic) -> Result<Error>;
}

/// Makes the solution of a run the current parameters. Returns its numbers, which are empty if they stay on the device, and the run's summary.
/// A run that fails leaves the parameters at its start.
///
/// # Errors
/// The run's own error; `non-finite`, naming the residual, if the start is not finite.
pub(crate) async fn write_back<P: CurrentParameters>(
    parameters: &mut P,
    arithmetic: Arithmetic,
    run: Result<SolveSummary>,
    left: impl FnOnce() -> Left,
) -> Result<(Vec<f64>, SolveSummary)> {
    let summary = match run {
        Ok(summary) => summary,
        Err(error) => {
            parameters.publish_again();
            return Err(error);
        }
    };
    if summary.failed_at_start() {
        parameters.publish_again();
        return Err(parameters.non_finite_error(arithmetic).await?);
    }
    let x = match left() {
        Left::Host(x) => {
            parameters.set_values(x.clone())?;
            x
        }
        Left::Device { read_back: true } => {
            parameters.leave_on_device();
            parameters.bring_values().await?;
            parameters.values().to_vec()
        }
        Left::Device { read_back: false } => {
            parameters.leave_on_device();
            Vec::new()
        }
    };
    Ok((x, summary))
}

impl CurrentParameters for Functions {
    fn set_values(&mut self, x: Vec<f64>) -> Result<()> {
        Functions::set_values(self, x)
    }

    fn leave_on_device(&mut self) {
        Functions::leave_on_device(self);
    }

    async fn bring_values(&mut self) -> Result<()> {
        Functions::bring_values(self).await
    }

    fn values(&self) -> &[f64] {
        Functions::values(self)
    }

    fn publish_again(&mut self) {
        Functions::publish_again(self);
    }

    async fn non_finite_error(&mut self, arithmetic: Arithmetic) -> Result<Error> {
        Functions::bring_values(self).await?;
        let start = Start::of(self, arithmetic)?;
        Functions::non_finite_error(self, &start.point, arithmetic).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::summary::{IterationSummary, Termination};
    use residua_base::cooperative::run_synchronously;
    use residua_base::error::ErrorCode;

    /// Parameters of the host and of a device, and which are current.
    #[derive(Debug, PartialEq)]
    struct Fake {
        host: Vec<f64>,
        device: Vec<f64>,
        is_on_device: bool,
    }

    impl CurrentParameters for Fake {
        fn set_values(&mut self, x: Vec<f64>) -> Result<()> {
            *self = Fake { host: x.clone(), device: x, is_on_device: false };
            Ok(())
        }

        fn leave_on_device(&mut self) {
            self.is_on_device = true;
        }

        async fn bring_values(&mut self) -> Result<()> {
            if std::mem::take(&mut self.is_on_device) {
                self.host = self.device.clone();
            }
            Ok(())
        }

        fn values(&self) -> &[f64] {
            &self.host
        }

        fn publish_again(&mut self) {
            if !self.is_on_device {
                self.device = self.host.clone();
            }
        }

        async fn non_finite_error(&mut self, arithmetic: Arithmetic) -> Result<Error> {
            Ok(Error::new(ErrorCode::NonFinite, format!("r[0] is NaN in {}", arithmetic.as_str())))
        }
    }

    fn summary(termination: Termination, iterations: u32) -> SolveSummary {
        let iteration = IterationSummary {
            iteration: 0,
            cost: 1.0,
            cost_change: 0.0,
            gradient_max_norm: 1.0,
            step_norm: 0.0,
            accepted: true,
            damping: None,
            gain_ratio: None,
            linear_iterations: None,
            step_size: None,
            elapsed_ms: 0.0,
        };
        SolveSummary {
            termination,
            why: String::new(),
            findings: Vec::new(),
            promise: None,
            iterations,
            function_evaluations: 1,
            initial_cost: 1.0,
            final_cost: 1.0,
            elapsed_ms: 0.0,
            history: vec![iteration; iterations as usize + usize::from(termination != Termination::NonFinite)],
        }
    }

    /// A run from 1 whose solver has moved the device's parameters to 2, or has 3 on the host.
    fn after(run: Result<SolveSummary>, left: Left) -> (std::result::Result<Vec<f64>, ErrorCode>, Fake) {
        let mut fake = Fake { host: vec![1.0], device: vec![2.0], is_on_device: false };
        let outcome = run_synchronously(write_back(&mut fake, Arithmetic::F32, run, || left));
        (outcome.map(|(x, _)| x).map_err(|error| error.code), fake)
    }

    #[test]
    fn the_solution_becomes_the_current_parameters_and_a_failure_keeps_the_start() {
        let on_host = || Left::Host(vec![3.0]);
        let lost = || Err(Error::new(ErrorCode::DeviceLost, "lost"));
        let current =
            |host: f64, device: f64, is_on_device| Fake { host: vec![host], device: vec![device], is_on_device };
        for (run, left, x, parameters) in [
            (Ok(Termination::CostTolerance), on_host(), Ok(vec![3.0]), current(3.0, 3.0, false)),
            (Ok(Termination::Aborted), on_host(), Ok(vec![3.0]), current(3.0, 3.0, false)),
            (Ok(Termination::CostTolerance), Left::Device { read_back: true }, Ok(vec![2.0]), current(2.0, 2.0, false)),
            (Ok(Termination::Aborted), Left::Device { read_back: false }, Ok(vec![]), current(1.0, 2.0, true)),
            (Err(()), on_host(), Err(ErrorCode::DeviceLost), current(1.0, 1.0, false)),
            (Err(()), Left::Device { read_back: true }, Err(ErrorCode::DeviceLost), current(1.0, 1.0, false)),
            (Ok(Termination::NonFinite), on_host(), Err(ErrorCode::NonFinite), current(1.0, 1.0, false)),
            (
                Ok(Termination::NonFinite),
                Left::Device { read_back: false },
                Err(ErrorCode::NonFinite),
                current(1.0, 1.0, false),
            ),
        ] {
            let case = format!("{run:?}, {left:?}");
            let run = run.map_or_else(|()| lost(), |termination| Ok(summary(termination, 0)));
            assert_eq!(after(run, left), (x, parameters), "{case}");
        }
        // After an iteration the start was finite, so the best point is a solution.
        let later = after(Ok(summary(Termination::NonFinite, 1)), on_host());
        assert_eq!(later, (Ok(vec![3.0]), current(3.0, 3.0, false)));
    }
}
