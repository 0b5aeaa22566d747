//! Standard errors of the solutions of many problems, in f64 on the host whichever engine solved them: the diagonal of each problem's
//! [`covariance()`](mod@crate::solve::covariance), by the same code. As there numbers at bounds that hold them are constant. The device's normal equations in
//! f32 have too few digits to invert: of a line over time stamps nothing would be left.
//!
//! A problem costs about two iterations of its solve on the host.

use super::batch::Batch;
use super::template::SharedProblem;
use super::{ManyListener, single};
use crate::eval::{Arithmetic, Functions};
use crate::gauss_newton::host::HostModel;
use crate::solve::rank::jacobian;
use crate::solve::start::Start;
use crate::solve::{CovarianceOptions, covariance};
use residua_base::cooperative::Yielder;
use residua_base::error::{ErrorCode, Result};
use residua_base::list::{Listed, PushAll};

/// Problems whose data are read at a time.
const AT_A_TIME: u32 = 64;

/// Which standard errors the public options ask for, if any: `standardErrors`, `absoluteSigma` and `robust` as 1 or 0, `robust` below 0 where
/// it is not given.
pub fn requested(read: &dyn Fn(&str) -> Option<f64>) -> Option<CovarianceOptions> {
    let flag = |name: &str| read(name).is_some_and(|value| value > 0.0);
    let robust = read("robust").filter(|&value| value >= 0.0).map(|value| value > 0.0);
    flag("standardErrors").then(|| CovarianceOptions { absolute_sigma: flag("absoluteSigma"), robust })
}

/// The standard error of each parameter at `x`, the parameters of each problem, problem after problem: 0 for constant ones. NaN for the others
/// of a problem that has no covariance, and of all problems after the listener has aborted.
pub async fn standard_errors(
    template: SharedProblem,
    batch: &Batch<'_>,
    x: &[f64],
    options: CovarianceOptions,
    listener: &mut dyn ManyListener,
) -> Result<Vec<f64>> {
    let is_bounded = template.free.iter().any(|coordinate| coordinate.bounds.is_some());
    let mut functions = single::functions(template.clone())?;
    if is_bounded {
        single::set_bounds(&mut functions, &template)?;
    }
    let constant = functions.constant().to_vec();
    let missing: Vec<f64> = functions.constant().iter().map(|&constant| if constant { 0.0 } else { f64::NAN }).list();
    let mut host = HostModel::default();
    let mut yielder = Yielder::new();
    let mut errors = Vec::with_capacity(x.len());
    let mut own = Vec::new();
    for (problem, x) in (0..batch.count).zip(x.chunks_exact(missing.len())) {
        yielder.yield_if_due().await;
        let place = (problem % AT_A_TIME) as usize;
        if place == 0 {
            own = batch.read_data(problem..batch.count.min(problem + AT_A_TIME));
        }
        if listener.aborted() {
            errors.extend_from_slice(&missing);
            continue;
        }
        single::set_problem(&mut functions, batch, &own, place, x)?;
        if is_bounded {
            functions.set_constant(constant.clone())?;
        }
        match estimate(&mut functions, &mut host, is_bounded, options).await {
            // Rounding may give a variance of 0 a small negative value.
            Ok(matrix) => errors.push_all(matrix.iter().step_by(x.len() + 1).map(|variance| variance.max(0.0).sqrt())),
            Err(error) if matches!(error.code, ErrorCode::InvalidArgument | ErrorCode::NonFinite) => {
                errors.extend_from_slice(&missing);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(errors)
}

/// The covariance at the current parameters, in which those that bounds hold are constant.
async fn estimate(
    functions: &mut Functions,
    host: &mut HostModel,
    is_bounded: bool,
    options: CovarianceOptions,
) -> Result<Vec<f64>> {
    if is_bounded {
        let Start { point, feasible, .. } = Start::of(functions, Arithmetic::F64)?;
        let linearised = host.linearise(functions, &point).await?;
        let (mut gradient, mut held) = (vec![0.0; point.len()], vec![false; point.len()]);
        jacobian(host.pattern(functions)?, point.len(), &linearised.entries)
            .add_transposed_times(&linearised.residuals, &mut gradient);
        feasible.freeze(&point, &gradient, &mut held);
        functions.set_constant(held)?;
    }
    covariance(functions, host, None, options).await
}
