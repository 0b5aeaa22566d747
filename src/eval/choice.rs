//! Which engine does a job sooner. Takes what was measured of this device and of the problem's own kernels; gives an
//! engine for each kind of call. A table of formulas: nothing here measures, and nothing looks at a device.
//!
//! One engine for all calls would not do. On an H200 the gradient of springs, read back, is sooner done on one core up to some 100,000 of them, for
//! little is computed and much moved; a step of Levenberg-Marquardt moves nothing, and is ten times as fast on the GPU at 10,000 vertices.
//!
//! A call on the GPU waits for a round trip, for what it moves, and for its kernels. Iterations of solvers there are chains of dispatches,
//! each waiting for the one before; on the CPU they are passes over the parameters and the entries of J. How many there are was counted, the rest fitted
//! to solves of springs and of developable meshes (docs/performance.md).

use crate::model::Model;
use residua_base::decimal;
use residua_base::list::Listed;
use residua_codegen::Width;
use residua_gpu::Speed;

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// The residuals.
    Values,
    /// An objective with its gradient.
    Gradient,
    /// Residuals and Jacobian.
    Jacobian,
    /// A solve by Levenberg-Marquardt.
    LeastSquares,
    /// A solve by L-BFGS.
    Descent,
}

impl Job {
    /// All of them.
    pub const ALL: [Job; 5] = [Job::Values, Job::Gradient, Job::Jacobian, Job::LeastSquares, Job::Descent];

    /// Whether it computes robust losses. Residuals and Jacobians are without.
    pub fn has_losses(self) -> bool {
        !matches!(self, Job::Values | Job::Jacobian)
    }

    /// What its figures are of.
    fn name(self) -> &'static str {
        match self {
            Job::Values => "residuals",
            Job::Gradient => "gradient",
            Job::Jacobian => "Jacobian",
            Job::LeastSquares => "step of Levenberg-Marquardt",
            Job::Descent => "iteration of L-BFGS",
        }
    }
}

/// What of a problem decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Numbers that are solved for.
    pub params: f64,
    /// Residuals.
    pub residuals: f64,
    /// Entries of J, if none is structurally zero.
    pub entries: f64,
    /// Groups of instances, each a dispatch.
    pub batches: f64,
    /// Numbers of single precision in which a device holds each that is moved.
    pub parts: f64,
}

impl Extent {
    /// Of a model that a device computes in numbers of this width.
    pub fn of(model: &Model, width: Width) -> Extent {
        let entries = |class: &crate::model::Class| (class.outputs.len() * class.locals.len()) as f64;
        Extent {
            params: model.num_params.into(),
            residuals: model.num_residuals.into(),
            entries: model.batches.iter().map(|batch| entries(&batch.class) * f64::from(batch.count)).sum(),
            batches: model.batches.len() as f64,
            parts: match width {
                Width::Single => 1.0,
                Width::Pair => 2.0,
            },
        }
    }
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The device.
    pub device: Speed,
    /// Milliseconds of a gradient on the CPU.
    pub cpu_gradient_ms: f64,
    /// The same on the GPU at parameters that it has, and read back; none before its kernels are there, which costs more than anything else here.
    pub gpu_gradient_ms: Option<f64>,
}

/// Milliseconds that a job may take on either engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Whose.
    pub job: Job,
    /// On the CPU.
    pub cpu: f64,
    /// On the GPU; at least, as long as its kernels are not known.
    pub gpu: f64,
}

/// An engine for each kind of call.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice(Vec<Estimate>);

