//! The linear system of a step, on the host or on a device.

#[cfg(target_arch = "wasm32")]
use super::device::DeviceSystem;
use crate::eval::{Arithmetic, Functions};
use crate::gauss_newton::host::hessian_system::{Damping, HessianSystem, Outcome, Refinement};
use crate::solve::options::NewtonOptions;
#[cfg(target_arch = "wasm32")]
use std::pin::Pin;

use residua_base::cooperative::Yielder;
use residua_base::error::Result;

/// Shares of the first residual to which conjugate gradients are to solve for a step, and where what a step promises counts: near a minimum.
#[cfg(target_arch = "wasm32")]
const ROUGHLY: f64 = 1e-2;
#[cfg(target_arch = "wasm32")]
const WELL: f64 = 1e-3;

/// The system.
pub(super) enum LinearSystem {
    /// Factorised, in f64.
    Host(Box<HessianSystem>),
    /// By conjugate gradients, in f32.
    #[cfg(target_arch = "wasm32")]
    Device(Box<DeviceSystem>),
}

/// A future of its own: what only a device enters is no part of the functions that the core of the package has.
#[cfg(target_arch = "wasm32")]
pub(super) fn apart<'a, T>(future: impl Future<Output = T> + 'a) -> Pin<Box<dyn Future<Output = T> + 'a>> {
    Box::pin(future)
}

/// What is to be solved.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    /// The gradient.
    pub(super) gradient: &'a [f64],
    /// Coordinates that stay.
    pub(super) frozen: &'a [bool],
    /// Up to which ratio of promises the step is that of the Hessian itself.
    pub(super) refinement: f64,
    /// Whether what the step promises counts.
    pub(super) promises: bool,
}

impl LinearSystem {
    /// What evaluations are computed in, and how the damping grows and falls.
    pub(super) fn terms(&self) -> (Arithmetic, Damping) {
        match self {
            LinearSystem::Host(_) => (Arithmetic::F64, Damping::OF_FACTORISATION),
            #[cfg(target_arch = "wasm32")]
            LinearSystem::Device(_) => (Arithmetic::F32, Damping::IN_SINGLE_PRECISION),
        }
    }

    /// The diagonal of the sum of projected Hessians.
    pub(super) fn diagonal(&self) -> &[f64] {
        match self {
            LinearSystem::Host(system) => &system.diagonal,
            #[cfg(target_arch = "wasm32")]
            LinearSystem::Device(system) => system.diagonal(),
        }
    }

    /// How many instances had negative eigenvalues.
    pub(super) fn indefinite(&self) -> usize {
        match self {
            LinearSystem::Host(system) => system.indefinite,
            #[cfg(target_arch = "wasm32")]
            LinearSystem::Device(system) => system.indefinite,
        }
    }

    /// Whether the last step is that of a matrix in which eigenvalues are replaced.
    pub(super) fn is_replaced(&self) -> bool {
        match self {
            LinearSystem::Host(system) => system.is_replaced(),
            #[cfg(target_arch = "wasm32")]
            LinearSystem::Device(system) => system.is_replaced,
        }
    }

    /// Whether the last system was solved as exactly as it was asked for.
    pub(super) fn is_solved(&self) -> bool {
        match self {
            LinearSystem::Host(_) => true,
            #[cfg(target_arch = "wasm32")]
            LinearSystem::Device(system) => system.is_solved,
        }
    }

    /// Solutions of linear systems since the last Hessians, or iterations for them.
    pub(super) fn linear_iterations(&self) -> u32 {
        match self {
            LinearSystem::Host(_) => 1,
            #[cfg(target_arch = "wasm32")]
            LinearSystem::Device(system) => system.taken,
        }
    }

    /// For the report.
    pub(super) fn description(&self) -> String {
        match self {
            LinearSystem::Host(system) => system.description(),
            #[cfg(target_arch = "wasm32")]
            LinearSystem::Device(_) => "pcg: on the device, with the projected Hessians of instances".to_owned(),
        }
    }

    /// Computes the Hessian at a point.
    pub(super) async fn linearise(
        &mut self,
        functions: &mut Functions,
        &NewtonOptions { objective, negative, .. }: &NewtonOptions,
        x: &[f64],
        yielder: &mut Yielder,
    ) -> Result<()> {
        match self {
            LinearSystem::Host(system) => system.linearise(functions, objective, x, negative, yielder).await,
            #[cfg(target_arch = "wasm32")]
            LinearSystem::Device(system) => apart(system.linearise(x)).await,
        }
    }

    /// Solves for a step, with that damping at least, which the system may raise.
    pub(super) async fn solve(
        &mut self,
        question: Question<'_>,
        relative: &mut f64,
        step: &mut [f64],
        yielder: &mut Yielder,
        stops: &mut dyn FnMut() -> bool,
    ) -> Result<Outcome> {
        let Question { gradient, frozen, refinement, promises } = question;
        match self {
            LinearSystem::Host(system) => {
                let _ = promises;
                let solved = system.solve((gradient, frozen), relative, step, yielder, stops).await;
                if solved == Outcome::Solved {
                    system.refine((gradient, frozen), Refinement::up_to(refinement), step, yielder, stops).await;
                }
                Ok(solved)
            }
            #[cfg(target_arch = "wasm32")]
            LinearSystem::Device(system) => {
                let share = if promises { WELL } else { ROUGHLY };
                apart(system.solve((gradient, frozen), relative, (refinement, share), step, stops)).await
            }
        }
    }
}
