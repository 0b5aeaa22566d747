//! Retraction of steps and conversion of gradients, in f64, for the blocks of L-BFGS that are on manifolds.
//!
//! The method is that of Ceres Solver (line_search_minimizer.cc, line_search.cc): gradients and directions are in tangent coordinates, trial
//! points are x ⊞ αd, and the history combines pairs of different tangent spaces without a transport between them.
//!
//! For unit quaternions and angles, x ⊞ δ multiplies by exp δ, so equal coordinates at two points are one vector moved by the group: the
//! identity is a transport, and the slope along the path is exactly gᵀd. For unit vectors the tangent bases rotate with the point, which
//! leaves an error in y of ‖g‖‖s‖ that vanishes at a minimum. P.-A. Absil, R. Mahony and R. Sepulchre, "Optimization Algorithms on Matrix
//! Manifolds" (2008), sections 4.1 and 8.1, state what retractions and transports must satisfy. The line search rejects a trial point that
//! does not lower the cost, whatever its slope is, and the slope's error falls with the step.

use crate::model::ArrayInfo;
use crate::model::manifolds::{InPlace, Manifold, in_place_kernel};
use residua_base::error::Result;
use residua_codegen::Width;
use residua_codegen::memory::{InstanceRange, View};
use residua_cpu::CompiledKernels;

/// The manifold map of a model's parameters: compiled kernels, and the blocks that they apply to.
pub struct ManifoldMap {
    /// The kernels of [`InPlace`] for each shape, in the order of the enum.
    program: CompiledKernels,
    /// Position of the shape, first number and number of blocks of each array.
    arrays: Vec<(usize, u32, u32)>,
    /// Whether each parameter is part of a block on a manifold.
    on_manifold: Vec<bool>,
}

impl std::fmt::Debug for ManifoldMap {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_tuple("ManifoldMap").field(&self.arrays).finish()
    }
}

/// The arrays with at least one block on a manifold.
pub fn arrays_on_manifolds(arrays: &[ArrayInfo]) -> impl Iterator<Item = &ArrayInfo> {
    arrays.iter().filter(|array| array.manifold != Manifold::Euclidean && array.count > 0)
}

impl ManifoldMap {
    /// The map of these arrays, of `parameters` numbers in all; `None` if no block is on a manifold.
    pub async fn of(arrays: &[ArrayInfo], parameters: usize) -> Result<Option<ManifoldMap>> {
        let mut shapes: Vec<(Manifold, u32)> = Vec::new();
        let mut places = Vec::new();
        let mut on_manifold = vec![false; parameters];
        for array in arrays_on_manifolds(arrays) {
            let ArrayInfo { dim, count, offset, manifold, .. } = *array;
            let shape = shapes.iter().position(|known| *known == (manifold, dim)).unwrap_or_else(|| {
                shapes.push((manifold, dim));
                shapes.len() - 1
            });
            places.push((shape, offset, count));
            on_manifold[offset as usize..(offset + dim * count) as usize].fill(true);
        }
        if places.is_empty() {
            return Ok(None);
        }
        let mut kernels = Vec::new();
        for (manifold, dim) in shapes {
            for what in [InPlace::Turn, InPlace::TangentGradient] {
                kernels.push(in_place_kernel(what, manifold, dim, Width::Single)?);
            }
        }
        Ok(Some(ManifoldMap { program: CompiledKernels::compile(kernels).await?, arrays: places, on_manifold }))
    }

    /// Whether a parameter is part of a block on a manifold.
    pub fn contains(&self, parameter: usize) -> bool {
        self.on_manifold[parameter]
    }

    /// Replaces the steps of blocks on manifolds in `trial` by the points x ⊞ step.
    pub fn retract(&self, x: &[f64], trial: &mut [f64]) -> Result<()> {
        self.run(InPlace::Turn, x, trial)
    }

    /// Replaces derivatives with respect to the numbers of x by derivatives with respect to tangent coordinates at x.
    pub fn convert_gradient(&self, x: &[f64], gradient: &mut [f64]) -> Result<()> {
        self.run(InPlace::TangentGradient, x, gradient)
    }

    fn run(&self, what: InPlace, x: &[f64], replaced: &mut [f64]) -> Result<()> {
        for &(shape, first, count) in &self.arrays {
            let mut views = [View::Read(x), View::Write(replaced)];
            let dispatch = InstanceRange { instances: 0..count, stride: count, first, origin: 0 };
            self.program.run(2 * shape + what as usize, &mut views, &dispatch)?;
        }
        Ok(())
    }
}