/// Residuals alone take this part of the time of the gradient: from a third for springs to four fifths for long residuals.
const VALUES: f64 = 0.6;
/// A Jacobian takes so many times the time of the gradient.
const JACOBIAN: f64 = 1.5;
/// Iterations of conjugate gradients in a step, for the comparison.
const LINEAR_ITERATIONS: f64 = 10.0;
/// Milliseconds of a pass over one number. A core of today is not far from it; measured, it came out three times as long until the browser had
/// optimised the code, which it does when it has run for a while.
const PASS: f64 = 0.83e-6;
/// Passes over the parameters in an iteration of L-BFGS on the CPU with its history of 10: two loops of 20, and line search and tests.
const DESCENT_PASSES: f64 = 55.0;
/// Passes over an entry of J that a product with J or Jᵀ costs, where kernels multiply: from 0.6 to 1.4, by what the caches hold.
const ENTRY_PASSES: f64 = 1.0;
/// Passes over the parameters in an iteration of conjugate gradients.
const LINEAR_PASSES: f64 = 6.0;
/// A solve goes to the CPU only if it takes so many times as long on the GPU: less than estimates err by.
const HANDICAP: f64 = 1.2;
/// A dispatch of Levenberg-Marquardt costs as much as so many of the smallest, which is a kernel of one workgroup that waits for the one before.
const LINEAR_DISPATCH: f64 = 2.4;
/// One of L-BFGS: it reduces all numbers, or is one workgroup that waits for memory again and again; and solves are read back some times.
const DESCENT_DISPATCH: f64 = 5.0;
/// The part of a gradient's kernels that an iteration waits for: the rest is done while others run.
const KERNELS: f64 = 0.5;

impl Choice {
    /// The sooner engine for each job.
    pub fn new(extent: &Extent, measured: &Measured) -> Choice {
        Choice(Job::ALL.iter().map(|&job| estimate(job, extent, measured)).list())
    }

    /// Whether a job is done on the CPU. Evaluations also where it is the same, for the sake of double precision; solves only where it is clearly
    /// sooner, for meanwhile the page has to do without its thread.
    pub fn is_on_cpu(&self, job: Job) -> bool {
        let handicap = match job {
            Job::Values | Job::Gradient | Job::Jacobian => 1.0,
            Job::LeastSquares | Job::Descent => HANDICAP,
        };
        self.0.iter().any(|estimate| estimate.job == job && handicap * estimate.cpu <= estimate.gpu)
    }

    /// Whether every job is.
    pub fn is_all_on_cpu(&self) -> bool {
        Job::ALL.iter().all(|&job| self.is_on_cpu(job))
    }

    /// The figures in words.
    pub fn sentence(&self) -> String {
        let part = |&Estimate { job, cpu, gpu }: &Estimate| {
            format!("{} {} and {}", job.name(), decimal::fixed(cpu, 3), decimal::fixed(gpu, 3))
        };
        let parts: Vec<String> = self.0.iter().map(part).list();
        format!("estimated milliseconds on the CPU and on the GPU: {}", parts.join(", "))
    }
}

fn estimate(job: Job, extent: &Extent, measured: &Measured) -> Estimate {
    let Extent { params, residuals, entries, batches, parts } = *extent;
    let Measured { device, cpu_gradient_ms, gpu_gradient_ms } = *measured;
    let moving = parts * device.moving_ms * 1e-6;
    let least = device.round_trip_ms + params * moving;
    let gradient = gpu_gradient_ms.unwrap_or(least);
    // What the kernels take beyond what any call of several dispatches does.
    let kernels = (gradient - least - device.round_trip_ms).max(0.0);
    let (cpu, gpu) = match job {
        Job::Values => {
            (VALUES * cpu_gradient_ms, device.round_trip_ms + (params + residuals) * moving + VALUES * kernels)
        }
        Job::Gradient => (cpu_gradient_ms, gradient),
        Job::Jacobian => (
            JACOBIAN * cpu_gradient_ms,
            device.round_trip_ms + (params + residuals + entries) * moving + JACOBIAN * kernels,
        ),
        Job::LeastSquares => {
            let products = LINEAR_ITERATIONS * PASS * (2.0 * ENTRY_PASSES * entries + LINEAR_PASSES * params);
            let dispatches = 8.0 + 2.0 * batches + LINEAR_ITERATIONS * (2.0 + batches);
            (
                (1.0 + JACOBIAN) * cpu_gradient_ms + products,
                dispatches * LINEAR_DISPATCH * device.dispatch_ms + KERNELS * kernels,
            )
        }
        Job::Descent => (
            cpu_gradient_ms + DESCENT_PASSES * PASS * params,
            (6.0 + 2.0 * batches) * DESCENT_DISPATCH * device.dispatch_ms + KERNELS * kernels,
        ),
    };
    Estimate { job, cpu, gpu }
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
